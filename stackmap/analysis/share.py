"""A part of what a device did, and whose it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from stackmap.model.load import Flow, Load, plus, ratio

NARROW = 0.01  # a range no wider than this part of it is as good as a point

DIRECTIONS = ("read", "write", "discard", "total")


def flows_of(load: Load) -> tuple[tuple[str, Flow], ...]:
    """Return reads, writes and both together, each with its direction: the sum is added up once."""
    return ("read", load.read), ("write", load.write), ("total", load.total)


def flow_of(load: Load, direction: str) -> Flow:
    """Return the flow of *load* in one of ``DIRECTIONS``; total is reads and writes."""
    flow: Flow = getattr(load, direction)
    return flow


@dataclass(frozen=True, slots=True)
class Amount:
    """Requests sent, and bytes, a second; None if not known."""

    arrivals: float | None = None
    bytes: float | None = None

    def __add__(self, other: Amount) -> Amount:
        return Amount(plus(self.arrivals, other.arrivals), plus(self.bytes, other.bytes))

    def times(self, factor: float) -> Amount:
        """Return *factor* of it."""
        return Amount(*(None if n is None else n * factor for n in (self.arrivals, self.bytes)))


@dataclass(frozen=True, slots=True)
class Portion:
    """
    A part of what a device did, a second.

    ``arrivals``: requests sent to it; ``ios``: what became of them after
    merging; ``wait``: their milliseconds together. Each None if not known.
    ``least`` and ``most``: the range of an estimate, None where it is none.
    """

    arrivals: float | None = None
    ios: float | None = None
    bytes: float | None = None
    wait: float | None = None
    least: Amount | None = None
    most: Amount | None = None

    @property
    def ends(self) -> tuple[Amount, Amount]:
        """The least and the most it is; twice the same where it is no estimate."""
        here = Amount(self.arrivals, self.bytes)
        return self.least or here, self.most or here

    @property
    def loose(self) -> bool:
        """Whether its range is so wide that it is an estimate."""
        low, high = self.ends
        return _apart(low.arrivals, high.arrivals) or _apart(low.bytes, high.bytes)

    @property
    def size(self) -> float | None:
        """Mean bytes a completed request."""
        return ratio(self.bytes, self.ios)

    def __add__(self, other: Portion) -> Portion:
        both = Portion(
            plus(self.arrivals, other.arrivals),
            plus(self.ios, other.ios),
            plus(self.bytes, other.bytes),
            plus(self.wait, other.wait),
        )
        if self.least is None and other.least is None:
            return both
        (low, high), (low_there, high_there) = self.ends, other.ends
        return replace(both, least=low + low_there, most=high + high_there)

    def times(self, factor: float) -> Portion:
        """Return *factor* of it."""
        if factor == 1:
            return self
        arrivals, ios, moved, wait = (
            None if n is None else n * factor
            for n in (self.arrivals, self.ios, self.bytes, self.wait)
        )
        least, most = (end and end.times(factor) for end in (self.least, self.most))
        return Portion(arrivals, ios, moved, wait, least, most)

    def known(self) -> Portion:
        """Return it as no estimate: what it is in parts is not known, what it is together is."""
        return self if self.least is None else replace(self, least=None, most=None)


def _apart(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and high - low > NARROW * high


NOTHING = Portion(0.0, 0.0, 0.0, 0.0)
UNKNOWN = Portion()


@dataclass(frozen=True, slots=True)
class Share:
    """
    What belongs to a stack on some devices, by direction.

    ``divided``: completions were divided in proportion to arrivals.
    ``reason``: why figures are None; ``undivided``: it is that several stacks
    share the device and nothing says how. ``ways``: of each device above that
    spreads its traffic over several, those of them that led here.
    """

    parts: Mapping[str, Portion] = field(default_factory=dict)
    divided: bool = False
    reason: str = ""
    undivided: bool = False
    ways: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def estimated(self) -> bool:
        """Whether some figure is no more than an estimate."""
        return self.divided or any(part.loose for part in self.parts.values())

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
        divided=any(part.divided for part in parts),
        reason=next((part.reason for part in parts if part.reason), ""),
        ways=join_ways(part.ways for part in parts),
    )


def join_ways(several: Iterable[Mapping[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    """Return the ways of all of *several* together."""
    joined: dict[str, frozenset[str]] = {}
    for each in several:
        for above, led in each.items():
            joined[above] = joined.get(above, frozenset()) | led
    return joined
