"""Rows → an aligned table, by tabulate."""

from __future__ import annotations

from collections.abc import Sequence

# Stands for a leading space while tabulate strips cells: the way to keep spaces
# differs between tabulate 0.8 (a global) and 0.10 (a parameter).
INDENT = "\x01"
GAP, NARROW_GAP = "  ", " "


def aligned(rows: Sequence[Sequence[str]], *, words: int, columns: int, width: int) -> list[str]:
    """
    Return *rows* of at most *columns* cells as aligned lines.

    The first *words* columns are aligned to the left, the others to the right.
    Leading spaces of a cell are kept: they indent it. A row of one cell is a
    title, which widens no column. Where a line would exceed
    *width*, columns are one space apart instead of two.
    """
    lines = _aligned(rows, words, columns, GAP)
    if max(map(len, lines), default=0) > width:
        return _aligned(rows, words, columns, NARROW_GAP)
    return lines


def _aligned(rows: Sequence[Sequence[str]], words: int, columns: int, gap: str) -> list[str]:
    from tabulate import DataRow, TableFormat, tabulate  # 60 ms, which a tree does not pay

    line = DataRow("", gap, "")
    text = tabulate(
        [[""] * columns if len(row) == 1 < columns else map(_marked, row) for row in rows],
        tablefmt=TableFormat(None, None, None, None, line, line, 0, None),
        colalign=["left" if place < words else "right" for place in range(columns)],
        disable_numparse=True,
    )
    lines = text.replace(INDENT, " ").split("\n") if rows else []
    return [
        row[0] if len(row) == 1 else line.rstrip() for row, line in zip(rows, lines, strict=True)
    ]


def _marked(cell: str) -> str:
    return INDENT * (len(cell) - len(cell.lstrip(" "))) + cell.lstrip(" ")
