"""
Fewer intervals with the same averages.

While all counters only go up, the difference between the first and the last
sample is the sum of the intervals between, in counts, bytes and milliseconds.
What belongs to a single interval is lost: extremes, and requests in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackmap.sampling.snapshots import Snapshot, TopologyInterval, interval_between
from stackmap.sources import diskstats


def counted_on(earlier: Snapshot, later: Snapshot) -> bool:
    """Whether between the two the same devices were there and all counters only went up."""
    return earlier.identities is later.identities is not None and diskstats.only_counted_up(
        earlier.sample, later.sample
    )


def downsample(snapshots: Iterable[tuple[Snapshot, int]]) -> Iterator[TopologyInterval]:
    """
    Yield one interval per run of *snapshots* with plain counting, and the others unchanged.

    Each snapshot comes with the number of intervals that it ends.
    """
    begin: Snapshot | None = None
    end: Snapshot | None = None
    count = 0
    for moment, passed in snapshots:
        if end is not None and counted_on(end, moment):
            count += passed
        elif end is not None:
            yield from _between(begin, end, count)
            yield from _between(end, moment, passed)
            begin, count = moment, 0
        else:
            begin = moment
        end = moment
    yield from _between(begin, end, count)


def _between(
    begin: Snapshot | None, end: Snapshot | None, count: int
) -> Iterator[TopologyInterval]:
    if begin is not None and end is not None and begin is not end:
        yield begin.topology, replace(interval_between(begin, end), count=count)
