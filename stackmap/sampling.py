"""Counters over time: samples of a host, and the intervals between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from stackmap.sources import diskstats

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


def whole(taken: Iterable[Sample]) -> Interval | None:
    """
    Return one interval from the first of the samples to the last; None for fewer than two.

    A device that came or went in between has no load, and an event says so.
    """
    span = iter(taken)
    first = last = next(span, None)
    for last in span:
        pass
    if first is None or last is None or first is last:
        return None
    return diskstats.between(first, last)
