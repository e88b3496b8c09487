"""The members of an array, side by side: their load, their await, and which of them differs most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackmap.model.device import Device
from stackmap.model.interval import Interval
from stackmap.model.load import Flow
from stackmap.rules.context import Context

DIRECTIONS = ("total", "write", "read")  # total first: it has the most requests


def median(values: Iterable[float]) -> float:
    """Return the median; that of the module ``statistics`` takes 8 ms to import."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


class Outlier(NamedTuple):
    """The device with the highest *value*, and its peers' values and median."""

    name: str
    value: float
    median: float
    peers: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """Value ÷ median of the peers (leave-one-out: four values are too few for quartiles)."""
        return self.value / self.median if self.median else float("inf")


def outlier(values: Mapping[str, float | None]) -> Outlier | None:
    """Return the device with the highest value; None if any value is unknown."""
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < len(values):
        return None
    name = max(known, key=lambda each: known[each])
    value = known.pop(name)
    return Outlier(name, value, median(known.values()), known)


class PeerGroup(NamedTuple):
    """Peers in one direction of their load: "total", "write" or "read"."""

    context: Context
    raid: Device
    names: tuple[str, ...]
    direction: str

    def flows(self) -> dict[str, Flow]:
        """Return the load of each peer in this direction."""
        return {n: self.context.load(n).flow(self.direction) for n in self.names}

    def awaits(self, part: Interval) -> dict[str, float | None]:
        """Return the await of each peer in *part*; None if unknown."""
        return {
            n: part.loads[n].flow(self.direction).await_ms if n in part.loads else None
            for n in self.names
        }
