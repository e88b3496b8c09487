"""
Intervals from a text of device statistics, in any format.

A text may mix formats (an article with tables of sar and iostat, JSON in a
ticket), so each line that one reader cannot use is offered to the others.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps

from stackmap.errors import InputError, NoInterval
from stackmap.model.interval import Interval
from stackmap.model.topology import Machine
from stackmap.text import (
    diskstats_copies,
    exposition,
    io_tools,
    monitors,
    repairs,
    sadf,
    sysstat_json,
    table_reader,
)
from stackmap.text.columns import COLUMNS
from stackmap.text.headings import TITLES, heading
from stackmap.text.text_lines import Lines

Begins = Callable[[str], object]
Reader = Callable[[Lines], Iterator[Interval]]
ReaderOfOne = Callable[[Iterable[str]], Iterator[Interval]]


def _until_another(read: ReaderOfOne) -> Reader:
    """Return *read* for the lines up to the next that begins another format; prose between its own lines is not."""

    def lines_of_one(lines: Lines) -> Iterator[str]:
        for line in lines:
            begun = _reader_of(line)
            if begun not in (None, within) or (begun is None and _is_of_sysstat(line)):
                lines.push_back()
                return
            yield line

    @wraps(read)
    def within(lines: Lines) -> Iterator[Interval]:
        return read(lines_of_one(lines))

    return within


def _is_of_sysstat(line: str) -> bool:
    """Whether *line* heads a table of iostat or sar, or is a row whose heading may be missing."""
    words = line.split()
    if words and words[-1][-1].isdecimal() and repairs.is_row(line):
        return True
    may_head = words and (words[0] in COLUMNS or any(title in words for title in TITLES))
    return bool(may_head) and heading(words) is not None


# Each format: whether it begins in a line, and its reader. Readers of the second table take lines of their format only.
_OF_ONE: tuple[tuple[Begins, ReaderOfOne], ...] = (
    (diskstats_copies.DEVICE.match, diskstats_copies.read_untimed),
    (diskstats_copies.VMSTAT.match, diskstats_copies.read_vmstat),
    (exposition.BEGINNING.match, exposition.read),
    *monitors.READERS,
    *io_tools.READERS,
)
FORMATS: tuple[tuple[Begins, Reader], ...] = (
    (sysstat_json.BEGINNING.search, sysstat_json.read),
    (sadf.CSV_HEADING.match, sadf.read_csv),
    (sadf.begins_tabs, sadf.read_tabs),
    (sadf.XML_BEGINNING.search, sadf.read_xml),
    (diskstats_copies.STAMP.match, diskstats_copies.read_timed),
    *((begins, _until_another(read)) for begins, read in _OF_ONE),
)


def _reader_of(line: str) -> Reader | None:
    """Return the reader of the format that begins in *line*, None if a table may begin there, or nothing."""
    for begins, read in FORMATS:
        if begins(line):
            return read
    return None


MAX_UNUSED_LINES = 500_000  # in a row

# A kernel name, perhaps after marks or a time, and figures, some with decimals.
DEVICE_ROW = re.compile(
    r"(?=.{0,400}\d[.,]\d)(?:[\s>|#*]|\d\d:\d\d:\d\d\s){0,40}"
    r"(?:[shv]d[a-z]{1,3}\d{0,3}|xvd[a-z]\d{0,2}|nvme\d+(?:c\d+)?n\d+(?:p\d+)?|(?:md|dm-|zd|rbd|nbd|bcache|drbd|mmcblk)\d[p\d]*)"
    r"(?:\s+\d[\d.,]*[kMGTB%]?){3,}\s*$"
)
MAX_NAMED_LINES = 5
LOOKED_AT = 1 << 16  # characters of a line: no heading is longer
MAX_SHAPES, LONGEST_SHAPE = 1000, 200  # that are kept of lines without meaning
_DIGITS = str.maketrans(dict.fromkeys("123456789", "0"))

# Texts without usable statistics, by a pattern of a line, each with the reason or what to do.
OTHER_FORMATS = {re.compile(pattern): meaning for pattern, meaning in {
    r"^\s*AIX \S+ \d": "sar of AIX: only Linux is supported",
    r"^\s*SunOS \S+ \d": "sar of Solaris: only Linux is supported",
    r"^\s*HP-UX \S+ \S*\d": "sar of HP-UX: only Linux is supported",
    r"extended device statistics|\bkr/s\s+kw/s|\bKB/t\b|% ?tm_act|^\s*L\(q\)\s+ops/s|\bbps\s+sps\s+msps\b":
        "iostat of another system than Linux: only sysstat's tables are supported",
    r"Requested activities not available in file": "sar has no disks in this file: `sadc -S DISK` collects them",
    r"^Filesystem:?\s+rBlk_nor/s|^Filesystem\S*\s.*rkB_nor/s": "iostat's table of NFS mounts: no devices in it",
    r"\btps\s+rtps\s+wtps\b": "sar -b has the totals of all disks: use `sar -d -p`, or `iostat -dxty 10 6`",
    r"\bkB_rd/s\s+kB_wr/s\b": "pidstat has figures of processes: add those of devices, `iostat -dxty 10 6`",
    r"\bDISK READ\b.*\bDISK WRITE\b": "iotop has figures of processes: add those of devices, `iostat -dxty 10 6`",
    r"\s*procs -+(?:memory)?-+.*-+io-+|\bi/o\s+requested writes|\bread sectors\s+writes\b|^\s*\d+ (?:milli reading|inprogress IO)\s*$":
        "vmstat has no figures per device without -d: use `iostat -dxty 10 6` or `vmstat -d`",
    r"\bd(?:isk)?\.d(?:ev|m)?\.[a-z]": "a table of PCP's metrics is not supported: use `pmrep :iostat-dktx`",
    r"\bcapacity\s+operations\s+bandwidth\b": "zpool iostat is not supported: use `iostat -dxty 10 6` for the disks of the pool",
    r"\bdevice\s+rd_s\s+rd_avkb\b": "pt-diskstats is not supported: use the copies of /proc/diskstats that it saves, or `iostat -dxty 10 6`",
    r"^\s*DISK I/O\s+R/s\s+W/s": "glances has no times of requests: use `iostat -dxty 10 6`",
    r"# DISK STATISTICS|#<-+Disks-+>|<-+reads-+><-+writes-+>": "collectl is not supported: use `iostat -dxty 10 6`, or sar",
    r"\]\.(?:write_io|read_io|flush_io|corruption)_errs\s+\d": "btrfs device stats has errors, no load: add `iostat -dxty 10 6`",
}.items()}  # fmt: skip


def intervals(
    chunks: Iterable[bytes], name: str, warn: Callable[[str], None] | None = None
) -> Iterator[Interval]:
    """
    Yield the intervals of the text *name*, each as soon as it is complete.

    *warn* takes a line if a compressed text is cut short. ``NoInterval`` at the end
    if it had no device.
    """
    told = warn and (lambda what: warn(f"{name}: {what}"))
    try:
        yield from _intervals(Lines(chunks, told, divided=True), told)
    except InputError as error:
        raise type(error)(f"{name}: {error}") from error


def _intervals(lines: Lines, warn: Callable[[str], None] | None) -> Iterator[Interval]:
    strays = UnusedLines(lines)
    while (line := next(iter(lines), None)) is not None or lines.next_host():
        if line is None:
            continue
        lines.push_back()
        read = _reader_of(line)
        for interval in read(lines) if read else table_reader.read(lines, strays.take):
            strays.found = strays.found or bool(interval.loads)
            strays.found_rates = strays.found_rates or bool(interval.loads and not interval.totals)
            strays.in_a_row = lines.unused = 0
            named = bool(interval.machine.host or not lines.host)
            yield interval if named else replace(interval, machine=Machine(lines.host))
    if not strays.found_rates:
        inferred = repairs.intervals(strays.rows)
        yield from inferred
        if not (inferred or strays.found):
            raise NoInterval(strays.reason())
    elif warn and (unused := strays.unused()):
        warn(unused)


class UnusedLines:
    """The lines that no reader used, to explain at the end why a text has no statistics."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._stranger = ""
        # Lines of no other format, with a 0 for each digit: no pattern asks for a certain one.
        self._shapes: set[str] = set()
        self.found = False  # a device's figures: then there is nothing to explain
        self.found_rates = False  # not only totals of a tool: then no heading is inferred
        self.in_a_row = 0  # since the last interval
        self.rows: list[str] = []
        self._unused: list[int] = []  # numbers of the first lines that look like a device's row
        self._unused_count = 0

    def take(self, line: str) -> bool:
        """Take a line; return True if it begins another format than a table."""
        self.in_a_row += 1
        if self.in_a_row > MAX_UNUSED_LINES:
            raise InputError(f"refused: {MAX_UNUSED_LINES} lines in a row are no device statistics")
        if not self.found_rates:
            self._look_at(line)
        if DEVICE_ROW.match(line):
            self._unused_count += 1
            if len(self._unused) < MAX_NAMED_LINES:
                self._unused.append(self._lines.number)
        return _reader_of(line) is not None

    def _look_at(self, line: str) -> None:
        if len(self.rows) < repairs.ROWS and repairs.is_row(line):
            self.rows.append(line)
        if not self._stranger:
            shape = line[:LOOKED_AT].translate(_DIGITS)
            if shape in self._shapes:
                return
            for pattern, meaning in OTHER_FORMATS.items():
                if pattern.search(shape):
                    self._stranger = f"line {self._lines.number}: {meaning}"
            if len(shape) <= LONGEST_SHAPE and len(self._shapes) < MAX_SHAPES:
                self._shapes.add(shape)

    def unused(self) -> str:
        """Return how many lines look like rows of devices and were not used, "" without one."""
        if not self._unused_count:
            return ""
        numbers = ", ".join(map(str, self._unused))
        more = ", …" if self._unused_count > len(self._unused) else ""
        what = "line looks like a row of a device and was"
        if self._unused_count > 1:
            what = "lines look like rows of devices and were"
        return (
            f"{self._unused_count} {what} not used, for no heading above fits: line {numbers}{more}"
        )

    def reason(self) -> str:
        """Return why nothing was found, and what to do."""
        if self._stranger:
            return self._stranger
        count = self._lines.number
        if not count:
            return "empty; give iostat -x or sar -d output"
        if self.rows:
            return (
                "device rows without a heading fit no known columns; give the text with its heading"
            )
        return (
            f"no device statistics in its {f'{count} lines' if count > 1 else 'only line'}:"
            " give the output of iostat -x, sar -d, sadf -j, or copies of /proc/diskstats"
        )
