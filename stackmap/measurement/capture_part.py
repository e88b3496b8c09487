"""A part of a capture: from, until and how often, written as for journalctl and sar; how long its intervals are."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import InputError, SourceError, UsageError
from stackmap.host.timeline import TimeWindow, utc_time
from stackmap.model.interval import LONG_RECORDING
from stackmap.sources import diskstats

if TYPE_CHECKING:
    from stackmap.host.capture import CapturedHost

UNITS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_LENGTH = re.compile(rf"([0-9]+(?:\.[0-9]+)?) ?({'|'.join(UNITS)})")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
TIMES = "2026-11-21T14:30[:10][Z], 14:30, @1763732400, -1h (before the end), +1h (after the start)"

Span = tuple[float, float]  # the instants of the first and the last sample
LONG = 3600  # samples; a recording of more is a long one
MAX_FIGURES = 130_000  # devices times intervals: 130 intervals of 1,000 devices; where all are busy, 50 us and 1.5 KB each


class CapturePart(NamedTuple):
    """The samples from ``since`` to ``until``, one per ``every``; None: no bound."""

    since: str | None = None
    until: str | None = None
    every: str | None = None

    def show(self, host: "CapturedHost", resolution: "Resolution | None" = None) -> str:
        """
        Make *host* answer from this part only; a whole capture stays whole.

        Without ``every``, a long part has intervals of several samples, as *resolution* says;
        return a note on that, "" without any. ``UsageError`` if a time is invalid.
        """
        if self == WHOLE and resolution is None:
            return ""
        span = host.span()
        if span is None:
            if self != WHOLE:
                raise UsageError(f"{host.path} has no samples for --since, --until or --every")
            return ""
        begin = None if self.since is None else instant(self.since, span, span[1], later=False)
        near = begin or span[0]
        end = None if self.until is None else instant(self.until, span, near, later=True)
        step = None if self.every is None else length(self.every)
        note = ""
        if resolution is not None:
            seconds = min(end or span[1], span[1]) - max(begin or span[0], span[0])
            pace = host.spacing()
            if step is None:
                step = resolution.step(seconds, pace, _devices_of(host))
                if step and pace:
                    too_long = bool(resolution.refusal(seconds, pace))
                    note = note_on(step, pace, too_long=too_long)
            elif refusal := resolution.refusal(seconds, max(step, pace or step)):
                raise UsageError(refusal)
        try:
            host.select(TimeWindow(begin, end, step))
        except InputError as error:
            raise InputError(f"{error}; it has {' to '.join(map(utc_time, span))}") from error
        return note


WHOLE = CapturePart()


def instant(
    text: str, span: Span, near: float, *, later: bool, zone: tzinfo | None = None
) -> float:
    """
    Return the time that *text* means in a capture of *span*, in seconds since the epoch.

    A time of day is the first one after *near* if *later*, else the last one before it. *zone*: of times
    without one; None: of this machine.
    """
    if match := re.fullmatch(r"([-+])(.+)", text):
        return span[0] + length(match[2]) if match[1] == "+" else span[1] - length(match[2])
    try:
        if text.startswith("@"):
            seconds = float(text[1:])
            datetime.fromtimestamp(seconds, UTC)  # raises for nan and for no year of a calendar
            return seconds
        if match := _CLOCK.fullmatch(text):
            return _nearest_time_of_day(
                *(int(part or 0) for part in match.groups()), near=near, later=later, zone=zone
            )
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=time.tzinfo or zone).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{text!r} is not a time; write {TIMES}") from error


def length(text: str) -> float:
    """
    Return the length of time *text*, in seconds.

    >>> length("90"), length("1.5h"), length("10 min")
    (90.0, 5400.0, 600.0)
    """
    match = _LENGTH.fullmatch(text)
    if match is None or not 0 < float(match[1]) <= 1e9:
        raise UsageError(f"{text!r} is not a length of time; write 90, 90s, 5min, 1h or 2d")
    return float(match[1]) * UNITS[match[2]]


def _nearest_time_of_day(
    hour: int, minute: int, second: int, *, near: float, later: bool, zone: tzinfo | None
) -> float:
    """Return the instant of that time of day next to *near*; *zone* None: people mean their own clock."""
    day = datetime.fromtimestamp(near, zone).replace(
        hour=hour, minute=minute, second=second, microsecond=0
    )
    if later and day.timestamp() < near:
        day += timedelta(days=1)
    if not later and day.timestamp() > near:
        day -= timedelta(days=1)
    return day.timestamp()


class Resolution(NamedTuple):
    """
    The most intervals that are examined of a recording.

    ``of_long``: if it has more than ``LONG`` samples, for skipped samples are still read.
    ``held``: the most of a length that the user gives, if all are held in memory; None: no limit.
    """

    intervals: int
    of_long: int
    held: int | None = None

    def step(self, seconds: float, pace: float | None, devices: int = 0) -> float | None:
        """
        Return the seconds of an interval of a recording of *seconds*, a multiple of *pace*; None for each sample.

        *devices*: very many have fewer intervals.

        >>> whole = Resolution(3600, 1440)
        >>> whole.step(86400.0, 1.0), whole.step(3600.0, 1.0), Resolution(1800, 720).step(3600.0, 1.0)
        (60.0, None, 2.0)
        >>> whole.step(86400.0, 1.0, devices=15000)
        10800.0
        """
        if not pace:
            return None
        samples = round(seconds / pace, 6)
        most = self.of_long if samples > LONG else self.intervals
        if devices:
            most = max(1, min(most, MAX_FIGURES // devices))
        return None if samples <= most else ceil(round(samples / most, 6)) * pace

    def refusal(self, seconds: float, step: float) -> str:
        """
        Return why a recording of *seconds* cannot have intervals of *step*, as the user wants; "" if it can.

        >>> Resolution(1800, 720, 7200).refusal(86400.0, 1.0)
        '86400 intervals of 1 s are too many at once, at most 7200: use --every 12, or --since and --until'
        """
        count = round(seconds / step, 6)
        if self.held is None or count <= self.held:
            return ""
        return (
            f"{count:.0f} intervals of {step:g} s are too many at once, at most {self.held}: "
            f"use --every {ceil(count / self.held) * step:g}, or --since and --until"
        )


def _devices_of(host: "CapturedHost") -> int:
    """Return how many devices have counters in the first sample; 0 if that is unknown."""
    next(host.ticks(0, 1), None)
    try:
        return len(host.read(diskstats.PATH).splitlines())
    except SourceError:
        return 0


def _seconds(length: float) -> str:
    return f"{round(length, 1):g}" if length >= 0.1 else f"{length:.1g}"


def note_on(step: float, pace: float, *, too_long: bool) -> str:
    """Return a note that intervals have *step* seconds, samples *pace*; *too_long*: for using each sample."""
    spacing = _seconds(pace)
    part = "--since and --until with " if too_long else ""
    return (
        f"{LONG_RECORDING}: intervals of {_seconds(step)} s, from samples of {spacing} s; shorter "
        f"peaks are averaged; use {part}--every {spacing} for each sample"
    )


MINUTES_OF_A_DAY = Resolution(3600, 1440)
