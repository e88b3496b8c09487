"""The stacks as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stackmap.document import describe
from stackmap.document.titles import title
from stackmap.document.walk import Row, rows
from stackmap.model.topology import Topology
from stackmap.render.columns import Column, choose
from stackmap.render.text import DIM, RED, cut, padded_to, safe, widest
from stackmap.render.tree_style import UNICODE, Look

TREE = "DEVICE"  # the column with the lines of the tree
SEPARATOR = "  "

# Columns that shrink on a narrow terminal, in this order, and to what width.
NARROWER = (("WHAT", 20), ("USED-BY", 10), ("KERNEL", 0), ("WHAT", 10), ("DEVICE", 12))


def render_tree(
    topology: Topology,
    look: Look = UNICODE,
    columns: Sequence[Column] = (),
    *,
    inverse: bool = False,
    expand: bool = False,
    heading: bool = True,
    exact: bool = False,
) -> str:
    """
    Return the tree; a device is drawn once, then pointed back to.

    *inverse*: from the disks up; *expand*: a row per sub-LV; *exact*: sizes in
    bytes. No *columns*: the default ones without those that are empty.
    """
    if not topology.devices:
        return ""
    wanted = list(columns or choose(""))
    drawn = list(rows(topology, inverse=inverse, expand=expand))
    cells = [_cells(row, wanted, look, exact=exact) for row in drawn]
    if not columns:
        wanted, cells = _used(wanted, cells)
    headings = [[column.name for column in wanted]] if heading else []
    natural_widths = zip(wanted, _widths([*headings, *cells]), strict=True)
    widths = fitted({c.name: space for c, space in natural_widths}, look.width, NARROWER)
    form = "" if look.width else _form(wanted, widths)
    lines = [_line(wanted, widths, line, look.width, form) for line in (*headings, *cells)]
    if look.colour:
        colours = [""] * len(headings) + [_colour(row) for row in drawn]
        lines = [look.paint(text, colour) for text, colour in zip(lines, colours, strict=True)]
    return "\n".join([*lines, ""])


def fitted(
    widths: Mapping[str, int], room: int | None, steps: Sequence[tuple[str, int]]
) -> dict[str, int]:
    """
    Return *widths* reduced to fit *room*: each of *steps* to its minimum before the next.

    >>> fitted({"DEVICE": 20, "KERNEL": 10, "WHAT": 30}, 60, [("WHAT", 20), ("KERNEL", 0)])
    {'DEVICE': 20, 'KERNEL': 10, 'WHAT': 26}
    """
    found = dict(widths)
    for heading, least in steps if room else ():
        shown = [space for space in found.values() if space]
        excess = sum(shown) + len(SEPARATOR) * (len(shown) - 1) - (room or 0)
        if excess > 0 and heading in found:
            found[heading] = max(min(found[heading], least), found[heading] - excess)
    return found


def _cells(row: Row, columns: Sequence[Column], look: Look, *, exact: bool) -> list[str]:
    cells = [
        title(row) if column.name == TREE
        else "" if row.again and not column.again
        else column.of_row(row, exact=exact)
        for column in columns
    ]  # fmt: skip
    if not "".join(cells).isprintable():  # rare, and escaping each cell is slow
        cells = [safe(cell) for cell in cells]
    if row.branches:
        place = next((place for place, column in enumerate(columns) if column.name == TREE), None)
        if place is not None:
            cells[place] = look.guides(row.branches) + cells[place]
    return [look.text(cell) for cell in cells] if look.ascii else cells


def _used(columns: list[Column], cells: list[list[str]]) -> tuple[list[Column], list[list[str]]]:
    """Return the table without columns that are empty in every row."""
    kept = [place for place in range(len(columns)) if any(line[place] for line in cells)]
    return [columns[place] for place in kept], [[line[place] for place in kept] for line in cells]


def _widths(lines: list[list[str]]) -> list[int]:
    """Return the width of each column; a row with only a first cell may be wider."""
    full = [line for line in lines if any(line[1:])]
    return [widest(column) for column in zip(*full, strict=True)]


def _form(columns: list[Column], widths: Mapping[str, int]) -> str:
    """Return a format for cells that fit, "" if a column has no width."""
    if not all(widths.values()):
        return ""
    return SEPARATOR.join(f"%{'' if c.right else '-'}{widths[c.name]}s" for c in columns)


def _line(
    columns: list[Column], widths: Mapping[str, int], cells: list[str], room: int | None, form: str
) -> str:
    if not any(cells[1:]):
        return cells[0] if room is None else cut(cells[0], room)
    if form and "".join(cells).isascii():  # one column per letter, as in most lines
        return (form % tuple(cells)).rstrip()
    padded = [
        padded_to(widths[column.name], cell, right=column.right)
        for column, cell in zip(columns, cells, strict=True)
        if widths[column.name]
    ]
    line = SEPARATOR.join(padded).rstrip()
    return line if room is None else cut(line, room)


def _colour(row: Row) -> str:
    if row.again:
        return DIM
    return RED if any(device.state not in describe.FINE for device in row.devices) else ""
