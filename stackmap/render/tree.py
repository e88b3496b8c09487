"""The stacks as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Topology, natural
from stackmap.render import describe
from stackmap.render.look import ARROW, DIM, RED, UNICODE, Look
from stackmap.render.text import cut, safe, width
from stackmap.render.units import size
from stackmap.render.walk import Row, rows

MOST_NAMES = 4  # of devices that share a row; more are told by the first and the last
SEPARATOR = "  "

# What gives way where a terminal is narrow, and to how many columns, in this order.
NARROWER = (("WHAT", 20), ("USED BY", 10), ("KERNEL", 0), ("WHAT", 10), ("DEVICE", 12))


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, and what it says of a row."""

    heading: str
    cell: Callable[[Row], str]
    right: bool = False


def render_tree(
    topology: Topology,
    look: Look = UNICODE,
    *,
    inverse: bool = False,
    expand: bool = False,
    heading: bool = True,
    exact: bool = False,
) -> str:
    """
    Draw each device once; where it turns up again, point back to it.

    *inverse* from the disks up, *expand* with every hidden LV in a row of its
    own, *exact* with sizes in bytes.
    """
    drawn = list(rows(topology, inverse=inverse, expand=expand))
    columns = [column for column in _columns(look, exact=exact) if _is_used(column, drawn)]
    cells = [[look.text(safe(column.cell(row))) for column in columns] for row in drawn]
    headings = [[column.heading for column in columns]] if heading else []
    natural_widths = zip(columns, _widths([*headings, *cells]), strict=True)
    widths = fitted({c.heading: space for c, space in natural_widths}, look.width, NARROWER)
    lines = [_line(columns, widths, line, look.width) for line in (*headings, *cells)]
    colours = [""] * len(headings) + [_colour(row) for row in drawn]
    painted = (look.paint(text, colour) for text, colour in zip(lines, colours, strict=True))
    return "".join(f"{line}\n" for line in painted)


def fitted(
    widths: Mapping[str, int], room: int | None, steps: Sequence[tuple[str, int]]
) -> dict[str, int]:
    """
    Return *widths* made narrower to fit *room*, each of *steps* to its least before the next.

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


def _columns(look: Look, *, exact: bool) -> tuple[Column, ...]:
    def device(row: Row) -> str:
        return look.guides(row.branches) + _title(row)

    def bytes_of(row: Row) -> str:
        if row.again or row.device.size is None:
            return ""
        return str(row.device.size) if exact else size(row.device.size)

    return (
        Column("DEVICE", device),
        Column("KERNEL", _kernel),
        Column("SIZE", bytes_of, right=True),
        Column("WHAT", _what),
        Column("STATE", lambda row: "" if row.again else describe.states(row.devices)),
        Column("USED BY", lambda row: "" if row.again else describe.users(row.device)),
    )


def _is_used(column: Column, drawn: Iterable[Row]) -> bool:
    return any(column.cell(row) for row in drawn)


def _widths(lines: list[list[str]]) -> list[int]:
    """Return how wide each column must be; a row that has only its first cell may run over."""
    full = [line for line in lines if any(line[1:])]
    return [max(map(width, column)) for column in zip(*full, strict=True)]


def _line(
    columns: list[Column], widths: Mapping[str, int], cells: list[str], room: int | None
) -> str:
    if not any(cells[1:]):
        return cells[0] if room is None else cut(cells[0], room)
    padded = []
    for column, cell in zip(columns, cells, strict=True):
        space = widths[column.heading]
        text = cut(cell, space)
        blank = " " * (space - width(text))
        if space:
            padded.append(blank + text if column.right else text + blank)
    line = SEPARATOR.join(padded).rstrip()
    return line if room is None else cut(line, room)


def _colour(row: Row) -> str:
    if row.again:
        return DIM
    return RED if any(device.state not in describe.FINE for device in row.devices) else ""


def _what(row: Row) -> str:
    """Return the column WHAT: for a role other than data, that too."""
    words = [] if row.role in (None, Role.DATA) else [f"{row.role}:"]
    if not row.again:
        count = f"{len(row.devices)} × " if len(row.devices) > 1 else ""
        words.append(count + describe.what(row.device))
    return " ".join(words).removesuffix(":") if row.again else " ".join(words)


def _title(row: Row) -> str:
    """Return what people call the devices of *row*."""
    names = list(dict.fromkeys(_short(device, row.above) for device in row.devices))
    if row.again:
        return f"{_listed(names)} {ARROW}"
    return names[0] if len(names) == 1 else _folded(names)


def _short(device: Device, above: Iterable[Device]) -> str:
    """Return the label without what the row above says already: the volume, or at least the VG."""
    for owner in above:
        rest = device.title.removeprefix(owner.title)
        if device.kind is Kind.MEMBER and rest not in ("", device.title):
            return rest
    group, _, volume = device.label.partition("/")
    same = any(owner.label.startswith(f"{group}/") for owner in above)
    return volume if volume and same else device.title


def _kernel(row: Row) -> str:
    """Return the kernel's names where people have others."""
    if row.again or all(device.title == device.name for device in row.devices):
        return ""
    return _numbered([device.name for device in row.devices])


def _listed(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return " ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"


def _folded(names: list[str]) -> str:
    """
    Return names that differ in their index as one.

    >>> _folded(["disk1_rimage_0", "disk1_rimage_1", "disk1_rimage_2"])
    'disk1_rimage_0–2'
    """
    ordered = sorted(names, key=natural)
    stems = {name.rstrip("0123456789") for name in names}
    if len(stems) > 1:
        return _listed(names)
    (stem,) = stems
    return f"{ordered[0]}–{ordered[-1].removeprefix(stem)}"


def _numbered(names: list[str]) -> str:
    """
    Return the kernel's names, their common beginning once, and runs of numbers by their ends.

    >>> _numbered(["dm-1", "dm-3", "dm-5"]), _numbered(["dm-4", "dm-5", "dm-6"])
    ('dm-1,3,5', 'dm-4–6')
    """
    stem = names[0].rstrip("0123456789")
    numbers = [name.removeprefix(stem) for name in names]
    if not all(
        number.isdecimal() and name.startswith(stem)
        for name, number in zip(names, numbers, strict=True)
    ):
        return _listed(names)
    runs = []
    for _, run in groupby(enumerate(map(int, numbers)), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        runs.append(f"{found[0]}–{found[-1]}" if len(found) > 2 else ",".join(map(str, found)))
    if len(runs) > MOST_NAMES:
        return f"{names[0]} … {numbers[-1]}"
    return stem + ",".join(runs)
