"""
Builds the reports of a text: rows come in, intervals come out.

A text does not mark the end of a report; the next one does, by a heading, a
time, a banner, or a device that the report already has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import NONE, Load
from stackmap.model.machine import UNKNOWN_MACHINE, Machine
from stackmap.model.table_headings import QUOTE_MARKS
from stackmap.model.units import MIB
from stackmap.text.columns import MAX_RATE
from stackmap.text.headings import MAX_DEVICES, Heading, Row
from stackmap.text.line_types import instant
from stackmap.text.numbers import is_rounded

APPROXIMATE = "the input was printed with --human: figures are rounded to one decimal"
SINCE_BOOT = "the first report of iostat: averages since boot, unless it ran with -y"
EXTREMES = "extremes of each column separately, not of one instant"


@dataclass(slots=True)
class TextReport:
    """One report as far as it has been read."""

    stamp: str = ""
    time: float | None = None
    seconds: float | None = None
    since_boot: bool = False
    summary: bool = False
    own: dict[str, Load] = field(default_factory=dict)
    shared: Mapping[str, Load] | None = None  # with other reports; then there are no own ones
    machine: Machine = UNKNOWN_MACHINE
    notes: dict[str, None] = field(default_factory=dict)  # a set that keeps its order
    events: list[str] = field(default_factory=list)

    @property
    def loads(self) -> Mapping[str, Load]:
        """The loads by device name."""
        return self.own if self.shared is None else self.shared

    def add(self, name: str, load: Load) -> None:
        """Add a row's load, joined with that of an earlier table of this report."""
        if self.shared is not None:
            self.own, self.shared = dict(self.shared), None
        known = self.own.get(name)
        self.own[name] = load if known is None else _merge(known, load)

    def add_checked(self, name: str, load: Load) -> None:
        """Add a row's load; if no device can have it, add an unknown load and an event."""
        if not _is_plausible(load):
            self.events.append(f"{name}: its counters went back; no figures for it")
            load = Load()
        self.add(name, load)

    def note(self, notes: Iterable[str]) -> None:
        """Add caveats, each once."""
        self.notes.update(dict.fromkeys(notes))

    def interval(self) -> Interval:
        """Return the complete report."""
        if self.since_boot:
            self.note([SINCE_BOOT])
        return Interval(
            self.loads,
            time=self.time,
            seconds=self.seconds,
            stamp=self.stamp,
            since_boot=self.since_boot,
            summary=self.summary,
            notes=tuple(self.notes),
            events=tuple(self.events),
            machine=self.machine,
        )


class ReportBuilder:
    """
    The ``current`` report (None before its heading), and the complete ones (``done``).

    ``begun``: the number of reports begun, to detect a new one. ``since_boot``: whether the
    next report of iostat is since boot.
    """

    def __init__(self) -> None:
        self.done: list[Interval] = []
        self.begun = 0
        self.current: TextReport | None = None
        self._sar = False
        self._summaries: dict[str, TextReport] = {}  # sar's averages, by their word for it
        self._tables: set[tuple[str, ...]] = set()  # the headings this report has had
        self._seen: set[str] = set()  # the devices the last of them has had
        self._before: tuple[str, ...] = ()  # sar's time in the last row
        self._stamp = ""
        self.since_boot = False
        self._events: list[str] = []
        self._machine = UNKNOWN_MACHINE

    def heading(self, heading: Heading) -> None:
        """Take a heading: iostat's begins a report, sar's may repeat within one."""
        if heading.sar:
            if not self._sar:
                self.close()
            self._sar = True
            return
        if not heading.named:
            # Perhaps the end of a cut heading, whose rows do not fit: only a row proves a report.
            self.close()
            self._sar = False
            return
        again = heading.layout.names in self._tables or not heading.continues
        if self.current is None or self._sar or again:
            self._begin(heading)
        self._tables.add(heading.layout.names)
        self._seen.clear()

    def row(self, row: Row, load: Load, heading: Heading) -> TextReport:
        """Take a row under *heading* with its load; return its report."""
        name, report = row.name, self.current
        if heading.sar:
            report = self._sar_report(name, row.before, heading)
        elif report is None or name in self._seen:
            report = self._begin(heading)
        if row.is_plain:
            report.add(name, load)
        else:
            report.add_checked(name, load)
            if is_rounded(row.words):
                report.note([APPROXIMATE])
        self._seen.add(name)
        if len(report.loads) > MAX_DEVICES:
            raise InputError(f"refused: more than {MAX_DEVICES} devices in one report")
        return report

    def table(self, heading: Heading, loads: Mapping[str, Load], notes: Iterable[str]) -> None:
        """Take a whole table that begins a report."""
        report = self._begin(heading)
        report.shared = loads
        report.note(notes)
        self._seen = set(loads)

    def stamp(self, stamp: str) -> None:
        """Take the time of the next report."""
        self.close()
        self._stamp = stamp

    def banner(self, machine: Machine) -> None:
        """Take the first line of a run: iostat's first report is since boot."""
        self.end()
        self._machine = machine
        self.since_boot, self._stamp = True, ""

    def event(self, event: str) -> None:
        """Take an event before the next report."""
        self.end()
        self._events.append(event)

    def close(self) -> None:
        """End the current report; one of iostat may have no rows (-z), and sar's begins with its first row."""
        if self.current is not None:
            self.done.append(self.current.interval())
        self.current = None

    def end(self) -> None:
        """End the current report, and add sar's averages."""
        self.close()
        extremes = list(self._summaries.values())[:-1]  # sar -x: minimum, maximum, average
        for report in extremes:
            report.note([EXTREMES])
        self.done += [report.interval() for report in self._summaries.values()]
        self._summaries.clear()

    def take_done(self) -> list[Interval]:
        """Return the complete reports, each once."""
        done, self.done = self.done, []
        return done

    def _begin(self, heading: Heading, stamp: str | None = None) -> TextReport:
        self.close()
        report = TextReport(
            self._stamp if stamp is None else stamp, events=self._events, machine=self._machine
        )
        report.time = instant(report.stamp)
        report.since_boot = self.since_boot and not heading.sar
        report.note(heading.layout.notes)
        self.begun += 1
        self.current, self._sar = report, heading.sar
        self._stamp, self.since_boot, self._events = "", False, []
        self._tables, self._seen = {heading.layout.names}, set()
        return report

    def _sar_report(self, name: str, before: tuple[str, ...], heading: Heading) -> TextReport:
        """Return the report of the row's time; a time without digits is sar's own average."""
        known = self.current
        if known is not None and before == self._before and name not in known.loads:
            return known
        stamp = " ".join(word for word in before if word not in QUOTE_MARKS)
        if stamp and not any(c.isdigit() for c in stamp):
            self.close()
            return self._summary(stamp, name, heading)
        if self._summaries:
            self.end()
        self._before = before
        return self._begin(heading, stamp)

    def _summary(self, stamp: str, name: str, heading: Heading) -> TextReport:
        report = self._summaries.get(stamp)
        if report is not None and name in report.loads:
            self.end()
            report = None
        if report is None:
            report = TextReport(stamp, summary=True, machine=self._machine)
            report.note(heading.layout.notes)
            self._summaries[stamp] = report
        return report


def _merge(first: Load, second: Load) -> Load:
    """Return the load of two tables of ``iostat --pretty -x``: reads in one, writes in the next."""
    known = {n: a for n, a in first._asdict().items() if a is not None and a != NONE}
    return second._replace(**known)


def _is_plausible(load: Load) -> bool:
    """Whether a device can have this load: old sysstat printed counters that went back as 10¹⁸."""
    flows = (load.read, load.write, load.discard, load.flush, load.whole or NONE)
    figures = [flow.ios for flow in flows] + [flow.merges for flow in flows]
    figures += [load.aqu, load.busy]
    sizes = [flow.bytes for flow in flows] + [flow.wait for flow in flows]
    return all(x is None or (isfinite(x) and 0 <= x < MAX_RATE) for x in figures) and all(
        x is None or 0 <= x < MAX_RATE * MIB for x in sizes
    )
