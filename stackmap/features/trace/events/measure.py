"""The requests of some devices, one by one as they happen, with the requests that each causes below."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING

from stackmap.errors import SourceError
from stackmap.features.trace import cost as trace_cost
from stackmap.features.trace.events.event_stream import EventStream
from stackmap.features.trace.events.follow import Follower
from stackmap.features.trace.events.totals import Totals
from stackmap.features.trace.instance import Tracing
from stackmap.features.trace.overhead import Overhead
from stackmap.host.signals import after
from stackmap.model.device import Kind

if TYPE_CHECKING:
    from stackmap.features.trace.events.request import Request
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.model.block_event import BlockEvent
    from stackmap.model.topology import Topology

GRACE = 2.0  # seconds beyond the time limit
TICK = 0.25  # seconds between readings: a buffer of 4 MiB holds 40,000 events
SHOWN_EVERY = 4  # ticks
EVENT = 1e-6  # seconds that the kernel takes for an event, where it cannot be measured


class RequestTrace:
    """
    A trace of the requests of the devices *chosen*, of all volumes if empty.

    *follow*: trace the devices below too; without *chosen*, list all requests without a cause above, metadata too.
    ``totals``: the requests that disks were sent so far. ``events``: how many events were read.
    ``start``: when the first event was, on the trace clock; 0 before it.
    ``lost``: how many events the kernel had no room for, known at the end.
    ``stopped``: why the trace ended early, "" if it ran to its end.
    ``overhead``: the CPU time that it took so far. ``cost``: the CPU time per event, in seconds.
    """

    def __init__(
        self, host: LiveTracingHost, topology: Topology, chosen: Collection[str], *, follow: bool
    ) -> None:
        self._host = host
        self._topology = topology
        names = chosen or [device.name for device in topology.tops]
        self._follower = Follower(topology, () if follow and not chosen else names)
        self._watched = watched(topology, names, follow=follow)
        self.totals = Totals()
        self.lost = 0
        self.events = 0
        self.start = 0.0
        self._is_over = False
        self.stopped = ""
        self.overhead = Overhead(host)
        self.cost = EVENT

    def requests(self, seconds: float, max_overhead: float) -> Generator[list[Request]]:
        """
        Trace for *seconds*; yield requests as they complete, and at the end those that did not.

        The trace ends early above the share *max_overhead* of all CPU time. A slow consumer does not make it longer.
        """
        with Tracing(self._host) as tracing:
            with suppress(SourceError):  # a kernel without kprobes has block events all the same
                self.cost = trace_cost.of_event(self._host, tracing)
            numbers = [self._topology[name].number for name in self._watched]
            stream = EventStream(self._host, numbers)
            stream.start()
            with after(seconds + GRACE, lambda: self._end(tracing)):
                yield from self._read(stream, seconds, max_overhead)
            rest = self._joined(stream.stop())
            self.lost = stream.lost()
        yield rest + self._follower.rest()

    def _read(
        self, stream: EventStream, seconds: float, max_overhead: float
    ) -> Generator[list[Request]]:
        ready: list[Request] = []
        ticks = self._host.ticks(TICK, ceil(seconds / TICK) + 1)
        next(ticks)
        self.overhead = Overhead(self._host)
        before = self._host.cpu_seconds()
        for place, _ in enumerate(ticks):
            ready += self._joined(stream.read())
            taken = self._host.cpu_seconds() - before + self.events * self.cost
            self.stopped = self.overhead.look(taken, max_overhead)
            if self.stopped or self._is_over:
                break
            if place % SHOWN_EVERY == SHOWN_EVERY - 1:
                yield ready
                ready = []
        yield ready

    def _end(self, tracing: Tracing) -> None:
        self._is_over = True
        tracing.clear()

    def _joined(self, events: list[BlockEvent]) -> list[Request]:
        if events and not self.events:
            self.start = events[0].time
        self.events += len(events)
        ready = self._follower.feed(events)
        self.totals.add(self._follower.dispatched())
        return ready


def watched(topology: Topology, names: Collection[str], *, follow: bool) -> list[str]:
    """Return the devices whose events are needed: a partition's are reported as its disk's."""
    found = dict.fromkeys(names)
    for name in names:
        if follow:
            found |= dict.fromkeys(topology.with_all_below(name))
        elif topology[name].kind is Kind.PARTITION:
            found |= dict.fromkeys(edge.below for edge in topology.below(name))
    return list(found)
