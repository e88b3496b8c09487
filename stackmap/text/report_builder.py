"""
Builds the reports of a text: rows come in, intervals come out.

A text does not mark the end of a report; the next one does, by a heading, a
time, a banner, or a device that the report already has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import NONE, UNKNOWN_LOAD, Load, PrintedLoads
from stackmap.model.topology import UNKNOWN_MACHINE, Machine
from stackmap.model.units import MIB
from stackmap.text.columns import MAX_RATE, is_rounded
from stackmap.text.headings import MAX_DEVICES, QUOTE_MARKS, Heading, time_before
from stackmap.text.headings import Row as TableRow
from stackmap.text.printed_time import PrintedClock, instant
from stackmap.text.table_layout import Row, TableLayout, layout_of_names

APPROXIMATE = "the input was printed with --human: figures are rounded to one decimal"
SINCE_BOOT = "the first report of iostat: averages since boot, unless it ran with -y"
EXTREMES = "extremes of each column separately, not of one instant"


@dataclass(slots=True)
class TextReport:
    """
    One report as far as it has been read.

    ``rows``: by device name, of the table that is being read, after those of ``first``; ``layout``: of
    these rows. ``doubtful``: devices whose rows have figures that were cut, or that none can have.
    ``loads``: of the tables before.
    """

    stamp: str = ""
    time: float | None = None
    seconds: float | None = None
    since_boot: bool = False
    summary: bool = False
    rows: dict[str, Row] = field(default_factory=dict)
    layout: TableLayout | None = None
    first: Mapping[str, Load] = field(default_factory=dict)
    doubtful: list[str] = field(default_factory=list)
    loads: Mapping[str, Load] = field(default_factory=dict)
    machine: Machine = UNKNOWN_MACHINE
    notes: dict[str, None] = field(default_factory=dict)  # a set that keeps its order
    events: list[str] = field(default_factory=list)
    clock: float | None = None
    date: str = ""
    cut: dict[str, str] = field(default_factory=dict)  # devices whose rows were cut, and how
    last_is_cut: bool = False  # the last row of the report
    lost: Iterable[str] = ()  # devices whose rows are not in the text

    def add(self, name: str, row: Row, layout: TableLayout, *, doubtful: bool = False) -> None:
        """Add a device's row of a table with *layout*."""
        self.last_is_cut = False
        if layout is not self.layout or self.in_table(name):
            self.begin_table(layout)
        self.rows[name] = row
        if doubtful:
            self.doubtful.append(name)
        if len(self.rows) > MAX_DEVICES:
            raise InputError(f"refused: more than {MAX_DEVICES} devices in one report")

    def begin_table(self, layout: TableLayout | None) -> None:
        """Turn the rows so far into loads, and begin a table with *layout*."""
        loads = self.first
        if self.layout is not None and self.rows:
            own = self.layout.table([*self.rows], [*chain.from_iterable(self.rows.values())])
            impossible = [name for name in self.doubtful if not _is_plausible(own[name])]
            self.events += [f"{n}: its counters went back; no figures for it" for n in impossible]
            loads = own
            if self.first or impossible:
                loads = {**self.first, **own, **dict.fromkeys(impossible, Load())}
        if self.loads:
            both = {n: _merge(load, loads[n]) for n, load in self.loads.items() if n in loads}
            loads = {**self.loads, **loads, **both}
        self.loads = loads
        self.first, self.rows, self.doubtful, self.layout = {}, {}, [], layout

    def begin_with(self, layout: TableLayout, loads: Mapping[str, Load]) -> None:
        """Begin a table with *layout* whose first rows have *loads*, which other reports may share."""
        self.last_is_cut = False
        self.begin_table(layout)
        self.first = loads

    def printed(self) -> dict[str, Row]:
        """The rows of the table that is being read, by device."""
        if not isinstance(self.first, PrintedLoads):
            return dict(self.rows)
        names, figures = self.first.names, self.first.printed
        width = len(figures) // len(names)
        rows = {name: figures[n * width : n * width + width] for n, name in enumerate(names)}
        return {**rows, **self.rows}

    def widen(self, columns: Sequence[str], rows: Mapping[str, Row]) -> None:
        """Add *columns* to the table that is being read, with the figures of each device in *rows*."""
        known = self.printed()
        names = () if self.layout is None else self.layout.names
        self.layout, self.first = layout_of_names((*names, *columns)), {}
        self.rows = {name: [*row, *rows[name]] for name, row in known.items()}

    def in_table(self, name: str) -> bool:
        """Whether the device has a row in the table that is being read."""
        return name in self.rows or name in self.first

    @property
    def has_rows(self) -> bool:
        """Whether any row has been read."""
        return bool(self.rows or self.first or self.loads)

    def has(self, name: str) -> bool:
        """Whether the device has a row in any table."""
        return self.in_table(name) or name in self.loads

    def note(self, notes: Iterable[str]) -> None:
        """Add caveats, each once."""
        self.notes.update(dict.fromkeys(notes))

    def end_at_cut(self, measured: Mapping[str, Load]) -> None:
        """Note the rows that were cut; where the report ends within one, devices *measured* before have no figures from it on."""
        name = next(reversed(self.cut), "")
        if self.last_is_cut and len(self.cut) == 1 and name in measured:
            self.lost = [n for n in measured if n == name or not self.has(n)]
            self.cut[name] = f"a report ends within the row of {name}: it is used for devices above"
        self.note(self.cut.values())

    def interval(self) -> Interval:
        """Return the complete report."""
        self.begin_table(None)
        if self.since_boot:
            self.note([SINCE_BOOT])
        return Interval(
            {**self.loads, **dict.fromkeys(self.lost, UNKNOWN_LOAD)} if self.lost else self.loads,
            time=self.time,
            seconds=self.seconds,
            stamp=self.stamp,
            since_boot=self.since_boot,
            summary=self.summary,
            notes=tuple(self.notes),
            events=tuple(self.events),
            machine=self.machine,
            clock=self.clock,
            date=self.date,
        )


class ReportBuilder:
    """
    The ``current`` report (None before its heading), and the complete ones (``done``).

    ``since_boot``: whether the next report of iostat is since boot; ``skips_first``: its command had -y.
    """

    def __init__(self) -> None:
        self.done: list[Interval] = []
        self.current: TextReport | None = None
        self._sar = False
        self._summaries: dict[str, TextReport] = {}  # sar's averages, by their word for it
        self._tables: set[tuple[str, ...]] = set()  # the headings this report has had
        self._before: tuple[str, ...] = ()  # sar's time in the last row
        self._stamp = ""
        self._times_of_rows = False  # no line of a report's own tells its time
        self.since_boot = self.skips_first = False
        self._events: list[str] = []
        self._machine = UNKNOWN_MACHINE
        self._clock = PrintedClock()
        self._date = ""
        self._measured: Mapping[str, Load] = {}  # by the last complete report of rates

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

    def row(self, row: TableRow, heading: Heading) -> TextReport:
        """Take a row under *heading*; return its report."""
        name, report = row.name, self.current
        if heading.sar:
            report = self._sar_report(name, row.before, heading)
        else:
            own = report is not None and report.stamp and not self._times_of_rows
            stamp = "" if own else time_before(row.before)  # that of a log is later
            # A time in the heading too is that of each line: a report may last over a second.
            elsewhen = stamp and not heading.prefix_words and report and report.stamp != stamp
            again = report is not None and heading.layout is report.layout and report.in_table(name)
            if report is None or again or (elsewhen and report.has_rows):
                report = self._begin(heading)
            if stamp and not report.has_rows:
                self._set_time(report, stamp)
                self._times_of_rows = True
        report.add(name, row.values, heading.layout, doubtful=not row.is_plain)
        if not row.is_plain and is_rounded(row.words):
            report.note([APPROXIMATE])
        return report

    def sar_tables(
        self, tables: Sequence[tuple[tuple[str, ...], PrintedLoads]], heading: Heading
    ) -> bool:
        """Take the rows of several times under *heading*; False if they begin with a report that has their devices."""
        before, loads = tables[0]
        known = self.current
        if known is not None and before == self._before and any(map(known.has, loads)):
            return False
        for before, loads in tables:
            report = self._sar_report(loads.names[0], before, heading)
            report.begin_with(heading.layout, loads)
        return True

    def stamp(self, stamp: str) -> None:
        """Take the time of the next report."""
        self.close()
        self._stamp, self._times_of_rows = stamp, False

    def banner(self, machine: Machine, date: str) -> None:
        """Take the first line of a run: iostat's first report is since boot."""
        self.end()
        self._clock.date(date)
        self._date = date
        self._machine = machine
        self.since_boot, self._stamp = not self.skips_first, ""
        self.skips_first = False

    def event(self, event: str) -> None:
        """Take an event before the next report."""
        self.end()
        self._events.append(event)

    def close(self) -> None:
        """End the current report; one of iostat may have no rows (-z), and sar's begins with its first row."""
        if self.current is not None:
            report = self.current
            report.end_at_cut(self._measured)
            complete = report.interval()
            self.done.append(complete)
            if complete.loads and not (complete.since_boot or report.cut):
                self._measured = complete.loads
        self.current = None

    def end(self) -> None:
        """End the current report, and add sar's averages."""
        self.close()
        extremes = list(self._summaries.values())[:-1]  # sar -x: minimum, maximum, average
        for report in extremes:
            report.note([EXTREMES])
        for report in self._summaries.values():
            report.note(report.cut.values())
        self.done += [report.interval() for report in self._summaries.values()]
        self._summaries.clear()

    def take_done(self) -> list[Interval]:
        """Return the complete reports, each once."""
        done, self.done = self.done, []
        return done

    def _begin(self, heading: Heading, stamp: str | None = None) -> TextReport:
        self.close()
        report = TextReport(events=self._events, machine=self._machine, date=self._date)
        self._set_time(report, self._stamp if stamp is None else stamp)
        report.since_boot = self.since_boot and not heading.sar
        report.note(heading.layout.notes)
        self.current, self._sar = report, heading.sar
        self._stamp, self.since_boot, self._events = "", False, []
        self._tables = {heading.layout.names}
        return report

    def _set_time(self, report: TextReport, stamp: str) -> None:
        report.stamp, report.time = stamp, instant(stamp)
        report.clock = self._clock.seconds(stamp) if stamp else None

    def _sar_report(self, name: str, before: tuple[str, ...], heading: Heading) -> TextReport:
        """Return the report of the row's time; a time without digits is sar's own average."""
        known = self.current
        if known is not None and before == self._before and not known.has(name):
            return known
        stamp = " ".join(word for word in before if word not in QUOTE_MARKS)
        if stamp and not any(c.isdigit() for c in stamp):
            self.close()
            report = self._summaries.get(stamp)
            if report is not None and report.has(name):
                self.end()
                report = None
            if report is None:
                report = TextReport(stamp, summary=True, machine=self._machine)
                report.note(heading.layout.notes)
                self._summaries[stamp] = report
            return report
        if self._summaries:
            self.end()
        self._before = before
        return self._begin(heading, stamp)


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
