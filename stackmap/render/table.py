"""Rows → an aligned table, by tabulate."""

from __future__ import annotations

from collections.abc import Sequence

# Stands for a leading space while tabulate strips cells: how it is told to keep
# them differs between 0.8 (a global) and 0.10 (a parameter).
INDENT = "\x01"


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: int, heading: bool = True
) -> str:
    """
    Return *rows* as lines under *headings*.

    The first *words* columns stand to the left, numbers to the right; a cell's
    leading spaces are kept, they are its place in a tree.
    """
    from tabulate import tabulate  # 60 ms, which a tree does not pay

    lines = [headings, *rows] if heading else rows
    text = tabulate(
        [[_kept(cell) for cell in line] for line in lines],
        tablefmt="plain",
        colalign=["left" if place < words else "right" for place in range(len(headings))],
        disable_numparse=True,
    )
    return "\n".join(line.rstrip() for line in text.replace(INDENT, " ").splitlines())


def _kept(cell: str) -> str:
    return INDENT * (len(cell) - len(cell.lstrip(" "))) + cell.lstrip(" ")
