"""A figure that is not one number: what it is at least, most likely, and at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Band:
    """``low`` ≤ ``likely`` ≤ ``high``."""

    low: float
    likely: float
    high: float

    def __add__(self, other: Band) -> Band:
        return Band(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def scaled(self, factor: float) -> Band:
        """Return this band times *factor*."""
        return Band(self.low * factor, self.likely * factor, self.high * factor)

    def widened(self, share: float) -> Band:
        """Return this band with both ends *share* of themselves further out."""
        return Band(self.low * (1 - share), self.likely, self.high * (1 + share))


NOTHING = Band(0.0, 0.0, 0.0)


def exactly(value: float) -> Band:
    """Return a band of no width."""
    return Band(value, value, value)


def over(values: Iterable[float], likely: float) -> Band:
    """Return the band that *values* and *likely* span."""
    found = [*values, likely]
    return Band(min(found), likely, max(found))
