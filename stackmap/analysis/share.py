"""A part of what a device did, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackmap.model.load import Flow, Load, plus, ratio

DIRECTIONS = ("read", "write", "discard", "total")


def flow_of(load: Load, direction: str) -> Flow:
    """Return the flow of *load* in one of ``DIRECTIONS``; total is reads and writes."""
    flow: Flow = getattr(load, direction)
    return flow


@dataclass(frozen=True, slots=True)
class Portion:
    """
    A part of what a device did, a second.

    ``arrivals``: requests sent to it; ``ios``: what became of them after
    merging; ``wait``: their milliseconds together. Each None if not known.
    """

    arrivals: float | None = None
    ios: float | None = None
    bytes: float | None = None
    wait: float | None = None

    @property
    def size(self) -> float | None:
        """Mean bytes a completed request."""
        return ratio(self.bytes, self.ios)

    def scaled(self, factor: float) -> Portion:
        """Return this portion times *factor*."""
        return Portion(*(None if v is None else v * factor for v in self._values()))

    def __add__(self, other: Portion) -> Portion:
        return Portion(*map(plus, self._values(), other._values()))

    def _values(self) -> tuple[float | None, ...]:
        return (self.arrivals, self.ios, self.bytes, self.wait)


NOTHING = Portion(0.0, 0.0, 0.0, 0.0)
UNKNOWN = Portion()


@dataclass(frozen=True, slots=True)
class Share:
    """
    What belongs to a stack on some devices, by direction.

    ``estimated``: completions were divided in proportion to arrivals.
    ``reason``: why figures are None; ``undivided``: it is that several stacks
    share the device and nothing says how.
    """

    parts: Mapping[str, Portion] = field(default_factory=dict)
    estimated: bool = False
    reason: str = ""
    undivided: bool = False

    def part(self, direction: str) -> Portion:
        """Return the portion in one of ``DIRECTIONS``, unknown if there is none."""
        return self.parts.get(direction, UNKNOWN)

    @property
    def read(self) -> Portion:
        """The reads."""
        return self.part("read")

    @property
    def write(self) -> Portion:
        """The writes."""
        return self.part("write")

    @property
    def total(self) -> Portion:
        """Reads and writes."""
        return self.part("total")


def all_of(load: Load) -> Share:
    """Return *load* as the share of somebody who has it all."""
    return Share({d: portion_of(flow_of(load, d)) for d in DIRECTIONS})


def portion_of(flow: Flow) -> Portion:
    """Return all of *flow*."""
    return Portion(flow.arrivals, flow.ios, flow.bytes, flow.wait)


def sum_shares(parts: list[Share]) -> Share:
    """Return several devices' shares as one; unknown where one of them is."""
    return Share(
        {d: sum((p.part(d) for p in parts), start=NOTHING) for d in DIRECTIONS},
        estimated=any(part.estimated for part in parts),
        reason=next((part.reason for part in parts if part.reason), ""),
    )
