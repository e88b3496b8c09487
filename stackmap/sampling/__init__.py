"""Counters over time: averages since boot, and which intervals of many are wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from stackmap.errors import InputError
from stackmap.sources import diskstats, uptime

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.interval import Interval

T = TypeVar("T")


def since_boot(host: Host) -> Interval:
    """Return the averages since boot, which are no current rate and say so."""
    sample = diskstats.read(host, next(host.ticks(0, 1)))
    return diskstats.since_boot(sample, uptime.read(host))


def select_intervals(reports: Iterable[Interval], which: str, source: str) -> Iterator[Interval]:
    """
    Yield those of *reports* that *which* asks for; see ``picked``.

    A text's own averages are reports only where it has no others.
    """
    return select(_without_summaries(reports), which, source)


def select(reports: Iterable[T], which: str, source: str) -> Iterator[T]:
    """
    Yield those of *reports* that *which* asks for: a number from 1, "last" or "all".

    ``InputError`` naming *where* if there is none.
    """
    if which == "all":
        chosen: Iterable[T] = reports
    elif which == "last":
        chosen = deque(reports, maxlen=1)
    else:
        chosen = islice(reports, int(which) - 1, int(which))
    empty = True
    for report in chosen:
        empty = False
        yield report
    if empty:
        wanted = "" if which in ("all", "last") else f" number {which}"
        raise InputError(
            f"{source}: no interval{wanted}: need two samples to compute a rate "
            "(--since-boot shows averages of one sample)"
        )


def _without_summaries(reports: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the intervals as they come; if there is none, the averages that the text gave itself."""
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
