"""
Where a series of logarithms is above its usual level: the level, the spans, and where each begins and ends.

The level is that of the quiet part, so that up to 60 % may be bad. A span counts by its height, its length, and
how sharply it begins or ends: a daily swing begins slowly. A slow rise begins where the series leaves its level.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import ceil, exp, inf, log, log1p, sqrt
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from stackmap.ledger.time_series import Clock, Span

LEAST = 20  # values of a baseline
FACTOR, GRADUAL = log(1.8), log(3.0)  # the least excess, with a sharp edge and without one
WARM = 1.5  # spreads above usual, of an interval that may belong to a span
EVIDENCE = 5.0  # spreads above usual, times the square root of the independent intervals
NIGHT = 144  # intervals of a series in which that is rare
TAIL, RARE = (
    0.8,
    log(100),
)  # the noise above this quantile is a tail; one span in so many series may be noise
SHARP = 0.5  # of the excess, at an edge
RISING = 0.1  # of the excess of a span, that half of a slow edge reaches
LEAST_SPREAD = 0.1
BRIDGED = 2  # usual or idle intervals in a span
NEAR = 12  # intervals beside a span that show how sharp its edge is
PARTS = 8  # of a series that drifts
PLACES = 32  # that are compared at a time to find where a slow rise begins
VALUES = 4096  # are enough for a quantile

Logs = Sequence[float | None]


class Level(NamedTuple):
    """
    What is usual of a series: its middle, its spread, and how many intervals in a row tell as much as one.

    ``tail``: by how much the noise that is above ``high`` exceeds it in the mean. Noise that has a Gaussian's
    spread may have longer tails.
    """

    middle: float
    spread: float
    memory: float = 1.0
    high: float = inf
    tail: float = LEAST_SPREAD

    def may_be_noise(self, excess: float, known: int, count: int) -> bool:
        """Whether a series of *count* values of noise has *known* in a row that are *excess* above its middle."""
        independent = max(1.0, known / self.memory)
        # The longer a series is, the higher the highest of its noise.
        rare = EVIDENCE**2 + 2 * log(max(1.0, count / NIGHT))
        beyond = max(0.0, self.middle + excess - self.high) / self.tail
        one = beyond - log(1 - TAIL)  # how rare one such value is: minus the logarithm of its share
        return (excess / self.spread) ** 2 * independent < rare or (
            self.high < inf and one * independent < log(max(1.0, count / self.memory)) + RARE
        )


def quiet_level(logs: Logs) -> Level | None:
    """
    Return the quiet level of a series; None with fewer than ``LEAST`` values.

    The lowest values decide: they are quiet where 60 % of the series is bad, too. The factors are those of a
    normal distribution of which these quantiles are between 3 and 15 %, or between 7.5 and 37.5 %.
    """
    known = [x for x in logs if x is not None]
    if len(known) < LEAST:
        return None
    lowest, low = quantiles(known, 0.03, 0.15)
    below, apart = (low - lowest) / 0.97, _noise(known)
    spread = max(below, min(apart, 2 * below), LEAST_SPREAD)
    return Level(low + 0.7 * spread, spread, _memory(apart, spread))


def level_without(logs: Logs, spans: Iterable[Span]) -> Level | None:
    """Return the level of what is outside of *spans*; None with too few values."""
    rest = [*logs]
    for first, last in spans:
        rest[first : last + 1] = [None] * (last + 1 - first)
    known = [x for x in rest if x is not None]
    if len(known) < LEAST:
        return None
    (middle,) = quantiles(known, 0.5)
    (around,) = quantiles([abs(x - middle) for x in known], 0.5)
    apart = _noise(known)
    spread = max(1.4826 * around, LEAST_SPREAD)
    high, tail = _tail(logs, spans)
    return Level(middle, spread, _memory(apart, spread), high, tail)


def _tail(logs: Logs, spans: Iterable[Span]) -> tuple[float, float]:
    """
    Return the quantile ``TAIL`` of the values outside of the longer *spans*, and the scale of the values above it.

    Short spans may be noise themselves. The middle of the values above is taken: one or two incidents
    among them change it little.
    """
    rest = [*logs]
    for first, last in spans:
        if last - first > BRIDGED:
            rest[first : last + 1] = [None] * (last + 1 - first)
    known = [x for x in rest if x is not None]
    high, above = quantiles(known, TAIL, (1 + TAIL) / 2)
    return high, max((above - high) / log(2), LEAST_SPREAD / 2)


def _noise(known: Sequence[float]) -> float:
    """Return the spread by the differences of neighbours, which shifts of the level hardly change."""
    (middle,) = quantiles([abs(b - a) for a, b in pairwise(known)], 0.5)
    return 1.4826 * middle / sqrt(2)


def _memory(apart: float, spread: float) -> float:
    """Return how many neighbours tell as much as one, if each is like the one before it."""
    alike = max(0.0, 1 - (max(apart, LEAST_SPREAD) / spread) ** 2)
    return (1 + alike) / max(1 - alike, 0.05)


def quantiles(values: Sequence[float], *shares: float) -> list[float]:
    """Return the quantiles of *values*, of a part of them if there are very many."""
    ordered = sorted(values[:: ceil(len(values) / VALUES)])
    return [ordered[round(share * (len(ordered) - 1))] for share in shares]


# Spans


def find_spans(logs: Logs, level: Level, factor: float, clock: Clock) -> list[Span]:
    """Return the first and last interval of each run that is *factor* (a logarithm) above *level*."""
    warm = level.middle + max(WARM * level.spread, 0.6 * factor)
    rough = joined([i for i, x in enumerate(logs) if x is not None and x >= warm], clock)
    spans: list[Span] = []
    todo = _merged(logs, rough, level, clock)[::-1]
    while todo:
        span = todo.pop()
        first, last = _edges(logs, span, level, clock)
        spans += _within(logs, (first, last), level, factor, clock)
        if overlap((first, last), span):  # what is left is shorter
            rest = ((span[0], first - 1), (last + 1, span[1]))
            todo += [(a, b) for a, b in rest if any(x is not None for x in logs[a : b + 1])]
    return _united(spans, clock)


def _united(spans: Iterable[Span], clock: Clock) -> list[Span]:
    """Return *spans* in order, those that touch as one unless time is missing between them."""
    united: list[Span] = []
    for first, last in sorted(spans):
        before = united[-1][1] if united else -2
        if first <= before or (first == before + 1 and not clock.gap(before, first)):
            united[-1] = (united[-1][0], max(last, united[-1][1]))
        else:
            united.append((first, last))
    return united


def _merged(logs: Logs, spans: Sequence[Span], level: Level, clock: Clock) -> list[Span]:
    """Return *spans* with neighbours as one where the series between them is not usual either."""
    merged: list[Span] = []
    for span in spans:
        if merged:
            first, last = merged[-1]
            between = [x for x in logs[last + 1 : span[0]] if x is not None]
            longest = max(last - first, span[1] - span[0])
            if between and len(between) <= longest and not clock.gap(last, span[0]):
                height = min(middle_of(logs, first, last), middle_of(logs, *span)) - level.middle
                if median(between) > level.middle + height / 2:
                    merged[-1] = (first, span[1])
                    continue
        merged.append(span)
    return merged


def _within(logs: Logs, span: Span, level: Level, factor: float, clock: Clock) -> list[Span]:
    """Return *span* if it is unusual; where it begins and ends slowly, the sharp runs inside it."""
    first, last = span
    excess = middle_of(logs, first, last) - level.middle
    known = sum(x is not None for x in logs[first : last + 1])
    if excess < factor or level.may_be_noise(excess, known, len(logs)):
        return []
    begins, ends = _sharpness(logs, first, last)
    if max(begins, ends) >= SHARP * excess or excess >= GRADUAL:
        slow = (begins < SHARP * excess, ends < SHARP * excess)
        return [_slow_edges(logs, span, level, slow, clock)]
    inner = quiet_level(logs[first : last + 1])
    if inner is None or inner.middle <= level.middle:
        return []
    inside = find_spans([*logs[first : last + 1]], inner, factor, Clock())
    return [(first + a, first + b) for a, b in inside if (a, b) != (0, last - first)]


def _edges(logs: Logs, span: Span, level: Level, clock: Clock) -> Span:
    """Return where the series is nearer to the high level in *span* than to the usual one."""
    first, last = span
    (high,) = quantiles([x for x in logs[first : last + 1] if x is not None], 0.75)
    height = high - level.middle
    half = level.middle + height / 2
    best, best_span, total, start = -inf, span, 0.0, first
    begin, end = max(0, first - BRIDGED), min(len(logs), last + 1 + BRIDGED)
    begin = first if clock.gap(begin, first) else begin
    end = last + 1 if clock.gap(last, end - 1) else end
    for i in range(begin, end):
        x = logs[i]
        if x is None:
            continue
        if total <= 0:
            total, start = 0.0, i
        total += max(-height, min(height, x - half))
        if total > best:
            best, best_span = total, (start, i)
    return best_span


def _slow_edges(
    logs: Logs, span: Span, level: Level, slow: tuple[bool, bool], clock: Clock
) -> Span:
    """Return *span*, widened to where the series leaves its level and where it returns to it, if *slow* there."""
    first, last = span
    if last - first < NEAR // 2:
        return span
    reach = max(last + 1 - first, 2 * NEAR)
    begin, end = first, last
    while begin and first - begin < reach and not clock.gap(begin - 1, begin):
        begin -= 1
    while end + 1 < len(logs) and end - last < reach and not clock.gap(end, end + 1):
        end += 1
    if slow[0] and first - begin > NEAR:
        first = begin + _leaves(logs[begin : last + 1], span[0] - begin, level)
    if slow[1] and end - last > NEAR:
        last = end - _leaves(logs[span[0] : end + 1][::-1], end - span[1], level)
    # A span that is lower near its end than in its middle has no slow edge if all before it is usual.
    rise = middle_of(logs, *span) - level.middle
    least = level.middle + max(level.spread / 2, RISING * rise)
    if first < span[0] and not _reaches(logs, first, span[0] - 1, least):
        first = span[0]
    if last > span[1] and not _reaches(logs, span[1] + 1, last, least):
        last = span[1]
    return first, last


def _reaches(logs: Logs, first: int, last: int, least: float) -> bool:
    """Whether the series is *least* or more in half of what is known from *first* to *last*."""
    known = [x for x in logs[first : last + 1] if x is not None]
    return bool(known) and median(known) >= least


def _leaves(logs: Logs, above: int, level: Level) -> int:
    """
    Return where a series leaves its level on the way up to its height, which is at *above* or later.

    That is the kink of a level line and a slope that fit the values before the height best. The slope is straight
    for the values or for their logarithms.
    """
    width = max(3, (len(logs) - above) // PARTS)
    means = [
        (i, sum(part) / len(part))
        for i in range(above, len(logs))
        if (part := [x for x in logs[max(0, i + 1 - width) : i + 1] if x is not None])
    ]
    highest = max(mean for _, mean in means)
    # Noise with a long lower tail may have all its values below its level.
    enough = min(highest, level.middle + 0.9 * (highest - level.middle))
    top = next(i for i, mean in means if mean >= enough)
    points = [(i, x) for i, x in enumerate(logs[: top + 1]) if x is not None]
    before = [i for i, _ in points if i < top]
    if len(before) <= NEAR:
        return above
    sums = [0.0, *accumulate(x for _, x in points)]
    height = next(mean for i, mean in means if i == top)
    middle_of_height = top - width / 2

    def misfit(number: int) -> float:
        """Return the squares of what is left, with the kink at a point."""
        kink, low = points[number][0], sums[number] / number
        rise = max(0.0, height - low)
        steps = max(1.0, middle_of_height - kink)
        widest, growth = 3 * level.spread, exp(rise) - 1
        straight = 0.0
        for _, x in points[:number]:
            straight += min(widest, abs(x - low)) ** 2
        curved = straight
        for i, x in points[number:]:
            beyond = (i - kink) / steps
            straight += min(widest, abs(x - low - rise * beyond)) ** 2
            curved += min(widest, abs(x - low - log1p(growth * beyond))) ** 2
        return min(straight, curved)

    low, high = NEAR // 2, len(before) - 1
    while True:
        step = ceil((high - low) / PLACES) or 1
        best = min(range(low, high + 1, step), key=misfit)
        if step == 1:
            return points[best][0]
        low, high = max(low, best - step), min(high, best + step)


def _sharpness(logs: Logs, first: int, last: int) -> tuple[float, float]:
    """Return the change of level at the first and at the last interval, within a few intervals."""
    reach = min(max(3, last + 1 - first), max(NEAR, len(logs) // 40))
    changes = []
    for inner, outer in (
        (logs[first : first + reach], logs[max(0, first - 1 - reach) : max(0, first - 1)]),
        (logs[max(first, last + 1 - reach) : last + 1], logs[last + 2 : last + 2 + reach]),
    ):
        inside = [x for x in inner if x is not None]
        outside = [x for x in outer if x is not None]
        changes.append(median(inside) - median(outside) if inside and outside else 0.0)
    return changes[0], changes[1]


def find_drift(logs: Logs, level: Level) -> list[Span]:
    """Return the unusual end of a series that rises all the time; [] for any other series."""
    known = [i for i, x in enumerate(logs) if x is not None]
    size = len(known) // PARTS
    parts = [
        median([logs[i] or 0.0 for i in known[n * size : (n + 1) * size]]) for n in range(PARTS)
    ]
    rises = all(b > a - level.spread / 4 for a, b in pairwise(parts))
    if not rises or parts[-1] - parts[0] < GRADUAL:
        return []
    limit = parts[0] + FACTOR
    above = next(i for i in known[size:] if (logs[i] or 0.0) > limit)
    return [(_leaves(logs, above, level), known[-1])]


def joined(places: Iterable[int], clock: Clock) -> list[Span]:
    """Return *places* as spans that bridge a few others, but no gap in time."""
    spans: list[Span] = []
    for place in places:
        if spans and place - spans[-1][1] <= BRIDGED + 1 and not clock.gap(spans[-1][1], place):
            spans[-1] = (spans[-1][0], place)
        else:
            spans.append((place, place))
    return spans


def overlap(one: Span, other: Span) -> bool:
    """Whether both have an interval."""
    return one[0] <= other[1] and other[0] <= one[1]


def overlaps(span: Span, others: Sequence[Span]) -> bool:
    """Whether one of *others*, which are in order and apart from each other, has an interval of *span*."""
    place = bisect_right(others, span[1], key=itemgetter(0))
    return place > 0 and others[place - 1][1] >= span[0]


def middle_of(logs: Logs, first: int, last: int) -> float:
    """Return the median of what is known from *first* to *last*."""
    return median([x for x in logs[first : last + 1] if x is not None])
