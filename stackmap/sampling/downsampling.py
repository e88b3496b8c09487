"""
Fewer intervals with the same average.

Where all devices only counted on, the difference of the ends of a stretch is
the sum of its intervals: of counts, bytes and milliseconds, which is all that
an average is made of. What is of each interval, as its extremes and how many
requests were in flight at its ends, is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from stackmap.sampling.snapshots import Snapshot, interval_between
from stackmap.sources import diskstats

if TYPE_CHECKING:
    from stackmap.sampling.snapshots import TopologyInterval


def counted_on(earlier: Snapshot, later: Snapshot) -> bool:
    """Whether no more happened between the two than that the same devices, and all of them, counted on."""
    return earlier.identities is later.identities is not None and diskstats.only_counted_up(
        earlier.sample, later.sample
    )


def downsample(snapshots: Iterable[tuple[Snapshot, int]]) -> Iterator[TopologyInterval]:
    """
    Yield one interval for all *moments* between which devices only counted on, and the others as they are.

    Beside each moment stands how many intervals it ends.
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
