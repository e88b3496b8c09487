"""Distributions: counts of values by bucket, and their percentiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from stackmap.model.trace import Counts

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
NARROW = 0.055  # a bucket this wide or less, as a share of its end, is shown as one value


class Range(NamedTuple):
    """Where a value lies: at least ``low``, below ``high``."""

    low: int
    high: int

    @property
    def exact(self) -> bool:
        """Whether it is one value, or in a bucket so narrow that it is shown as one."""
        return self.high - self.low <= max(1.0, NARROW * self.high)

    @property
    def middle(self) -> float:
        """The value to show of a narrow bucket."""
        return self.low if self.high - self.low == 1 else (self.low + self.high) / 2


class Distribution:
    """
    How often which values occurred.

    >>> found = Distribution({(4096, 4097): 3, (65536, 65537): 1})
    >>> found.count, found.percentile(0.5), found.percentile(0.9), found.total
    (4, Range(low=4096, high=4097), Range(low=65536, high=65537), 77824)
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = dict(sorted(counts.items()))
        self.count = sum(self.counts.values())

    @classmethod
    def merged(cls, parts: Iterable[Counts]) -> Distribution:
        """Return the distribution of all *parts* together."""
        total: Counter[tuple[int, int]] = Counter()
        for part in parts:
            total.update(part)
        return cls(total)

    def percentile(self, share: float) -> Range | None:
        """Return where the smallest value lies that *share* of all values do not exceed; None without values."""
        passed = 0
        for bucket, count in self.counts.items():
            passed += count
            if passed >= share * self.count:
                return Range(*bucket)
        return None

    @property
    def max(self) -> Range | None:
        """The bucket of the largest value; None without values."""
        return Range(*next(reversed(self.counts))) if self.counts else None

    @property
    def total(self) -> float:
        """The sum of all values, with the middle of each bucket for its values."""
        return sum(Range(*bucket).middle * n for bucket, n in self.counts.items())

    def by_powers(self) -> dict[int, int]:
        """Return the counts by power of two: the exponent of the largest one that a bucket's middle reaches."""
        found: Counter[int] = Counter()
        for bucket, count in self.counts.items():
            found[max(int(Range(*bucket).middle), 1).bit_length() - 1] += count
        return dict(sorted(found.items()))
