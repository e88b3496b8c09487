"""The requests of some devices, one by one, while they happen; with all that they cause below."""

from __future__ import annotations

from collections.abc import Collection, Generator
from math import ceil
from typing import TYPE_CHECKING

from stackmap.analysis.requests.follow import Follower
from stackmap.analysis.requests.totals import Totals
from stackmap.measurement.trace import online_cpus
from stackmap.model.device import Kind
from stackmap.sources.event_stream import EventStream
from stackmap.sources.tracefs import Tracing

if TYPE_CHECKING:
    from stackmap.analysis.requests.request import Request
    from stackmap.host.tracing import TracingHost
    from stackmap.model.block_event import BlockEvent
    from stackmap.model.topology import Topology

TICK = 0.25  # seconds between readings: a buffer of 4 MiB holds 40,000 events
SHOWN_EVERY = 4  # ticks
SETTLED = 1.0  # seconds; a shorter time is judged as if it were as long


class RequestTrace:
    """
    Requests of the devices *chosen*, of all volumes if empty.

    *follow*: also those below them; without *chosen*, all that no other request caused, metadata
    too. ``totals``: of what the disks were sent so far. ``lost``: events that the kernel had no room for; known when all was read.
    ``stopped``: why the trace ended early, "" if it did not.
    """

    def __init__(
        self, host: TracingHost, topology: Topology, chosen: Collection[str], *, follow: bool
    ) -> None:
        self._host = host
        self._topology = topology
        names = chosen or [device.name for device in topology.tops]
        self._follower = Follower(topology, () if follow and not chosen else names)
        self._watched = watched(topology, names, follow=follow)
        self.totals = Totals()
        self.lost = 0
        self.stopped = ""
        self._cpus = online_cpus(host)

    def requests(self, seconds: float, max_overhead: float) -> Generator[list[Request]]:
        """
        Trace for *seconds*; yield requests when they completed, at the end also those that did not.

        Ends early when this process takes more than the share *max_overhead* of all CPU time.
        """
        with Tracing(self._host):
            numbers = [self._topology[name].number for name in self._watched]
            stream = EventStream(self._host, numbers)
            stream.start()
            ready: list[Request] = []
            ticks = self._host.ticks(TICK, ceil(seconds / TICK) + 1)
            begin, taken = next(ticks), self._host.cpu_seconds()
            for place, now in enumerate(ticks):
                ready += self._joined(stream.read())
                if self._stops(now - begin, self._host.cpu_seconds() - taken, max_overhead):
                    break
                if place % SHOWN_EVERY == SHOWN_EVERY - 1:
                    yield ready
                    ready = []
            ready += self._joined(stream.stop())
            self.lost = stream.lost()
        yield ready + self._follower.rest()

    def _stops(self, spent: float, taken: float, max_overhead: float) -> bool:
        """Whether *taken* seconds of CPU time in *spent* seconds are too many."""
        if taken <= max_overhead * self._cpus * max(spent, SETTLED):
            return False
        share = taken / spent / self._cpus
        self.stopped = (
            f"stopped after {spent:.1f} s: the trace took {share * 100:.3g} % of all CPU time, "
            f"more than the limit of {max_overhead * 100:.3g} %"
        )
        return True

    def _joined(self, events: list[BlockEvent]) -> list[Request]:
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
