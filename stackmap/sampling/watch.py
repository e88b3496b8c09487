"""
A topology kept true while it is watched: samples, and who bore each name then.

What bore a name *at* a sample is known from the look before it and the look
after it, and from what the kernel told in between.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.sampling.changes import Identities, events, identities
from stackmap.sampling.snapshots import Moment, between
from stackmap.sources import activity, diskstats, uevent
from stackmap.sources.uevent import ANYTHING, NOTHING, Told

if TYPE_CHECKING:
    from stackmap.host import Answer, Host
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import Report
    from stackmap.sources.diskstats import Sample

SELDOM = 30.0  # seconds between questions that take a command
PATIENCE = 0.5  # seconds that a sample waits for a topology that is being read


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
        self._asked: float | None = None  # what takes a command; None: with the last look
        self._coming: Answer[Look | None] | None = None
        self._told = NOTHING  # before what is coming was asked for
        self._late = NOTHING  # since
        self._sampled: frozenset[str] = frozenset()  # since
        self._last: Sample | None = None
        self._take(_looked(host, topology))

    @property
    def is_behind(self) -> bool:
        """Whether devices changed, and what they are now is still being read."""
        return self._coming is not None and bool(self._told or self._late)

    def moments(
        self, interval: float, count: int | None, *, linger: float = 0.0
    ) -> Iterator[Moment]:
        """
        Yield *count* samples, *interval* seconds apart.

        *linger*: how long the last one waits for the topology, if that is being read.
        """
        usual = min(PATIENCE, interval / 2)
        for number, time in enumerate(self._host.ticks(interval, count), 1):
            yield self.moment(time, max(usual, linger) if number == count else usual)

    def reports(
        self, interval: float, count: int | None, only: Container[str] | None = None
    ) -> Iterator[Report]:
        """Yield *count* intervals, each with the topology at its begin; *only* of the devices wanted."""
        taken = self.moments(interval, None if count is None else count + 1)
        for earlier, later in pairwise(taken):
            yield earlier.topology, between(earlier, later, only)

    def moment(self, time: float, patience: float = 0.0) -> Moment:
        """Take a sample at *time*, and wait *patience* seconds for what is being read."""
        sample = diskstats.read(self._host, time)
        last, self._last = self._last, sample
        self._ask(self._hear(), time)
        look = self._answer(patience)
        if look is not None:
            return self._arrived(sample, look)
        if self._told or self._late:
            return self._meanwhile(last, sample)
        return Moment(sample, self.topology, self._bearers)

    def _ask(self, told: Told, time: float) -> None:
        """Begin to look, or to ask what takes a command, where it is time to; only one at once."""
        if self._coming is not None:
            self._late += told
        elif told or self._told or self._settling or self._moved():
            self._begin(told)
        elif self._asked is None:
            self._asked = time
        elif time - self._asked >= SELDOM:
            self._asked = time
            self._coming = self._host.aside(self._look_if_other)

    def _answer(self, patience: float) -> Look | None:
        """Return the look that was asked for, if it is there."""
        if self._coming is None or not self._coming.ready(patience):
            return None
        coming, self._coming = self._coming, None
        look = coming.result()
        if look is None and self._late:
            # At once: a replay takes the answers to be there where nothing is asked for.
            late, self._late = self._late, NOTHING
            self._begin(late)
            return self._answer(patience)
        return look

    def _begin(self, told: Told) -> None:
        self._told += told
        self._coming = self._host.aside(self._look)

    def _look(self, host: Host) -> Look:
        return _looked(host, self._again(host))

    def _look_if_other(self, host: Host) -> Look | None:
        """Look, if a volume is at other work than it was, or another file system is mounted."""
        same = activity.of_volumes(host, self.topology) == self._now.seldom
        return None if same else self._look(host)

    def _meanwhile(self, last: Sample | None, sample: Sample) -> Moment:
        """Return the moment of a sample of which it is not known yet who those are that were told of."""
        if last is not None:
            self._sampled |= {*diskstats.names(last), *diskstats.names(sample)}
        told = self._told + self._late
        if told.unknown:
            return Moment(sample, self.topology, None, since=told)
        bearers = {**self._bearers, **dict.fromkeys(told.touched)}
        return Moment(sample, self.topology, bearers, since=told)

    def _arrived(self, sample: Sample, look: Look) -> Moment:
        """Return the moment at which *look* is there, and what it found."""
        before, told, late = self.topology, self._told + self._late, self._late
        sampled, self._sampled = self._sampled, frozenset()
        # udev is told when we are: a name may only come a moment later.
        self._settling = bool(told)
        self._told, self._late = late, NOTHING
        self._take(look)
        bearers: Identities | None = None
        if not late.unknown:
            bearers = {**identities(before, self.topology, told), **dict.fromkeys(late.touched)}
        happened = tuple(events(before, self.topology, told))
        return Moment(sample, self.topology, bearers, happened, told.without(sampled), late)

    def _take(self, look: Look) -> None:
        self.topology, self._now = look.topology, look
        self._bearers = identities(self.topology, self.topology)
        self._asked = None

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

    def _moved(self) -> bool:
        """Whether an array is at other work than it was."""
        return activity.of_arrays(self._host, self._now.attributes) != self._now.at_work


def _looked(host: Host, topology: Topology) -> Look:
    attributes = activity.arrays(topology)
    at_work = activity.of_arrays(host, attributes)
    return Look(topology, attributes, at_work, activity.of_volumes(host, topology))
