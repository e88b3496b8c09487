"""
sysstat's JSON: ``iostat -o JSON`` and ``sadf -j``, complete, damaged, or still growing.

It is searched for the objects of devices instead of parsed as a document. So a
report is complete when its braces close, and commas, brackets and escapes that
sysstat gets wrong (or an interrupt cut off) damage nothing else. Repairs become notes.

Sizes may be in another unit than their keys say: sysstat 12.1.2 to 12.2.0 (Ubuntu 20.04) wrote sectors under
rkB/s and rMB/s; 11.5.1 to 11.5.6 wrote "rkB" for any unit. ``repairs.find_unit`` finds it.
"""

import json
import re
from collections.abc import Iterator

from stackmap.model.interval import Interval
from stackmap.model.topology import UNKNOWN_MACHINE
from stackmap.text.printed_time import PrintedClock, instant, utc
from stackmap.text.repairs import MISLABELLED, PERHAPS_SECTORS, find_unit
from stackmap.text.report_builder import TextReport
from stackmap.text.table_layout import Row, TableLayout, layout_of_keys
from stackmap.text.text_lines import MAX_LINE, Lines

BEGINNING = re.compile(
    r'"(?:disk_device|disk-device)"|"(?:sysstat|statistics|avg-cpu)"\s*:|"disk"\s*:\s*\['
)
PIECES = re.compile(
    r'"statistics"\s*:\s*\[\s*(?P<statistics>,?)'
    r'|"timestamp"\s*:\s*(?P<stamp>"[^"{}]*"|\{[^{}]*\})'
    r"|(?P<object>\{[^{}]*\})"
    r"|(?P<end>\})"
    r'|"(?P<key>nodename|release)"\s*:\s*"(?P<said>[^"{}]{0,200})"'
)
DEVICE = re.compile(r'"disk[_-]device"\s*:')
PAIR = re.compile(r'"([^"]+)"\s*:\s*(?:"([^"]*)"|(-?\d+(?:[.,]\d+)?))(?=\s*(?:[,}\s]|$))')
NAMES = ("disk_device", "disk-device")
HOST = {"nodename": "host", "release": "kernel"}

REPAIRED = "repaired: "
LEADING_COMMA = REPAIRED + "a comma before the first report"
NO_COMMA = REPAIRED + "a comma was missing between devices"
NOT_JSON = REPAIRED + "names or numbers were not JSON's"
TRUNCATED = "cut off: the last device lacks figures"

Device = dict[str, str | float]


def read(lines: Lines) -> Iterator[Interval]:
    """Yield the reports, up to a line that is not JSON."""
    reader = JsonReader()
    for line in lines:
        if reader.is_past(line):
            lines.push_back()
            break
        yield from reader.take(line)
    yield from reader.end()


class JsonReader:
    """The state between lines: text of an incomplete object, and the current report."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._size = 0
        self._depth = 0
        self._machine = UNKNOWN_MACHINE
        self._clock = PrintedClock()
        self._report = TextReport()
        self._rows: list[tuple[str, TableLayout, Row]] = []
        self._by_iostat = False  # not by sadf
        self._first = False
        self._unit: int | None = None  # bytes per unit of sizes, if the keys are wrong

    def is_past(self, line: str) -> bool:
        """Whether the document has ended and *line* is something else."""
        return (
            self._depth <= 0 and not any(c in line for c in '"{}[]') and line.strip(" \t\r,") != ""
        )

    def take(self, line: str) -> Iterator[Interval]:
        """Take a line; yield the report that it ends."""
        self._depth += line.count("{") - line.count("}")
        self._text.append(line)
        self._size += len(line)
        if "}" in line:
            yield from self._parse("\n".join(self._text))
        elif self._size > MAX_LINE:
            self._hold("")

    def end(self) -> Iterator[Interval]:
        """Take the end; a truncated device keeps the figures it has."""
        rest = "\n".join(self._text)
        start = rest.rfind("{")
        if start >= 0 and DEVICE.search(rest, start):
            self._take_device(_pairs(rest[start:]), TRUNCATED)
        yield from self._close()

    def _parse(self, text: str) -> Iterator[Interval]:
        past = 0
        for piece in PIECES.finditer(text):
            gap, past = text[past : piece.start()], piece.end()
            if piece["key"]:
                self._machine = self._machine._replace(**{HOST[piece["key"]]: piece["said"]})
            if piece["object"] and DEVICE.search(piece["object"]):
                self._take_device(*_loaded(piece["object"]))
                if len(self._rows) > 1 and not gap.strip():
                    self._report.note([NO_COMMA])
            elif piece["statistics"] is not None:
                self._first = not piece["statistics"]  # -y causes a superfluous comma
                if not self._first:
                    self._report.note([LEADING_COMMA])
            elif piece["stamp"]:  # before the devices, or after them if keys were sorted
                self._stamp(piece["stamp"])
            elif piece["end"]:
                yield from self._close()
        self._hold(text[past:])

    def _hold(self, text: str) -> None:
        self._text, self._size = [text], len(text)

    def _take_device(self, device: Device, note: str = "") -> None:
        key = next((name for name in NAMES if isinstance(device.get(name), str)), "")
        if key:
            figures = {name: value for name, value in device.items() if name not in NAMES}
            row = [value if isinstance(value, float) else None for value in figures.values()]
            name = str(device[key])
            if name.startswith(" ") and any(
                not other.startswith(" ") for other, _, _ in self._rows
            ):
                self._report.note([f"not used:{name}, the sum of devices above it"])  # iostat -g
                return
            self._rows.append((name, layout_of_keys(tuple(figures)), row))
            self._by_iostat = key == NAMES[0]
        if note:
            self._report.note([note])

    def _stamp(self, text: str) -> None:
        """Take a time: iostat's is a text in its locale, sadf's an object."""
        report = self._report
        if text.startswith('"'):
            report.stamp = text.strip('"').replace("\\/", "/")
            report.time = instant(report.stamp)
            report.clock = self._clock.seconds(report.stamp)
            return
        said = _pairs(text)
        report.stamp = " ".join(str(said[key]) for key in ("date", "time", "tz") if key in said)
        if said.get("utc") == 1 or said.get("tz") == "UTC":
            report.time = utc(f"{said.get('date')} {said.get('time')}")
        report.clock = self._clock.seconds(report.stamp)
        seconds = said.get("interval")
        report.seconds = seconds if isinstance(seconds, float) and seconds > 0 else None

    def _close(self) -> Iterator[Interval]:
        """Yield the report, if it has devices."""
        report, rows = self._report, self._rows
        if not rows:
            return
        self._report, self._rows = TextReport(), []
        report.machine = self._machine
        report.since_boot, self._first = self._first and self._by_iostat, False
        self._check_unit(report, [(layout, row) for _, layout, row in rows])
        for name, layout, row in rows:
            said = layout if self._unit is None else layout.in_unit(self._unit)
            report.add(name, row, said, doubtful=True)
            report.note(layout.notes)
        yield report.interval()

    def _check_unit(self, report: TextReport, rows: list[tuple[TableLayout, Row]]) -> None:
        """Find the unit of sizes; it is the same in the whole text, but an idle report does not show it."""
        units = find_unit(rows)
        if units is not None:
            said, meant = units
            self._unit = None if said == meant else meant
        if self._unit is not None:
            report.note([MISLABELLED[self._unit]])
        elif any("dscd/s" in name for name in rows[0][0].names):
            report.note([PERHAPS_SECTORS])


def _loaded(text: str) -> tuple[Device, str]:
    """Return the object, and what had to be repaired."""
    try:
        loaded = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return _pairs(text), NOT_JSON
    return loaded, ""


def _pairs(text: str) -> Device:
    """Return the complete keys and values of a damaged object."""
    pairs: Device = {}
    for key, word, number in PAIR.findall(text):
        pairs[key] = float(number.replace(",", ".")) if number else word
    return pairs
