"""Figures of a machine: this one, or one that was captured, also in intervals of several samples."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from stackmap.commands import additions
from stackmap.discover import discover
from stackmap.errors import SourceError
from stackmap.host.budget import BUSY_LINES, LOAD_LINES
from stackmap.ledger.averages import average
from stackmap.measurement.capture_part import WHOLE, CapturePart, Resolution
from stackmap.measurement.source import SECONDS, IntervalSelection, Source
from stackmap.model.load import is_shared_idle
from stackmap.sampling.snapshots import (
    Snapshot,
    TopologyInterval,
    downsample,
    interval_between,
    stretches,
)
from stackmap.sampling.watch import Rediscover, Update, Watch
from stackmap.sources import uevent

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.host.capture import CapturedHost
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

# Passes intervals on, given how many were asked for; None: no end.
Filter = Callable[[Iterator["TopologyInterval"], int | None], Iterator["TopologyInterval"]]


def listen(host: Host) -> None:
    """Begin to receive uevents, before the topology is read whose changes they announce."""
    with contextlib.suppress(SourceError):  # then the kernel's count of events is compared
        uevent.read(host)


class LiveSource(Source):
    """
    The machine that stackmap runs on.

    *events*: receive uevents, which one short interval is not worth.
    *geometry*: also read every device's queue settings.
    *until_end* passes the intervals on, and may end them early.
    """

    live = True

    def __init__(
        self,
        host: Host,
        *,
        events: bool = True,
        geometry: bool = False,
        until_end: Filter = lambda reports, _: reports,
    ) -> None:
        super().__init__("this machine", host)
        self._discover: Rediscover = partial(discover, geometry=geometry)
        self._update: Update | None = None
        if events:
            from stackmap.discover.rediscovery import Rediscovery  # not for one short interval

            again = Rediscovery(geometry=geometry)
            self._discover, self._update = again.whole, again.update
        self._events = events
        self.note = ""
        self._until_end = until_end

    def _read_topology(self) -> Topology:
        if self._events:
            listen(self.host)
        return self._discover(self.host)

    def _measured(self, selection: IntervalSelection, which: str) -> Iterator[TopologyInterval]:  # noqa: ARG002 - all are measured
        watch = Watch(
            self.host, self.topology(), self._discover, update=self._update, listen=self._events
        )
        seconds, count = selection.seconds, selection.count
        if seconds is None:
            seconds, count = SECONDS, 1
        return self._until_end(watch.intervals(seconds, count, selection.devices), count)


def _discover_captured(host: Host, *, geometry: bool) -> Topology:
    """Return the topology, with the facts about it that features kept in the capture."""
    topology = discover(host, geometry=geometry)
    for complete in additions("topology"):
        topology = complete(host, topology)
    return topology


class CaptureSource(Source):
    """
    A captured machine, or a *part* of its samples.

    *resolution*: how many intervals a long recording has, unless *part* has its own step.
    ``note``: what that is, "" where each sample is used.
    """

    rereadable = True

    def __init__(
        self,
        host: CapturedHost,
        part: CapturePart = WHOLE,
        *,
        resolution: Resolution | None = None,
        geometry: bool = False,
    ) -> None:
        super().__init__(host.path, host)
        self._capture = host
        self._discover = host.remembered(partial(_discover_captured, geometry=geometry))
        self.note = part.show(host, resolution)

    def _read_topology(self) -> Topology:
        return self._discover(self.host)

    def _measured(self, selection: IntervalSelection, which: str) -> Iterator[TopologyInterval]:
        """Yield all intervals; for an average, as few as have the same average; for the last one, only that one."""
        topology = self.topology()
        if selection.count is None and which == "average":
            return self.ends()
        if selection.count is None and which == "last" and self._capture.select_last_interval():
            topology = self._discover(self.host)
        watch = Watch(self.host, topology, self._discover, replayed=self._capture.version)
        if self._capture.window.every is None:
            return watch.intervals(SECONDS, selection.count, selection.devices)
        between = coarse_intervals(self._steps(watch), selection.devices, self._charge)
        coarse = islice(between, selection.count)
        notes = (self.note,) if self.note else ()
        return ((current, replace(interval, notes=notes)) for current, interval in coarse)

    def ends(self) -> Iterator[TopologyInterval]:
        """Yield as few intervals, with all devices, as have the average of all intervals."""
        watch = Watch(self.host, self.topology(), self._discover, replayed=self._capture.version)
        for current, interval in downsample(self._steps(watch)):
            self._charge(interval)
            yield current, interval

    def _charge(self, interval: Interval) -> None:
        """Charge the figures of one of many short intervals."""
        loads = interval.loads.values()
        busy = sum(not is_shared_idle(load) for load in loads)
        self._capture.charge(LOAD_LINES * len(loads) + BUSY_LINES * busy)

    def _steps(self, watch: Watch) -> Iterator[tuple[Snapshot, int]]:
        return ((watch.snapshot(time), passed) for time, passed in self._capture.steps())


def coarse_intervals(
    snapshots: Iterable[tuple[Snapshot, int]],
    devices: Container[str] | None = None,
    charge: Callable[[Interval], None] = lambda _: None,
) -> Iterator[TopologyInterval]:
    """
    Yield the intervals from one snapshot to the next; those that come with 0 are only examined.

    A device that was replaced or whose counters went back in between has no figures. *devices*: only these;
    None: all. *charge* takes each part of an interval.
    """
    topology: Topology | None = None
    parts: list[Interval] = []
    for begin, end, count in stretches(snapshots, devices, steps=True):
        topology = topology or begin.topology
        parts.append(interval_between(begin, end, devices))
        if count:
            yield topology, _joined(parts)
            topology, parts = None, []
        else:
            charge(parts[-1])


def _joined(parts: list[Interval]) -> Interval:
    """Return consecutive intervals as one, with figures of the devices that all have."""
    if len(parts) == 1:
        return parts[0]
    (whole,) = average(parts)
    return replace(whole, stamp="", count=1)
