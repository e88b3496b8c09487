"""Amounts of I/O per second, exact or with a range, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackmap.model.load import DIRECTIONS, Flow, Load, plus, ratio

NARROW = 0.01  # a range narrower than this share of its upper end counts as exact


class Amount(NamedTuple):
    """Requests sent and bytes moved per second; None if unknown."""

    arrivals: float | None = None
    bytes: float | None = None

    def __add__(self, other: Amount) -> Amount:  # type: ignore[override]  # a sum, no longer tuple
        return Amount(plus(self.arrivals, other.arrivals), plus(self.bytes, other.bytes))

    def times(self, factor: float) -> Amount:
        """Return both figures times *factor*."""
        return Amount(_times(self.arrivals, factor), _times(self.bytes, factor))

    def beyond(self, other: Amount) -> Amount:
        """Return how much more this is than *other*, at least 0: counters are read at different instants."""
        return Amount(_beyond(self.arrivals, other.arrivals), _beyond(self.bytes, other.bytes))


class Traffic(NamedTuple):
    """
    I/O that arrived at a device, per second; each figure None if unknown.

    ``arrivals``: requests sent to the device. ``ios``: requests completed,
    after merging. ``wait``: their total milliseconds. ``low`` and ``high``:
    the bounds of an estimate, None where it is exact.
    """

    arrivals: float | None = None
    ios: float | None = None
    bytes: float | None = None
    wait: float | None = None
    low: Amount | None = None
    high: Amount | None = None

    @property
    def amount(self) -> Amount:
        """Requests sent and bytes moved, without the bounds."""
        return Amount(self.arrivals, self.bytes)

    @property
    def bounds(self) -> tuple[Amount, Amount]:
        """The lower and upper bound; both equal the value where it is exact."""
        return self.low or self.amount, self.high or self.amount

    @property
    def is_range(self) -> bool:
        """Whether the bounds are far enough apart to matter."""
        if self.low is None and self.high is None:
            return False
        low, high = self.bounds
        return _differ(low.arrivals, high.arrivals) or _differ(low.bytes, high.bytes)

    @property
    def size(self) -> float | None:
        """Mean bytes per completed request."""
        return ratio(self.bytes, self.ios)

    def __add__(self, other: Traffic) -> Traffic:  # type: ignore[override]  # a sum, no longer tuple
        low = high = None
        if self.low is not None or other.low is not None:
            (low, high), (other_low, other_high) = self.bounds, other.bounds
            low, high = low + other_low, high + other_high
        return Traffic(
            plus(self.arrivals, other.arrivals),
            plus(self.ios, other.ios),
            plus(self.bytes, other.bytes),
            plus(self.wait, other.wait),
            low,
            high,
        )

    def times(self, factor: float) -> Traffic:
        """Return all figures times *factor*."""
        if factor == 1:
            return self
        arrivals, ios, moved, wait = (
            _times(figure, factor) for figure in (self.arrivals, self.ios, self.bytes, self.wait)
        )
        low, high = (bound and bound.times(factor) for bound in (self.low, self.high))
        return Traffic(arrivals, ios, moved, wait, low, high)

    def as_exact(self) -> Traffic:
        """Return this traffic without its range."""
        return self if self.low is None else self._replace(low=None, high=None)

    def with_range_of(self, parts: Iterable[Traffic]) -> Traffic:
        """Return this traffic, exact but for *parts* that are in it."""
        ranges = [part for part in parts if part.is_range]
        if not ranges:
            return self
        less, more = (
            sum((getattr(part, end) + part.amount.times(-1) for part in ranges), Amount(0.0, 0.0))
            for end in ("low", "high")
        )
        return self._replace(low=self.amount + less, high=self.amount + more)


NOTHING = Traffic(0.0, 0.0, 0.0, 0.0)
UNKNOWN = Traffic()


def all_of(flow: Flow) -> Traffic:
    """Return everything in *flow* as traffic."""
    return Traffic(flow.arrivals, flow.ios, flow.bytes, flow.wait)


class Share(NamedTuple):
    """
    The traffic of one owner at one or more devices, by direction.

    ``divided``: completions were divided in proportion to arrivals, an estimate.
    ``reason``: why figures are None. ``undivided``: the reason is that several
    stacks share the device and no counter tells their traffic apart.
    ``divisions``: the devices above that divided their traffic over several
    devices, each with those of them that this share covers.
    """

    parts: Mapping[str, Traffic] = MappingProxyType({})
    divided: bool = False
    reason: str = ""
    undivided: bool = False
    divisions: Mapping[str, frozenset[str]] = MappingProxyType({})

    @property
    def estimated(self) -> bool:
        """Whether any figure is an estimate."""
        return self.divided or any(part.is_range for part in self.parts.values())

    def part(self, direction: str) -> Traffic:
        """Return the traffic in one of ``DIRECTIONS``; unknown if there is none."""
        return self.parts.get(direction, UNKNOWN)

    @property
    def read(self) -> Traffic:
        """The reads."""
        return self.part("read")

    @property
    def write(self) -> Traffic:
        """The writes."""
        return self.part("write")

    @property
    def total(self) -> Traffic:
        """Reads and writes."""
        return self.part("total")


def share_of_all(load: Load) -> Share:
    """Return *load* as the share of the device's only owner."""
    return Share({direction: all_of(load.flow(direction)) for direction in DIRECTIONS})


def sum_shares(shares: list[Share]) -> Share:
    """Return the shares of several devices as one; a figure that one of them lacks is unknown."""
    return Share(
        {d: sum((share.part(d) for share in shares), start=NOTHING) for d in DIRECTIONS},
        divided=any(share.divided for share in shares),
        reason=next((share.reason for share in shares if share.reason), ""),
        divisions=join_divisions(share.divisions for share in shares),
    )


def join_divisions(several: Iterable[Mapping[str, frozenset[str]]]) -> dict[str, frozenset[str]]:
    """Return the union of *several* mappings, device by device; a set that has all others stays shared."""
    first: dict[str, frozenset[str]] = {}
    more: dict[str, set[str]] = {}
    last: dict[str, frozenset[str]] = {}
    for divisions in several:
        for above, below in divisions.items():
            known = last.get(above) or first.setdefault(above, below)
            if known is below:  # many devices share one set
                continue
            last[above] = below
            if not below <= more.get(above, first[above]):
                more.setdefault(above, set(first[above])).update(below)
    return first | {above: frozenset(below) for above, below in more.items()}


def _times(figure: float | None, factor: float) -> float | None:
    return None if figure is None else figure * factor


def _beyond(whole: float | None, part: float | None) -> float | None:
    return None if whole is None or part is None else max(0.0, whole - part)


def _differ(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and high - low > NARROW * high
