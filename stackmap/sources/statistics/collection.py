"""
Copies of /proc/diskstats one after another, each under a ``TS epoch.ns date`` line.

The layout of pt-diskstats and pt-stalk, and of one line of shell:
``while :; do date +'TS %s.%N %F %T'; cat /proc/diskstats; sleep 1; done``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from stackmap.errors import ParseError
from stackmap.model.interval import Interval
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample

STAMP = "TS "
CUT = "the last sample was cut short, and is left out"


def begins(line: str) -> bool:
    """Whether *line* is the stamp of a sample."""
    return line.startswith(STAMP) and line.split()[1:2] != [] and _is_time(line.split()[1])


def read(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the intervals between the samples of a collection."""
    held: Interval | None = None
    for earlier, later in pairwise(samples(lines)):
        if is_cut(earlier, later):
            held = held and replace(held, notes=(*held.notes, CUT))
            break
        if held is not None:
            yield held
        held = diskstats.between(earlier, later)
    if held is not None:
        yield held


def samples(lines: Iterable[str]) -> Iterator[Sample]:
    """Yield the samples of a collection; text before the first stamp is no sample."""
    time: float | None = None
    seen: list[str] = []
    for line in lines:
        if begins(line):
            if time is not None:
                yield Sample(time, tuple(seen))
            time, seen = float(line.split()[1]), []
        elif time is not None and line.strip():
            seen.append(line.rstrip("\n"))
    if time is not None and seen:
        yield Sample(time, tuple(seen))


def is_cut(earlier: Sample, later: Sample) -> bool:
    """Whether *later* holds only the first of the devices of *earlier*, or a line that is none."""
    try:
        before, after = list(diskstats.parse(earlier.lines)), list(diskstats.parse(later.lines))
    except ParseError:
        return True
    return len(after) < len(before) and before[: len(after)] == after


def _is_time(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
