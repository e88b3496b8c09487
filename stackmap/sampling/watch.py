"""
A topology kept true while it is watched, and the intervals of each time with the topology of that time.

A rate is of one device: at both ends of an interval the name must have been
borne by the same one. What bore it *at* a sample is known from the look
before it and the look after it, and from what the kernel told in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.model.interval import Interval
from stackmap.sampling.changes import Identities, events, identities, unseen
from stackmap.sources import activity, diskstats, uevent
from stackmap.sources.uevent import ANYTHING, NOTHING, Told

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.topology import Topology
    from stackmap.sources.diskstats import Sample

SELDOM = 30.0  # seconds between questions that take a command


@dataclass(frozen=True, slots=True)
class Moment:
    """A sample, the topology right after it, which device bore each name, what had happened and was told."""

    sample: Sample
    topology: Topology
    bearers: Identities
    events: tuple[str, ...] = ()
    told: Told = NOTHING


Report = tuple["Topology", Interval]


class Watch:
    """
    *topology*, read *again* whenever the kernel tells of a block device, or an array is at something else.

    To miss nothing, ``uevent.read`` was asked before *topology* was read.
    *listen*: False where one interval is too short to be worth it; then, and
    where nobody can listen, the kernel's count of events is looked at.
    """

    def __init__(
        self,
        host: Host,
        topology: Topology,
        again: Callable[[], Topology],
        *,
        listen: bool = True,
    ) -> None:
        self.topology = topology
        self._host = host
        self._again = again
        self._listening = listen
        self._settling = False
        self._count: str | None = None  # so that the first look is at every device
        self._there: frozenset[str] = frozenset()
        self._asked: float | None = None
        self._ask_what_is_done()
        self._bearers = identities(topology, topology)

    def moments(self, interval: float, count: int | None) -> Iterator[Moment]:
        """Yield *count* samples, *interval* seconds apart."""
        for time in self._host.ticks(interval, count):
            sample = diskstats.read(self._host, time)
            yield self._moment(sample)

    def reports(self, interval: float, count: int | None) -> Iterator[Report]:
        """Yield *count* intervals, each with the topology at its begin."""
        taken = self.moments(interval, None if count is None else count + 1)
        for earlier, later in pairwise(taken):
            yield earlier.topology, between(earlier, later)

    def look(self, time: float) -> tuple[Topology, Told] | None:
        """See whether anything changed; if so, read all again and return what was before, and was told."""
        told = self._told()
        moved = self._moved(time)
        if not (told or moved or self._settling):
            return None
        # udev is told when we are: a name may only come a moment later.
        self._settling = bool(told)
        before, self.topology = self.topology, self._again()
        self._ask_what_is_done()
        return before, told

    def _moment(self, sample: Sample) -> Moment:
        looked = self.look(sample.time)
        if looked is None:
            return Moment(sample, self.topology, self._bearers)
        before, told = looked
        bearers = identities(before, self.topology, told)
        self._bearers = identities(self.topology, self.topology)
        happened = tuple(events(before, self.topology, told))
        return Moment(sample, self.topology, bearers, happened, told)

    def _told(self) -> Told:
        if self._listening:
            try:
                told = uevent.read(self._host)
            except SourceError:
                self._listening = False
            else:
                # Some containers hear nothing, so the count is looked at as well.
                return told or self._by_count()
        return self._by_count()

    def _by_count(self) -> Told:
        now, before = uevent.count(self._host), self._count
        if now and now == before:
            return NOTHING
        self._count = now
        # Most of what a listener did not hear was of no block device; who heard nothing cannot tell.
        counted = now and before is not None and not self._listening
        return ANYTHING if counted or self._differs() else NOTHING

    def _differs(self) -> bool:
        """Whether other devices are there than at the last look, by their names and their diskseq."""
        known, there = self.topology.devices, uevent.names(self._host)
        before, self._there = self._there or there, there
        return before != there or any(
            uevent.diskseq(self._host, name) not in ("", device.diskseq)
            for name, device in known.items()
            if device.diskseq
        )

    def _ask_what_is_done(self) -> None:
        self._arrays = activity.arrays(self.topology)
        self._at_work = activity.of_arrays(self._host, self._arrays)
        self._seldom = activity.of_volumes(self._host, self.topology)

    def _moved(self, time: float) -> bool:
        """Whether something is at other work than it was."""
        if activity.of_arrays(self._host, self._arrays) != self._at_work:
            return True
        if self._asked is None or time - self._asked >= SELDOM:
            self._asked = time
            return activity.of_volumes(self._host, self.topology) != self._seldom
        return False


def between(earlier: Moment, later: Moment) -> Interval:
    """Return the interval of two moments, of the devices that are known to be the same at both."""
    interval = diskstats.between(earlier.sample, later.sample)
    gone = dict(_dropped(earlier, later, interval.loads))
    loads = interval.loads
    if gone:
        loads = {n: load for n, load in loads.items() if n not in gone}
    said = [*interval.events, *gone.values()]
    if later.told:
        sampled = frozenset(diskstats.names(later.sample))
        said += unseen(later.told, later.topology, sampled, said)
    titled = (_titled(event, earlier, later) for event in said)
    return replace(interval, loads=loads, events=tuple(dict.fromkeys((*titled, *later.events))))


def of_the_same(topology: Topology, reports: Iterable[Report]) -> Iterator[Interval]:
    """Yield the intervals of *reports* with the figures of those devices that *topology* knows, and no others."""
    last, others = topology, frozenset[str]()
    for current, interval in reports:
        if current is not last:
            now = identities(topology, current)
            others = frozenset(n for n, same in now.items() if same is None and n in topology)
            last = current
        lost = sorted(others & interval.loads.keys())
        if not lost:
            yield interval
            continue
        loads = {n: load for n, load in interval.loads.items() if n not in others}
        said = dict.fromkeys((*interval.events, *map(_replaced, lost)))
        yield replace(interval, loads=loads, events=tuple(said))


def _dropped(earlier: Moment, later: Moment, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the names that are not known to be borne by one device, and what to say of each."""
    if earlier.bearers is later.bearers:
        return
    for name in names:
        was, now = earlier.bearers.get(name, ""), later.bearers.get(name, "")
        if was is None or was != now:
            new = name not in earlier.topology.devices
            yield name, f"{name} is new: no figures for it yet" if new else _replaced(name)


def _titled(event: str, earlier: Moment, later: Moment) -> str:
    """Return an event of the counters with the name that people use."""
    name, _, rest = event.partition(" ")
    for topology in (later.topology, earlier.topology):
        if rest and name in topology and topology[name].label:
            return f"{name} ({topology[name].label}) {rest}"
    return event


def _replaced(name: str) -> str:
    return f"{name}: replaced by another device of that name; no figures for it"
