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
from stackmap.sampling.changes import Identities, identities, topology_events
from stackmap.sampling.snapshots import Snapshot, interval_between
from stackmap.sources import diskstats, polled_state, uevent
from stackmap.sources.uevent import ANYTHING_CHANGED, NO_CHANGES, UeventDelta

if TYPE_CHECKING:
    from stackmap.host import Answer, Host
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval
    from stackmap.sources.diskstats import Sample

COMMAND_INTERVAL = 30.0  # seconds between questions that take a command
SURVEY_WAIT = 0.5  # seconds that a sample waits for a topology that is being read


Rediscover = Callable[["Host"], "Topology"]


@dataclass(frozen=True, slots=True)
class Survey:
    """A topology, and what was done then: ``at_work`` by the ``attributes`` of arrays, ``seldom`` by a command."""

    topology: Topology
    md_attributes: tuple[str, ...]
    md_state: tuple[str, ...]
    volume_state: tuple[str, ...]


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
        self, host: Host, topology: Topology, rediscover: Rediscover, *, listen: bool = True
    ) -> None:
        self._host = host
        self._rediscover = rediscover
        self._listening = listen
        self._received_any = False
        self._event_count: str | None = None  # so that the first look is at every device
        self._device_names: frozenset[str] = frozenset()
        self._settling = False
        self._commands_run_at: float | None = None  # what takes a command; None: with the last look
        self._pending: Answer[Survey | None] | None = None
        self._changes = NO_CHANGES  # before what is coming was asked for
        self._later_changes = NO_CHANGES  # since
        self._sampled: frozenset[str] = frozenset()  # since
        self._last_sample: Sample | None = None
        self._adopt(_surveyed(host, topology))

    @property
    def is_behind(self) -> bool:
        """Whether devices changed, and what they are now is still being read."""
        return self._pending is not None and bool(self._changes or self._later_changes)

    def snapshots(
        self, interval: float, count: int | None, *, linger: float = 0.0
    ) -> Iterator[Snapshot]:
        """
        Yield *count* samples, *interval* seconds apart.

        *linger*: how long the last one waits for the topology, if that is being read.
        """
        usual = min(SURVEY_WAIT, interval / 2)
        for number, time in enumerate(self._host.ticks(interval, count), 1):
            yield self.snapshot(time, max(usual, linger) if number == count else usual)

    def intervals(
        self, interval: float, count: int | None, devices: Container[str] | None = None
    ) -> Iterator[TopologyInterval]:
        """Yield *count* intervals, each with the topology at its begin; *only* of the devices wanted."""
        taken = self.snapshots(interval, None if count is None else count + 1)
        for earlier, later in pairwise(taken):
            yield earlier.topology, interval_between(earlier, later, devices)

    def snapshot(self, time: float, patience: float = 0.0) -> Snapshot:
        """Take a sample at *time*, and wait *patience* seconds for what is being read."""
        sample = diskstats.read(self._host, time)
        last, self._last_sample = self._last_sample, sample
        self._start_survey_if_due(self._read_uevents(), time)
        look = self._finished_survey(patience)
        if look is not None:
            return self._snapshot_with_survey(sample, look)
        if self._changes or self._later_changes:
            return self._snapshot_before_survey(last, sample)
        return Snapshot(sample, self.topology, self._identities)

    def _start_survey_if_due(self, told: UeventDelta, time: float) -> None:
        """Begin to look, or to ask what takes a command, where it is time to; only one at once."""
        if self._pending is not None:
            self._later_changes += told
        elif told or self._changes or self._settling or self._md_state_changed():
            self._start_survey(told)
        elif self._commands_run_at is None:
            self._commands_run_at = time
        elif time - self._commands_run_at >= COMMAND_INTERVAL:
            self._commands_run_at = time
            self._pending = self._host.in_background(self._survey_if_volumes_changed)

    def _finished_survey(self, patience: float) -> Survey | None:
        """Return the look that was asked for, if it is there."""
        if self._pending is None or not self._pending.ready(patience):
            return None
        coming, self._pending = self._pending, None
        look = coming.result()
        if look is None and self._later_changes:
            # At once: a replay takes the answers to be there where nothing is asked for.
            late, self._later_changes = self._later_changes, NO_CHANGES
            self._start_survey(late)
            return self._finished_survey(patience)
        return look

    def _start_survey(self, told: UeventDelta) -> None:
        self._changes += told
        self._pending = self._host.in_background(self._survey)

    def _survey(self, host: Host) -> Survey:
        return _surveyed(host, self._rediscover(host))

    def _survey_if_volumes_changed(self, host: Host) -> Survey | None:
        """Look, if a volume is at other work than it was, or another file system is mounted."""
        same = polled_state.volume_state(host, self.topology) == self._current.volume_state
        return None if same else self._survey(host)

    def _snapshot_before_survey(self, last: Sample | None, sample: Sample) -> Snapshot:
        """Return the moment of a sample of which it is not known yet who those are that were told of."""
        if last is not None:
            self._sampled |= {*diskstats.names(last), *diskstats.names(sample)}
        told = self._changes + self._later_changes
        if told.unknown:
            return Snapshot(sample, self.topology, None, later_changes=told)
        bearers = {**self._identities, **dict.fromkeys(told.touched)}
        return Snapshot(sample, self.topology, bearers, later_changes=told)

    def _snapshot_with_survey(self, sample: Sample, look: Survey) -> Snapshot:
        """Return the moment at which *look* is there, and what it found."""
        before, told, late = self.topology, self._changes + self._later_changes, self._later_changes
        sampled, self._sampled = self._sampled, frozenset()
        # udev is told when we are: a name may only come a moment later.
        self._settling = bool(told)
        self._changes, self._later_changes = late, NO_CHANGES
        self._adopt(look)
        bearers: Identities | None = None
        if not late.unknown:
            bearers = {**identities(before, self.topology, told), **dict.fromkeys(late.touched)}
        happened = tuple(topology_events(before, self.topology, told))
        return Snapshot(sample, self.topology, bearers, happened, told.without(sampled), late)

    def _adopt(self, look: Survey) -> None:
        self.topology, self._current = look.topology, look
        self._identities = identities(self.topology, self.topology)
        self._commands_run_at = None

    def _read_uevents(self) -> UeventDelta:
        if self._listening:
            try:
                told = uevent.read(self._host)
            except SourceError:
                self._listening = False
            else:
                self._received_any |= bool(told.touched or told.other)
                if told or self._received_any:
                    return told
        # Some containers hear nothing, so the count is looked at as well.
        return self._changes_by_count()

    def _changes_by_count(self) -> UeventDelta:
        now, before = uevent.count(self._host), self._event_count
        if now and now == before:
            return NO_CHANGES
        self._event_count = now
        # Most of what a listener did not hear was of no block device; who heard nothing cannot tell.
        counted = now and before is not None and not self._listening
        return ANYTHING_CHANGED if counted or self._devices_differ() else NO_CHANGES

    def _devices_differ(self) -> bool:
        """Whether other devices are there than at the last look, by their names and their diskseq."""
        known, there = self.topology.devices, uevent.names(self._host)
        before, self._device_names = self._device_names or there, there
        return before != there or any(
            uevent.diskseq(self._host, name) not in ("", device.diskseq)
            for name, device in known.items()
            if device.diskseq
        )

    def _md_state_changed(self) -> bool:
        """Whether an array is at other work than it was."""
        return (
            polled_state.md_state(self._host, self._current.md_attributes) != self._current.md_state
        )


def _surveyed(host: Host, topology: Topology) -> Survey:
    attributes = polled_state.md_attributes(topology)
    at_work = polled_state.md_state(host, attributes)
    return Survey(topology, attributes, at_work, polled_state.volume_state(host, topology))
