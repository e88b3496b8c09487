"""
Copies of /proc/diskstats, as scripts collect them and as people paste them, and its counters as vmstat -d prints them.

Timed: each copy under a ``TS epoch.ns date`` line, the format of pt-diskstats and pt-stalk, and of one line of
shell: ``while :; do date +'TS %s.%N %F %T'; cat /proc/diskstats; sleep 1; done``.

Untimed: one copy has the totals since boot; two have the totals of an interval of unknown length. Their
proportions are right.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackmap.errors import InputError, ParseError
from stackmap.model.interval import Interval
from stackmap.sources import diskstats
from stackmap.sources.diskstats import Sample
from stackmap.text.headings import MAX_DEVICES

# How a line begins: the time of a sample, a device. A row of vmstat has numbers alone, and so no name.
STAMP = re.compile(r"TS (\d{1,12}(?:\.\d*)?)(?:\s|$)")
DEVICE = re.compile(r"\s*\d{1,9}\s+\d{1,9}\s+(?!\d+\s)(\S+)(?:\s+-?\d{1,20}){11,40}\s*$")
# A partition before Linux 2.6.25, below the line of its disk.
PARTITION = re.compile(r"\s*\d{1,9}\s+\d{1,9}\s+([a-z]\S*\d)(?:\s+\d{1,20}){4}\s*$")
PERHAPS_CUT = re.compile(r"\s*\d+\s+\d+\s+\S+\s+\d")

LAST_TRUNCATED = "the last sample is incomplete and left out"
DAMAGED = "a damaged sample is left out"
CLOCK_SET_BACK = "the clock was set back or stood still: no interval between those samples"
SINCE_BOOT = "totals since boot, not rates: the text has one copy of the counters"
NO_LENGTH = "totals, not rates: the copies of the counters have no times"


def read_timed(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the intervals between complete timed samples in order."""
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


def read_untimed(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the totals between each two untimed copies, of a single one since boot."""
    last: Sample | None = None
    alone, spoilt = True, 0
    for copy, cut in _copies(lines):
        spoilt += cut
        if last is not None:
            alone = False
            yield _annotated(diskstats.between(last, copy), NO_LENGTH, spoilt)
            spoilt = 0
        last = copy
    if alone and last is not None:
        yield _annotated(diskstats.since_boot(last, 1.0), SINCE_BOOT, spoilt)


# The second line of the heading of vmstat -d, and a row: the first ten counters but for busy time, in seconds.
VMSTAT = re.compile(
    r"[\s>]*total\s+merged\s+sectors\s+ms\s+total\s+merged\s+sectors\s+ms\s+cur\s+sec\b"
)
_VMSTAT_ROW = re.compile(r"[\s>]*([a-z]\S*)((?:\s+\d{1,20}){10})(?:\s+\S+\s+\S+)?\s*")


def read_vmstat(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the totals between each two reports of ``vmstat -d``, of a single one since boot."""
    rows = (row for line in lines if (row := _VMSTAT_ROW.fullmatch(line)))
    return read_untimed(f"0 0 {row[1]}{row[2]} 0" for row in rows)


def samples(lines: Iterable[str]) -> Iterator[tuple[Sample, bool]]:
    """Yield the timed samples and whether each is the last; text before the first is ignored."""
    time: float | None = None
    seen: list[str] = []
    for line in lines:
        stamp = STAMP.match(line)
        if stamp is not None:
            if time is not None:
                yield Sample(time, seen), False
            time, seen = float(stamp[1]), []
        elif time is not None and line.strip():
            seen.append(line.rstrip("\n"))
            if len(seen) > MAX_DEVICES:
                raise InputError(f"refused: more than {MAX_DEVICES} lines in one sample")
    if time is not None and seen:
        yield Sample(time, seen), True


def _damage(start: Sample | None, sample: Sample, *, last: bool) -> str:
    """Return why *sample* is unusable, "" if it is usable: a bad line, or a last one without all devices."""
    try:
        after = list(sample.counters)
        before = [] if start is None or not last else list(start.counters)
    except ParseError:
        return LAST_TRUNCATED if last else DAMAGED
    return LAST_TRUNCATED if len(after) < len(before) and before[: len(after)] == after else ""


def _copies(lines: Iterable[str]) -> Iterator[tuple[Sample, int]]:
    """Yield each copy, one second after the one before, and how many of its lines were damaged."""
    count = 0
    seen: dict[str, str] = {}
    cut = 0
    for line in lines:
        device = DEVICE.match(line) or (PARTITION.match(line) if seen else None)
        if device is None:
            cut += PERHAPS_CUT.match(line) is not None
            continue
        if device[1] in seen:
            yield Sample(count, seen.values()), cut
            count, seen, cut = count + 1, {}, 0
        seen[device[1]] = line
        if len(seen) > MAX_DEVICES:
            raise InputError(f"refused: more than {MAX_DEVICES} devices in one sample")
    if seen:
        yield Sample(count, seen.values()), cut


def _annotated(interval: Interval, note: str, spoilt: int) -> Interval:
    """Return the interval without figures that need a length, and with its caveats."""
    loads = {
        name: load._replace(aqu=None, busy=None, in_flight_at_ends=None)
        for name, load in interval.loads.items()
    }
    notes = (note, *([f"{spoilt} lines were cut or damaged"] if spoilt else []))
    return replace(interval, loads=loads, time=None, seconds=None, notes=notes)
