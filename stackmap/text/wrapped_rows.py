"""
Rows over several lines: a name on a line of its own, or a wrapped or cut line.

A possible beginning of a row is held until a line completes it or shows that none will.
"""

from __future__ import annotations

from collections.abc import Callable

from stackmap.model.table_headings import MAX_PREFIX_WORDS
from stackmap.text.headings import Heading, Row, may_name
from stackmap.text.numbers import is_number, parse_numbers


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
        if "." not in shown[-1] and "," not in shown[-1]:
            shown = shown[:-1]  # it may be cut within
        row = parse_numbers(shown, heading.layout.columns) or []
        missing = heading.layout.width - len(row)
        *before, name = before
        whole = Row(tuple(before), name, [*row, *[None] * missing], shown, is_plain=False)
        said = f"the row of {name} was cut: {len(row)} of {heading.layout.width} figures"
        self._on_row(whole, heading, said)

    def _continue(self, words: list[str], heading: Heading) -> bool:
        whole = self._words + words
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
    return before == 1 and may_name(words[0])


def _figures_at_end(words: list[str]) -> list[str]:
    count = 0
    while count < len(words) and is_number(words[-1 - count]):
        count += 1
    return words[len(words) - count :]
