"""
How sure a figure over many intervals is, and whether a change between two figures is chance.

A figure is a function of sums over all intervals: a ratio of sums, never a mean of ratios, in
which an idle interval would count as much as a busy one. Its range comes from a block bootstrap.
Neighbouring intervals are similar, so drawing single intervals would overstate their number. Blocks
are drawn instead, around the end (circular block bootstrap: Politis and Romano 1992). A block is a
twelfth of the recording, or longer if neighbours are very similar, so that longer similarity shows
within a block too. Few blocks remain, and Student's t accounts for that. In simulated series with a
known truth, 95 of 100 ranges contain it if the recording is some twenty times as long as its load
stays similar (tests/features/compare).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from random import Random
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple, TypeVar

MIN_INTERVALS = 10  # with fewer, the similarity of neighbours cannot be estimated
MAX_BLOCKS = 12
MIN_BLOCKS = 5
MAX_CORRELATION = 0.97
DRAWS = 400
SEED = 20190920
MAX_LOST_DRAWS = 0.05  # share of draws that may have nothing to divide by
STEP = 1e-4  # of each sum, for the slope of a figure
ROUNDING = 1e-7

Statistic = Callable[[Sequence[float]], "float | None"]
Column = Sequence[float]


class Spread(NamedTuple):
    """
    The standard error of a figure over other recordings of the same load.

    ``freedom``: Student's degrees of freedom. ``block``: intervals per block.
    """

    error: float
    freedom: float
    block: int


def spread(columns: Sequence[Column], statistic: Statistic) -> Spread | None:
    """
    Return the spread of *statistic*, which computes a figure from the sums of *columns*.

    Each column has one value per interval, in time order. None with too few intervals, or if too
    many draws have nothing to divide by.
    """
    count = len(columns[0]) if columns else 0
    if count < MIN_INTERVALS:
        return None
    influences = influence(columns, statistic)
    if influences is None:
        return None
    correlation = autocorrelation(influences)
    block = block_length(correlation, count)
    drawn = _draws(columns, statistic, block)
    if len(drawn) < DRAWS * (1 - MAX_LOST_DRAWS):
        return None
    blocks = count / block
    wider = variance_ratio(correlation, block) * blocks / (blocks - 1)
    independent = count * (1 - correlation) / (1 + correlation)  # intervals of equal information
    freedom = max(1.0, min(blocks, independent) - 1)
    return Spread(stdev(drawn) * math.sqrt(wider), freedom, block)


def influence(columns: Sequence[Column], statistic: Statistic) -> list[float] | None:
    """Return the influence of each interval on the figure; None where the figure has no slope."""
    totals = [math.fsum(column) for column in columns]
    count = len(columns[0])
    parts = []
    for place, (column, total) in enumerate(zip(columns, totals, strict=True)):
        slope = _slope(totals, place, statistic)
        if slope is None:
            return None
        parts.append([slope * (count * value - total) for value in column])
    return [_without_rounding(interval) for interval in zip(*parts, strict=True)]


def _without_rounding(parts: Sequence[float]) -> float:
    """Return the sum; 0 if parts cancel out and only rounding remains."""
    total = sum(parts)
    return total if abs(total) > ROUNDING * sum(map(abs, parts)) else 0.0


def autocorrelation(series: Sequence[float]) -> float:
    """
    Return the correlation of neighbours in *series*, 0 to ``MAX_CORRELATION``.

    In a short series it is too low by (1 + 3 r) / n (Marriott and Pope 1954); this is corrected.
    """
    count = len(series)
    mean = fmean(series)
    deviations = [value - mean for value in series]
    squares = sum(value * value for value in deviations)
    if not squares:
        return 0.0
    measured = sum(one * other for one, other in pairwise(deviations)) / squares
    # A negative correlation counts as none: that overstates the spread, which is safe.
    return min(MAX_CORRELATION, max(0.0, (count * measured + 1) / (count - 3)))


def block_length(correlation: float, count: int) -> int:
    """
    Return the intervals per block of a recording of *count* intervals.

    Carlstein's choice (1986), at least a twelfth, and at most so that five blocks remain.
    """
    wanted: float = (6 * (correlation / (1 - correlation**2)) ** 2 * count) ** (1 / 3)
    return max(1, min(count // MIN_BLOCKS, math.ceil(max(wanted, count / MAX_BLOCKS))))


def variance_ratio(correlation: float, block: int) -> float:
    """Return true variance ÷ variance that blocks show: correlation crosses their ends."""
    whole = (1 + correlation) / (1 - correlation)
    seen = 1 + 2 * sum((1 - lag / block) * correlation**lag for lag in range(1, block))
    return whole / seen


def _slope(totals: list[float], place: int, statistic: Statistic) -> float | None:
    step = abs(totals[place]) * STEP
    if not step:
        return 0.0
    more, less = (
        statistic([*totals[:place], totals[place] + change, *totals[place + 1 :]])
        for change in (step, -step)
    )
    return None if more is None or less is None else (more - less) / (2 * step)


def _draws(columns: Sequence[Column], statistic: Statistic, block: int) -> list[float]:
    """Return the figure of each draw of blocks that has one."""
    count = len(columns[0])
    whole, rest = divmod(count, block)
    sums = [_block_sums(column, block) for column in columns]
    ends = [_block_sums(column, rest) for column in columns] if rest else []
    random = Random(SEED)  # noqa: S311 - no secret: the same draws each time
    places = range(count)
    figures = []
    for _ in range(DRAWS):
        starts = random.choices(places, k=whole)
        totals = [sum([column[start] for start in starts]) for column in sums]
        if ends:  # the last block is shorter, so that the number of intervals is the same
            last = random.choice(places)
            totals = [total + end[last] for total, end in zip(totals, ends, strict=True)]
        value = statistic(totals)
        if value is not None:
            figures.append(value)
    return figures


def _block_sums(column: Column, length: int) -> list[float]:
    """Return the sum of *length* values from each place on, continued around the end."""
    around = [*column, *column[: length - 1]]
    return [math.fsum(around[start : start + length]) for start in range(len(column))]


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
        value = figure(sums)
        return math.log(value) if value is not None and value > 0 else None

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


def student(freedom: float) -> float:
    """
    Return Student's t: the errors on each side of the 95 % range.

    >>> round(student(9), 2), round(student(1e6), 2)
    (2.26, 1.96)
    """
    deviate = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(deviate**2 / freedom))


def significant(chances: Mapping[Key, float]) -> frozenset[Key]:
    """
    Return the keys whose probability is significant, judged together (Holm 1979).

    Of many figures some differ by chance. This returns none in 95 of 100 comparisons without any change.
    """
    keys = set[Key]()
    ranked = sorted(chances.items(), key=lambda item: item[1])
    for rank, (key, chance) in enumerate(ranked):
        if chance > (1 - CONFIDENCE) / (len(ranked) - rank):
            break
        keys.add(key)
    return frozenset(keys)
