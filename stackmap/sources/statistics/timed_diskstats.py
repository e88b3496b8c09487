"""
Copies of /proc/diskstats, each under a ``TS epoch.ns date`` line.

The format of pt-diskstats and pt-stalk, and of one line of shell:
``while :; do date +'TS %s.%N %F %T'; cat /proc/diskstats; sleep 1; done``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackmap.errors import InputError, ParseError
from stackmap.model.interval import Interval
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample
from stackmap.sources.statistics.report_builder import MAX_DEVICES

STAMP = re.compile(r"TS (\d{1,12}(?:\.\d*)?)(?:\s|$)")

LAST_TRUNCATED = "the last sample is incomplete and left out"
DAMAGED = "a damaged sample is left out"
CLOCK_SET_BACK = "the clock was set back or stood still: no interval between those samples"


def begins(line: str) -> bool:
    """Whether *line* is the time of a sample."""
    return STAMP.match(line) is not None


def read(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the intervals between complete samples in order."""
    start: Sample | None = None
    held: Interval | None = None  # it gets the notes of the samples after it
    notes: dict[str, None] = {}
    for sample, last in samples(lines):
        fault = _damage(start, sample, last=last)
        if fault:
            notes[fault] = None
            continue
        if start is not None and sample.time <= start.time:
            notes[CLOCK_SET_BACK] = None
        elif start is not None:
            if held is not None:
                yield held
            held, notes = replace(diskstats.between(start, sample), notes=tuple(notes)), {}
        start = sample
    if held is not None:
        yield replace(held, notes=(*held.notes, *notes))


def samples(lines: Iterable[str]) -> Iterator[tuple[Sample, bool]]:
    """Yield the samples and whether each is the last; text before the first is ignored."""
    time: float | None = None
    seen: list[str] = []
    for line in lines:
        stamp = STAMP.match(line)
        if stamp is not None:
            if time is not None:
                yield Sample(time, tuple(seen)), False
            time, seen = float(stamp[1]), []
        elif time is not None and line.strip():
            seen.append(line.rstrip("\n"))
            if len(seen) > MAX_DEVICES:
                raise InputError(f"refused: more than {MAX_DEVICES} lines in one sample")
    if time is not None and seen:
        yield Sample(time, tuple(seen)), True


def _damage(start: Sample | None, sample: Sample, *, last: bool) -> str:
    """Return why *sample* is unusable, "" if it is usable: a bad line, or a last one without all devices."""
    try:
        after = list(diskstats.parse(sample.lines))
        before = [] if start is None or not last else list(diskstats.parse(start.lines))
    except ParseError:
        return LAST_TRUNCATED if last else DAMAGED
    return LAST_TRUNCATED if len(after) < len(before) and before[: len(after)] == after else ""
