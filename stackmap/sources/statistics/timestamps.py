"""sysstat's times, if they mean one instant."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(text: str) -> float | None:
    """Return the seconds since the epoch of "2026-11-21 07:45:50" in UTC."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def zoned(text: str) -> float | None:
    """Return the seconds since the epoch of "2026-11-21T07:43:44+0000"."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
