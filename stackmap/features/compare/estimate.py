"""A figure with its range, the change between two figures, and the significance of changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple, TypeVar

from stackmap.features.compare.bootstrap import Column, Spread, Statistic, spread

CONFIDENCE = 0.95
Key = TypeVar("Key")


class Estimate(NamedTuple):
    """
    ``value`` with the ``spread`` of its logarithm, None if not known.

    ``absolute``: the spread of the value itself, for a comparison with 0.
    """

    value: float
    spread: Spread | None = None
    absolute: Spread | None = None

    @property
    def low(self) -> float | None:
        """The lower end of the 95 % range; None if not known."""
        return self._end(-1)

    @property
    def high(self) -> float | None:
        """The upper end of the 95 % range; None if not known."""
        return self._end(1)

    def _end(self, side: int) -> float | None:
        if self.spread is None:
            return None
        return self.value * math.exp(side * student(self.spread.freedom) * self.spread.error)


class Change(NamedTuple):
    """
    ``ratio``: after ÷ before, None if that was 0. ``low``, ``high``: its 95 % range.

    ``chance``: the probability of so large a change if there is none. Each None if not known.
    """

    ratio: float | None
    low: float | None = None
    high: float | None = None
    chance: float | None = None


def estimate(
    columns: Sequence[Column], figure: Statistic, counting_error: float = 0.0
) -> Estimate | None:
    """
    Return *figure* of the sums of *columns*, one value per interval; None if it cannot be computed.

    *counting_error*: its least relative error, however equal the intervals are.
    """
    value = figure([math.fsum(column) for column in columns])
    if value is None:
        return None
    if value <= 0:
        return Estimate(value)

    def logarithm(sums: Sequence[float]) -> float | None:
        found = figure(sums)
        return math.log(found) if found is not None and found > 0 else None

    relative = spread(columns, logarithm)
    if relative is None:
        return Estimate(value, None, spread(columns, figure))
    return Estimate(
        value, Spread(max(relative.error, counting_error), relative.freedom, relative.block)
    )


def change(before: Estimate, after: Estimate) -> Change:
    """Return the change between two independent measurements."""
    if not before.value or not after.value:
        return _from_or_to_zero(before, after)
    ratio = after.value / before.value
    if before.spread is None or after.spread is None:
        return Change(ratio)
    error, freedom = _combined(before.spread, after.spread)
    reach = student(freedom) * error
    return Change(
        ratio,
        ratio * math.exp(-reach),
        ratio * math.exp(reach),
        _chance(abs(math.log(ratio)), error, freedom),
    )


def _from_or_to_zero(before: Estimate, after: Estimate) -> Change:
    """Return a change where one side is 0, which has no logarithm."""
    other = before if before.value else after
    ratio = 0.0 if before.value else None
    if not other.value:
        return Change(1.0)
    known = other.spread or other.absolute
    if known is None:
        return Change(ratio)
    error = known.error * (other.value if other.spread else 1.0)
    return Change(ratio, chance=_chance(other.value, error, known.freedom))


def _combined(one: Spread, other: Spread) -> tuple[float, float]:
    """Return the error of a difference and its degrees of freedom (Welch 1947)."""
    first, second = one.error**2, other.error**2
    both = first + second
    if not both:
        return 0.0, one.freedom + other.freedom
    return math.sqrt(both), both**2 / (first**2 / one.freedom + second**2 / other.freedom)


def _chance(off: float, error: float, freedom: float) -> float:
    """Return the two-sided probability of a deviation of *off* or more."""
    if not error:
        return float(math.isclose(off, 0.0, abs_tol=1e-9))
    # Student's t as a normal deviate (Wallace 1959): within 0.01 from 3 degrees of freedom on.
    normal = (8 * freedom + 1) / (8 * freedom + 3)
    return math.erfc(
        normal * math.sqrt(freedom * math.log1p((off / error) ** 2 / freedom)) / math.sqrt(2)
    )


def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """
    Return Student's t: the errors on each side of a range with this *confidence*.

    >>> round(student(9), 2), round(student(1e6), 2)
    (2.26, 1.96)
    """
    deviate = NormalDist().inv_cdf((1 + confidence) / 2) * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(deviate**2 / freedom))


def significant(chances: Mapping[Key, float], confidence: float = CONFIDENCE) -> frozenset[Key]:
    """
    Return the keys whose probability is significant, judged together (Holm 1979).

    Of many figures some differ by chance. This returns none in 95 of 100 comparisons without any change.
    """
    found = set[Key]()
    ranked = sorted(chances.items(), key=lambda item: item[1])
    for rank, (key, chance) in enumerate(ranked):
        if chance > (1 - confidence) / (len(ranked) - rank):
            break
        found.add(key)
    return frozenset(found)
