"""
Paragraphs that a text has more than once, to the letter: what they told the first time.

A log of hours is mostly such: reports of an idle night, of a load that is
steady to two decimals. A paragraph that is one table, and begins a report
whatever stands before it, tells the same each time; one in which no line
means anything (processors) means nothing again below the same heading. So it
is read once and looked up from then on.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.model.load import Load
from stackmap.sources.statistics.headings import Heading, Row

MAX_CACHED = 8 << 20  # bytes of paragraphs; their loads take some four times that
ENTRY_COST = 500  # bytes, of one without its text


@dataclass(frozen=True, slots=True)
class ParsedParagraph:
    """
    What a paragraph told, and what it leaves to the lines after it.

    ``lines``: how many they were, with the blank one after them. ``heading`` and ``rows`` are in force below it; ``loads`` are shared by all
    reports that have this table, and never changed; None where it had none.
    """

    lines: int
    heading: Heading | None
    rows: dict[str, tuple[Row, Load]]
    loads: dict[str, Load] | None = None
    notes: tuple[str, ...] = ()


class ParagraphCache(dict[tuple[Heading | None, str], ParsedParagraph]):
    """By the heading in force before, and the text; as many as memory is meant for."""

    def __init__(self) -> None:
        super().__init__()
        self._size = 0

    def keep(self, above: Heading | None, paragraph: str, told: ParsedParagraph) -> None:
        """Keep what *paragraph* told; where that is too much, the others are forgotten."""
        if self._size > MAX_CACHED:
            self.clear()
            self._size = 0
        self[above, paragraph] = told
        self._size += len(paragraph) + ENTRY_COST
