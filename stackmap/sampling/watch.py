"""
Snapshots of a machine whose topology is kept up to date: surveys, and readings of its status.

The device behind a name *at* a sample is known from the survey before it, the
survey after it, and the uevents in between.
"""

from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from stackmap.errors import NO_ANSWER, SourceError
from stackmap.host import Answer, Host
from stackmap.model.device import StatusReading
from stackmap.model.topology import Topology
from stackmap.sampling.snapshots import (
    Identities,
    Snapshot,
    TopologyInterval,
    error_events,
    identities,
    interval_between,
    topology_events,
)
from stackmap.sources import diskstats, uevent
from stackmap.sources.diskstats import Sample
from stackmap.sources.polled_state import Polled, PolledDevices, polled_devices
from stackmap.sources.uevent import ANYTHING_CHANGED, NO_CHANGES, UeventDelta

SURVEY_WAIT = 0.5  # seconds that a sample waits for a survey in progress

COALESCED = 0.1  # seconds: of the events within them, one survey

WHOLE_AFTER = 60.0  # seconds after which a survey reads everything again

Rediscover = Callable[[Host], Topology]
# Discovers again, given the names of the devices that had uevents since everything was read.
Update = Callable[[Host, frozenset[str]], Topology]

COMMAND_INTERVAL = 30.0  # seconds between questions that run a command
READING_INTERVAL = 10.0  # the same where the answers have figures


class Watch:
    """
    Takes snapshots; runs *rediscover* after a block device's uevent or a change of md's state.

    Rediscovery runs in the background because it may take longer than an interval:
    until it ends, snapshots have the previous topology. To miss no event, call
    ``uevent.read`` before reading *topology*. *update*: see ``Surveys``. *listen*: False if one interval is
    too short for it. Without listening, the kernel's count of events is compared.
    *replayed*: poll at every sample of a recording. It gives a number, which stays the same while no answer changed but
    counters and events; None if that is unknown.
    """

    def __init__(
        self,
        host: Host,
        topology: Topology,
        rediscover: Rediscover,
        *,
        update: Update | None = None,
        listen: bool = True,
        replayed: Callable[[], int | None] | None = None,
    ) -> None:
        self._host = host
        self._surveys = Surveys(rediscover, update)
        self._listening = listen
        self._readings = Readings(replayed=replayed is not None)
        self._received_any = False
        self._event_count: str | None = None  # None: the first survey compares every device
        self._device_names: frozenset[str] = frozenset()
        self._replayed = replayed
        self._version: int | None = None  # of the answers that were compared with the survey
        self._is_steady = False  # whether they are the same at this sample
        self._polled: tuple[int, Survey, Polled] | None = None  # the newest, and of what
        self._settling = self._is_incomplete(
            topology
        )  # then the first survey is at the first sample
        self._commands_run_at: float | None = None  # None: with the last survey
        self._pending: Answer[Polled | Survey] | None = None
        self._asked_at = 0.0  # the time of the sample at which the pending question was asked
        self._changes = NO_CHANGES  # uevents before the pending survey began
        self._later_changes = NO_CHANGES  # uevents since it began
        self._sampled: frozenset[str] = frozenset()  # devices sampled since it began
        self._last_sample: Sample | None = None
        self._identities: Identities = {}
        self._errors: tuple[str, ...] = ()  # counted since the last snapshot
        self._adopt(surveyed(host, topology))

    @property
    def is_behind(self) -> bool:
        """Whether devices changed and the new topology has not been read."""
        return bool(self._changes or self._later_changes)

    def snapshots(
        self, interval: float, count: int | None, *, linger: float = 0.0
    ) -> Iterator[Snapshot]:
        """
        Yield *count* snapshots, *interval* seconds apart.

        *linger*: seconds that the last one waits for a survey in progress.
        """
        usual = min(SURVEY_WAIT, interval / 2)
        for number, time in enumerate(self._host.ticks(interval, count), 1):
            last = number == count
            yield self.snapshot(time, max(usual, linger) if last else usual, last=last)

    def intervals(
        self, interval: float, count: int | None, devices: Container[str] | None = None
    ) -> Iterator[TopologyInterval]:
        """Yield *count* intervals, each with the topology at its begin; *devices*: only these."""
        taken = self.snapshots(interval, None if count is None else count + 1)
        for earlier, later in pairwise(taken):
            yield earlier.topology, interval_between(earlier, later, devices)

    def snapshot(self, time: float, patience: float = 0.0, *, last: bool = False) -> Snapshot:
        """
        Take a snapshot at *time*; wait up to *patience* seconds for a survey in progress.

        *last*: it is known to be the last one, and has a new reading.
        """
        before = self._last_sample
        self._last_sample = sample = diskstats.read(self._host, time, before)
        version = self._replayed() if self._replayed else None
        self._is_steady = version is not None and version == self._version
        self._version = version
        self._start_survey_if_due(self._read_uevents(), time, last=last)
        survey = self._finished_survey(patience)
        if survey is not None:
            snapshot = self._snapshot_with_survey(sample, survey)
        elif self._changes or self._later_changes:
            snapshot = self._snapshot_before_survey(before, sample)
        else:
            snapshot = Snapshot(sample, self.topology, self._identities)
        reading, errors, self._errors = self._readings.newest, self._errors, ()
        if reading is None:
            return snapshot
        return snapshot._replace(reading=reading, events=(*snapshot.events, *errors))

    def _start_survey_if_due(self, changes: UeventDelta, time: float, *, last: bool) -> None:
        """Start a survey, or the questions that run a command, if due; one at a time."""
        if self._pending is not None:
            self._later_changes += changes
        elif changes or self._changes or self._settling or self._state_changed():
            self._changes += changes
            if last or time - self._asked_at >= COALESCED:
                self._asked_at = time
                self._start_survey()
        elif self._commands_run_at is None:
            self._commands_run_at = time
            if self._readings.newest is None:
                self._take_reading(self._current.polled, time)
        elif self._readings.are_due(self._current.to_poll, time - self._commands_run_at, last=last):
            self._commands_run_at = self._asked_at = time
            self._pending = self._host.in_background(partial(self._poll, time=time))

    def _finished_survey(self, patience: float) -> "Survey | None":
        """Return the pending survey if it has finished."""
        if self._pending is None or not self._pending.ready(patience):
            return None
        pending, self._pending = self._pending, None
        result = pending.result()
        if isinstance(result, Survey):
            return result
        self._take_reading(result, self._asked_at)
        if self._later_changes:
            # At once: a replay takes the answers as arrived if nothing is pending.
            self._changes += self._later_changes
            self._later_changes = NO_CHANGES
            self._start_survey()
            return self._finished_survey(patience)
        return None

    def _take_reading(self, polled: Polled, time: float) -> None:
        before = self._readings.newest
        self._readings.take(self._current.to_poll, polled, time)
        self._errors += error_events(before, self._readings.newest, self.topology)

    def _start_survey(self) -> None:
        self._version = None
        take = partial(self._surveys.take, time=self._asked_at, changes=self._changes)
        self._pending = self._host.in_background(take)

    def _poll(self, host: Host, time: float) -> "Polled | Survey":
        """Poll; survey instead if a RAID LV changed its activity or a mount changed."""
        to_poll, before = self._current.to_poll, self._current.polled
        now = self._poll_answers(host)
        same = now == before or to_poll.volume_state(now) == to_poll.volume_state(before)
        same = same and not self._is_incomplete(self.topology)
        return now if same else self._surveys.take(host, time)

    def _poll_answers(self, host: Host) -> Polled:
        """Poll; of a recording whose answers did not change, return what was polled before."""
        version = self._replayed() if self._replayed else None
        if version is None:
            return self._current.to_poll.poll(host)
        current = self._current
        if self._polled is None or self._polled[0] != version or self._polled[1] is not current:
            now = current.to_poll.poll(host)
            self._polled = version, current, current.polled if now == current.polled else now
        return self._polled[2]

    def _snapshot_before_survey(self, last: Sample | None, sample: Sample) -> Snapshot:
        """Return the snapshot while the identities of changed devices are still unknown."""
        if last is not None:
            self._sampled |= {*last.names, *sample.names}
        changes = self._changes + self._later_changes
        if changes.unknown:
            return Snapshot(sample, self.topology, None, later_changes=changes)
        by_name = self._with_unknown(self._identities, changes)
        return Snapshot(sample, self.topology, by_name, later_changes=changes)

    def _snapshot_with_survey(self, sample: Sample, survey: "Survey") -> Snapshot:
        """Return the snapshot at which *survey* has finished, with the events it found."""
        before, later_changes = self.topology, self._later_changes
        changes = self._changes + later_changes
        sampled, self._sampled = self._sampled, frozenset()
        # udev gets the event when we do: a name may appear a moment later.
        self._settling = bool(changes)
        self._changes, self._later_changes = later_changes, NO_CHANGES
        self._adopt(survey)
        self._take_reading(survey.polled, self._asked_at)
        by_name: Identities | None = None
        if not later_changes.unknown:
            at_sample = identities(before, self.topology, changes)
            by_name = self._with_unknown(at_sample, later_changes)
        events = tuple(topology_events(before, self.topology, changes))
        return Snapshot(
            sample, self.topology, by_name, events, changes.without(sampled), later_changes
        )

    def _adopt(self, survey: "Survey") -> None:
        self.topology, self._current = survey.topology, survey
        self._identities = self._with_unknown(identities(self.topology, self.topology), NO_CHANGES)
        devices = self.topology.devices.values()
        self._diskseqs = [(device.name, device.diskseq) for device in devices if device.diskseq]
        self._commands_run_at = self._version = None

    def _with_unknown(self, by_name: Identities, changes: UeventDelta) -> Identities:
        """Return *by_name* without what *changes* may have replaced; the same object as before while no device came or went."""
        joined = {**by_name, **dict.fromkeys(changes.touched)}
        return self._identities if joined == self._identities else joined

    def _read_uevents(self) -> UeventDelta:
        if self._listening:
            try:
                changes = uevent.read(self._host)
            except SourceError:
                self._listening = False
            else:
                self._received_any |= bool(changes.names)
                if changes or self._received_any:
                    return changes
        # Some containers receive no events, so the count is compared as well.
        if self._is_steady:
            return NO_CHANGES
        now, before = uevent.count(self._host), self._event_count
        if now and now == before:
            return NO_CHANGES
        self._event_count = now
        # Events that a listener did not receive are mostly not of block devices. Without one, assume any.
        counted = now and before is not None and not self._listening
        return ANYTHING_CHANGED if counted or self._devices_differ() else NO_CHANGES

    def _devices_differ(self) -> bool:
        """Whether the names or diskseqs of devices differ from the last survey."""
        there = uevent.names(self._host)
        before, self._device_names = self._device_names or there, there
        return before != there or any(
            uevent.diskseq(self._host, name) not in ("", diskseq)
            for name, diskseq in self._diskseqs
        )

    def _is_incomplete(self, topology: Topology) -> bool:
        """Whether a tool did not answer in time for *topology*, and may do so now."""
        return not self._replayed and any(NO_ANSWER in reason for reason in topology.unknown)

    def _state_changed(self) -> bool:
        return not self._is_steady and self._current.to_poll.state_changed(
            self._host, self._current.polled
        )


class Survey(NamedTuple):
    """A topology, its devices whose state is polled, and their state at that time."""

    topology: Topology
    to_poll: PolledDevices
    polled: Polled


def surveyed(host: Host, topology: Topology) -> Survey:
    """Return *topology* with the state to poll."""
    to_poll = polled_devices(host, topology)
    return Survey(topology, to_poll, to_poll.poll(host))


class Surveys:
    """
    Surveys by *rediscover*, or by *update* where uevents tell what changed since everything was read.

    What changes without a uevent is found at the first survey after ``WHOLE_AFTER``.
    """

    def __init__(self, rediscover: Rediscover, update: Update | None) -> None:
        self._rediscover, self._update = rediscover, update
        self._whole_at: float | None = None
        self._names: frozenset[str] = frozenset()

    def take(self, host: Host, time: float, changes: UeventDelta = NO_CHANGES) -> Survey:
        """Survey *host* at *time*; *changes*: the uevents since the previous survey."""
        if self._whole_at is None:
            self._whole_at = time
        late = time - self._whole_at >= WHOLE_AFTER
        if self._update is None or changes.unknown or late:
            self._whole_at, self._names = time, frozenset()
            return surveyed(host, self._rediscover(host))
        self._names |= changes.names
        return surveyed(host, self._update(host, self._names))


class Readings:
    """
    The newest reading of a machine; None before the first, or without such devices.

    *replayed*: ask at every sample, because a recording's answers cost nothing.
    """

    def __init__(self, *, replayed: bool) -> None:
        self.newest: StatusReading | None = None
        self._replayed = replayed
        self._source: tuple[PolledDevices, Polled] | None = None  # of the newest

    def are_due(self, devices: PolledDevices, since_last: float, *, last: bool) -> bool:
        """Whether to ask, *since_last* seconds after the last time; *last*: at the last sample."""
        if not devices.have_figures:
            return since_last >= COMMAND_INTERVAL
        return since_last >= READING_INTERVAL or last or self._replayed

    def take(self, devices: PolledDevices, polled: Polled, time: float) -> None:
        """Take what was *polled* at *time* as the newest reading."""
        if not devices.have_figures:
            return
        before, self._source = self._source, (devices, polled)
        if self.newest is None or before != self._source:
            self.newest = devices.reading(polled, time)
        elif not self._replayed or time - self.newest.time >= READING_INTERVAL:
            # A replay asks more often than the recording did: equal answers may be the same one.
            self.newest = self.newest._replace(time=time)
