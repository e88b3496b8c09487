"""Differences between two recordings that make them less comparable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackmap.features.compare.bootstrap import MIN_INTERVALS
from stackmap.features.compare.comparison import StackRecord
from stackmap.features.compare.recording import Recording
from stackmap.model.device import Device
from stackmap.model.load import ratio
from stackmap.model.machine import Machine, of_another

LENGTH_RATIO = 2.0  # of intervals: a longer one averages more
# Settings that change how many requests a write causes. A reshape leaves a larger stripe cache, because it
# must hold the stripes it moves (raid5.c, check_stripe_cache): 256 rows became 1025 in the lab.
SETTINGS = ("stripe cache", "rmw level", "consistency", "region")
SIZE_TOLERANCE = 0.02  # LVM rounds a size to whole extents per stripe


def warnings_of(
    before: Recording,
    after: Recording,
    sides: tuple[StackRecord, StackRecord],
    differences: Sequence[str],
) -> tuple[str, ...]:
    """Return them as sentences; *differences*: how the loads differ."""
    found = [
        *_of_one("before", before),
        *_of_one("after", after),
        *_too_few(before, after),
        *_machines(before, after),
        *_sizes(*(side.top for side in sides)),
        *_settings(*sides),
        *_lengths(before, after),
    ]
    found += [
        f"the load differs, so the cost per request may differ too: {each}" for each in differences
    ]
    return tuple(dict.fromkeys(found))


def _of_one(name: str, recording: Recording) -> Iterator[str]:
    for work in recording.work:
        if recording.worked:
            yield f"{name}: during all intervals, {work}; figures and await include that work"
        else:
            yield f"{name}: {recording.at_work} intervals are left out: {work}"
    if recording.changed:
        yield f"{name}: {recording.changed} intervals are left out: the stack was different"


def _too_few(before: Recording, after: Recording) -> Iterator[str]:
    if min(before.count, after.count) < MIN_INTERVALS:
        yield (
            f"too few intervals to test significance or to compute ranges: {before.count} before, "
            f"{after.count} after; each side needs {MIN_INTERVALS}"
        )


def _machines(before: Recording, after: Recording) -> Iterator[str]:
    what = of_another(_machine(before), _machine(after))
    if what:
        yield f"after is from another machine: {what}"


def _machine(recording: Recording) -> Machine:
    """Return the machine that the recording names; else the one whose topology is used."""
    named = recording.batches[0].machine if recording.batches else Machine()
    known = recording.topology.machine
    return Machine(named.host or known.host, named.kernel or known.kernel)


def _sizes(before: Device, after: Device) -> Iterator[str]:
    times = ratio(after.size, before.size)
    if times is not None and abs(times - 1) > SIZE_TOLERANCE:
        yield f"{after.title} has {times:.2f} times the size of {before.title} before: seeks differ"


def _settings(before: StackRecord, after: StackRecord) -> Iterator[str]:
    """Yield the settings that differ, if one array spreads the data on each side and both report them."""
    if len(before.raids) != 1 or len(after.raids) != 1:
        return
    (old,), (new,) = before.raids, after.raids
    for what in SETTINGS:
        was, now = old.facts.get(what), new.facts.get(what)
        if was is not None and now is not None and was != now:
            yield f"{what} of {new.title} is {now}, before {was}: this changes the cost of a write too"


def _lengths(before: Recording, after: Recording) -> Iterator[str]:
    times = ratio(after.length, before.length)
    if times is not None and not 1 / LENGTH_RATIO <= times <= LENGTH_RATIO:
        yield (
            f"intervals are {before.length:.1f} s before and {after.length:.1f} s after: short ones show "
            "more of the peaks"
        )
