"""``--since``, ``--until`` and ``--every``: which part of a capture, in the words of journalctl and sar."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING

import click

from stackmap.errors import InputError
from stackmap.host.timeline import TimeWindow, utc_time

if TYPE_CHECKING:
    from stackmap.host.capture import CapturedHost

UNITS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_LENGTH = re.compile(rf"([0-9]+(?:\.[0-9]+)?) ?({'|'.join(UNITS)})")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
TIME = "a time is 2026-11-21T14:30[:10][Z], 14:30, @1763732400, -1h (before the end), +1h (after the begin)"

Span = tuple[float, float]


def narrow(host: CapturedHost, words: tuple[str | None, ...], most: int | None) -> float | None:
    """
    Have *host* show no more than the window that *words* say, and about *most* samples of it.

    Return how many seconds these are apart then; None where each is shown, or
    *words* say how far. ``click.UsageError`` for words that say no window.
    """
    since, until, every = words
    span = host.span()
    if span is None:
        if any(words):
            raise click.UsageError(
                f"--since, --until and --every choose from samples: {host.path} has none"
            )
        return None
    begin = None if since is None else instant(since, span, span[1], later=False)
    end = None if until is None else instant(until, span, begin or span[0], later=True)
    step, apart = None if every is None else length(every), None
    if step is None and most is not None:
        seconds = min(end or span[1], span[1]) - max(begin or span[0], span[0])
        apart = _apart(seconds, host.spacing(), most)
    try:
        host.select(TimeWindow(begin, end, apart if step is None else step))
    except InputError as error:
        raise InputError(f"{error}; it has {' to '.join(map(utc_time, span))}") from error
    return apart


def _apart(seconds: float, pace: float | None, most: int) -> float | None:
    """
    Return how far apart *most* samples of so many *seconds* are, by whole paces; None if there are no more.

    >>> _apart(86400.0, 1.0, 7200), _apart(100.0, 1.0, 60), _apart(3600.0, 1.0, 7200)
    (12.0, 2.0, None)
    """
    if not pace or seconds <= most * pace:
        return None
    return ceil(round(seconds / most / pace, 6)) * pace


def instant(text: str, span: Span, near: float, *, later: bool) -> float:
    """
    Return the seconds since the epoch that *text* means in a capture of *span*.

    A time of day is the first one from *near* on if *later*, else the last one before.
    """
    if found := re.fullmatch(r"([-+])(.+)", text):
        return span[0] + length(found[2]) if found[1] == "+" else span[1] - length(found[2])
    try:
        if text.startswith("@"):
            return float(text[1:])
        if found := _CLOCK.fullmatch(text):
            return _of_day(*(int(part or 0) for part in found.groups()), near=near, later=later)
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise click.UsageError(f"{text} is no time: {TIME}") from error


def length(text: str) -> float:
    """
    Return how many seconds *text* means.

    >>> length("90"), length("1.5h"), length("10 min")
    (90.0, 5400.0, 600.0)
    """
    found = _LENGTH.fullmatch(text)
    if found is None or not 0 < float(found[1]) <= 1e9:
        raise click.UsageError(f"{text} is no length of time: 90, 90s, 5min, 1h, 2d")
    return float(found[1]) * UNITS[found[2]]


def _of_day(hour: int, minute: int, second: int, *, near: float, later: bool) -> float:
    """Return the instant of that time of day, as this machine's clocks have it, next to *near*."""
    day = datetime.fromtimestamp(near).replace(  # noqa: DTZ006 - people mean their own clock
        hour=hour, minute=minute, second=second, microsecond=0
    )
    if later and day.timestamp() < near:
        day += timedelta(days=1)
    if not later and day.timestamp() > near:
        day -= timedelta(days=1)
    return day.timestamp()
