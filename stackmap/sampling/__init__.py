"""
Samples of counters → intervals of a machine, whose devices may come, go and change.

Start in ``watch.py``: it takes snapshots and keeps the topology up to date. ``snapshots.py`` makes intervals of
them, for devices that are the same at both ends. Here: averages since boot, and which intervals are selected.
Needs ``host``, ``sources`` and ``model``; the function that discovers is given to it.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

from stackmap.errors import InputError, NoInterval, SourceMissing
from stackmap.host import Host
from stackmap.model.interval import Interval
from stackmap.sources import diskstats

T = TypeVar("T")

NEED_TWO = "no interval: need two samples to compute a rate"


def since_boot(host: Host) -> Interval:
    """
    Return the averages since boot; they are not a current rate and are marked so.

    ``NoInterval`` if a capture has no readable sample, ``SourceMissing`` if it has no uptime.
    """
    instant = next(host.ticks(0, 1), None)
    if instant is None:
        raise NoInterval("no readable sample, so no averages since boot")
    sample = diskstats.read(host, instant)
    try:
        seconds = diskstats.read_uptime(host)
    except SourceMissing as error:
        raise SourceMissing(f"no averages since boot: {error}") from error
    return diskstats.since_boot(sample, seconds)


def select(reports: Iterable[T], which: str, source: str) -> Iterator[T]:
    """
    Yield the *reports* that *which* selects: a number from 1, "last" or "all".

    ``InputError`` naming *source* if there is none.
    """
    number = None if which in ("all", "last") else int(which)
    newest: deque[T] = deque(maxlen=1)
    total = 0
    for total, report in enumerate(reports, 1):
        if which == "all" or total == number:
            yield report
        if total == number:
            return
        newest.append(report)
    if not total:
        raise NoInterval(f"{source}: {NEED_TWO}; --since-boot shows averages since boot")
    if number is not None:
        raise InputError(f"{source}: no interval {which}: use --report 1 to {total}")
    if which == "last":
        yield from newest


def without_summaries(reports: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the intervals as they come; a text's own averages only if it has no other intervals."""
    summaries: list[Interval] = []
    has_intervals = False
    for report in reports:
        if not report.summary:
            has_intervals = True
            summaries.clear()
            yield report
        elif not has_intervals:
            summaries.append(report)
    yield from summaries
