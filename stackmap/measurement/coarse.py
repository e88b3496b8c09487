"""Intervals of several samples."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from stackmap.ledger.averages import average
from stackmap.sampling.snapshots import counted_on, interval_between

if TYPE_CHECKING:
    from stackmap.model.interval import Interval
    from stackmap.sampling.snapshots import Snapshot, TopologyInterval


def coarse_intervals(
    snapshots: Iterable[tuple[Snapshot, int]], devices: Container[str] | None = None
) -> Iterator[TopologyInterval]:
    """
    Yield the intervals from one snapshot to the next; those that come with 0 are only examined.

    While counters only go up, the difference of the ends is the sum. A device that was replaced or
    whose counters went back in between has no figures. *devices*: only these; None: all.
    """
    start: Snapshot | None = None
    begin: Snapshot | None = None  # of the stretch in which counters only went up
    last: Snapshot | None = None
    parts: list[Interval] = []
    for moment, passed in snapshots:
        alone = passed and last is start  # then the interval itself shows what happened
        if (
            begin is not None
            and last is not None
            and not alone
            and not counted_on(last, moment, devices)
        ):
            if begin is not last:
                parts.append(interval_between(begin, last, devices))
            parts.append(interval_between(last, moment, devices))
            begin = moment
        if passed:
            if start is not None and begin is not None:
                if begin is not moment:
                    parts.append(interval_between(begin, moment, devices))
                yield start.topology, _joined(parts)
            start, begin, parts = moment, moment, []
        last = moment


def _joined(parts: list[Interval]) -> Interval:
    """Return consecutive intervals as one, with figures of the devices that all have."""
    if len(parts) == 1:
        return parts[0]
    (whole,) = average(parts)
    return replace(whole, stamp="", count=1)
