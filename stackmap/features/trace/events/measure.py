"""
The requests of some devices, one by one as they happen, with the requests that each causes below.

The instance's buffers are bounded: the kernel overwrites the oldest events that were not read in time,
and counts them in ``per_cpu/cpuN/stats``.
"""

import re
from collections.abc import Collection, Generator
from contextlib import suppress
from math import ceil

from stackmap.errors import SourceError
from stackmap.features.trace import cost
from stackmap.features.trace.cost import Overhead
from stackmap.features.trace.events.follow import Follower
from stackmap.features.trace.events.request import Request, Totals
from stackmap.features.trace.tracefs import EVENTS, INSTANCE, Tracing, filter_of
from stackmap.host.signals import after
from stackmap.host.tracing import LiveTracingHost
from stackmap.model.device import Kind
from stackmap.model.topology import Topology
from stackmap.sources import trace_text
from stackmap.sources.trace_text import BlockEvent, Step, device_of

SWITCH = f"{INSTANCE}/tracing_on"
CLOCK = "mono"  # one for all CPUs
BUFFERS = 32 * 1024  # KiB, of all CPUs together
MOST_PER_CPU, LEAST_PER_CPU = 4096, 256  # KiB
AT_ONCE = 8 * 1024 * 1024  # bytes of text per reading
LONGEST_FILTER = 3500  # bytes; the kernel takes one page
SETTLED = 0.05  # seconds; events of several CPUs are in order after that

_LOST = re.compile(r"^(?:overrun|dropped events): (\d+)$", re.MULTILINE)


class EventStream:
    """Events of the devices *numbers* ("253:8") from ``start`` to ``stop``."""

    def __init__(self, host: LiveTracingHost, numbers: Collection[str]) -> None:
        self._host = host
        self._filter = filter_of(map(device_of, numbers))
        self._cpus = [
            f"{INSTANCE}/per_cpu/{cpu}/stats" for cpu in host.names_in(f"{INSTANCE}/per_cpu")
        ]
        self._early: list[BlockEvent] = []

    def start(self) -> None:
        """Begin to record; ``SourceError`` where the kernel has no block events."""
        size = max(LEAST_PER_CPU, min(MOST_PER_CPU, BUFFERS // max(1, len(self._cpus))))
        # All events begin and end at one instant: each takes a while to enable.
        self._host.write(SWITCH, "0")
        self._host.write(f"{INSTANCE}/trace_clock", CLOCK)
        self._host.write(f"{INSTANCE}/buffer_size_kb", str(size))
        known = self._host.names_in(f"{EVENTS}/block")
        for event in (f"block_{step}" for step in Step if f"block_{step}" in known):
            # A longer filter would be refused: then the events of other devices are read too.
            if len(self._filter) < LONGEST_FILTER:
                self._host.write(f"{EVENTS}/block/{event}/filter", self._filter)
            self._host.write(f"{EVENTS}/block/{event}/enable", "1")
        self._host.write(SWITCH, "1")

    def read(self) -> list[BlockEvent]:
        """Return the events since the previous call by time; those of the last moment come with the next call."""
        early = len(self._early)
        drained = self._drained()
        if len(drained) == early:  # nothing new: no older one will come
            return drained
        last = drained[-1].time - SETTLED
        self._early = [event for event in drained if event.time > last]
        return [event for event in drained if event.time <= last]

    def stop(self) -> list[BlockEvent]:
        """Stop recording; return the rest."""
        self._host.write(SWITCH, "0")
        events: list[BlockEvent] = []
        while more := self._drained():
            events += more
        return sorted(events, key=lambda event: event.time)

    def lost(self) -> int:
        """Return how many events the kernel had no room for."""
        return sum(
            int(number) for path in self._cpus for number in _LOST.findall(self._host.read(path))
        )

    def _drained(self) -> list[BlockEvent]:
        text = self._host.drain(f"{INSTANCE}/trace_pipe", AT_ONCE)
        # Not splitlines(): the name of a process may contain a form feed.
        events = self._early + list(trace_text.parse_events(text.split("\n")))
        self._early = []
        return sorted(events, key=lambda event: event.time)


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
                self.cost = cost.of_event(self._host, tracing)
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
    needed = dict.fromkeys(names)
    for name in names:
        if follow:
            needed |= dict.fromkeys(topology.with_all_below(name))
        elif topology[name].kind is Kind.PARTITION:
            needed |= dict.fromkeys(edge.below for edge in topology.below(name))
    return list(needed)
