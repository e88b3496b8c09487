"""
Repairs of damage by a paste or an old sysstat. ``table_layout`` repairs rounding itself.

A narrow page folds a table: the rest of its columns is below its rows.

Rows over several lines: a row may be a name on a line of its own, or a wrapped or cut line. A possible beginning
of a row is held until a line completes it or shows that none will.

What the figures themselves show rests on one relation: bytes are requests times their mean size
(``TableLayout.products``). Sizes in another unit than their names say are corrected. Rows without their heading
get the one in which the relation holds in every row; if several fit, only figures on which they agree are
used. (Queue = requests × wait does not hold on every kernel.)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import inf, log2
from typing import Any

from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.units import GIB, KIB, MIB, SECTOR
from stackmap.text.columns import COLUMNS, is_number, parse_numbers, parse_plain_numbers
from stackmap.text.headings import MAX_DEVICES, MAX_PREFIX_WORDS, TITLES, Heading, Row, may_name
from stackmap.text.printed_time import CLOCK
from stackmap.text.report_builder import ReportBuilder, TextReport
from stackmap.text.table_layout import Row as Figures
from stackmap.text.table_layout import TableLayout

BY_FLOW = " ".join(f"{x}/s {x}*/s {x}rqm/s %{x}rqm {x}_await {x}areq-sz" for x in "rwd")

# Headings; * stands for the unit that an option selects: sec, kB, MB, GB.
IOSTAT = (
    "tps *B/s rqm/s await aqu-sz areq-sz %util",
    "tps *B/s rqm/s await areq-sz aqu-sz %util",
    "rrqm/s wrqm/s r/s w/s r*/s w*/s avgrq-sz avgqu-sz await svctm %util",
    "rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
    "rrqm/s wrqm/s r/s w/s r*/s w*/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "r/s w/s r*/s w*/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util",
    f"{BY_FLOW} aqu-sz %util",
    f"{BY_FLOW} f/s f_await aqu-sz %util",
)
SAR = (
    "tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
    "tps rkB/s wkB/s areq-sz aqu-sz await svctm %util",
    "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
)
UNITS = ("sec", "kB", "MB", "GB")

_POINT = re.compile("[.,]")
ROWS = 1000  # read at most this many

INFERRED = "no heading: the columns were inferred from the figures"
NO_SIZES = "the input has no heading, and several column layouts fit; only figures that they share are used"


def is_row(line: str) -> bool:
    """Whether *line* looks like a device's row."""
    words = line.split()
    return any(
        len(words) > width
        and parse_plain_numbers(words[-width:]) is not None
        and parse_plain_numbers(words[-width - 1 :]) is None
        for width in WIDTHS
    )


def intervals(lines: Sequence[str]) -> list[Interval]:
    """Return the intervals in *lines*; none if no heading fits, or too many do."""
    told = [_read(lines, heading) for heading in _headings() if _fits(lines, heading)]
    note = INFERRED if len(told) == 1 else NO_SIZES
    return [
        replace(reports[0], loads=_common_loads(reports), notes=(note,))
        for reports in zip(*told, strict=False)
    ]


def _headings() -> Iterator[Heading]:
    for columns in IOSTAT:
        for unit in UNITS if "*" in columns else ("",):
            names = columns.replace("*B", unit).replace("*", unit).split()
            if all(name in COLUMNS for name in names):
                yield Heading(TableLayout(names))
    for columns in SAR:
        yield Heading(TableLayout(columns.split()), sar=True)


WIDTHS = sorted({heading.layout.width for heading in _headings()})


def _read(lines: Iterable[str], heading: Heading) -> list[Interval]:
    reports = ReportBuilder()
    for line in lines:
        row = heading.row(line.split())
        if row is not None:
            reports.row(row, heading)
    reports.end()
    return reports.take_done()


def _fits(lines: Sequence[str], heading: Heading) -> bool:
    """Whether each product holds in every row of this width, and is not zero in all of them."""
    proved = False
    for line in lines:
        row = heading.row(line.split()[-heading.layout.width - MAX_PREFIX_WORDS :])
        for product in () if row is None else heading.layout.products(row.values):
            if abs(product.bytes - product.true_bytes) > product.error:
                return False
            proved = proved or product.bytes > 10 * product.error
    return proved


def _common_loads(reports: Sequence[Interval]) -> dict[str, Load]:
    """Return for each device the figures on which all readings of its row agree."""
    return {
        name: reduce(_common, (report.loads[name] for report in reports))
        for name in reports[0].loads
        if all(name in report.loads for report in reports)
    }


def _common(one: Any, other: Any) -> Any:
    """Return the figure if both have it, else None; of loads and flows, figure by figure."""
    if not isinstance(one, (Load, Flow)) or other is None:
        return one if one == other else None
    return type(one)(*map(_common, one, other))


class GroupRows:
    """
    Tells the rows of ``iostat -g``, each the sum of the devices above it: it has one blank more before its name.

    With -H there are no other rows, and they are used.
    """

    def __init__(self) -> None:
        self._indent = 0  # of the heading
        self._members: list[Sequence[float | None]] = []

    def begin(self, line: str) -> None:
        """Take the heading of a table."""
        self._indent, self._members = _indent(line), []

    def has(self, line: str, row: Row, heading: Heading) -> bool:
        """Whether *line* with *row* is that of a group; else it is a device of the next one."""
        before = line.rstrip()[: -len(row.name)] if heading.name_last else ""
        more = before.endswith("  ") if heading.name_last else _indent(line) == self._indent + 1
        # Those that sysstat 12.6 prints with --pretty are no sums.
        if (
            more
            and not row.before
            and self._members
            and (heading.name_last or self._is_sum(row, heading))
        ):
            self._members = []
            return True
        if not heading.sar and len(self._members) < MAX_DEVICES:
            self._members.append(row.values)
        return False

    def _is_sum(self, row: Row, heading: Heading) -> bool:
        """Whether the rates of *row* are the sums of those of the devices."""
        slack = 0.01 * (len(self._members) + 1)
        columns = zip(
            heading.layout.names, row.values, zip(*self._members, strict=False), strict=False
        )
        return all(
            abs((figure or 0.0) - sum(rate or 0.0 for rate in devices))
            <= slack + 1e-3 * (figure or 0.0)
            for name, figure, devices in columns
            if name.endswith("/s")
        )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class FoldedTable:
    """
    The rest of a table that a narrow page folded: its other columns, below the rows of the first ones.

    Its rows have their names, or none and the order of the first ones. They count if each device has one.
    """

    def __init__(self) -> None:
        self._report: TextReport | None = None  # None: no rest is being read
        self._columns: tuple[str, ...] = ()
        self._devices: list[str] = []
        self._rows: dict[str, Figures] = {}

    def begin(self, words: Sequence[str], report: TextReport | None) -> bool:
        """Whether *words* head the rest of the table of *report*; its rows follow."""
        title = next((n for n, word in enumerate(words) if word in TITLES), -1)
        columns = tuple(words[title + 1 :])
        if report is None or report.layout is None or not columns:
            return False
        shown, rest = {*report.layout.names}, {*columns}
        if not (shown.isdisjoint(rest) and COLUMNS.keys() >= rest):
            return False
        if _has_requests(shown) and _has_requests(rest):  # two reports
            return False
        self._report, self._columns, self._rows = report, columns, {}
        self._devices = [*report.printed()]
        return True

    def take(self, words: Sequence[str]) -> bool:
        """Take the figures of a device; return False if *words* are none, which ends the table."""
        if self._report is None:
            return False
        place = len(self._rows)
        before, figures = words[: -len(self._columns)], words[-len(self._columns) :]
        named = bool(before) and not CLOCK.match(before[-1])  # sar's rows have a time, too
        unnamed = self._devices[place] if place < len(self._devices) else ""
        name = before[-1] if named else unnamed
        row = None
        if len(before) <= MAX_PREFIX_WORDS + 1:
            row = parse_numbers(figures, TableLayout(self._columns).columns)
        known = name in self._devices or not name  # one row too many has no device
        if row is None or len(row) != len(self._columns) or name in self._rows or not known:
            self.end()
            return False
        self._rows[name] = row
        return True

    def end(self) -> None:
        """Add the columns to the report, or say that they are of no known device."""
        report, self._report = self._report, None
        if report is None or not self._rows:
            return
        if self._rows.keys() == {*self._devices}:
            report.widen(self._columns, self._rows)
        else:
            columns = " ".join(self._columns)
            report.note([f"not used: {columns}, for not each device above has one row below it"])


class WrappedRow:
    """
    The words of a row that continues on the next line.

    *on_row* gets each row, and which figures are missing ("" for a complete one).
    """

    def __init__(self, on_row: Callable[[Row, Heading, str], None]) -> None:
        self._on_row = on_row
        self._words: list[str] = []
        self._first: list[str] = []  # those of its first line

    def __bool__(self) -> bool:
        return bool(self._words)

    def take(self, words: list[str], heading: Heading, *, may_begin: bool) -> bool:
        """Take the words of a line; return False if they are not part of a row. *may_begin*: they may begin one."""
        if self._words:
            return self._continue(words, heading)
        if may_begin and _begins_row(words, heading):
            self._words = self._first = words
            return True
        return False

    def give_up(self, heading: Heading | None) -> None:
        """
        Use the figures on the first line of a row whose end is missing.

        Its other lines may be the ends of other rows.
        """
        words, self._words = self._words and self._first, []
        # A heading without the name's column may lack columns, too.
        if not words or heading is None or heading.name_last or not heading.named:
            return
        shown = _figures_at_end(words)
        before = words[: len(words) - len(shown)]
        if not shown or not before:
            return
        if _decimals(shown[-1]) == 0 or lacks_decimals(shown):
            shown = shown[:-1]  # it may be cut within
        row = parse_numbers(shown, heading.layout.columns) or []
        missing = heading.layout.width - len(row)
        *before, name = before
        whole = Row(tuple(before), name, [*row, *[None] * missing], shown, is_plain=False)
        said = f"the row of {name} was cut: {len(row)} of {heading.layout.width} figures"
        self._on_row(whole, heading, said)

    def _continue(self, words: list[str], heading: Heading) -> bool:
        whole = self._words + words
        if words and _is_cut(self._words, words[0]):
            whole = [*self._words[:-1], self._words[-1] + words[0], *words[1:]]
        row = heading.row(whole)
        if row is not None:
            self._words = []
            self._on_row(row, heading, "")
            return True
        if all(is_number(word) for word in words):
            # A row of more figures than the heading has columns belongs to another heading.
            fits = len(_figures_at_end(whole)) <= heading.layout.width
            self._words = whole if fits else []
            return True
        self.give_up(heading)
        row = heading.row(words)
        if row is not None:
            self._on_row(row, heading, "")
            return True
        # Directly below rows, the line may begin the next one.
        return self.take(words, heading, may_begin=True)


def _has_requests(columns: set[str]) -> bool:
    """Whether *columns* tell reads and writes, as each whole table does."""
    return "tps" in columns or columns >= {"r/s", "w/s"}


def _begins_row(words: list[str], heading: Heading) -> bool:
    """Whether *words* can begin a row: a name and fewer figures than columns."""
    shown = _figures_at_end(words)
    before = len(words) - len(shown)
    if len(shown) >= heading.layout.width + heading.name_last:
        return False
    if heading.name_last:
        return before == 0
    if heading.sar:
        return bool(shown) and 1 <= before <= MAX_PREFIX_WORDS
    if before == 1:
        return may_name(words[0])
    name = words[before - 1] if before else ""
    return bool(shown) and bool(name) and heading.may_precede(words[: before - 1], name)


def _is_cut(words: list[str], following: str) -> bool:
    """Whether a terminal cut a figure: the last of *words* lacks decimals that others have, *following* may be its rest."""
    shown = _figures_at_end(words)
    return (
        lacks_decimals(shown)
        and _POINT.search(shown[-1] + following) is not None
        and is_number(following)
    )


def lacks_decimals(figures: Sequence[str]) -> bool:
    """Whether the last of *figures* has fewer decimals than the first one."""
    return len(figures) > 1 and _decimals(figures[-1]) < _decimals(figures[0])


def _decimals(word: str) -> int:
    return len(_POINT.sub(".", word).partition(".")[2])


def _figures_at_end(words: list[str]) -> list[str]:
    count = 0
    while count < len(words) and is_number(words[-1 - count]):
        count += 1
    return words[len(words) - count :]


# Sizes in another unit

MISLABELLED = {
    SECTOR: "corrected: sizes were in sectors, whatever the keys say (sysstat 12.1.2 to 12.2.0)",
    KIB: "corrected: sizes were in kB, whatever the keys say",
    MIB: "corrected: sizes were in MB, whatever the keys say (sysstat 11.5.1 to 11.5.6)",
    GIB: "corrected: sizes were in GB, whatever the keys say",
}  # fmt: skip
PERHAPS_SECTORS = (
    "sizes are twice too large if sysstat 12.1.2 to 12.2.0 wrote this; only -x can show it"
)

# Figures have two decimals: smaller ones are too coarse as evidence.
MIN_IOS, MIN_SIZE = 0.2, 0.1
TOLERANCE = 0.5  # log2; a wrong unit is off by 1 or more, rounding by 0.1


def find_unit(rows: Iterable[tuple[TableLayout, Figures]]) -> tuple[float, int] | None:
    """Return the unit of sizes that their names say, and the true one; None without evidence."""
    evidence = [
        product
        for layout, row in rows
        for product in layout.products(row)
        if product.requests >= MIN_IOS and product.bytes >= MIN_SIZE * product.unit
    ]
    shown = sum(product.bytes / product.unit for product in evidence)
    meant = sum(product.true_bytes for product in evidence)
    unit = min(MISLABELLED, key=lambda unit: _doublings(shown * unit, meant))
    return (evidence[-1].unit, unit) if _doublings(shown * unit, meant) < TOLERANCE else None


def _doublings(one: float, other: float) -> float:
    """Return how many doublings are between the two; ``inf`` if one is 0."""
    ratio = one / other if other else 0.0
    return abs(log2(ratio)) if 0 < ratio < inf else inf
