"""A quantity over the intervals of a window: its middle, what one in twenty exceeds, and its peak."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from stackmap.analysis.whatif.projection import Levels


def levels(values: Sequence[float]) -> Levels | None:
    """Return the percentiles of *values* by nearest rank; None if there is none."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Levels(_rank(ordered, 0.50), _rank(ordered, 0.95), ordered[-1])


def _rank(ordered: Sequence[float], share: float) -> float:
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
