"""
Device tables in a text: the output of ``iostat`` and ``sar -d``, also as pasted by people.

Tables are read by heading, never by position or version. A row counts if it has a figure for each
column of the last heading; prose, prompts and other tables are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from stackmap.model.interval import Interval
from stackmap.model.table_headings import IOSTAT_DEVICE, MAX_PREFIX_WORDS, SAR_DEVICE
from stackmap.text import line_types
from stackmap.text.columns import COLUMNS
from stackmap.text.headings import Heading, Row, heading, join_wrapped, without_quotes
from stackmap.text.numbers import is_number, parse_plain_numbers
from stackmap.text.paragraph_cache import ParagraphCache, ParsedParagraph
from stackmap.text.report_builder import ReportBuilder, TextReport
from stackmap.text.text_lines import Lines
from stackmap.text.whole_tables import WholeTables
from stackmap.text.wrapped_rows import WrappedRow

TITLES = (*IOSTAT_DEVICE, SAR_DEVICE)

MAX_HEADINGS = 100  # that are kept; a long text repeats its own


def read(lines: Lines, on_unknown_line: Callable[[str], bool]) -> Iterator[Interval]:
    """
    Yield the reports.

    *on_unknown_line* gets each line without meaning here; returning True ends the
    reading before that line.
    """
    tables = TableReader()
    for line in lines:
        if not tables.take(line) and on_unknown_line(line):
            lines.push_back(line)
            break
        if tables.reports.done:
            yield from tables.reports.take_done()
        if lines.ended:
            tables.end_paragraph(lines.paragraph)
            while tables.settled:
                known = lines.take_whole(tables.known)
                if known is None:
                    break
                lines.number += known.lines
                tables.repeat(known)
                if tables.reports.done:
                    yield from tables.reports.take_done()
            tables.begin_paragraph()
    tables.end()
    yield from tables.reports.take_done()


class TableReader:
    """The state between lines: the heading in force, and an incomplete row."""

    def __init__(self) -> None:
        self.reports = ReportBuilder()
        self._cache = ParagraphCache()
        self.heading: Heading | None = None
        self._tables: dict[str, WholeTables] = {}  # by heading
        self._other_headings: set[str] = set()  # of the latest tables of processors and the like
        self._heading_above: Heading | None = None  # before this paragraph
        self._cacheable = True  # whether its beginning depends only on that heading
        self._reports_before = 0  # before this paragraph
        self._unknown_lines = 0  # in this paragraph
        self._pending = WrappedRow(self._wrapped_row)
        self._after_heading = False  # the next line may be the rest of the heading
        self._after_row = False  # after a row or heading: the next line may be part of a row

    def take(self, line: str) -> bool:
        """Take a line; return False if it means nothing here."""
        heading = self.heading
        if line[:1].isdigit() and self.settled and line_types.is_time(line):
            self.reports.stamp(line.strip())  # one per report, and it can be nothing else
            return True
        if heading is not None and not self._pending:
            row = heading.row(line.split())
            if row is not None:
                self._row(row, heading)
                return True
        words = line.split()
        if not words:
            self._blank()
            return True
        return self._take_non_row(line, without_quotes(words))

    @property
    def settled(self) -> bool:
        """Whether the meaning of the next line depends only on the heading in force."""
        return not (self._after_row or self._pending)

    def begin_paragraph(self) -> None:
        """Note that another paragraph begins."""
        self._heading_above = self.heading
        self._cacheable = self.settled
        self._reports_before, self._unknown_lines = self.reports.begun, 0

    def end_paragraph(self, paragraph: str) -> None:
        """Cache *paragraph* if it was one whole table, or had no known line."""
        if not paragraph or not self._cacheable or not self.settled:
            return
        begun, report = self.reports.begun - self._reports_before, self.reports.current
        if not begun and self._cache and self._unknown_lines == paragraph.count("\n") + 1:
            first_line = paragraph[: paragraph.find("\n")]
            if line_types.is_other_heading(first_line.split()):
                self._other_headings = {*list(self._other_headings)[-9:], first_line}
            self._cache_paragraph(paragraph, None)
        if begun != 1 or self._unknown_lines or report is None or report.events or not report.loads:
            return
        first = self._tables.get(paragraph[: paragraph.find("\n")])
        if first is not None and first.heading.begins_report:
            report.shared = report.own
            self._cache_paragraph(paragraph, report)

    def _cache_paragraph(self, paragraph: str, report: TextReport | None) -> None:
        told = ParsedParagraph(
            paragraph.count("\n") + 2,
            self.heading,
            None if report is None else report.loads,
            () if report is None else tuple(report.notes),
        )
        self._cache.keep(self._heading_above, paragraph, told)

    def known(self, paragraph: str) -> ParsedParagraph | None:
        """Return the content of a whole *paragraph* that came before or is one ordinary table; None for any other."""
        known = self._cache.get((self.heading, paragraph))
        if known is not None:
            self._cache.hits += 1
            return known
        first, _, rows = paragraph.partition("\n")
        lines = rows.count("\n") + 1
        if first in self._other_headings and all(map(_has_figures_only, rows.split("\n"))):
            return ParsedParagraph(lines + 2, None)
        below = self._tables_below(first)
        table = below.read(rows, lines) if below and below.heading.begins_report else None
        if below is not None and table is not None:
            known = ParsedParagraph(lines + 2, below.heading, table)
            self._cache.keep(self.heading, paragraph, known)
        return known

    def repeat(self, told: ParsedParagraph) -> None:
        """Take a paragraph that is known, and the blank line after it."""
        self.heading = told.heading
        if told.heading is not None and told.loads is not None:
            self.reports.table(told.heading, told.loads, told.notes)

    def end(self) -> None:
        """Take the end of the text."""
        self._pending.give_up(self.heading)
        self.reports.end()

    def _row(self, row: Row, heading: Heading) -> None:
        self.reports.row(row, heading.load(row), heading)
        self._after_heading, self._after_row = False, True

    def _wrapped_row(self, row: Row, heading: Heading, lacking: str) -> None:
        report = self.reports.row(row, heading.load(row), heading)
        if lacking:
            report.note([lacking])
        else:
            self._after_heading, self._after_row = False, True

    def _blank(self) -> None:
        self._pending.give_up(self.heading)
        self._after_row = self._after_heading  # OSWatcher prints a blank line below the heading
        self._after_heading = False

    def _take_non_row(self, line: str, words: list[str]) -> bool:
        """Take a line that is not a row by itself."""
        if self.heading is not None and self._pending.take(
            words, self.heading, may_begin=self._after_row
        ):
            return True
        self._pending.give_up(self.heading)
        if self._take_heading(line, words):
            return True
        self._after_heading = self._after_row = False
        known = self._take_other_line(line, words)
        self._unknown_lines += not known
        return known

    # Headings

    def _take_heading(self, line: str, words: list[str]) -> bool:
        if self._after_heading and self.heading is not None:
            whole = join_wrapped(self.heading, words)
            if whole is not None:
                self.heading = whole
                return True
        below = self._tables_below(line)
        if below is None:
            return False
        self.heading = found = below.heading
        self.reports.heading(found)
        self._after_heading = self._after_row = True
        if found.rest:
            self._take_flattened(found.rest, found)
        return True

    def _tables_below(self, line: str) -> WholeTables | None:
        """Return the reader of tables below *line*, None if it is no heading."""
        known = self._tables.get(line)
        if known is not None:
            return known
        words = without_quotes(line.split())
        may_head = any(title in line for title in TITLES) or (words and words[0] in COLUMNS)
        found = heading(words) if may_head else None
        if found is None:
            return None
        if len(self._tables) >= MAX_HEADINGS:
            self._tables.clear()
        self._tables[line] = WholeTables(found)
        return self._tables[line]

    def _take_flattened(self, words: Sequence[str], heading: Heading) -> None:
        """Take rows after their heading on one line, where a copy lost the line ends."""
        start = 0
        width = heading.layout.width
        for index in range(len(words) - width):
            if index < start or is_number(words[index]):
                continue
            row = heading.row(words[max(start, index - MAX_PREFIX_WORDS) : index + width + 1])
            if row is not None and row.name == words[index]:
                self._row(row, heading)
                start = index + width + 1

    # All else

    def _take_other_line(self, line: str, words: list[str]) -> bool:
        reports = self.reports
        if "Linux" in line and (machine := line_types.machine(line)) is not None:
            reports.banner(machine)
        elif line_types.is_time(" ".join(words)):
            reports.stamp(" ".join(words).removeprefix("Time: "))
        elif line_types.RESTART in line:
            reports.event(" ".join(words))
        elif line.lstrip().startswith(line_types.OSWATCHER):
            reports.stamp(line.strip().removeprefix(line_types.OSWATCHER))
        elif line_types.ELISION.match(line) or (
            "iostat" in line and line_types.SKIPS_FIRST.search(line)
        ):
            reports.since_boot = False
        else:
            # A fence ends an article's example, but sar's rows have their time and may go on.
            fenced = line_types.FENCE in line and self.heading and not self.heading.sar
            if fenced or line_types.is_other_heading(words):
                self.heading = None
            return False
        return True


def _has_figures_only(line: str) -> bool:
    """Whether *line* is a row without a name: one of processors, no time."""
    words = line.split()
    return bool(words) and "." in words[0] and parse_plain_numbers(words) is not None
