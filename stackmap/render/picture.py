"""
The topology as boxes and arrows, for every kind of diagram.

The boxes are the rows of the tree: so hidden LVs of a role share one, and
what is folded there is folded here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from stackmap.document import describe
from stackmap.document.units import size
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Topology
from stackmap.render.text import safe
from stackmap.render.titles import kernel, title
from stackmap.render.walk import Row, rows

# Fill by kind, light enough for black text; by what a device does, not by how it is made.
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


@dataclass(frozen=True, slots=True)
class Box:
    """A box: ``key`` names it inside of a diagram, ``lines`` are what is written in it."""

    key: str
    lines: tuple[str, ...]
    fill: str


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow down, from a box to one that it stands on; ``said`` is the role other than data."""

    above: str
    below: str
    said: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes in the order of the tree, and the arrows between them."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def picture(topology: Topology, *, expand: bool = False, accused: Collection[str] = ()) -> Picture:
    """
    Return the picture of *topology*; *expand* with a box for each hidden LV.

    *accused*: devices that are marked as if they said themselves that they are not in order.
    """
    drawn = [row for row in rows(topology, expand=expand) if not row.again]
    keys = {device.name: f"n{place}" for place, row in enumerate(drawn) for device in row.devices}
    arrows = dict.fromkeys(
        Arrow(keys[edge.above], keys[edge.below], "" if edge.role is Role.DATA else str(edge.role))
        for edge in topology.edges
    )
    return Picture(
        tuple(Box(keys[row.device.name], _lines(row), _fill(row, accused)) for row in drawn),
        tuple(arrow for arrow in arrows if arrow.above != arrow.below),
    )


def _lines(row: Row) -> tuple[str, ...]:
    count = f"{len(row.devices)} × " if len(row.devices) > 1 else ""
    told = [title(row._replace(above=())), count + describe.what(row.device), _small(row)]
    state = describe.states(row.devices)
    told += [] if _is_fine(row) else [state]
    users = describe.users(row.device)
    return tuple(safe(line) for line in (*told, users) if line)


def _small(row: Row) -> str:
    """Return the kernel's name and the size, on one line."""
    return ", ".join(word for word in (kernel(row), size(row.device.size)) if word)


def _is_fine(row: Row) -> bool:
    return all(device.state in describe.FINE for device in row.devices)


def _fill(row: Row, accused: Collection[str]) -> str:
    first: Device = row.device
    fine = _is_fine(row) and not any(device.name in accused for device in row.devices)
    return FILLS.get(first.kind, PLAIN) if fine else TROUBLE
