"""
When one device leaves its own usual range: runs of intervals in which its await or its queue is unusually long.

The baseline is the quiet level of the same series, so that up to 60 % of it may be bad. Awaits differ by
factors: logarithms are compared. An excess counts by its height, its length, and how sharply it begins or
ends: a daily swing begins slowly. What recurs at the same time of the hour, day or week is usual.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, exp, inf, log, sqrt
from statistics import median
from typing import NamedTuple

LEAST = 20  # intervals of a baseline
REQUESTS = 4  # of an interval whose await counts
FACTOR, GRADUAL = log(1.8), log(3.0)  # the least excess, with a sharp edge and without one
WARM = 1.5  # spreads above usual, of an interval that may belong to a run
EVIDENCE = 5.0  # spreads above usual, times the square root of the independent intervals
NIGHT = 144  # intervals of a series in which that is rare
SHARP = 0.5  # of the excess, at an edge
LEAST_SPREAD = 0.1
LEAST_MS = 0.5  # more await than usual, or
FAST_MS, EXTRA = 0.2, 1.0  # as much with so many more requests in flight
QUEUE_FACTOR, QUEUE, QUEUE_AWAIT = log(3.0), 2.0, 1.3  # a longer queue counts if await rises, too
EVIDENT_QUEUE, EVIDENT_MS, HOPELESS_MS = 4.0, 50.0, 500.0  # without a baseline
BRIDGED = 2  # usual or idle intervals in a run
NEAR = 12  # intervals beside a run that show how sharp its edge is
PARTS = 8  # of a series that drifts
VALUES = 4096  # are enough for a quantile
# Periods that cron, timers and scrubs have, in seconds; how many others are compared, and how many of them must be alike.
PERIODS = (300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 604800)
OTHERS, FEWEST, ALIKE, BETWEEN, RAISED = 16, 3, 0.5, 0.34, 0.3

Logs = Sequence[float | None]


class Figures(NamedTuple):
    """
    The series of one device, one value per interval; None where unknown.

    ``awaits``: milliseconds, None also where nothing completed; ``rates``: requests per second; ``queues``: in flight.
    """

    awaits: Sequence[float | None]
    rates: Sequence[float | None]
    queues: Sequence[float | None]


class Clock(NamedTuple):
    """``ends``: when the intervals end, in seconds; () if unknown. ``pace``: their usual length, 0.0 if unknown."""

    ends: Sequence[float] = ()
    pace: float = 0.0

    def gap(self, before: int, after: int) -> bool:
        """Whether more time is missing between two intervals than a run may bridge."""
        if not self.ends or not self.pace:
            return False
        return not 0 <= self.ends[after] - self.ends[before] <= (after - before + 3) * self.pace


class Run(NamedTuple):
    """
    Intervals ``first`` to ``last`` in which a device is outside its usual range.

    ``usual`` and ``during``: await, None if unknown. ``excess``: beyond the usual, in
    requests in flight times intervals. ``stuck``: requests are in flight and none completes.
    """

    first: int
    last: int
    usual: float | None
    during: float | None
    excess: float
    stuck: bool = False


class Level(NamedTuple):
    """What is usual of a series: its middle, its spread, and how many intervals in a row tell as much as one."""

    middle: float
    spread: float
    memory: float = 1.0


def unusual(figures: Figures, clock: Clock) -> list[Run]:
    """Return the runs of unusual intervals of one device, in their order; none that recur."""
    awaits = _known_awaits(figures, clock.pace)
    stuck = _joined(
        [
            i
            for i, (rate, queue) in enumerate(zip(figures.rates, figures.queues, strict=True))
            if rate == 0 and (queue or 0.0) >= 1.0
        ],
        clock,
    )
    runs = [
        Run(a, b, None, None, sum(figures.queues[i] or 0.0 for i in range(a, b + 1)), stuck=True)
        for a, b in stuck
    ]
    logs = [None if ms is None else log(ms) for ms in awaits]
    level = _level(logs)
    if level is None:
        return sorted([*runs, *_evident(figures, awaits, clock)])
    spans = _spans(logs, level, FACTOR, clock)
    again = _level_without(logs, spans)
    if spans and again is not None:
        level, spans = again, _spans(logs, again, FACTOR, clock)
    spans = spans or _drift(logs, level)
    usual = exp(level.middle)
    found = [_run(figures, awaits, usual, span) for span in spans]
    queues = [
        log(q) if q and ms is not None else None
        for q, ms in zip(figures.queues, awaits, strict=True)
    ]
    longer = _level_without(queues, spans)
    if longer is not None:
        found += [
            _run(figures, awaits, usual, span)
            for span in _spans(queues, longer, QUEUE_FACTOR, clock)
            if not any(_overlap(span, other) for other in spans)
            and _rise(queues, span, longer) >= QUEUE
        ]
    runs += [
        run
        for run in found
        if _matters(run) and not any(_overlap(run[:2], other[:2]) for other in runs)
    ]
    return sorted(run for run in runs if run.stuck or not _recurs(run, logs, level, clock))


def risen(figures: Figures, span: tuple[int, int], clock: Clock) -> bool:
    """Whether the await in *span* is above the usual one by enough for a run, evident or not."""
    first, last = span
    awaits = _known_awaits(figures, clock.pace)
    inside = [ms for ms in awaits[first : last + 1] if ms is not None]
    outside = [ms for ms in (*awaits[:first], *awaits[last + 1 :]) if ms is not None]
    if not inside or len(outside) < LEAST:
        return False
    (usual,) = _quantiles(outside, 0.5)
    return median(inside) >= exp(FACTOR) * usual


def _known_awaits(figures: Figures, pace: float) -> list[float | None]:
    """Return the await of each interval with enough requests; by queue and rate where the source has none."""
    least = REQUESTS / pace if pace else 0.0
    return [
        None
        if rate is None or rate <= 0 or rate < least
        else (ms or None)
        if ms is not None
        else (queue or 0.0) / rate * 1000 or None
        for ms, rate, queue in zip(figures.awaits, figures.rates, figures.queues, strict=True)
    ]


# The usual level


def _level(logs: Logs) -> Level | None:
    """
    Return the quiet level of a series; None with fewer than ``LEAST`` values.

    The lowest values decide: they are quiet where 60 % of the series is bad, too. The factors are those of a
    normal distribution of which these quantiles are between 3 and 15 %, or between 7.5 and 37.5 %.
    """
    known = [x for x in logs if x is not None]
    if len(known) < LEAST:
        return None
    lowest, low = _quantiles(known, 0.03, 0.15)
    below, apart = (low - lowest) / 0.97, _noise(known)
    spread = max(below, min(apart, 2 * below), LEAST_SPREAD)
    return Level(low + 0.7 * spread, spread, _memory(apart, spread))


def _level_without(logs: Logs, spans: Iterable[tuple[int, int]]) -> Level | None:
    """Return the level of what is outside of *spans*; None with too few values."""
    rest = [*logs]
    for first, last in spans:
        rest[first : last + 1] = [None] * (last + 1 - first)
    known = [x for x in rest if x is not None]
    if len(known) < LEAST:
        return None
    (middle,) = _quantiles(known, 0.5)
    (around,) = _quantiles([abs(x - middle) for x in known], 0.5)
    apart = _noise(known)
    spread = max(1.4826 * around, LEAST_SPREAD)
    return Level(middle, spread, _memory(apart, spread))


def _noise(known: Sequence[float]) -> float:
    """Return the spread by the differences of neighbours, which shifts of the level hardly change."""
    (middle,) = _quantiles([abs(b - a) for a, b in pairwise(known)], 0.5)
    return 1.4826 * middle / sqrt(2)


def _memory(apart: float, spread: float) -> float:
    """Return how many neighbours tell as much as one, if each is like the one before it."""
    alike = max(0.0, 1 - (max(apart, LEAST_SPREAD) / spread) ** 2)
    return (1 + alike) / max(1 - alike, 0.05)


def _quantiles(values: Sequence[float], *shares: float) -> list[float]:
    ordered = sorted(values[:: ceil(len(values) / VALUES)])
    return [ordered[round(share * (len(ordered) - 1))] for share in shares]


# Runs


def _spans(logs: Logs, level: Level, factor: float, clock: Clock) -> list[tuple[int, int]]:
    """Return the first and last interval of each run that is *factor* (a logarithm) above *level*."""
    warm = level.middle + max(WARM * level.spread, 0.6 * factor)
    rough = _joined([i for i, x in enumerate(logs) if x is not None and x >= warm], clock)
    found: list[tuple[int, int]] = []
    todo = _merged(logs, rough, level, clock)[::-1]
    while todo:
        span = todo.pop()
        first, last = _edges(logs, span, level, clock)
        found += _within(logs, (first, last), level, factor)
        if _overlap((first, last), span):  # what is left is shorter
            rest = ((span[0], first - 1), (last + 1, span[1]))
            todo += [(a, b) for a, b in rest if any(x is not None for x in logs[a : b + 1])]
    return _united(found, clock)


def _united(spans: Iterable[tuple[int, int]], clock: Clock) -> list[tuple[int, int]]:
    """Return *spans* in order, those that touch as one unless time is missing between them."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        before = found[-1][1] if found else -2
        if first <= before or (first == before + 1 and not clock.gap(before, first)):
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _merged(
    logs: Logs, spans: Sequence[tuple[int, int]], level: Level, clock: Clock
) -> list[tuple[int, int]]:
    """Return *spans* with neighbours as one where the series between them is not usual either."""
    found: list[tuple[int, int]] = []
    for span in spans:
        if found:
            first, last = found[-1]
            between = [x for x in logs[last + 1 : span[0]] if x is not None]
            longest = max(last - first, span[1] - span[0])
            if between and len(between) <= longest and not clock.gap(last, span[0]):
                height = min(_middle(logs, first, last), _middle(logs, *span)) - level.middle
                if median(between) > level.middle + height / 2:
                    found[-1] = (first, span[1])
                    continue
        found.append(span)
    return found


def _within(
    logs: Logs, span: tuple[int, int], level: Level, factor: float
) -> list[tuple[int, int]]:
    """Return *span* if it is unusual; where it begins and ends slowly, the sharp runs inside it."""
    first, last = span
    excess = _middle(logs, first, last) - level.middle
    known = sum(x is not None for x in logs[first : last + 1])
    evidence = excess / level.spread * sqrt(max(1.0, known / level.memory))
    # The longer a series is, the higher the highest of its noise.
    if excess < factor or evidence**2 < EVIDENCE**2 + 2 * log(max(1.0, len(logs) / NIGHT)):
        return []
    if _sharpness(logs, first, last) >= SHARP * excess:
        return [span]
    if excess >= GRADUAL:
        return [_slow_edges(logs, span, level.middle + factor)]
    inner = _level(logs[first : last + 1])
    if inner is None or inner.middle <= level.middle:
        return []
    inside = _spans([*logs[first : last + 1]], inner, factor, Clock())
    return [(first + a, first + b) for a, b in inside if (a, b) != (0, last - first)]


def _edges(logs: Logs, span: tuple[int, int], level: Level, clock: Clock) -> tuple[int, int]:
    """Return where the series is nearer to the high level in *span* than to the usual one."""
    first, last = span
    (high,) = _quantiles([x for x in logs[first : last + 1] if x is not None], 0.75)
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


def _slow_edges(logs: Logs, span: tuple[int, int], limit: float) -> tuple[int, int]:
    """Return *span* from where the series rises above *limit* to where it falls below it."""
    first, last = span
    while first and _above(logs[max(0, first - NEAR) : first], limit):
        first -= 1
    while last + 1 < len(logs) and _above(logs[last + 1 : last + 1 + NEAR], limit):
        last += 1
    return first, last


def _above(logs: Logs, limit: float) -> bool:
    known = [x for x in logs if x is not None]
    return bool(known) and median(known) > limit


def _sharpness(logs: Logs, first: int, last: int) -> float:
    """Return the larger change of level at one of the two edges, within a few intervals."""
    reach = min(max(3, last + 1 - first), max(NEAR, len(logs) // 40))
    changes = [0.0]
    for inner, outer in (
        (logs[first : first + reach], logs[max(0, first - 1 - reach) : max(0, first - 1)]),
        (logs[max(first, last + 1 - reach) : last + 1], logs[last + 2 : last + 2 + reach]),
    ):
        inside = [x for x in inner if x is not None]
        outside = [x for x in outer if x is not None]
        if inside and outside:
            changes.append(median(inside) - median(outside))
    return max(changes)


def _drift(logs: Logs, level: Level) -> list[tuple[int, int]]:
    """Return the end of a series that rises all the time, from where it is unusual; [] for any other."""
    known = [i for i, x in enumerate(logs) if x is not None]
    size = len(known) // PARTS
    parts = [
        median([logs[i] or 0.0 for i in known[n * size : (n + 1) * size]]) for n in range(PARTS)
    ]
    rises = all(b > a - level.spread / 4 for a, b in pairwise(parts))
    if not rises or parts[-1] - parts[0] < GRADUAL:
        return []
    limit = parts[0] + FACTOR
    return [(next(i for i in known[size:] if (logs[i] or 0.0) > limit), known[-1])]


def _joined(places: Iterable[int], clock: Clock) -> list[tuple[int, int]]:
    """Return *places* as spans that bridge a few others, but no gap in time."""
    spans: list[tuple[int, int]] = []
    for place in places:
        if spans and place - spans[-1][1] <= BRIDGED + 1 and not clock.gap(spans[-1][1], place):
            spans[-1] = (spans[-1][0], place)
        else:
            spans.append((place, place))
    return spans


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _middle(logs: Logs, first: int, last: int) -> float:
    return median([x for x in logs[first : last + 1] if x is not None])


def _rise(logs: Logs, span: tuple[int, int], level: Level) -> float:
    return exp(_middle(logs, *span)) - exp(level.middle)


def _run(figures: Figures, awaits: Logs, usual: float | None, span: tuple[int, int]) -> Run:
    """Return the run in *span* with its mean await per request."""
    first, last = span
    requests = waited = excess = 0.0
    for i in range(first, last + 1):
        ms, rate = awaits[i], figures.rates[i]
        if ms is not None and rate:
            requests += rate
            waited += rate * ms
            excess += rate * max(0.0, ms - (usual or 0.0)) / 1000
    return Run(first, last, usual, waited / requests if requests else None, excess)


def _matters(run: Run) -> bool:
    """Whether the await of *run* rose by so much that people notice."""
    if run.usual is None or run.during is None:
        return False
    rise = run.during - run.usual
    if run.during < QUEUE_AWAIT * run.usual:
        return False
    extra = run.excess / (run.last + 1 - run.first)
    return rise >= LEAST_MS or (rise >= FAST_MS and extra >= EXTRA)


def _evident(figures: Figures, awaits: Logs, clock: Clock) -> list[Run]:
    """Return the runs that are bad without a baseline: long waits in a long queue."""
    hot = [
        i
        for i, (ms, queue) in enumerate(zip(awaits, figures.queues, strict=True))
        if ms is not None and ms >= EVIDENT_MS and (queue or 0.0) >= EVIDENT_QUEUE
    ]
    runs = [_run(figures, awaits, None, span) for span in _joined(hot, clock)]
    return [run for run in runs if run.last > run.first or (run.during or 0.0) >= HOPELESS_MS]


# What recurs


def _recurs(run: Run, logs: Logs, level: Level, clock: Clock) -> bool:
    """Whether the same device is about as slow at the same time of other hours, days or weeks, and not between."""
    if not clock.ends or not clock.pace or run.during is None:
        return False
    length = (run.last + 1 - run.first) * clock.pace
    return any(
        length <= period / 3
        and clock.pace <= period / 5
        and _recurs_each(run, logs, level, clock, period)
        for period in PERIODS
    )


def _recurs_each(run: Run, logs: Logs, level: Level, clock: Clock, period: int) -> bool:
    tolerance = max(clock.pace, min(period / 24, 1800.0))
    count = run.last + 1 - run.first
    height = log(run.during or 1.0)
    bar = level.middle + max(2 * level.spread, RAISED * (height - level.middle))

    def heights(offset: float) -> list[float]:
        """Return how high the series is for as long, at that distance from the run in each other period."""
        found = []
        for n in (*range(-OTHERS, 0), *range(1, OTHERS + 1)):
            shift = n * period + offset
            begin = bisect_left(clock.ends, clock.ends[run.first] + shift - tolerance)
            end = bisect_right(clock.ends, clock.ends[run.last] + shift + tolerance)
            if end - begin >= count:
                values = sorted(x for x in logs[begin:end] if x is not None)
                longest = values[-max(1, count // 2) :]
                found.append(longest[0] if longest else level.middle)
        return found

    there, between = heights(0.0), heights(period / 2)
    if len(there) < FEWEST or height > max(there) + FACTOR:
        return False
    often = sum(x >= bar for x in there) / len(there)
    seldom = sum(x >= bar for x in between) / max(1, len(between))
    return often >= ALIKE and seldom <= BETWEEN * often
