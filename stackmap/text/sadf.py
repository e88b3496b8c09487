"""
Output of ``sadf``: CSV (-d), tabs (-p), XML (-x); for JSON see ``sysstat_json``.

All have complete times and the length of each interval.
"""

import re
from collections.abc import Iterator
from html import unescape

from stackmap.model.interval import Interval
from stackmap.model.topology import Machine
from stackmap.text.columns import COLUMNS, parse_numbers
from stackmap.text.printed_time import CLOCK, PrintedClock, instant, utc
from stackmap.text.report_builder import TextReport
from stackmap.text.table_layout import layout_of_keys
from stackmap.text.text_lines import Lines

CSV_HEADING = re.compile(r"#?\s*hostname;interval;timestamp(?:;|$)")
RESTART = "LINUX-RESTART"
DEV = "DEV"

XML_BEGINNING = re.compile(r"<sysstat\b|<disk-device\b|<statistics>|<\?xml")
XML_PIECES = re.compile(
    r'<host\b[^<>]*\bnodename="(?P<host>[^"<>]*)"'
    r"|<timestamp\b(?P<timestamp>[^<>]+)>|<disk-device\b(?P<device>[^<>]+)>|</timestamp>"
)
XML_END = "</sysstat>"
ATTRIBUTE = re.compile(r'([\w-]+)="([^"<>]*)"')
LONGEST_TAG = 4096


def begins_tabs(line: str) -> bool:
    """Whether it is a line of ``sadf -p``."""
    words = line.split("\t")
    if len(words) not in {5, 6} or not words[1].removeprefix("-").isdecimal():
        return False
    return words[2].isdecimal() or CLOCK.search(words[2]) is not None


def read_csv(lines: Lines) -> Iterator[Interval]:
    """Yield the reports of ``sadf -d``, up to a line of another format."""
    gathering = ReportParser()
    columns: tuple[str, ...] = ()
    for line in lines:
        words = line.rstrip("\r").split(";")
        if len(words) < 3:
            lines.push_back()
            break
        if CSV_HEADING.match(line):
            names = [word.removesuffix("[...]").strip() for word in words[3:]]
            columns = tuple(names[1:]) if names[:1] == [DEV] else ()
        elif words[3:4] and words[3].startswith(RESTART):
            yield from gathering.event(f"{words[2]} {words[3]}")
        elif columns:
            yield from gathering.begin(words[2], words[1], words[0])
            for name, *row in _groups(words[3:], columns):
                gathering.add(name, columns, row)
    yield from gathering.end()


def read_tabs(lines: Lines) -> Iterator[Interval]:
    """Yield the reports of ``sadf -p``, up to a line of another format."""
    gathering = ReportParser()
    for line in lines:
        words = line.rstrip("\r").split("\t")
        if len(words) < 5:
            lines.push_back()
            break
        if words[3].startswith(RESTART):
            yield from gathering.event(f"{words[2]} {' '.join(words[3:])}")
        elif len(words) == 6 and words[4] in COLUMNS and words[3] != "-":
            yield from gathering.begin(words[2], words[1], words[0])
            gathering.figure(words[3], words[4], words[5])
    yield from gathering.end()


def read_xml(lines: Lines) -> Iterator[Interval]:
    """Yield the reports of ``sadf -x``, up to the end of the document."""
    gathering = ReportParser()
    held = host = ""
    for line in lines:
        text = held + line
        for piece in XML_PIECES.finditer(text):
            if piece["host"] is not None:
                host = unescape(piece["host"])
            elif piece["timestamp"]:
                yield from gathering.end()
                said = dict(ATTRIBUTE.findall(piece["timestamp"]))
                zone = "UTC" if said.get("utc") == "1" else said.get("tz", "")
                stamp = f"{said.get('date', '')} {said.get('time', '')} {zone}"
                yield from gathering.begin(stamp.strip(), said.get("interval", ""), host)
            elif piece["device"]:
                attributes = dict(ATTRIBUTE.findall(piece["device"]))
                name = unescape(attributes.pop("dev", ""))
                gathering.add(name, tuple(attributes), list(attributes.values()))
            else:
                yield from gathering.end()
        if XML_END in text:
            break
        start = text.rfind("<")
        held = text[start:] + " " if start > text.rfind(">") else ""
        held = held if len(held) < LONGEST_TAG else ""
    yield from gathering.end()


def _groups(words: list[str], columns: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield name and figures of each device; ``sadf -dh`` has all devices on one line."""
    step = len(columns) + 1
    for start in range(0, len(words) - len(columns), step):
        yield words[start : start + step]


class ReportParser:
    """The current report, device by device."""

    def __init__(self) -> None:
        self._report: TextReport | None = None
        self._device = ""
        self._metrics: dict[str, str] = {}  # of the device, a line each (sadf -p)
        self._events: list[str] = []
        self._clock = PrintedClock()

    def begin(self, stamp: str, seconds: str, host: str) -> Iterator[Interval]:
        """Take the time and the host of the next rows; yield the report that they end."""
        machine = Machine(host=host)
        report = self._report
        if report is not None and (report.stamp, report.machine) == (stamp, machine):
            return
        yield from self.end()
        time = utc(stamp.removesuffix(" UTC")) if stamp.endswith(" UTC") else instant(stamp)
        length = float(seconds) if seconds.isdecimal() and seconds != "0" else None
        self._report = TextReport(stamp, time, length, events=self._events, machine=machine)
        self._report.clock = self._clock.seconds(stamp)
        self._events = []

    def add(self, name: str, columns: tuple[str, ...], words: list[str]) -> None:
        """Take a device's row."""
        report = self._report = self._report or TextReport()
        layout = layout_of_keys(columns)
        row = parse_numbers(words, layout.columns)
        if name and row is not None:
            report.add(name, row, layout, doubtful=True)
            report.note(layout.notes)

    def figure(self, name: str, metric: str, word: str) -> None:
        """Take one figure of a device's row."""
        if name != self._device or metric in self._metrics:
            self._add_metrics()
        self._device = name
        self._metrics[metric] = word

    def event(self, event: str) -> Iterator[Interval]:
        """Take an event before the next report; yield the report that it ends."""
        yield from self.end()
        self._events.append(event.replace("\t", " "))

    def end(self) -> Iterator[Interval]:
        """Yield the report if it has devices."""
        self._add_metrics()
        report, self._report = self._report, None
        if report is not None and report.layout is not None:
            yield report.interval()

    def _add_metrics(self) -> None:
        if self._metrics:
            self.add(self._device, tuple(self._metrics), list(self._metrics.values()))
        self._metrics = {}
