"""
Figures of disks from monitors that print everything about a host: atop, dstat and pcp-dstat, nmon.

Only the lines about disks are read. Each monitor has its own units; its manual page and its source name them.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import NONE, Flow, Load
from stackmap.model.topology import Machine
from stackmap.model.units import KIB, MIB, SECTOR
from stackmap.text.headings import MAX_DEVICES
from stackmap.text.printed_time import PrintedClock

ROUNDED = "the input has rounded figures: sizes and rates are approximate"
MAX_HELD = 2_000_000  # figures of nmon whose times have not come yet


class Report:
    """The report that is being read: ``loads`` by device, and what is known of it."""

    def __init__(self, stamp: str = "", seconds: float | None = None, host: str = "") -> None:
        self.stamp, self.seconds, self.host = stamp, seconds, host
        self.time: float | None = None
        self.since_boot = False
        self.loads: dict[str, Load] = {}
        self.notes: dict[str, None] = {}

    def add(self, device: str, load: Load, *notes: str) -> None:
        """Add a device with what is to be known of its figures."""
        self.loads[device] = load
        self.notes.update(dict.fromkeys(notes))
        if len(self.loads) > MAX_DEVICES:
            raise InputError(f"refused: more than {MAX_DEVICES} devices in one report")

    def interval(self, clock: PrintedClock) -> Interval:
        """Return the complete report."""
        return Interval(
            self.loads,
            time=self.time,
            seconds=self.seconds,
            stamp=self.stamp,
            since_boot=self.since_boot,
            notes=tuple(self.notes),
            machine=Machine(host=self.host),
            clock=clock.seconds(self.stamp) if self.stamp else None,
        )


# atop: counts of an interval, whose length it prints

ATOP = re.compile(
    r"\W*ATOP - (?P<host>\S+)\s+(?P<stamp>\d{4}/\d\d/\d\d\s+\d\d:\d\d:\d\d)\s.*\s"
    r"(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?P<s>\d+)s elapsed"
)
ATOP_ROW = re.compile(r"[\s>]*(?:DSK|LVM|MDD) \|\s*(?P<name>\S+)\s*\|(?P<cells>.*)")
# Of -P: label, host, epoch, date, time, seconds, name, and five counts, later seven or nine figures.
ATOP_PARSEABLE = re.compile(
    r"[\s>]*(?:DSK|LVM|MDD) (?P<host>\S+) (?P<epoch>\d{1,12}) (?P<stamp>\S+ \d\d:\d\d:\d\d) (?P<seconds>\d{1,9})"
    r" (?P<name>\S+)(?P<figures>(?: \d{1,20}){5}(?: -?\d{1,20}){0,3}(?: \d{1,20}\.\d\d)?)\s*"
)
ATOP_BOOT = re.compile(r".*\bsince Boot\b")
ATOP_RESET = "RESET"  # before the totals since boot of -P
ATOP_NAME = 12  # characters of a name at most
ATOP_TOTALS = "totals, not rates: atop's line with the length of the interval is missing"
_PER_SECOND = re.compile(r"\d/s\b")  # of a count: atop -1
_CELL = re.compile(r"\s*(\S+)\s+(\d[\d.]*)(?:e(\d{1,2}))?(/s|%)?(?:\s.*)?")


def read_atop(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the reports of atop."""
    clock, report, since_boot = PrintedClock(), Report(), False
    for line in lines:
        begun, row = ATOP.match(line), ATOP_ROW.match(line)
        figures = ATOP_PARSEABLE.fullmatch(line)
        if line.strip() == ATOP_RESET:
            since_boot = True
        elif ATOP_BOOT.match(line):
            report.since_boot = True
        elif begun:
            if report.loads:
                yield report.interval(clock)
            days, hours, minutes, seconds = (int(begun[unit] or 0) for unit in "dhms")
            length = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
            report = Report(" ".join(begun["stamp"].split()), length or None, begun["host"])
        elif row:
            if not report.seconds and row["name"] in report.loads:
                yield report.interval(clock)
                report = Report()
            notes = [ROUNDED]
            notes += [f"atop prints {ATOP_NAME} characters of a name: longer ones are cut"] * (
                len(row["name"]) == ATOP_NAME
            )
            notes += [ATOP_TOTALS] * (not report.seconds and not _PER_SECOND.search(row["cells"]))
            report.add(row["name"], _of_cells(row["cells"], report.seconds), *notes)
        elif figures:
            stamp = figures["stamp"]
            if (report.stamp, report.host) != (stamp, figures["host"]):
                if report.loads:
                    yield report.interval(clock)
                report = Report(stamp, float(figures["seconds"]) or None, figures["host"])
                report.time = float(figures["epoch"])
                report.since_boot, since_boot = since_boot, False
            if report.seconds:
                report.add(figures["name"], _of_counts(figures["figures"].split(), report.seconds))
    if report.loads:
        yield report.interval(clock)


def _of_cells(cells: str, seconds: float | None) -> Load:
    """Return the load in "busy 4% | read 1153 | KiB/r 12 | MBr/s 0.5 | avq 1.20"; avio is busy time per request, no await."""
    figures, rates = {}, {}
    for cell in cells.split("|"):
        match = _CELL.fullmatch(cell)
        if match and match[2].count(".") < 2:
            figures[match[1]] = float(match[2]) * 10 ** int(match[3] or 0)
            rates[match[1]] = figures[match[1]] / (1 if match[4] == "/s" else seconds or 1)
    read, write, discard = (
        Flow(ios, bytes=_bytes(ios, figures.get(f"KiB/{letter}"), figures.get(f"MB{letter}/s")))
        for ios, letter in zip(map(rates.get, ("read", "write", "discrd")), "rwd", strict=True)
    )
    busy = figures["busy"] / 100 if "busy" in figures else None
    return _queued(Load(read, write, discard, busy=busy), figures.get("avq"))


def _queued(load: Load, queue: float | None) -> Load:
    """Return *load* with its queue depth and await: *queue* is the mean depth while a request is in flight."""
    if queue is None or load.busy is None:
        return load
    aqu = queue * load.busy
    whole = None if load.discard.ios else Flow(wait=aqu * 1000)  # discards wait in it, too
    return load._replace(aqu=aqu, whole=whole)


def _bytes(ios: float | None, mean: float | None, rate: float | None) -> float | None:
    """Return the bytes per second by the more precise of the mean KiB, without its decimals, and MiB with one decimal."""
    if ios == 0:
        return 0.0
    if rate and (not mean or rate / 0.05 > mean / 0.5):
        return rate * MIB
    return (mean + 0.5) * KIB * ios if mean and ios is not None else None


def _of_counts(words: list[str], seconds: float) -> Load:
    """Return the load in milliseconds busy, reads, sectors, writes, sectors, discards, sectors, in flight, queue."""
    busy, reads, read, writes, written, *more = map(float, words)
    discard = NONE
    if len(more) > 1 and more[0] >= 0:  # -1: the kernel has none
        discard = Flow(more[0] / seconds, bytes=more[1] * SECTOR / seconds)
    load = Load(
        Flow(reads / seconds, bytes=read * SECTOR / seconds),
        Flow(writes / seconds, bytes=written * SECTOR / seconds),
        discard,
        busy=busy / 1000 / seconds,
    )
    return _queued(load, more[3] if len(more) > 3 else None)


# dstat: two columns per device, at most seven characters of its name

DSTAT = re.compile(r".{0,400}?[-_ >](?:dsk|io)/[a-z]")
_DSTAT_WIDTH = 11  # of the two columns of a device
_DSTAT_DEVICE = re.compile(r"(dsk|io)/([a-z][\w!]*(?:-\d+)?)")
_DSTAT_TIME = re.compile(r"\d\d-\d\d \d\d:\d\d:\d\d")
_DSTAT_SCALES = {"dsk": {"B": 1, **{c: KIB**n for n, c in enumerate("kMGT", 1)}}, "io": {c: 1000**n for n, c in enumerate("kMG", 1)}}  # fmt: skip
_DSTAT_FIGURE = re.compile(r"(\d{1,9}(?:\.\d*)?)([BkMGT]?)")
DSTAT_FIRST = "the first line of dstat: averages since boot, unless it is of pcp or lines before it were cut off"
READ_AND_WRITE = ["read", "writ"]
_DSTAT_TPS = ["#read", "#writ"]  # of --disk-tps, below the title of bytes
TIME_MARK = "@"
MAX_JOINED = 3  # lines of a row that a mail wrapped


def read_dstat(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the lines of dstat as reports; the first one of a run is since boot. A mail may have wrapped each of them."""
    clock, held, joined = PrintedClock(), "", 0
    goes_on = False  # the title is repeated below rows; elsewhere another run begins
    table: DstatTable | None = None
    for line in lines:
        if DSTAT.match(line):
            wrapped = table is not None and not table.begun and not held
            table = DstatTable(f"{table.title} {line}" if table and wrapped else line)
            held, joined = "", 0
            first = not goes_on
            continue
        if table is None or not line.strip(" >"):
            goes_on = False
            continue
        held, joined = f"{held} {line}", joined + 1
        report = table.row(line) or table.row(held)
        if report:
            report.since_boot, first = first, False
            report.notes.update(dict.fromkeys([DSTAT_FIRST] * report.since_boot))
            yield report.interval(clock)
        goes_on = bool(report)
        if report or table.heads(held) or joined == MAX_JOINED:
            held, joined = "", 0


class DstatTable:
    """
    The groups of columns below *title*, divided by "|" and ":"; those of a device have two figures.

    ``begun``: its subtitle or a row has come. An author may leave the subtitle out.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self.begun = False
        self._devices = _DSTAT_DEVICE.findall(title)
        self._places: list[int] = []  # of the devices' groups
        self._width = 0  # groups in a row, 0: as many as devices, and the time

    def heads(self, line: str) -> bool:
        """Whether *line* is the subtitle, which names the columns of each group."""
        groups = _dstat_groups(line)
        places = [
            place for place, words in enumerate(groups) if words in (READ_AND_WRITE, _DSTAT_TPS)
        ]
        if len(places) != len(self._devices):
            return False
        self._devices = [
            ("io", device) if groups[place] == _DSTAT_TPS else (kind, device)
            for (kind, device), place in zip(self._devices, places, strict=True)
        ]
        self._places, self._width, self.begun = places, len(groups), True
        return True

    def row(self, line: str) -> Report | None:
        """Return the report in *line*; None if it is no whole row."""
        groups = _dstat_groups(line)
        time = _DSTAT_TIME.search(line)
        places = self._places or [n for n, words in enumerate(groups) if words != [TIME_MARK]]
        if len(places) != len(self._devices) or len(groups) != (self._width or len(groups)):
            return None
        figures: dict[str, dict[str, list[float]]] = {}
        for (kind, device), place in zip(self._devices, places, strict=True):
            matches = [_DSTAT_FIGURE.fullmatch(word) for word in groups[place]]
            values = [float(m[1]) * _DSTAT_SCALES[kind].get(m[2], 1) for m in matches if m]
            if len(matches) != len(values) or len(values) != len(READ_AND_WRITE):
                return None
            if device != "total":
                figures.setdefault(device, {})[kind] = values
        report = Report(time[0] if time else "")
        for device, by_kind in figures.items():
            (read, write), (reads, writes) = (
                by_kind.get(kind, (None, None)) for kind in ("dsk", "io")
            )
            cut = len(f"dsk/{device}") >= _DSTAT_WIDTH
            note = f"dstat prints 7 characters of a name: {device} may be a partition of it, or another name"
            load = Load(Flow(reads, bytes=read), Flow(writes, bytes=write))
            report.add(device, load, ROUNDED, *[note] * cut)
        self.begun = True
        return report if report.loads else None


def _dstat_groups(line: str) -> list[list[str]]:
    """Return the words of each group; the colons in a time do not divide."""
    text = _DSTAT_TIME.sub(TIME_MARK, line).strip("> \r")
    return [group.split() for group in re.split("[|:]", text.replace(">", " "))]


# dstat --output: a row of titles, each above the first of its columns; names of columns; figures that are not rounded

_CSV_TITLE = re.compile(r"(dsk|io)/(.+)")
_CSV_BANNER = re.compile(r"(pcp-)?dstat [\d.]+ csv output", re.IGNORECASE)
DSTAT_CSV = re.compile(
    r'[\s>]*"(?:(?:pcp-)?dstat [\d.]+ csv output"|(?:[^"]{1,40}",{1,9}"){0,40}(?:dsk|io)/[^":]+",)',
    re.IGNORECASE,
)
_CSV_FIGURE = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_CSV_HEAD = ("Author:", "Host:", "Cmdline:")
CSV_UNIT = "bytes are not known: dstat writes bytes, pcp-dstat KiB, and the line that tells which is missing"


def read_dstat_csv(lines: Iterable[str]) -> Iterator[Interval]:
    """
    Yield the rows of a file of dstat or pcp-dstat as reports.

    dstat writes bytes per second, and averages since boot first; pcp-dstat KiB, and a row without figures first.
    """
    clock, host = PrintedClock(), ""
    titles: list[str] = []  # of all columns
    columns: list[str] = []
    unit: float | None = None  # bytes; None if unknown
    first = True
    for line in lines:
        words = _csv_words(line)
        if banner := _CSV_BANNER.fullmatch(words[0]):
            unit = KIB if banner[1] else 1
        elif words[0] in _CSV_HEAD:
            said = dict(pairwise(words))
            host = said.get("Host:", host)
            clock.date(said.get("Date:", ""))
        elif any(map(_CSV_TITLE.fullmatch, words)) and not any(":" in word for word in words):
            titles, columns, first = _below(words), [], unit != KIB
        elif titles and not columns:
            columns = [word.rpartition(":")[2] for word in words]
            if unit is None and columns == words:  # dstat before 0.8
                unit = 1
        elif len(words) in (len(columns), len(titles)):
            report = _csv_report(titles, columns, words, unit)
            report.host = host
            if report.loads:
                report.since_boot, first = first, False
                report.notes.update(dict.fromkeys([DSTAT_FIRST] * report.since_boot))
                yield report.interval(clock)


def _csv_words(line: str) -> list[str]:
    """Return the words of a line; [""] if it is none of a CSV file."""
    try:
        return next(csv.reader([line.strip(" >\r\n")]), [""])
    except csv.Error:  # a word of over 128 KiB
        return [""]


def _below(titles: Iterable[str]) -> list[str]:
    """Return the title of each column, which stands above the first of its columns only."""
    filled: list[str] = []
    for title in titles:
        filled.append(title or (filled[-1] if filled else ""))
    return filled


def _csv_report(
    titles: Sequence[str], columns: Sequence[str], words: Sequence[str], unit: float | None
) -> Report:
    """Return the figures of a row, its time from the columns "time" or "epoch"; *unit*: bytes, None if unknown."""
    report = Report()
    figures: dict[str, dict[tuple[str, str], float]] = {}
    for title, column, word in zip(titles, columns, words, strict=False):
        of_device, is_figure = _CSV_TITLE.fullmatch(title), _CSV_FIGURE.fullmatch(word)
        if column == "time":
            report.stamp = word
        elif column == "epoch" and is_figure:
            report.time = float(word)
        elif of_device and column in READ_AND_WRITE and is_figure:
            figures.setdefault(of_device[2], {})[of_device[1], column] = float(word)
    for device, known in figures.items():
        if device != "total":
            read, write = (
                Flow(
                    known.get(("io", kind)),
                    bytes=known["dsk", kind] * unit if unit and ("dsk", kind) in known else None,
                )
                for kind in READ_AND_WRITE
            )
            report.add(device, Load(read, write), *[CSV_UNIT] * (unit is None))
    return report


# nmon: a line per metric with all devices, a section per metric

NMON = re.compile(r"(?:AAA,progname,|DISK(?:BUSY|READ|WRITE|XFER)\d*,)")
_NMON_LINE = re.compile(r"DISK(BUSY|READ|WRITE|XFER)(\d*),([^,]*),(.*)")
_NMON_TIME = re.compile(r"ZZZZ,(T\d{1,9}),(\d\d:\d\d:\d\d),(\d\d)-([A-Z]{3})-(\d{4})\b")


def read_nmon(lines: Iterable[str]) -> Iterator[Interval]:
    """Yield the snapshots of a file of nmon, which may be sorted: then their times come last."""
    clock, said = PrintedClock(), {}
    devices: dict[str, list[str]] = {}  # by section
    held: dict[str, dict[str, list[str]]] = {}  # by snapshot and section
    size, current = 0, Report()
    snapshot = ""
    for line in lines:
        if line.startswith("AAA,"):
            _, key, *words = line.rstrip("\r").split(",")
            said[key] = words[0] if words else ""
            if key == "AIX":
                raise InputError("nmon of AIX: only Linux is supported")
        elif match := _NMON_LINE.match(line):
            section, words = match[1] + match[2], match[4].rstrip("\r").split(",")
            if not re.fullmatch(r"T\d+", match[3]):
                devices[section] = words
                continue
            held.setdefault(match[3], {})[section] = words
            size += len(words)
            if size > MAX_HELD:
                raise InputError(f"refused: more than {MAX_HELD} figures without their times")
        elif match := _NMON_TIME.match(line):
            if snapshot in held:
                sections = held.pop(snapshot)
                size -= sum(map(len, sections.values()))
                yield _snapshot(current, sections, devices).interval(clock)
            snapshot = match[1]
            length = float(said["interval"]) if said.get("interval", "").isdecimal() else None
            stamp = f"{match[3]}-{match[4].title()}-{match[5]} {match[2]}"
            current = Report(stamp, length or None, said.get("host", ""))
    for key in [snapshot] * (snapshot in held) + [key for key in held if key != snapshot]:
        if key != snapshot:
            current = Report("", None, said.get("host", ""))
        yield _snapshot(current, held[key], devices).interval(clock)


def _snapshot(
    report: Report, sections: Mapping[str, list[str]], devices: Mapping[str, list[str]]
) -> Report:
    """Return *report* with the figures of all devices: busy %, KiB read and written, transfers."""
    figures: dict[str, dict[str, float]] = {}
    for section, words in sections.items():
        for device, word in zip(devices.get(section, ()), words, strict=False):
            if device and re.fullmatch(r"\d{1,12}(?:\.\d+)?", word):
                figures.setdefault(device, {})[section.rstrip("0123456789")] = float(word)
    for device, by_section in figures.items():
        read, write = (
            Flow(bytes=by_section[name] * KIB if name in by_section else None)
            for name in ("READ", "WRITE")
        )
        busy = by_section["BUSY"] / 100 if "BUSY" in by_section else None
        load = Load(read, write, whole=Flow(by_section.get("XFER")), busy=busy)
        report.add(device, load, ROUNDED)
    return report


READERS: tuple[tuple[Callable[[str], object], Callable[[Iterable[str]], Iterator[Interval]]], ...] = (
    (lambda line: ATOP.match(line) or ATOP_ROW.match(line) or ATOP_PARSEABLE.fullmatch(line) or line.strip() == ATOP_RESET, read_atop),
    (DSTAT.match, read_dstat),
    (DSTAT_CSV.match, read_dstat_csv),
    (NMON.match, read_nmon),
)  # fmt: skip
