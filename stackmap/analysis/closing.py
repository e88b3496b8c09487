"""What arrived at each device, and what those above it sent: does the account close?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackmap.analysis.sending import Sending
from stackmap.analysis.share import Amount, flow_of, join_ways
from stackmap.analysis.ways import ways
from stackmap.model.load import Load, ratio
from stackmap.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Sides:
    """
    What arrived somewhere, and what was sent there.

    ``led``: where what was sent there is a guess, a part of what a device above
    spread over several, the ways of each such device; together they are exact.
    """

    arrived: Amount
    sent: Amount
    led: Mapping[str, frozenset[str]]

    @property
    def ratio(self) -> float | None:
        """Arrivals for each request sent."""
        return ratio(self.arrived.arrivals, self.sent.arrivals)


NOTHING = Amount(0.0, 0.0)
UNKNOWN = Sides(Amount(), Amount(), {})


class Account:
    """
    Arrivals and what was sent, device by device, over one interval.

    Each is worked out once: on a disk under a hundred volumes, every one of
    their stacks asks for the same sums.
    """

    def __init__(self, topology: Topology, loads: Mapping[str, Load], sending: Sending) -> None:
        self._topology = topology
        self._loads = loads
        self._sending = sending
        self._known: dict[tuple[str, str], Sides] = {}

    def of(self, names: Iterable[str], direction: str) -> Sides:
        """
        Return what arrived at the devices *names* together, and what was sent to them.

        ``UNKNOWN`` where something is not known: a device above makes requests
        of its own, so that nothing says what it sent, or spreads its traffic
        over others as well, so that a guess made from what arrived would tell.
        """
        here = [self._of_one(name, direction) for name in names]
        arrived = sum((each.arrived for each in here), start=NOTHING)
        asked = sum((each.sent for each in here), start=NOTHING)
        if None in (arrived.arrivals, asked.arrivals) or self._elsewhere(names, here):
            return UNKNOWN
        return Sides(arrived, asked, {})

    def _elsewhere(self, names: Iterable[str], here: Iterable[Sides]) -> bool:
        """Whether a way of those that were guessed at leads past *names*."""
        there = set(names)
        return any(not led <= there for led in join_ways(each.led for each in here).values())

    def _of_one(self, name: str, direction: str) -> Sides:
        key = (name, direction)
        if key not in self._known:
            self._known[key] = self._worked_out(name, direction)
        return self._known[key]

    def _worked_out(self, name: str, direction: str) -> Sides:
        flow = flow_of(self._loads.get(name, Load()), direction)
        edges = self._topology.above(name)
        asked = NOTHING if edges else Amount()
        led = {}
        for edge in edges:
            portion = self._sending.sent(edge, direction)
            if portion is None:
                return UNKNOWN
            asked = asked + Amount(portion.arrivals, portion.bytes)
            if portion.loose:
                led[edge.above] = ways(self._topology, edge)
        return Sides(Amount(flow.arrivals, flow.bytes), asked, led)
