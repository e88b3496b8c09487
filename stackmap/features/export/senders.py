"""
The devices whose counters show what a stack did at each device below it.

The rules are the ledger's (``analysis.traffic.ownership``), but without loads: a server
has the counters. For a device that only the stack uses, these are its own counters.
For a shared device, they are those of the devices above it that pass requests on.
"""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.ledger.corrections import counted_twice, uncounted
from stackmap.ledger.division import divides, targets_of
from stackmap.ledger.layers import carriers
from stackmap.ledger.pools import is_pool
from stackmap.model.dm_targets import passes_on
from stackmap.model.topology import Edge, Topology, computed_once

Names = frozenset[str]


class Senders:
    """
    The devices whose counters, added up, are the traffic of the stack of *top*.

    ``shared``: devices of the stack that make requests for several stacks.
    """

    def __init__(self, topology: Topology, top: str) -> None:
        self.topology = topology
        self.top = top
        self.stack = topology.with_all_below(top)
        self.data = carriers(topology, top)
        self._above = topology.edges_above(self.stack)

    @computed_once
    def of(self, name: str) -> Names | None:
        """Return the devices whose counters are the data at *name*; None if no counters show it."""
        above = self.topology.above(name)
        if name != self.top and above and all(passes_on(self.topology, edge) for edge in above):
            return self._union(
                edge.above for edge in self._above.get(name, ()) if self._is_data(name, edge)
            )
        return self._own(name) if name == self.top or self._alone(name) else None

    def of_layer(self, names: Iterable[str]) -> Names | None:
        """Return the same for *names* together; None if one is unknown, or if a device divides its data among others too."""
        here = frozenset(names)
        dividing = (
            edge
            for name in here
            for edge in self._above.get(name, ())
            if divides(self.topology, edge)
        )
        if not all(targets_of(self.topology, edge) <= here for edge in dividing):
            return None
        return self._union(here)

    @computed_once
    def of_metadata(self, name: str) -> Names | None:
        """Return the devices whose counters are metadata and journals at *name*, including those passed on by devices with data."""
        if name not in self.data:
            return self.of(name)
        found: set[str] = set()
        for edge in self._above.get(name, ()):
            if passes_on(self.topology, edge):
                inside = self._is_data(name, edge)
                found |= (self.of_metadata if inside else self.of)(edge.above) or set()
        return frozenset(found)

    @property
    def shared(self) -> list[str]:
        """Devices with known traffic. Below them several stacks share traffic, and no counter divides it."""
        unknown = (name for name in self.stack if name != self.top and not self._attributable(name))
        above = (edge.above for name in unknown for edge in self._above.get(name, ()))
        return [name for name in dict.fromkeys(above) if name != self.top and self.of(name)]

    def factor(self, name: str) -> float:
        """Return what the counters of *name* must be multiplied by."""
        return 0.5 if counted_twice(self.topology, self.topology[name]) else 1.0

    def _attributable(self, name: str) -> bool:
        passed = all(passes_on(self.topology, edge) for edge in self.topology.above(name))
        return passed or self._alone(name)

    def _is_data(self, name: str, edge: Edge) -> bool:
        return edge.above in self.data or name not in self.data

    @computed_once
    def _alone(self, name: str) -> bool:
        """Whether all I/O at *name* comes through the top."""
        return all(
            edge.above == self.top
            or (bool(self.topology.above(edge.above)) and self._alone(edge.above))
            for edge in self.topology.above(name)
        )

    def _own(self, name: str) -> Names | None:
        device = self.topology[name]
        if is_pool(device):  # its own counters do not move: what its volumes sent
            found = {edge.above for edge in self.topology.above(name)}
            return frozenset(found) or None
        unusable = uncounted(self.topology, device) or counted_twice(self.topology, device) is None
        return None if unusable or not device.counted else frozenset({name})

    def _union(self, names: Iterable[str]) -> Names | None:
        found: set[str] = set()
        for name in names:
            senders = self.of(name)
            if senders is None:
                return None
            found |= senders
        return frozenset(found)
