"""
A topology kept true while it is watched, and the intervals of each time with the topology of that time.

A rate is of one device: at both ends of an interval the name must have been
borne by the same one. What bore it *at* a sample is known from the look
before it and the look after it, and from what the kernel told in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.model.interval import Interval
from stackmap.sampling.changes import Identities, events, identities, unseen
from stackmap.sources import activity, diskstats, uevent
from stackmap.sources.uevent import ANYTHING, NOTHING, Told

if TYPE_CHECKING:
    from stackmap.host import Answer, Host
    from stackmap.model.topology import Topology
    from stackmap.sources.diskstats import Sample

SELDOM = 30.0  # seconds between questions that take a command
PATIENCE = 0.5  # seconds that a sample waits for a topology that is being read
UNSURE = "devices came, went or changed; until it is known which, there are no figures"


@dataclass(frozen=True, slots=True)
class Moment:
    """
    A sample, the topology right after it, which device bore each name, what had happened and was told.

    ``bearers``: None while it is not known of any; ``topology`` is the one
    before as long as the next is being read.
    """

    sample: Sample
    topology: Topology
    bearers: Identities | None
    events: tuple[str, ...] = ()
    told: Told = NOTHING


Report = tuple["Topology", Interval]


Again = Callable[["Host"], "Topology"]


@dataclass(frozen=True, slots=True)
class Look:
    """A topology, and what was done then: ``at_work`` by the ``attributes`` of arrays, ``seldom`` by a command."""

    topology: Topology
    attributes: tuple[str, ...]
    at_work: tuple[str, ...]
    seldom: tuple[str, ...]


class Watch:
    """
    *topology*, read *again* whenever the kernel tells of a block device, or an array is at something else.

    It is read aside, for that may take longer than an interval: samples go on,
    and are of the topology before until the new one is there. To miss nothing,
    ``uevent.read`` was asked before *topology* was read. *listen*: False where
    one interval is too short to be worth it; then, and where nobody can
    listen, the kernel's count of events is looked at.
    """

    def __init__(
        self, host: Host, topology: Topology, again: Again, *, listen: bool = True
    ) -> None:
        self._host = host
        self._again = again
        self._listening = listen
        self._hears = False
        self._count: str | None = None  # so that the first look is at every device
        self._there: frozenset[str] = frozenset()
        self._settling = False
        self._patience = 0.0
        self._coming: Answer[Look] | None = None
        self._told = NOTHING  # before that look began, or what none has looked at yet
        self._late = NOTHING  # since
        self._sampled: frozenset[str] = frozenset()  # meanwhile
        self._last: Sample | None = None
        self._take(_with_work(host, topology))

    @property
    def is_looking(self) -> bool:
        """Whether the topology is being read again."""
        return self._coming is not None

    def moments(
        self, interval: float, count: int | None, *, linger: float = 0.0
    ) -> Iterator[Moment]:
        """
        Yield *count* samples, *interval* seconds apart.

        *linger*: how long the last one waits for the topology, if that is being read.
        """
        for number, time in enumerate(self._host.ticks(interval, count), 1):
            self._patience = min(PATIENCE, interval / 2) if number != count else linger
            yield self.moment(time)

    def reports(self, interval: float, count: int | None) -> Iterator[Report]:
        """Yield *count* intervals, each with the topology at its begin."""
        taken = self.moments(interval, None if count is None else count + 1)
        for earlier, later in pairwise(taken):
            yield earlier.topology, between(earlier, later)

    def moment(self, time: float) -> Moment:
        """Take a sample at *time*, and see whether anything changed."""
        sample = diskstats.read(self._host, time)
        told = self._hear()
        if self._coming is not None:
            self._late += told
        elif told or self._told or self._settling or self._moved(time):
            self._told += told
            self._coming = self._host.aside(self._look)
        else:
            self._last = sample
            return Moment(sample, self.topology, self._bearers)
        if self._coming.ready(self._patience):
            return self._arrived(sample, self._coming.result())
        return self._meanwhile(sample)

    def _look(self, host: Host) -> Look:
        return _with_work(host, self._again(host))

    def _meanwhile(self, sample: Sample) -> Moment:
        """Return the moment of a sample before the look that is under way: who was told of is not known."""
        if self._last is not None:
            self._sampled |= {*diskstats.names(self._last), *diskstats.names(sample)}
        self._last = sample
        told = self._told + self._late
        if told.unknown:
            return Moment(sample, self.topology, None)
        return Moment(sample, self.topology, {**self._bearers, **dict.fromkeys(told.touched)})

    def _arrived(self, sample: Sample, look: Look) -> Moment:
        """Return the moment at which *look* is there, and what it found."""
        before, told, late = self.topology, self._told + self._late, self._late
        sampled, self._sampled = self._sampled, frozenset()
        # udev is told when we are: a name may only come a moment later.
        self._settling = bool(told)
        self._coming, self._told, self._late, self._last = None, late, NOTHING, sample
        self._take(look)
        bearers: Identities | None = None
        if not late.unknown:
            bearers = {**identities(before, self.topology, told), **dict.fromkeys(late.touched)}
        happened = tuple(events(before, self.topology, told))
        return Moment(sample, self.topology, bearers, happened, told.without(sampled))

    def _take(self, look: Look) -> None:
        self.topology, self._now = look.topology, look
        self._bearers = identities(self.topology, self.topology)
        self._asked: float | None = None
        self._seldom: Answer[tuple[str, ...]] | None = None

    def _hear(self) -> Told:
        if self._listening:
            try:
                told = uevent.read(self._host)
            except SourceError:
                self._listening = False
            else:
                self._hears |= bool(told.touched or told.other)
                if told or self._hears:
                    return told
        # Some containers hear nothing, so the count is looked at as well.
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

    def _moved(self, time: float) -> bool:
        """Whether something is at other work than it was."""
        if activity.of_arrays(self._host, self._now.attributes) != self._now.at_work:
            return True
        if self._asked is None:  # it was with the look
            self._asked = time
        if self._seldom is None and time - self._asked >= SELDOM:
            self._asked = time
            self._seldom = self._host.aside(partial(activity.of_volumes, topology=self.topology))
        if self._seldom is None or not self._seldom.ready(self._patience):
            return False
        answer, self._seldom = self._seldom, None
        return answer.result() != self._now.seldom


def _with_work(host: Host, topology: Topology) -> Look:
    attributes = activity.arrays(topology)
    at_work = activity.of_arrays(host, attributes)
    return Look(topology, attributes, at_work, activity.of_volumes(host, topology))


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
    if earlier.bearers is None or later.bearers is None:
        yield from ((name, UNSURE) for name in names)
        return
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
