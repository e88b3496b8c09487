"""An interval's time and length in words."""

from __future__ import annotations

from datetime import UTC, datetime

from stackmap.document.times import is_instant
from stackmap.model.interval import Interval


def span(interval: Interval) -> str:
    """Return the interval's stamp and length, "" if it has neither."""
    parts = [interval.stamp] if interval.stamp else []
    if interval.since_boot:
        parts.append("averages since boot, not a current rate")
    if interval.seconds:
        parts.append(f"{interval.seconds:.1f} s")
    return ", ".join(parts)


def end_time(interval: Interval) -> str | None:
    """Return the end of the interval as ISO 8601; else the stamp of the input; None for neither."""
    if not is_instant(interval.time):
        return interval.stamp or None
    return datetime.fromtimestamp(interval.time or 0.0, UTC).isoformat().replace("+00:00", "Z")
