"""The quantities of a projection: requests with their bytes, ranges, and percentiles over intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import NamedTuple

from stackmap.model.load import ratio


@dataclass(frozen=True, slots=True)
class Stream:
    """Requests that carry data, in one direction, and their bytes; both per second."""

    requests: float
    bytes: float

    @property
    def size(self) -> float:
        """Mean bytes per request, 0 without requests."""
        return ratio(self.bytes, self.requests) or 0.0

    def __add__(self, other: Stream) -> Stream:
        return Stream(self.requests + other.requests, self.bytes + other.bytes)

    def scaled(self, factor: float) -> Stream:
        """Return both times *factor*."""
        return Stream(self.requests * factor, self.bytes * factor)


@dataclass(frozen=True, slots=True)
class Band:
    """A figure with its range: ``low`` ≤ ``likely`` ≤ ``high``."""

    low: float
    likely: float
    high: float

    def __add__(self, other: Band) -> Band:
        return Band(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def scaled(self, factor: float) -> Band:
        """Return this band times *factor*."""
        return Band(self.low * factor, self.likely * factor, self.high * factor)

    def limited(self, most: float) -> Band:
        """Return this band with nothing above *most*."""
        return Band(min(self.low, most), min(self.likely, most), min(self.high, most))

    def widened(self, share: float) -> Band:
        """Return this band with each end moved outwards by *share* of its value, down to 0."""
        return Band(self.low * max(0.0, 1 - share), self.likely, self.high * (1 + share))


def exact(value: float) -> Band:
    """Return a band of no width."""
    return Band(value, value, value)


def spanning(values: Iterable[float], likely: float) -> Band:
    """Return the smallest band that holds *values* and *likely*."""
    ends = [*values, likely]
    return Band(min(ends), likely, max(ends))


def spanned(bands: Sequence[Band]) -> Band:
    """Return the band of all *bands*, the first of which is likely."""
    return spanning((end for band in bands for end in (band.low, band.high)), bands[0].likely)


def solve(rising: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """Return the argument between *low* and *high* at which *rising* is nearest to *goal*."""
    for _ in range(60):
        middle = (low + high) / 2 if high < 2 * low or not low else (low * high) ** 0.5
        if rising(middle) < goal:
            low = middle
        else:
            high = middle
    return high


class Levels(NamedTuple):
    """The median, the 95th percentile and the peak of a quantity over the intervals."""

    p50: float
    p95: float
    peak: float


def levels(values: Sequence[float], counts: Sequence[int]) -> Levels:
    """Return the nearest-rank percentiles of *values*, of which there is one, each weighted by its count."""
    ordered = sorted(zip(values, counts, strict=True))
    ranks = list(accumulate(count for _, count in ordered))

    def at(share: float) -> float:
        rank = max(1, ceil(share * ranks[-1]))
        return next(value for (value, _), last in zip(ordered, ranks, strict=True) if last >= rank)

    return Levels(at(0.50), at(0.95), ordered[-1][0])
