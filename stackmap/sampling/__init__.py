"""Averages since boot, and the selection of intervals."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
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
    total = 0

    def counted() -> Iterator[T]:
        nonlocal total
        for total, report in enumerate(reports, 1):  # noqa: B007 - the count is for the error
            yield report

    if which == "all":
        chosen: Iterable[T] = counted()
    elif which == "last":
        chosen = deque(counted(), maxlen=1)
    else:
        chosen = islice(counted(), int(which) - 1, int(which))
    empty = True
    for report in chosen:
        empty = False
        yield report
    if not empty:
        return
    if total:
        raise InputError(f"{source}: no interval {which}: use --report 1 to {total}")
    raise NoInterval(f"{source}: {NEED_TWO}; --since-boot shows averages since boot")


def without_summaries(reports: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the intervals as they come; a text's own averages only if it has no other intervals."""
    summaries: list[Interval] = []
    found = False
    for report in reports:
        if not report.summary:
            found = True
            summaries.clear()
            yield report
        elif not found:
            summaries.append(report)
    yield from summaries
