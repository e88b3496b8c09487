"""What makes two recordings less comparable than they look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackmap.analysis.compare.bootstrap import MIN_INTERVALS
from stackmap.analysis.compare.comparison import StackRecord
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.device_names import of_another
from stackmap.model.device import Device
from stackmap.model.load import ratio
from stackmap.model.machine import Machine

LENGTH_RATIO = 2.0  # intervals further apart in length average differently
# What else decides how many requests a write becomes. A reshape leaves the stripe cache larger, for the
# stripes that it moves have to be in it (raid5.c, check_stripe_cache): 256 rows became 1025 in the lab.
SETTINGS = ("stripe cache", "rmw level", "consistency", "region")
SIZE_TOLERANCE = 0.02  # LVM rounds a size to whole extents of each stripe


def warnings_of(
    before: Recording,
    after: Recording,
    sides: tuple[StackRecord, StackRecord],
    differences: Sequence[str],
) -> tuple[str, ...]:
    """Return them as sentences; *differences*: in what the loads are others."""
    found = [
        *_of_one("before", before),
        *_of_one("after", after),
        *_machines(before, after),
        *_sizes(*(side.top for side in sides)),
        *_settings(*sides),
        *_lengths(before, after),
    ]
    found += [
        f"the load is another, and so may be what a request costs: {each}" for each in differences
    ]
    return tuple(dict.fromkeys(found))


def _of_one(name: str, recording: Recording) -> Iterator[str]:
    for work in recording.work:
        if recording.worked:
            yield f"{name}, all the time, {work}: what is below is not the load's alone, nor are the waits"
        else:
            yield f"{name}, {recording.at_work} intervals are left out: {work}"
    if recording.changed:
        yield f"{name}, {recording.changed} intervals are left out: the stack was another then"
    if recording.count < MIN_INTERVALS:
        yield (
            f"too few intervals {name}, {recording.count}: fewer than {MIN_INTERVALS} tell nothing of chance, "
            "so there is no range, and no word on what is significant"
        )


def _machines(before: Recording, after: Recording) -> Iterator[str]:
    what = of_another(_machine(before), _machine(after))
    if what:
        yield f"after is of another machine: {what}"


def _machine(recording: Recording) -> Machine:
    """Return what the recording itself says of its machine; else where its names were looked up."""
    words = recording.batches[0].machine if recording.batches else Machine()
    there = recording.topology.machine
    return Machine(words.host or there.host, words.kernel or there.kernel)


def _sizes(before: Device, after: Device) -> Iterator[str]:
    times = ratio(after.size, before.size)
    if times is not None and abs(times - 1) > SIZE_TOLERANCE:
        yield f"{after.title} has {times:.2f} times the size that {before.title} had: seeks are longer or shorter"


def _settings(before: StackRecord, after: StackRecord) -> Iterator[str]:
    """Yield what is set otherwise, where one array spreads the data on each side and both have it."""
    if len(before.raids) != 1 or len(after.raids) != 1:
        return
    (old,), (new,) = before.raids, after.raids
    for what in SETTINGS:
        was, now = old.facts.get(what), new.facts.get(what)
        if was is not None and now is not None and was != now:
            yield (
                f"{what} of {new.title} is {now}, and was {was}: by that, too, a write costs more or less"
            )


def _lengths(before: Recording, after: Recording) -> Iterator[str]:
    times = ratio(after.length, before.length)
    if times is not None and not 1 / LENGTH_RATIO <= times <= LENGTH_RATIO:
        yield (
            f"an interval is {before.length:.1f} s before and {after.length:.1f} s after: "
            "a short one sees more of the peaks"
        )
