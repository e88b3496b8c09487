"""A figure with the range it lies in, the change between two, and which changes are no chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeVar

from stackmap.analysis.compare.bootstrap import Column, Spread, Statistic, spread

CONFIDENCE = 0.95
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    ``value``, and how sure it is: ``spread`` is of its logarithm, None where nothing tells.

    ``absolute``: the spread of a value itself, for comparing with one that is 0.
    ``low``, ``high``: where it lies with 95 %; None where that cannot be said.
    """

    value: float
    spread: Spread | None = None
    absolute: Spread | None = None

    @property
    def low(self) -> float | None:
        """The lower end."""
        return self._end(-1)

    @property
    def high(self) -> float | None:
        """The upper end."""
        return self._end(1)

    def _end(self, side: int) -> float | None:
        if self.spread is None:
            return None
        return self.value * math.exp(side * student(self.spread.freedom) * self.spread.error)


@dataclass(frozen=True, slots=True)
class Change:
    """
    After ÷ before: ``ratio``, None where it was 0 before.

    ``low``, ``high``: where it lies with 95 %. ``chance``: how likely so great
    a change is where there is none, 0…1. Each None where it cannot be said.
    """

    ratio: float | None
    low: float | None = None
    high: float | None = None
    chance: float | None = None


def estimate(
    columns: Sequence[Column], figure: Statistic, counting_error: float = 0.0
) -> Estimate | None:
    """
    Return *figure* of the sums of *columns*, one value an interval each; None where there is none.

    *counting_error*: the least error it has, as a part of it, however even the intervals.
    """
    value = figure([math.fsum(column) for column in columns])
    if value is None:
        return None
    if value <= 0:
        return Estimate(value)
    logarithm = spread(columns, lambda sums: _log(figure(sums)))
    absolute = None if logarithm else spread(columns, figure)
    return Estimate(value, _at_least(logarithm, counting_error), absolute)


def _log(value: float | None) -> float | None:
    return math.log(value) if value is not None and value > 0 else None


def _at_least(spread: Spread | None, counting_error: float) -> Spread | None:
    if spread is None:
        return None
    return Spread(max(spread.error, counting_error), spread.freedom, spread.block)


def change(before: Estimate, after: Estimate) -> Change:
    """Return what became of a figure, measured twice, by itself each time."""
    if not before.value or not after.value:
        return _from_or_to_nothing(before, after)
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


def _from_or_to_nothing(before: Estimate, after: Estimate) -> Change:
    """Return a change where one of the two is 0, which has no logarithm."""
    there = before if before.value else after
    ratio = 0.0 if before.value else None
    if not there.value:
        return Change(1.0)
    known = there.spread or there.absolute
    if known is None:
        return Change(ratio)
    error = known.error * (there.value if there.spread else 1.0)
    return Change(ratio, chance=_chance(there.value, error, known.freedom))


def _combined(one: Spread, other: Spread) -> tuple[float, float]:
    """Return the error of a difference, and its degrees of freedom (Welch 1947)."""
    first, second = one.error**2, other.error**2
    both = first + second
    if not both:
        return 0.0, one.freedom + other.freedom
    return math.sqrt(both), both**2 / (first**2 / one.freedom + second**2 / other.freedom)


def _chance(off: float, error: float, freedom: float) -> float:
    if not error:
        return float(math.isclose(off, 0.0, abs_tol=1e-9))
    # Student's t as a normal deviate (Wallace 1959): within 0.01 for 3 degrees of freedom and more.
    normal = (8 * freedom + 1) / (8 * freedom + 3)
    return math.erfc(
        normal * math.sqrt(freedom * math.log1p((off / error) ** 2 / freedom)) / math.sqrt(2)
    )


def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """
    Return how many errors the range reaches to each side, so that it holds the truth as *confidence* as that.

    >>> round(student(9), 2), round(student(1e6), 2)
    (2.26, 1.96)
    """
    deviate = NormalDist().inv_cdf((1 + confidence) / 2) * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(deviate**2 / freedom))


def significant(chances: Mapping[Key, float], confidence: float = CONFIDENCE) -> frozenset[Key]:
    """
    Return those of *chances* that are so small that all of them together are no chance.

    Of many figures some differ by chance alone; after Holm (1979), none is
    returned in 95 of 100 comparisons in which nothing changed.
    """
    found = set[Key]()
    ranked = sorted(chances.items(), key=lambda item: item[1])
    for rank, (key, chance) in enumerate(ranked):
        if chance > (1 - confidence) / (len(ranked) - rank):
            break
        found.add(key)
    return frozenset(found)
