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
    if _widest(rows, lines) > width:
        return _aligned(rows, words, columns, NARROW_GAP)
    return lines


def folded(rows: Sequence[Sequence[str]], *, words: int, columns: int, width: int) -> list[str]:
    """
    Return *rows* as by ``aligned``, in parts one below the other where they exceed *width*.

    Each part begins with the first *words* columns and the titles.
    """
    for last in range(columns, words, -1):
        part = [row[:last] for row in rows if any(row[:last])]
        lines = aligned(part, words=words, columns=last, width=width)
        if last == words + 1 or _widest(part, lines) <= width:
            break
    if last == columns:
        return lines
    rest = [(*row[:words], *row[last:]) for row in rows]
    more = folded(rest, words=words, columns=words + columns - last, width=width)
    return [*lines, "", *more]


def _widest(rows: Sequence[Sequence[str]], lines: Sequence[str]) -> int:
    """Return the width of the widest line that is not a title."""
    widths = (len(line) for row, line in zip(rows, lines, strict=True) if len(row) > 1)
    return max(widths, default=0)


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
