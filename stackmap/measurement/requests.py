"""The requests of some devices, one by one, while they happen; with all that they cause below."""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import TYPE_CHECKING

from stackmap.analysis.requests.follow import Follower
from stackmap.analysis.requests.totals import Totals
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


class RequestTrace:
    """
    Requests of the devices *chosen*, of all volumes if empty.

    *follow*: also those below them; without *chosen*, all that no other request caused, metadata
    too. ``totals``: of what the disks were sent so far. ``lost``: events that the kernel had no room for; known when all was read.
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

    def requests(self, seconds: float) -> Generator[list[Request]]:
        """Trace for *seconds*; yield requests when they completed, at the end also those that did not."""
        with Tracing(self._host):
            numbers = [self._topology[name].number for name in self._watched]
            stream = EventStream(self._host, numbers)
            stream.start()
            ready: list[Request] = []
            for place, _ in enumerate(self._host.ticks(TICK, int(seconds / TICK) + 1)):
                ready += self._joined(stream.read())
                if place % SHOWN_EVERY == SHOWN_EVERY - 1:
                    yield ready
                    ready = []
            ready += self._joined(stream.stop())
            self.lost = stream.lost()
        yield ready + self._follower.rest()

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
