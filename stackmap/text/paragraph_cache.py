"""
A cache of paragraphs that occur more than once in a text, with their parsed content.

A log of hours consists mostly of them: reports of an idle night, or of a load that is steady to
two decimals. A paragraph that is one table and always begins a report has the same content each
time; one without any known line (processors) stays empty below the same heading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.model.load import Load
from stackmap.text.headings import Heading

MAX_CACHED = 2 << 20  # bytes of paragraphs; their loads take about four times that
ENTRY_COST = 500  # bytes of an entry without its text
FEW_HITS = 0.1  # per entry
LESS = 64  # times: a small cache stays in those of the CPU


class ParsedParagraph(NamedTuple):
    """
    The content of a paragraph, and the state after it.

    ``lines``: their number, including the blank one after them. ``heading``: in force
    below it. ``loads``: shared by all reports with this table and never changed; None
    without a table.
    """

    lines: int
    heading: Heading | None
    loads: Mapping[str, Load] | None = None
    notes: tuple[str, ...] = ()


class ParagraphCache(dict[tuple[Heading | None, str], ParsedParagraph]):
    """Parsed paragraphs by the heading before them and their text. ``hits``: since it was last emptied."""

    def __init__(self) -> None:
        super().__init__()
        self._size = 0
        self._limit = MAX_CACHED
        self.hits = 0

    def keep(self, above: Heading | None, paragraph: str, told: ParsedParagraph) -> None:
        """Keep a parsed *paragraph*; a full cache is emptied first, and made smaller if few paragraphs repeated."""
        if self._size > self._limit:
            few = self.hits < FEW_HITS * len(self)
            self._limit = MAX_CACHED // LESS if few else MAX_CACHED
            self.clear()
            self._size = self.hits = 0
        self[above, paragraph] = told
        self._size += len(paragraph) + ENTRY_COST
