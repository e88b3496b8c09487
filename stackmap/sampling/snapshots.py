"""
Snapshots (a sample with the identity of each device) and the intervals between them.

A rate needs the same device behind a name at both ends of an interval: what a name means is
compared from one topology to the next.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.model.device import Role, StatusReading
from stackmap.model.health import grown_errors
from stackmap.model.interval import IDENTITY_UNKNOWN, Interval
from stackmap.model.raid import DEGRADED, LOST
from stackmap.model.reason import StateChange
from stackmap.model.topology import Edge, Topology
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample
from stackmap.sources.uevent import NO_CHANGES, UeventDelta

Identities = Mapping[str, str | None]

_FIGURES = re.compile(r"[0-9.]+ ?%?")

RESTARTED = "the machine was started again: its counters began anew; no figures across that"


def identities(before: Topology, after: Topology, changes: UeventDelta = NO_CHANGES) -> Identities:
    """
    Return the device behind each name at an instant between two surveys; None: unknown.

    *changes*: every uevent between the two. A name without an entry is in neither
    topology and had no uevent. Devices of two boots differ: diskseq and counters begin again.
    """
    boot = after.machine.boot
    was = {name: device.identity for name, device in before.devices.items()}
    now = {name: device.identity for name, device in after.devices.items()}
    by_name = (
        (name, _identity_between(name, was.get(name), now.get(name), after, changes))
        for name in (*was, *(now.keys() - was.keys()), *(changes.touched - was.keys() - now.keys()))
    )
    return {name: same and f"{same} {boot}".rstrip() for name, same in by_name}


def _identity_between(
    name: str, was: str | None, now: str | None, after: Topology, changes: UeventDelta
) -> str | None:
    came, went = changes.added.get(name, 0), changes.removed.get(name, 0)
    if was == now:
        counted = name in after and after[name].diskseq
        return was if counted or not (came or went) else None
    if changes.unknown:
        return None
    if was is None and (came, went) == (1, 0):
        return now  # if the sample has the name at all, it had been added
    if now is None and (came, went) == (0, 1):
        return was
    return None


def topology_events(before: Topology, after: Topology, changes: UeventDelta) -> Iterator[str]:
    """Yield the changes of devices that stayed, and whether uevents were lost."""
    # A source that refused in only one of the two surveys changed nothing: compare its facts only
    # between two surveys with the same refusals.
    same_refusals = before.unknown == after.unknown
    for name, now in after.devices.items():
        was = before.devices.get(name)
        if was is None or was.identity != now.identity:
            continue
        if was is now and before.below(name) == after.below(name):
            continue
        if was.title != now.title:
            yield f"{now.name}: renamed from {was.title} to {now.title}"
        if same_refusals:
            yield from _device_events(before, after, name)
            if _below(before.below(name)) != _below(after.below(name)) or was.layout != now.layout:
                yield f"{now.title}: its layout changed; ratios below it mix both layouts"
    if changes.lost:
        yield "events were missed: every device was checked for changes instead"


def unsampled_events(
    changes: UeventDelta, after: Topology, sampled: frozenset[str], sample_events: Iterable[str]
) -> Iterator[str]:
    """
    Yield the *changes* that no two samples show; *sample_events*: the events that they do show.

    A device added after the sample will be seen to appear later; a *sampled* one that
    was removed will be seen to go.
    """
    named = {event.partition(" ")[0].rstrip(":") for event in sample_events}
    for name in sorted(changes.touched - named):
        if name in changes.added and name in changes.removed:
            yield f"{name} appeared and went away"
        elif name in changes.added and name not in after:
            yield f"{name} appeared"
        elif name in changes.removed and name not in sampled:
            yield f"{name} went away"


def error_events(
    before: StatusReading | None, now: StatusReading | None, topology: Topology
) -> tuple[str, ...]:
    """Return the errors that devices of *topology* counted between two readings, one sentence per device."""
    if before is None or now is None or before is now:
        return ()
    events = []
    for name, status in now.targets.items():
        was = before.targets.get(name)
        if was is None or was.counts == status.counts or was.identity != status.identity:
            continue
        grown = ", ".join(grown_errors(was.counts, status.counts))
        if grown and name in topology:
            events.append(f"{topology[name].title}: {grown}")
    return tuple(events)


def _device_events(before: Topology, after: Topology, name: str) -> Iterator[str]:
    was, now = before[name], after[name]
    if was.size != now.size:
        yield f"{now.title}: its size changed from {was.size} to {now.size} bytes"
    then, state = _path_states(before, after, name) or (was.state or "", now.state or "")
    if _FIGURES.sub("", then) != _FIGURES.sub("", state):
        yield StateChange(now.title, now.name, now.identity, then, state)
    elif was.read_only != now.read_only:
        modes = ("read-only" if device.read_only else "writable" for device in (was, now))
        yield StateChange(now.title, now.name, now.identity, *modes)


def _path_states(before: Topology, after: Topology, name: str) -> tuple[str, str] | None:
    """
    Return the states of a disk before and after it lost or gained paths; None if it did neither.

    The kernel removes a path of NVMe that it cannot reach for ten minutes, and multipathd one whose disk is gone: the
    paths that are left look as if there had never been more.
    """
    had, has = (len(topology.used_by(name, Role.PATH)) for topology in (before, after))
    was, now = before[name].state or "", after[name].state or ""
    if has < had:
        state = LOST if not has or now == LOST else DEGRADED
        return was, f"{state}: {has} of {had} paths"
    return (f"{was}: {had} of {has} paths", now) if was and has > had > 0 else None


def _below(edges: Iterable[Edge]) -> set[tuple[str, str, int | None]]:
    return {(edge.below, edge.role, edge.start) for edge in edges}


class Snapshot(NamedTuple):
    """
    A sample with the topology, device identities, events and uevents at that time.

    ``identities``: None while unknown for all devices. ``topology``: the previous
    one while the next is being read. ``later_changes``: uevents since that reading began.
    ``reading``: the newest status of dm targets and md's threads.
    """

    sample: Sample
    topology: Topology
    identities: Identities | None
    events: tuple[str, ...] = ()
    changes: UeventDelta = NO_CHANGES
    later_changes: UeventDelta = NO_CHANGES
    reading: StatusReading | None = None

    def title(self, name: str) -> str:
        """Return the label of device *name* at that time; "" if the topology is too old to know."""
        changed = self.later_changes.unknown or name in self.later_changes.touched
        return "" if changed or name not in self.topology else self.topology[name].label


TopologyInterval = tuple[Topology, Interval]


def interval_between(
    earlier: Snapshot, later: Snapshot, devices: Container[str] | None = None
) -> Interval:
    """
    Return the interval between two snapshots, for devices known to be the same at both ends.

    *devices*: only these; None: all.
    """
    interval = diskstats.between(earlier.sample, later.sample, devices)
    gone = dict(_unidentified(earlier, later, interval.loads))
    loads = interval.loads
    if gone:
        loads = {n: load for n, load in loads.items() if n not in gone}
    events = [*interval.events, *gone.values()]
    if later.changes:
        sampled = frozenset(later.sample.names)
        events += unsampled_events(later.changes, later.topology, sampled, events)
    titled = (_with_label(event, earlier, later) for event in events)
    ends = (earlier.reading, later.reading)
    readings = ends[:1] if earlier.reading is later.reading else ends
    return Interval(
        loads,
        time=interval.time,
        seconds=interval.seconds,
        events=tuple(dict.fromkeys((*titled, *later.events))),
        readings=tuple(reading for reading in readings if reading is not None),
    )


def counted_on(earlier: Snapshot, later: Snapshot, devices: Container[str] | None = None) -> bool:
    """Whether the same devices were there, and all counters only went up; *devices*: those of these."""
    return (
        earlier.identities is later.identities is not None
        and not later.changes.touched
        and diskstats.only_counted_up(earlier.sample, later.sample, devices)
    )


def only_counted(earlier: Snapshot, later: Snapshot) -> bool:
    """Whether counters went up from one snapshot to the next, and nothing else happened."""
    return (
        earlier.topology is later.topology
        and not later.events
        and not later.later_changes
        and counted_on(earlier, later)
    )


def stretches(
    snapshots: Iterable[tuple[Snapshot, int]],
    devices: Container[str] | None = None,
    *,
    steps: bool = False,
) -> Iterator[tuple[Snapshot, Snapshot, int]]:
    """
    Yield the ends of consecutive stretches, with the number of intervals in each.

    Each snapshot comes with the number of intervals that it ends, 0 if it is only examined. While all
    counters of *devices* only go up, the difference of the first and the last sample is the sum of the intervals
    between, and the last snapshot has the events of all. What lies across anything else is a stretch of its own.
    *steps*: none is longer than from one snapshot that is not only examined to the next.
    """
    begin: Snapshot | None = None
    last: Snapshot | None = None
    due: Snapshot | None = None  # the newest since begin that is not only examined
    count = 0
    for taken, passed in snapshots:
        moment = taken
        if begin is None or last is None:
            begin = moment
        # One interval itself shows what happened in it.
        elif (steps and passed and begin is last) or counted_on(last, moment, devices):
            if last is not begin and last.events:
                moment = moment._replace(events=(*last.events, *moment.events))
            count += passed
            due = moment if passed else due
            if steps and passed:
                yield begin, moment, count
                begin, due, count = moment, None, 0
        else:
            if begin is not last:
                yield begin, last, count
            yield last, moment, passed
            begin, due, count = moment, None, 0
        last = moment
    if begin is not None and due is not None:
        yield begin, due, count


def downsample(snapshots: Iterable[tuple[Snapshot, int]]) -> Iterator[TopologyInterval]:
    """
    Yield fewer intervals with the same averages: one per stretch.

    Figures of a single interval are lost: extremes, and requests in flight.
    """
    for begin, end, count in stretches(snapshots):
        yield begin.topology, replace(interval_between(begin, end), count=count)


def only_same_devices(
    topology: Topology, reports: Iterable[TopologyInterval]
) -> Iterator[Interval]:
    """Yield the intervals of *reports* with the devices that *topology* knows to be the same, and no others."""
    last, others = topology, frozenset[str]()
    for current, interval in reports:
        if current is not last:
            now = identities(topology, current)
            others = frozenset(n for n, same in now.items() if same is None and n in topology)
            last = current
        lost = sorted(others & interval.loads.keys()) if others else []
        if not lost:
            yield interval
            continue
        loads = {n: load for n, load in interval.loads.items() if n not in others}
        events = dict.fromkeys((*interval.events, *map(_replaced, lost)))
        yield replace(interval, loads=loads, events=tuple(events))


def with_first_topology(
    reports: Iterable[TopologyInterval],
) -> tuple[Topology, Iterator[Interval]]:
    """Return the first topology, and the intervals with figures only for devices that are still those of it."""
    given = iter(reports)
    first = next(given, None)
    if first is None:
        raise InputError("no interval was measured")
    return first[0], only_same_devices(first[0], chain([first], given))


def _unidentified(
    earlier: Snapshot, later: Snapshot, names: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield each name that may belong to two devices, with its event."""
    if earlier.identities is None or later.identities is None:
        yield from ((name, IDENTITY_UNKNOWN) for name in names)
        return
    if earlier.identities is later.identities:
        return
    restarted = earlier.topology.machine.boot != later.topology.machine.boot
    for name in names:
        was, now = earlier.identities.get(name, ""), later.identities.get(name, "")
        if was and now and was != now and restarted:
            yield name, RESTARTED
        elif was is None and now is None:
            yield name, f"{name} is not identified yet: no figures for it"
        elif was is None:
            yield name, f"{name} is identified from here on; no figures before"
        elif was != now:
            new = name not in earlier.topology.devices
            yield name, f"{name} is new: no figures for it yet" if new else _replaced(name)


def _with_label(event: str, earlier: Snapshot, later: Snapshot) -> str:
    """Return an event of the counters with the label of its device."""
    name, _, rest = event.partition(" ")
    title = rest and (later.title(name) or earlier.title(name))
    return f"{name} ({title}) {rest}" if title else event


def _replaced(name: str) -> str:
    return f"{name}: replaced by another device of that name; no figures for it"
