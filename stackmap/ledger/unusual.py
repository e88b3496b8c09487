"""
When one device leaves its own usual range: runs of intervals in which its await or its queue is unusually long.

The baseline is the quiet level of the same series, so that up to 60 % of it may be bad. Awaits differ by
factors: logarithms are compared. An excess counts by its height, its length, and how sharply it begins or
ends: a daily swing begins slowly. What recurs at the same time of the hour, day or week is usual.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from math import exp, inf, log
from statistics import median
from typing import NamedTuple

from stackmap.ledger.time_series import Clock, Span
from stackmap.ledger.unusual_spans import (
    FACTOR,
    LEAST,
    Level,
    Logs,
    find_drift,
    find_spans,
    joined,
    level_without,
    middle_of,
    overlaps,
    quantiles,
    quiet_level,
)

REQUESTS = 4  # of an interval whose await counts
LEAST_MS = 0.5  # more await than usual, or
FAST_MS, EXTRA = 0.2, 1.0  # as much with so many more requests in flight
BRIEF, SCARCE = 2, 0.03  # so few intervals in which so few more are in flight: nearly nobody waits
DAY, HOUR = 86400.0, 3600.0
WAITING = 0.02  # the least share of what a device usually waits in a day, or in a shorter series
QUEUE_FACTOR, QUEUE, QUEUE_AWAIT = log(3.0), 2.0, 1.3  # a longer queue counts if await rises, too
EVIDENT_QUEUE, EVIDENT_MS, HOPELESS_MS = 4.0, 50.0, 500.0  # without a baseline
# Periods that cron, timers and scrubs have, in seconds; how many others are compared, and how many of them must be alike.
PERIODS = (300, 600, 900, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 604800)
TIMES, FEW_TIMES = 24, 6  # of a day or of an hour, and at how many of them something runs always
OTHERS, FEWEST, ALIKE, BETWEEN, RAISED = 16, 3, 0.5, 0.34, 0.3
FEWEST_DAYS = 2  # of whole days or weeks, if all are alike: few texts have more than three nights
SHORT, LONGER = (
    0.02,
    3,
)  # runs that may be a habit: their share of the series, and how much longer than another one


class Figures(NamedTuple):
    """
    The series of one device, one value per interval; None where unknown.

    ``awaits``: milliseconds, None also where nothing completed; ``rates``: requests per second; ``queues``: in flight.
    """

    awaits: Sequence[float | None]
    rates: Sequence[float | None]
    queues: Sequence[float | None]


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


def unusual(figures: Figures, clock: Clock) -> list[Run]:
    """Return the runs of unusual intervals of one device, in their order; none that recur."""
    awaits = known_awaits(figures, clock.pace)
    runs = [
        Run(a, b, None, None, sum(figures.queues[i] or 0.0 for i in range(a, b + 1)), stuck=True)
        for a, b in _stuck(figures, awaits, clock)
    ]
    logs = [None if ms is None else log(ms) for ms in awaits]
    level = quiet_level(logs)
    if level is None:
        return _with_aftermath([*runs, *_evident(figures, awaits, clock)])
    spans = find_spans(logs, level, FACTOR, clock)
    again = level_without(logs, spans)
    if spans and again is not None:
        level, spans = again, find_spans(logs, again, FACTOR, clock)
    spans = spans or find_drift(logs, level)
    usual = exp(level.middle)
    candidates = [_run(figures, awaits, usual, span) for span in spans]
    queues, rates = (
        [log(x) if x and ms is not None else None for x, ms in zip(values, awaits, strict=True)]
        for values in (figures.queues, figures.rates)
    )
    longer = level_without(queues, spans)
    if longer is not None:
        candidates += [
            _run(figures, awaits, usual, span)
            for span in find_spans(queues, longer, QUEUE_FACTOR, clock)
            if not overlaps(span, spans)
            and exp(middle_of(queues, *span)) - exp(longer.middle) >= QUEUE
        ]
    least = WAITING * _waited_usually(figures, awaits, usual, clock)
    candidates = [run for run in candidates if _matters(run)]
    stuck, habits = [run[:2] for run in runs], Habits(candidates, len(logs), clock)
    runs += [
        run
        for run in candidates
        if run.excess >= least and not overlaps(run[:2], stuck) and not habits.have(run)
    ]
    load = level_without(rates, [run[:2] for run in runs])
    return _with_aftermath(
        run for run in runs if run.stuck or not _recurs(run, (logs, level), (rates, load), clock)
    )


def _stuck(figures: Figures, awaits: Logs, clock: Clock) -> list[Span]:
    """Return the spans in which requests are in flight and none completes, with the intervals beside in which few do."""
    waiting = [
        (queue or 0.0) >= 1.0 and ms is None
        for queue, ms in zip(figures.queues, awaits, strict=True)
    ]
    none = [i for i, rate in enumerate(figures.rates) if rate == 0 and waiting[i]]
    spans: list[Span] = []
    for span in joined(none, clock):
        first, last = span
        before = takewhile(waiting.__getitem__, range(first - 1, -1, -1))
        after = takewhile(waiting.__getitem__, range(last + 1, len(waiting)))
        wider = first - sum(1 for _ in before), last + sum(1 for _ in after)
        spans += [wider] if not spans or wider[0] > spans[-1][1] else []
    return spans


def _with_aftermath(runs: Iterable[Run]) -> list[Run]:
    """Return *runs* in their order, one for a device that is stuck and what waited until then, or before and after it."""
    ordered: list[Run] = []
    for run in sorted(runs):
        before = ordered[-1] if ordered else None
        if before and before.last + 1 == run.first and before.stuck != run.stuck:
            timed = run if before.stuck else before
            ordered[-1] = Run(
                before.first,
                run.last,
                timed.usual,
                timed.during,
                before.excess + run.excess,
                stuck=True,
            )
        else:
            ordered.append(run)
    return ordered


def risen(awaits: Logs, span: Span) -> bool:
    """Whether *awaits*, as ``known_awaits`` has them, are above the usual one by enough for a run in *span*, evident or not."""
    first, last = span
    inside = [ms for ms in awaits[first : last + 1] if ms is not None]
    outside = [ms for ms in (*awaits[:first], *awaits[last + 1 :]) if ms is not None]
    if not inside or len(outside) < LEAST:
        return False
    (usual,) = quantiles(outside, 0.5)
    return median(inside) >= exp(FACTOR) * usual


def known_awaits(figures: Figures, pace: float) -> list[float | None]:
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


def _run(figures: Figures, awaits: Logs, usual: float | None, span: Span) -> Run:
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


def _waited_usually(figures: Figures, awaits: Logs, usual: float, clock: Clock) -> float:
    """Return the usual waiting in a day, or in a shorter series: requests in flight times intervals."""
    rates = [r for r, ms in zip(figures.rates, awaits, strict=True) if r and ms is not None]
    day = min(1.0, DAY / clock.pace / len(awaits)) if clock.pace else 1.0
    return usual * median(rates) / 1000 * len(rates) * day


def _matters(run: Run) -> bool:
    """Whether the await of *run* rose by so much that people notice."""
    if run.usual is None or run.during is None:
        return False
    rise = run.during - run.usual
    if run.during < QUEUE_AWAIT * run.usual:
        return False
    length = run.last + 1 - run.first
    extra = run.excess / length
    if length <= BRIEF and extra < SCARCE:
        return False
    return rise >= LEAST_MS or (rise >= FAST_MS and extra >= EXTRA)


def _evident(figures: Figures, awaits: Logs, clock: Clock) -> list[Run]:
    """Return the runs that are bad without a baseline: long waits in a long queue."""
    hot = [
        i
        for i, (ms, queue) in enumerate(zip(awaits, figures.queues, strict=True))
        if ms is not None and ms >= EVIDENT_MS and (queue or 0.0) >= EVIDENT_QUEUE
    ]
    runs = [_run(figures, awaits, None, span) for span in joined(hot, clock)]
    return [run for run in runs if run.last > run.first or (run.during or 0.0) >= HOPELESS_MS]


# What recurs


class Habits:
    """
    Tells which of *runs* is one of several short ones that look alike, where no half of the *count* intervals is without them.

    What runs every day or every hour is usual at its time only.
    """

    def __init__(self, runs: Iterable[Run], count: int, clock: Clock) -> None:
        self._runs = sorted(_at_no_fixed_time(runs, clock), key=_height)
        self._count = count
        self._highest: dict[int, float] = {}  # by the length of a run

    def have(self, run: Run) -> bool:
        """Whether enough runs everywhere are about as high and about as long as *run*, or more so."""
        length = run.last + 1 - run.first
        if length > max(1, SHORT * self._count):
            return False
        if length not in self._highest:
            self._highest[length] = self._highest_for(length)
        return _height(run) <= self._highest[length] + FACTOR

    def _highest_for(self, length: int) -> float:
        """Return the height that enough of the runs that are about as long have everywhere, -inf for none."""
        longer = [run for run in self._runs if length <= LONGER * (run.last + 1 - run.first)]

        def are_few(lowest: int) -> bool:
            """Whether the runs from *lowest* on are few, or leave out a half."""
            places = [-1, *sorted(run.first for run in longer[lowest:]), self._count]
            few = len(places) - 2 <= FEWEST
            return few or max(b - a for a, b in pairwise(places)) > self._count / 2

        # The higher, the fewer.
        place = bisect_left(range(len(longer)), True, key=are_few)
        return _height(longer[place - 1]) if place else -inf


def _at_no_fixed_time(runs: Iterable[Run], clock: Clock) -> list[Run]:
    """Return *runs* without those at the times of the day or of the hour at which most days or hours have one, if these are few."""
    kept = [*runs]
    span = clock.ends[-1] - clock.ends[0] if clock.ends else 0.0
    for period in (DAY, HOUR):
        if span < FEWEST * period or clock.pace > period / TIMES:
            continue
        places = [(int(clock.ends[run.first] * TIMES // period), run) for run in kept]
        seen: defaultdict[int, set[int]] = defaultdict(set)  # periods by time, with the next time
        for place, _ in places:
            for begin in (place, place - 1):
                seen[begin % TIMES].add(begin // TIMES)
        fixed = {time for time, on in seen.items() if len(on) >= ALIKE * span / period}
        if len(fixed) <= FEW_TIMES:
            kept = [run for at, run in places if not {at % TIMES, (at - 1) % TIMES} & fixed]
    return kept


def _height(run: Run) -> float:
    return log(run.during or 1.0)


def _recurs(
    run: Run,
    waits: tuple[Logs, Level],
    loads: tuple[Logs, Level | None],
    clock: Clock,
) -> bool:
    """
    Whether the same device is about as slow at the same time of other hours, days or weeks, and not between.

    Its load may recur instead, if the await was about as high in one of them: a disk near its limit is slow in
    some of its hours only.
    """
    if not clock.ends or not clock.pace or run.during is None:
        return False
    length = (run.last + 1 - run.first) * clock.pace
    logs, level = waits
    rates, load = loads
    height = _longest_half(logs[run.first : run.last + 1], run.last + 1 - run.first, level)
    for period in PERIODS:
        if length > period / 3 or clock.pace > period / 5:
            continue
        there = _heights(run, logs, level, clock, period, 0.0)
        fewest = FEWEST_DAYS if period >= DAY else FEWEST
        if len(there) < fewest or height > max(there.values()) + FACTOR:
            continue
        if _each_period(run, logs, level, height, clock, period):
            return True
        if load is None:
            continue
        requests = middle_of(rates, run.first, run.last)
        if requests > load.middle + max(2 * load.spread, FACTOR / 2) and _each_period(
            run, rates, load, requests, clock, period
        ):
            return True
    return False


def _each_period(
    run: Run, logs: Logs, level: Level, height: float, clock: Clock, period: int
) -> bool:
    """
    Whether a series is raised in most other periods at the time of *run*, and in few half a period later.

    What runs in every second period only, at the time of *run* of the others, is no reason.
    """
    bar = level.middle + max(2 * level.spread, RAISED * (height - level.middle))
    there, between = (
        _heights(run, logs, level, clock, period, offset) for offset in (0.0, period / 2)
    )
    even = [x for n, x in there.items() if n % 2 == 0]
    often, seldom, in_even = (
        sum(x >= bar for x in heights) / max(1, len(heights))
        for heights in (there.values(), between.values(), even)
    )
    if len(even) > 1 and in_even <= BETWEEN * often:
        return False
    return often >= (ALIKE if len(there) >= FEWEST else 1) and seldom <= BETWEEN * often


def _heights(
    run: Run, logs: Logs, level: Level, clock: Clock, period: int, offset: float
) -> dict[int, float]:
    """Return how high a series is for as long in each other period, by its number from that of *run*; *offset*: seconds later."""
    tolerance = max(clock.pace, min(period / 24, 1800.0))
    count = run.last + 1 - run.first
    heights = {}
    for n in (*range(-OTHERS, 0), *range(1, OTHERS + 1)):
        shift = n * period + offset
        begin = bisect_left(clock.ends, clock.ends[run.first] + shift - tolerance)
        end = bisect_right(clock.ends, clock.ends[run.last] + shift + tolerance)
        if end - begin >= count:
            heights[n] = _longest_half(logs[begin:end], count, level)
    return heights


def _longest_half(logs: Logs, count: int, level: Level) -> float:
    """Return the least of the *count* ÷ 2 highest values; the middle of *level* without values."""
    longest = sorted(x for x in logs if x is not None)[-max(1, count // 2) :]
    return longest[0] if longest else level.middle
