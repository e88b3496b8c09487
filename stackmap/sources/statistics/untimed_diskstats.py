"""
``/proc/diskstats`` as people paste it: one copy or more, without times.

One copy has the totals since boot; two have the totals of an interval of unknown
length. Their proportions are right. See ``timed_diskstats`` for copies with times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import Load
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample
from stackmap.sources.statistics import timed_diskstats
from stackmap.sources.statistics.headings import heading
from stackmap.sources.statistics.report_builder import MAX_DEVICES
from stackmap.sources.statistics.text_lines import Lines

DEVICE = re.compile(r"\s*\d{1,9}\s+\d{1,9}\s+(\S+)(?:\s+-?\d{1,20}){11,40}\s*$")
# A partition before Linux 2.6.25, below the line of its disk.
PARTITION = re.compile(r"\s*\d{1,9}\s+\d{1,9}\s+([a-z]\S*\d)(?:\s+\d{1,20}){4}\s*$")
PERHAPS_CUT = re.compile(r"\s*\d+\s+\d+\s+\S+\s+\d")

SINCE_BOOT = "totals since boot, not rates: the text is one copy of /proc/diskstats"
NO_LENGTH = "totals, not rates: these copies of /proc/diskstats have no times"


def begins(line: str) -> bool:
    """Whether *line* is a line of /proc/diskstats."""
    return DEVICE.match(line) is not None


def read(lines: Lines) -> Iterator[Interval]:
    """Yield the totals between each two copies, up to a text of another kind."""
    last: Sample | None = None
    alone, spoilt = True, 0
    for copy, cut in _copies(lines):
        spoilt += cut
        if last is not None:
            alone = False
            yield _annotated(diskstats.between(last, replace(copy, time=1.0)), NO_LENGTH, spoilt)
            spoilt = 0
        last = copy
    if alone and last is not None:
        yield _annotated(diskstats.since_boot(last, 1.0), SINCE_BOOT, spoilt)


def _copies(lines: Lines) -> Iterator[tuple[Sample, int]]:
    """Yield each copy, and how many of its lines were damaged."""
    seen: dict[str, str] = {}
    cut = 0
    for line in lines:
        device = DEVICE.match(line) or (PARTITION.match(line) if seen else None)
        if device is None:
            if timed_diskstats.begins(line) or heading(line.split()) is not None:
                lines.push_back(line)
                break
            cut += PERHAPS_CUT.match(line) is not None
            continue
        if device[1] in seen:
            yield Sample(0.0, tuple(seen.values())), cut
            seen, cut = {}, 0
        seen[device[1]] = line
        if len(seen) > MAX_DEVICES:
            raise InputError(f"refused: more than {MAX_DEVICES} devices in one sample")
    if seen:
        yield Sample(0.0, tuple(seen.values())), cut


def _annotated(interval: Interval, note: str, spoilt: int) -> Interval:
    """Return the interval without figures that need a length, and with its caveats."""
    loads = {name: _without_length(load) for name, load in interval.loads.items()}
    notes = (note, *([f"{spoilt} lines were cut or damaged"] if spoilt else []))
    return replace(interval, loads=loads, time=None, seconds=None, notes=notes)


def _without_length(load: Load) -> Load:
    return replace(load, aqu=None, busy=None, in_flight_at_ends=None)
