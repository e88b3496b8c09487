"""Counters over time: samples of a host, the intervals between them, and which of those are wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from stackmap.errors import InputError
from stackmap.sources import diskstats, uevent, uptime

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.interval import Interval
    from stackmap.sources.diskstats import Sample


def samples(host: Host, interval: float, count: int | None) -> Iterator[Sample]:
    """Yield *count* samples, *interval* seconds apart; each is one read of the counters."""
    for time in host.ticks(interval, count):
        yield diskstats.read(host, time)


def intervals(host: Host, interval: float, count: int | None) -> Iterator[Interval]:
    """Yield *count* intervals, which takes one sample more."""
    taken = samples(host, interval, None if count is None else count + 1)
    return (diskstats.between(earlier, later) for earlier, later in pairwise(taken))


def of_the_same(
    host: Host, known: Mapping[str, str], reports: Iterable[Interval]
) -> Iterator[Interval]:
    """
    Yield *reports* without the devices that are no longer those of *known*.

    *known*: the diskseq of each by name, from when the topology was read. A
    name that was used again has counters that need not even go back, and what
    is known of it is another device's: it has no figures from then on.
    """
    seen = ""
    replaced: frozenset[str] = frozenset()
    for report in reports:
        now = uevent.count(host)
        if not now or now != seen:
            replaced = frozenset(n for n, seq in known.items() if uevent.diskseq(host, n) != seq)
            seen = now
        lost = sorted(replaced & report.loads.keys())
        if not lost:
            yield report
            continue
        loads = {name: load for name, load in report.loads.items() if name not in replaced}
        yield replace(report, loads=loads, events=(*report.events, *map(_replaced, lost)))


def since_boot(host: Host) -> Interval:
    """Return the averages since boot, which are no current rate and say so."""
    sample = next(samples(host, 0, 1))
    return diskstats.since_boot(sample, uptime.read(host))


def choose(reports: Iterable[Interval], which: str, where: str) -> Iterator[Interval]:
    """
    Yield those of *reports* that *which* asks for: a number from 1, "last" or "all".

    A text's own averages are reports only where it has no others.
    ``InputError`` naming *where* if there is none.
    """
    found = _without_summaries(reports)
    if which == "all":
        chosen: Iterable[Interval] = found
    elif which == "last":
        chosen = deque(found, maxlen=1)
    else:
        chosen = islice(found, int(which) - 1, int(which))
    empty = True
    for report in chosen:
        empty = False
        yield report
    if empty:
        wanted = "" if which in ("all", "last") else f" number {which}"
        raise InputError(
            f"{where}: no interval{wanted} to report: a rate takes two samples, or a report of "
            "rates (of one sample, --since-boot shows averages)"
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


def _replaced(name: str) -> str:
    return f"{name}: replaced by another device of that name; no figures for it"
