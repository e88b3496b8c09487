"""
Device tables in a text: the output of ``iostat`` and ``sar -d``, also as pasted by people.

Tables are read by heading, never by position or version. A row counts if it has a figure for each
column of the last heading; prose, prompts and other tables are ignored.
"""

from collections.abc import Callable, Iterator

from stackmap.model.interval import Interval
from stackmap.model.load import PrintedLoads
from stackmap.text import text_lines
from stackmap.text.columns import COLUMNS, is_number, parse_plain_numbers
from stackmap.text.headings import (
    MAX_PREFIX_WORDS,
    TITLES,
    Heading,
    Row,
    heading,
    join_wrapped,
    without_quotes,
    without_remark,
)
from stackmap.text.printed_time import has_time, is_time
from stackmap.text.repairs import FoldedTable, GroupRows, WrappedRow, lacks_decimals
from stackmap.text.report_builder import ReportBuilder
from stackmap.text.text_lines import Lines

MAX_HEADINGS = 100  # that are kept; a long text repeats its own
MOST_OF_TIME = 4  # numbers: day, year, a time with a point, a zone
MAX_KEPT = 2_000  # rows of tables; an idle night repeats a few tables


def read(lines: Lines, on_unknown_line: Callable[[str], bool]) -> Iterator[Interval]:
    """
    Yield the reports.

    *on_unknown_line* gets each line without meaning here; returning True ends the
    reading before that line.
    """
    tables = TableReader()
    for line in lines:
        if not tables.take(line) and on_unknown_line(line):
            lines.push_back()
            break
        if tables.at_table:
            rows = lines.following()
            if rows and tables.take_rows(rows):
                lines.skip(len(rows))
        if tables.reports.done:
            yield from tables.reports.take_done()
    tables.end()
    yield from tables.reports.take_done()


class TableReader:
    """
    The state between lines: the heading in force, and an incomplete row.

    ``at_table``: whether the last line was the heading of an ordinary table.
    """

    def __init__(self) -> None:
        self.reports = ReportBuilder()
        self.at_table = False
        self.heading: Heading | None = None
        self._headings: dict[str, Heading] = {}  # by their line
        self._other_headings: set[str] = set()  # lines above tables of processors and the like
        self._heading_read: Heading | None = None
        self._read: dict[tuple[str, ...], PrintedLoads] = {}  # rows of tables below it
        self._size = 0  # of these, in rows
        self._pending = WrappedRow(self._wrapped_row)
        self._folded = FoldedTable()
        self._groups = GroupRows()
        self._cut = False  # the last figure of a row, once
        self._below_rows = False  # nothing else since: the rest of a folded table may follow
        self._may_read_table = True  # once a paragraph, which may have many headings
        self._after_heading = False  # the next line may be the rest of the heading
        self._after_row = False  # after a row or heading: the next line may be part of a row
        # Whether iostat prints times in words of any language; None: the line after its first will tell.
        self._prints_times: bool | None = False
        self._perhaps_time = ""  # a line that is one if a heading follows

    def take(self, line: str) -> bool:
        """Take a line; return False if it means nothing here."""
        self.at_table = False
        words = line.split()
        if not words:
            self._may_read_table = True
            self._pending.give_up(self.heading)
            self._after_row = self._after_heading  # OSWatcher prints a blank line below the heading
            self._after_heading = False
            return True
        if self._folded.take(without_quotes(words)):
            return True
        heading = self.heading
        if heading is not None and not self._pending:
            row = heading.row(words)
            if row is not None:
                is_group = self._groups.has(line, row, heading)
                if is_group and self.reports.current is not None:
                    self.reports.current.note(
                        [f"not used: {row.name}, the sum of devices above it"]
                    )
                else:
                    self._row(row, heading)
                return True
            if self._cut and len(words) == 1 and is_number(words[0]):
                return True
        if heading is None and "." in words[0] and parse_plain_numbers(words) is not None:
            self._after_heading = self._after_row = False
            return True  # figures of processors
        bare = without_quotes(words)
        kept = without_remark(bare)
        if kept != bare and heading is not None:
            return self.take(" ".join(kept))
        return self._take_non_row(line, bare)

    def take_rows(self, lines: list[str]) -> bool:
        """Take the rows of a table together; return False if a line is no ordinary row."""
        heading, report = self.heading, self.reports.current
        if heading is not None and heading.sar:
            tables = heading.tables(lines)
            if tables is None or not self.reports.sar_tables(tables, heading):
                return False
            self._after_heading, self._after_row, self._below_rows = False, True, True
            return True
        if heading is None or report is None:
            return False
        if heading is not self._heading_read:
            self._heading_read, self._read, self._size = heading, {}, 0
        key = tuple(lines)
        loads = self._read.get(key)
        if loads is None:
            tables = heading.tables(lines)
            if tables is None:
                return False
            ((_, loads),) = tables
            if self._size > MAX_KEPT:
                self._read, self._size = {}, 0
            self._read[key] = loads
            self._size += len(lines)
        report.begin_with(heading.layout, loads)
        self._after_heading, self._after_row, self._below_rows = False, True, True
        return True

    def end(self) -> None:
        """Take the end of the text."""
        self._pending.give_up(self.heading)
        self._folded.end()
        self.reports.end()

    def _row(self, row: Row, heading: Heading) -> None:
        self.reports.row(self._whole(row, heading), heading)
        self._after_heading, self._after_row = False, True
        self._below_rows = not heading.name_last

    def _wrapped_row(self, row: Row, heading: Heading, lacking: str) -> None:
        report = self.reports.row(self._whole(row, heading), heading)
        if lacking:
            report.cut[row.name] = lacking
            report.last_is_cut = True
        else:
            self._after_heading, self._after_row = False, True

    def _whole(self, row: Row, heading: Heading) -> Row:
        """Return *row* without a last figure that a terminal cut: its rest follows."""
        may_be_cut = heading.wrapped and heading.layout.names[-1] == "%util"
        if not (may_be_cut and lacks_decimals(row.words)):
            return row
        self._cut = True
        return row._replace(values=[*row.values[:-1], None])

    def _take_non_row(self, line: str, words: list[str]) -> bool:
        if self._below_rows and self._folded.begin(words, self.reports.current):
            self._pending.give_up(self.heading)
            return True
        self._below_rows = self._below_rows and not any(map(str.isalnum, line))
        if self._after_heading and self.heading is not None:
            whole = join_wrapped(self.heading, words)
            if whole is not None:
                self.heading = whole
                return True
        if self.heading is not None and self._pending.take(
            words, self.heading, may_begin=self._after_row
        ):
            return True
        self._pending.give_up(self.heading)
        if line in self._other_headings:
            self.heading, self._after_heading, self._after_row = None, False, False
            return True
        if self._take_heading(line, words):
            return True
        self._after_heading = self._after_row = False
        return self._take_other_line(line, words)

    # Headings

    def _take_heading(self, line: str, words: list[str]) -> bool:
        head = self._heading_in(line, words)
        if head is None:
            return False
        self.heading = head
        if self._perhaps_time and not head.sar:
            self.reports.stamp(self._perhaps_time)
        self._prints_times = self._prints_times or bool(self._perhaps_time)
        self._perhaps_time = ""
        self._groups.begin(line)
        self.reports.heading(head)
        self._after_heading = self._after_row = True
        ordinary = head.named and not (head.name_last or head.rest)
        self.at_table, self._may_read_table = ordinary and self._may_read_table, False
        if head.rest:
            # Where a copy lost the line ends, rows follow their heading.
            start, width = 0, head.layout.width
            for index in range(len(head.rest) - width):
                if index < start or is_number(head.rest[index]):
                    continue
                row = head.row(head.rest[max(start, index - MAX_PREFIX_WORDS) : index + width + 1])
                if row is not None and row.name == head.rest[index]:
                    self._row(row, head)
                    start = index + width + 1
        return True

    def _heading_in(self, line: str, words: list[str]) -> Heading | None:
        known = self._headings.get(line)
        if known is not None:
            return known
        may_head = any(title in line for title in TITLES) or (words and words[0] in COLUMNS)
        head = heading(words) if may_head else None
        if head is not None:
            if len(self._headings) >= MAX_HEADINGS:
                self._headings.clear()
            self._headings[line] = head
        return head

    # All else

    def _take_other_line(self, line: str, words: list[str]) -> bool:
        reports = self.reports
        if "Linux" in line and (run := text_lines.run_of(line)) is not None:
            reports.banner(*run)
            self._prints_times = None
        elif is_time(" ".join(words)):
            reports.stamp(" ".join(words).removeprefix("Time: "))
        elif text_lines.RESTART in line:
            reports.event(" ".join(words))
        elif line.lstrip().startswith(text_lines.OSWATCHER):
            reports.stamp(line.strip().removeprefix(text_lines.OSWATCHER))
        elif "iostat" in line and text_lines.SKIPS_FIRST.search(line):
            reports.since_boot, reports.skips_first = False, True  # the banner is yet to come
        elif text_lines.ELISION.match(line):
            reports.since_boot = False
        else:
            if text_lines.is_other_heading(words):
                self.heading = None
                if len(self._other_headings) < MAX_HEADINGS:
                    self._other_headings.add(line)
            # A fence ends an article's example, but sar's rows have their time and may go on.
            elif text_lines.FENCE in line and self.heading and not self.heading.sar:
                self.heading = None
            else:
                self._take_perhaps_time(words)
            return False
        return True

    def _take_perhaps_time(self, words: list[str]) -> None:
        """Keep a line with a time and words of any language, where the line after iostat's first was one."""
        self._perhaps_time = ""
        if self._prints_times is False:
            return
        line = " ".join(words)
        if sum(map(is_number, words)) <= MOST_OF_TIME and has_time(line):
            self._perhaps_time = line
        else:
            self._prints_times = self._prints_times or False
