"""
The topology as boxes and arrows, for every kind of diagram.

Each box is a row of the tree: hidden LVs of one role share a box.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from stackmap.document import describe
from stackmap.document.describe import Row, kernel, rows, title
from stackmap.document.wording import size
from stackmap.model.device import Kind, Role
from stackmap.model.topology import Topology

# Fill per kind, light enough for black text.
FILLS = {
    Kind.DISK: "#d9d9d9",
    Kind.PARTITION: "#ececec",
    Kind.LOOP: "#d9d9d9",
    Kind.ZRAM: "#d9d9d9",
    Kind.ARRAY: "#cfe2f3",
    Kind.VOLUME: "#d0e6c8",
    Kind.MEMBER: "#eef6ea",
    Kind.CRYPT: "#ead1dc",
    Kind.MULTIPATH: "#d9d2e9",
    Kind.CACHE: "#fce5cd",
    Kind.BCACHE: "#fce5cd",
    Kind.THIN: "#d0ece7",
    Kind.THIN_POOL: "#b9ddd6",
    Kind.SNAPSHOT: "#fff2cc",
}
PLAIN = "#ffffff"
TROUBLE = "#f4cccc"


class Box(NamedTuple):
    """A box; ``key`` identifies it in a diagram, ``lines`` are its text."""

    key: str
    lines: tuple[str, ...]
    fill: str


class Arrow(NamedTuple):
    """An arrow from a box to one below it; ``role``: "" for data."""

    above: str
    below: str
    role: str


class Picture(NamedTuple):
    """Boxes in the order of the tree, and the arrows between them."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def picture(topology: Topology, *, expand: bool = False, suspects: Collection[str] = ()) -> Picture:
    """
    Return the picture of *topology*; *expand* with a box for each hidden LV.

    *suspects*: devices to mark as if they were degraded.
    """
    drawn = [row for row in rows(topology, expand=expand) if not row.again]
    keys = {device.name: f"n{place}" for place, row in enumerate(drawn) for device in row.devices}
    arrows = dict.fromkeys(
        Arrow(keys[edge.above], keys[edge.below], "" if edge.role is Role.DATA else str(edge.role))
        for edge in topology.edges
    )
    return Picture(
        tuple(Box(keys[row.device.name], _lines(row), _fill(row, suspects)) for row in drawn),
        tuple(arrow for arrow in arrows if arrow.above != arrow.below),
    )


def _lines(row: Row) -> tuple[str, ...]:
    count = f"{len(row.devices)} × " if len(row.devices) > 1 else ""
    lines = (
        title(row._replace(above=())),
        count + describe.what(row.device),
        ", ".join(filter(None, (kernel(row), size(row.device.size)))),
        "" if _is_fine(row) else describe.states(row.devices),
        describe.users(row.device),
    )
    return tuple(filter(None, lines))


def _is_fine(row: Row) -> bool:
    return all(device.state in describe.FINE for device in row.devices)


def _fill(row: Row, suspects: Collection[str]) -> str:
    fine = _is_fine(row) and not any(device.name in suspects for device in row.devices)
    return FILLS.get(row.device.kind, PLAIN) if fine else TROUBLE
