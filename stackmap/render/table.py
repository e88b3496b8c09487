"""Rows → an aligned table, by tabulate."""

from __future__ import annotations

from collections.abc import Sequence


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: int, heading: bool = True) -> str:
    """Return *rows* as lines under *headings*: the first *words* columns to the left, numbers to the right."""
    from tabulate import tabulate  # 60 ms, which a tree does not pay

    align = ["left" if place < words else "right" for place in range(len(headings))]
    text = tabulate(
        [list(headings), *map(list, rows)] if heading else [list(row) for row in rows],
        tablefmt="plain",
        colalign=align,
        disable_numparse=True,
    )
    return "\n".join(line.rstrip() for line in text.splitlines())
