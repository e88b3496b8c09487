"""The stacks as a tree, in the look of a terminal; the differences of two, as lines."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stackmap.document import describe
from stackmap.document.describe import ARROW, Row, rows, title
from stackmap.document.wording import size
from stackmap.model.device import Device
from stackmap.model.topology import Topology
from stackmap.render.columns import SIZES, Column, choose
from stackmap.render.text import DIM, RED, RESET, all_padded, cut, safe, widest

if TYPE_CHECKING:
    from stackmap.model.differences import Change, Differences

# ASCII replacements.
_PLAIN = str.maketrans({"×": "x", "…": "~", ARROW: "^", "–": "-", "→": "->"})


class Look(NamedTuple):
    """``fork``, ``last``, ``pipe``, ``gap``: the lines of a tree. ``width``: None is unlimited. ``point``: in sizes."""

    fork: str
    last: str
    pipe: str
    gap: str
    ascii: bool = False
    colour: bool = False
    width: int | None = None
    point: str = "."

    def guides(self, branches: tuple[bool, ...]) -> str:
        """Return the lines before a row; *branches*: per level, whether more rows follow there."""
        if not branches:
            return ""
        *above, more = branches
        lines = [self.pipe if follows else self.gap for follows in above]
        return "".join([*lines, self.fork if more else self.last])

    def text(self, text: str) -> str:
        """Return *text* in the characters of this look."""
        return text.translate(_PLAIN) if self.ascii else text

    def paint(self, text: str, colour: str) -> str:
        """Return *text* in *colour* if this look has colours."""
        return f"{colour}{text}{RESET}" if self.colour and colour and text.strip() else text


UNICODE = Look(fork="├─ ", last="└─ ", pipe="│  ", gap="   ")
ASCII = Look(fork="|- ", last="`- ", pipe="|  ", gap="   ", ascii=True)


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
    wanted = columns or choose("")
    drawn = list(rows(topology, inverse=inverse, expand=expand))
    cells = [_cells(column, drawn, look, exact=exact) for column in wanted]
    shown = [
        (column, [column.name, *texts] if heading else texts)
        for column, texts in zip(wanted, cells, strict=True)
        if columns or any(texts)
    ]
    lines = _lines(shown, look.width)
    if look.colour:
        colours = [""] * heading + [_colour(row) for row in drawn]
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
    reduced = dict(widths)
    for heading, least in steps if room else ():
        shown = [space for space in reduced.values() if space]
        excess = sum(shown) + len(SEPARATOR) * (len(shown) - 1) - (room or 0)
        if excess > 0 and heading in reduced:
            reduced[heading] = max(min(reduced[heading], least), reduced[heading] - excess)
    return reduced


def _cells(column: Column, drawn: Sequence[Row], look: Look, *, exact: bool) -> list[str]:
    is_tree = column.name == TREE
    if is_tree:
        texts = [title(row) for row in drawn]
    else:
        of_row, again = column.of_row, column.again
        texts = [of_row(row, exact=exact) if again or not row.again else "" for row in drawn]
        if column.name in SIZES:
            texts = [text.replace(".", look.point) for text in texts]
    if not "".join(texts).isprintable():  # rare, and escaping each cell is slow
        texts = [safe(text) for text in texts]
    if is_tree:
        texts = [look.guides(row.branches) + text for row, text in zip(drawn, texts, strict=True)]
    return [look.text(text) for text in texts] if look.ascii else texts


def _lines(shown: Sequence[tuple[Column, list[str]]], room: int | None) -> list[str]:
    """Return the lines of a table, whose columns have a cell for each; *room*: None is unlimited."""
    (_, first), *others = shown
    # Such a cell may be wider than its column.
    alone = [not any(rest) for rest in zip(*(texts for _, texts in others), strict=True)]
    alone = alone or [False] * len(first)
    beside = [text for text, is_alone in zip(first, alone, strict=True) if not is_alone]
    natural = {column.name: widest(texts) for column, texts in others}
    natural = {shown[0][0].name: widest(beside), **natural}
    widths = fitted(natural, room, NARROWER)
    padded = [
        all_padded(widths[column.name], texts, right=column.right)
        for column, texts in shown
        if widths[column.name]
    ]
    cells = zip(*padded, strict=True) if padded else [()] * len(first)
    lines = [
        text if is_alone else SEPARATOR.join(row).rstrip()
        for text, is_alone, row in zip(first, alone, cells, strict=True)
    ]
    return lines if room is None else [cut(line, room) for line in lines]


def _colour(row: Row) -> str:
    if row.again:
        return DIM
    return RED if any(device.state not in describe.FINE for device in row.devices) else ""


def render_differences(differences: "Differences") -> str:
    """Return a line per device removed (-) or added (+) and per change (~)."""
    lines = [f"- {_described(device)}" for device in differences.gone]
    lines += [f"+ {_described(device)}" for device in differences.appeared]
    lines += [
        f"~ {device.title}: {_changed(change)}"
        for device, changes in differences.changed
        for change in changes
    ]
    return "".join(f"{safe(line)}\n" for line in lines) or "nothing changed\n"


def _described(device: Device) -> str:
    return f"{device.title}: {describe.what(device)}, {size(device.size)}"


def _changed(change: "Change") -> str:
    before, after = change.before or "-", change.after or "-"
    if change.what in ("size", "chunk"):
        before, after = (size(int(text)) if text.isdecimal() else text for text in (before, after))
    return f"{change.what} {before} → {after}"
