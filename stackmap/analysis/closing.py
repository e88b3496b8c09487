"""What arrived at each device, and what those above it sent: does the account close?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackmap.analysis.attribution import sent
from stackmap.analysis.share import flow_of
from stackmap.model.load import Load, plus
from stackmap.model.topology import Topology

Sides = tuple[float | None, float | None]  # arrived, sent: requests a second


class Account:
    """
    Arrivals and what was sent, device by device, over one interval.

    Each is worked out once: on a disk under a hundred volumes, every one of
    their stacks asks for the same sums.
    """

    def __init__(self, topology: Topology, loads: Mapping[str, Load]) -> None:
        self._topology = topology
        self._loads = loads
        self._known: dict[tuple[str, str], Sides] = {}

    def of(self, names: Iterable[str], direction: str) -> Sides:
        """
        Return what arrived at the devices *names* together, and what was sent to them.

        Both None where something is not known, or where a device above makes
        requests of its own, so that nothing says what it sent.
        """
        arrived: float | None = 0.0
        asked: float | None = 0.0
        for name in names:
            here = self._of_one(name, direction)
            arrived, asked = plus(arrived, here[0]), plus(asked, here[1])
        return (None, None) if arrived is None or asked is None else (arrived, asked)

    def _of_one(self, name: str, direction: str) -> Sides:
        key = (name, direction)
        if key not in self._known:
            self._known[key] = self._worked_out(name, direction)
        return self._known[key]

    def _worked_out(self, name: str, direction: str) -> Sides:
        edges = self._topology.above(name)
        asked: float | None = 0.0 if edges else None
        for edge in edges:
            asked = plus(asked, sent(self._topology, self._loads, edge, direction))
            if asked is None:
                break
        return flow_of(self._loads.get(name, Load()), direction).arrivals, asked
