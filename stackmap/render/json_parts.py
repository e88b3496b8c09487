"""Parts that several JSON objects share."""

from __future__ import annotations

from stackmap.analysis.traffic.amounts import Traffic
from stackmap.document.interval import end_time
from stackmap.model.interval import Interval


def interval_json(interval: Interval) -> dict[str, object]:
    """Return the keys that describe *interval*."""
    return {
        "time": end_time(interval),
        "seconds": interval.seconds,
        "since_boot": interval.since_boot,
        "summary": interval.summary,
        "events": list(interval.events),
        "notes": list(interval.notes),
    }


def range_json(part: Traffic) -> dict[str, list[float | None]] | None:
    """Return the lower and upper ends of an estimate; None for an exact figure."""
    if not part.is_range:
        return None
    low, high = part.bounds
    return {"arrivals": [low.arrivals, high.arrivals], "bytes": [low.bytes, high.bytes]}
