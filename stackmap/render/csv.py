"""Rows → CSV for spreadsheets and programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Cell = str | float | int | None
FORMULA = ("=", "+", "-", "@", "\t")  # a spreadsheet runs text that begins so: names are untrusted


def csv(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    r"""
    Return *rows* under *headings*; numbers with all digits, nothing for None.

    >>> csv(["name", "rate"], [["=a,b", 0.5], ["c", None]])
    'name,rate\n"\'=a,b",0.5\nc,\n'
    """
    return "".join(f"{','.join(map(_cell, row))}\n" for row in (headings, *rows))


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = f"'{value}" if value.startswith(FORMULA) else value
    return '"{}"'.format(text.replace('"', '""')) if set(text) & set(',"\n\r') else text
