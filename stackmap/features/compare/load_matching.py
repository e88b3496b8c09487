"""
The intervals of two recordings with similar load, so that await can be compared.

Await grows with the load and with request sizes. So it is compared within classes of the top's
requests per second, each a quarter wide, and averaged with the same weights on both sides
(direct standardisation): a class weighs as much as in the side that has less of it. Await is not
compared if sizes or the mix of reads and writes differ, or if hardly any class has intervals of both.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stackmap.model.load import ratio

CLASS_WIDTH = 1.25  # the largest ratio of similar rates or sizes
MIN_SHARED = 0.2  # of the intervals
MIN_EACH = 5  # intervals on each side in the classes that both have
MAX_MIX_DIFFERENCE = 0.1  # of writes among the requests


class Classes(NamedTuple):
    """
    The class of each batch, None if it was idle.

    ``weights``: of classes with batches of both; ``shared``: their part of the recordings, 0…1.
    """

    before: tuple[int | None, ...]
    after: tuple[int | None, ...]
    weights: Mapping[int, float]
    shared: float


def classes(before: Sequence[float | None], after: Sequence[float | None]) -> Classes:
    """Return the classes of two series of rates; a rate of 0 or None has no class."""
    bounds = _bounds(sorted(rate for rate in (*before, *after) if rate))
    sides = [[_class_of(rate, bounds) for rate in side] for side in (before, after)]
    counts = [Counter(each for each in side if each is not None) for side in sides]
    parts = [{k: n / count.total() for k, n in count.items()} for count in counts]
    both = {k: min(parts[0][k], parts[1][k]) for k in sorted(parts[0].keys() & parts[1].keys())}
    enough = all(sum(count[k] for k in both) >= MIN_EACH for count in counts)
    shared = sum(both.values())
    weights = {k: part / shared for k, part in both.items()} if enough else {}
    return Classes(tuple(sides[0]), tuple(sides[1]), weights, shared)


def _bounds(rates: Sequence[float]) -> list[float]:
    """Return the start of each class: a rate that occurs, so that a steady load is in one class."""
    found: list[float] = []
    for rate in rates:
        if not found or rate > found[-1] * CLASS_WIDTH:
            found.append(rate)
    return found


def _class_of(rate: float | None, bounds: Sequence[float]) -> int | None:
    return sum(bound <= rate for bound in bounds) if rate else None


def in_class(classes: Sequence[int | None], column: Sequence[float], wanted: int) -> list[float]:
    """Return *column* with 0 for batches outside the class *wanted*."""
    return [value if each == wanted else 0.0 for each, value in zip(classes, column, strict=True)]


def is_similar(times: float) -> bool:
    """Whether a ratio counts as similar."""
    return 1 / CLASS_WIDTH <= times <= CLASS_WIDTH


def size_difference(name: str, before: float | None, after: float | None) -> str:
    """Return how the mean sizes of *name* ("reads") differ, bytes; "" if they are similar."""
    times = ratio(after, before)
    if times is None or is_similar(times):
        return ""
    return f"the mean size of {name} was {(before or 0) / 1024:.1f} KiB before and {(after or 0) / 1024:.1f} KiB after"


def mix_difference(before: float | None, after: float | None) -> str:
    """Return how two shares of writes, 0…1, differ; "" if they are similar."""
    if before is None or after is None or math.isclose(before, after, abs_tol=MAX_MIX_DIFFERENCE):
        return ""
    return f"{before * 100:.0f} % of the requests were writes before, {after * 100:.0f} % after"
