"""A quantity over the intervals of a window: its middle, what one in twenty exceeds, and its peak."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import ceil

from stackmap.analysis.whatif.projection import Levels


def levels(values: Sequence[float], counts: Sequence[int]) -> Levels | None:
    """Return the percentiles of *values*, of which each stands for so many, by nearest rank; None if there is none."""
    if not values:
        return None
    ordered = sorted(zip(values, counts, strict=True))
    upto = list(accumulate(count for _, count in ordered))

    def at(share: float) -> float:
        rank = max(1, ceil(share * upto[-1]))
        return next(value for (value, _), last in zip(ordered, upto, strict=True) if last >= rank)

    return Levels(at(0.50), at(0.95), ordered[-1][0])
