"""
Copies of /proc/diskstats one after another, each under a ``TS epoch.ns date`` line.

The layout of pt-diskstats and pt-stalk, and of one line of shell:
``while :; do date +'TS %s.%N %F %T'; cat /proc/diskstats; sleep 1; done``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackmap.errors import ParseError
from stackmap.model.interval import Interval
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample

STAMP = re.compile(r"TS (\d{1,12}(?:\.\d*)?)(?:\s|$)")

CUT = "the last sample was cut short, and is left out"
DAMAGED = "a sample was damaged, and is left out"
BACK = "the clock was set back, or two samples bear one time: no interval between these"


def begins(line: str) -> bool:
    """Whether *line* is the stamp of a sample."""
    return STAMP.match(line) is not None


def read(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the intervals between the samples of a collection that are whole and in order."""
    start: Sample | None = None
    held: Interval | None = None  # for it is told of what comes after it
    notes: dict[str, None] = {}
    for sample, last in samples(lines):
        fault = _fault(start, sample, last=last)
        if fault:
            notes[fault] = None
            continue
        if start is not None and sample.time <= start.time:
            notes[BACK] = None
        elif start is not None:
            if held is not None:
                yield held
            held, notes = replace(diskstats.between(start, sample), notes=tuple(notes)), {}
        start = sample
    if held is not None:
        yield replace(held, notes=(*held.notes, *notes))


def samples(lines: Iterable[str]) -> Iterator[tuple[Sample, bool]]:
    """Yield the samples of a collection, and of each whether it is the last; text before is none."""
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
    if time is not None and seen:
        yield Sample(time, tuple(seen)), True


def _fault(start: Sample | None, sample: Sample, *, last: bool) -> str:
    """Return why *sample* cannot be used, "" if it can: a line is none, or the last lacks devices."""
    try:
        after = list(diskstats.parse(sample.lines))
        before = [] if start is None or not last else list(diskstats.parse(start.lines))
    except ParseError:
        return CUT if last else DAMAGED
    return CUT if len(after) < len(before) and before[: len(after)] == after else ""
