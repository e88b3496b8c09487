"""What a reader must know of an interval itself, beside its figures."""

from __future__ import annotations

from datetime import UTC, datetime

from stackmap.document.times import is_instant
from stackmap.model.interval import Interval


def span(interval: Interval) -> str:
    """Return what a reader must know of the interval, "" where there is nothing."""
    parts = [interval.stamp] if interval.stamp else []
    if interval.since_boot:
        parts.append("averages since boot, not a current rate")
    if interval.seconds:
        parts.append(f"{interval.seconds:.1f} s")
    return ", ".join(parts)


def clock(interval: Interval) -> str:
    """Return a line with the instant the interval ended, ISO 8601; the text's own if it has no other."""
    return f"{_time(interval) or '-'}\n"


def interval_json(interval: Interval) -> dict[str, object]:
    """Return what every object about an interval says of it."""
    return {
        "time": _time(interval),
        "seconds": interval.seconds,
        "since_boot": interval.since_boot,
        "summary": interval.summary,
        "events": list(interval.events),
        "notes": list(interval.notes),
    }


def _time(interval: Interval) -> str | None:
    if not is_instant(interval.time):
        return interval.stamp or None
    return datetime.fromtimestamp(interval.time or 0.0, UTC).isoformat().replace("+00:00", "Z")
