"""
The columns of ``tree``: name, meaning and value, said once for tables, pairs, lists and the manual.

A new column is a line of COLUMNS. Names are lsblk's where the meaning is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stackmap.document import describe
from stackmap.document.units import size
from stackmap.model.device import Device, Role
from stackmap.render.titles import kernel, listed
from stackmap.render.walk import Row

Value = str | int | bool | None | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bytes:
    """A value that is a number of bytes, written as such or for people."""

    count: int | None


@dataclass(frozen=True, slots=True)
class Column:
    """
    One column.

    ``value``: what it says of a device. ``cell``: what it says of a row of
    the tree, where that is more than its devices' values. ``again``: it is
    said of a pointer back too. ``geometry`` and ``counters``: it is told by
    attributes that are read only when asked for.
    """

    name: str
    help: str
    value: Callable[[Device], Value | Bytes]
    cell: Callable[[Row], str] | None = None
    right: bool = False
    again: bool = False
    geometry: bool = False
    counters: bool = False

    def of_device(self, device: Device, *, exact: bool) -> str:
        """Return the value as text, "" where it is not known."""
        return _text(self.value(device), exact=exact)

    def of_row(self, row: Row, *, exact: bool) -> str:
        """Return the cell of a row, which a pointer back has only where ``again`` says so."""
        if self.cell is not None:
            return self.cell(row)
        if len(row.devices) == 1:
            return self.of_device(row.devices[0], exact=exact)
        return listed(list(dict.fromkeys(self.of_device(d, exact=exact) for d in row.devices)))


def choose(wish: str, *, everything: bool = False) -> list[Column]:
    """
    Return the columns in *wish*, "a,b" or "+a,b" for those added to the usual ones.

    ``KeyError`` names one that there is not.

    >>> [column.name for column in choose("size,what")]
    ['SIZE', 'WHAT']
    """
    if everything:
        return list(COLUMNS.values())
    names = [name.strip().upper() for name in wish.removeprefix("+").split(",") if name.strip()]
    usual = USUAL if wish.startswith("+") or not names else ()
    chosen = dict.fromkeys([*usual, *(ALIASES.get(name, name) for name in names)])
    return [COLUMNS[name] for name in chosen]


def what(row: Row) -> str:
    """Return the column WHAT: for a role other than data, that too."""
    role = "" if row.role is None or row.role is Role.DATA else str(row.role)
    if row.again:
        return role
    said = describe.what(row.devices[0])
    if len(row.devices) > 1:
        said = f"{len(row.devices)} × {said}"
    return f"{role}: {said}" if role else said


def _queue(name: str) -> Callable[[Device], Value]:
    return lambda device: device.queue.get(name)


def _queue_bytes(name: str) -> Callable[[Device], Bytes]:
    def count(device: Device) -> Bytes:
        text = device.queue.get(name, "")
        return Bytes(int(text) if text.isdecimal() else None)

    return count


def _layout(name: str) -> Callable[[Device], Value]:
    return lambda device: getattr(device.layout, name, None)


def _facts(device: Device) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in sorted(device.facts.items()))


def _text(value: Value | Bytes, *, exact: bool) -> str:
    if isinstance(value, Bytes):
        return "" if value.count is None else str(value.count) if exact else size(value.count)
    if isinstance(value, bool):
        return str(int(value))
    return ", ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)


def _table(columns: Iterable[Column]) -> dict[str, Column]:
    return {column.name: column for column in columns}


COLUMNS = _table(
    (
        Column("DEVICE", "name that people use", lambda d: d.title),
        Column("KERNEL", "kernel name", lambda d: d.name, kernel),
        Column("SIZE", "size", lambda d: Bytes(d.size), right=True),
        Column("WHAT", "layout, target or model", describe.what, what, again=True),
        Column(
            "STATE",
            "active, or the problem or work in progress",
            lambda d: d.state,
            lambda row: describe.states(row.devices),
        ),
        Column(
            "USED-BY",
            "mount points and other users",
            lambda d: tuple(use.name for use in d.uses),
            lambda row: describe.users(row.devices[0]),
        ),
        Column("KIND", "disk, volume, member, array …", lambda d: str(d.kind)),
        Column("TARGET", "device-mapper target", lambda d: d.target or None),
        Column("DEV", "major:minor", lambda d: d.number),
        Column("LEVEL", "RAID level", _layout("level")),
        Column("MEMBERS", "number of members", _layout("members"), right=True),
        Column("DATA", "data chunks per stripe", _layout("data"), right=True),
        Column("PARITY", "parity chunks per stripe", _layout("parity"), right=True),
        Column("COPIES", "copies of each byte", _layout("copies"), right=True),
        Column("VARIANT", "layout algorithm of the level", _layout("variant")),
        Column(
            "CHUNK",
            "consecutive bytes on one member",
            lambda d: Bytes(d.layout.chunk if d.layout else None),
            right=True,
        ),
        Column(
            "STRIPE",
            "data bytes per stripe",
            lambda d: Bytes(d.layout.stripe if d.layout else None),
            right=True,
        ),
        Column(
            "USES",
            "every user, with the source of that fact",
            lambda d: tuple(f"{use.kind} {use.name} ({use.source})" for use in d.uses),
        ),
        Column("MODEL", "disk model", lambda d: d.model or None),
        Column("SERIAL", "serial number", lambda d: d.serial or None),
        Column("WWN", "World Wide Name", lambda d: d.wwn or None),
        Column("ROTA", "whether it is a spinning disk", lambda d: d.rotational),
        Column("RO", "whether it is read-only", lambda d: d.read_only),
        Column("RM", "whether it is removable", lambda d: d.removable),
        Column("UUID", "uuid of the mapping, array or disk", lambda d: d.uuid or None),
        Column(
            "DISKSEQ",
            "the kernel's sequence number of the device",
            lambda d: d.diskseq or None,
            counters=True,
        ),
        Column("IOSTATS", "whether the kernel counts its I/O", _queue("iostats"), counters=True),
        Column(
            "LOG-SEC",
            "logical block size",
            _queue_bytes("logical_block_size"),
            right=True,
            geometry=True,
        ),
        Column(
            "PHY-SEC",
            "physical block size",
            _queue_bytes("physical_block_size"),
            right=True,
            geometry=True,
        ),
        Column(
            "MIN-IO",
            "minimum efficient request size",
            _queue_bytes("minimum_io_size"),
            right=True,
            geometry=True,
        ),
        Column(
            "OPT-IO",
            "optimal request size",
            _queue_bytes("optimal_io_size"),
            right=True,
            geometry=True,
        ),
        Column("FACTS", "facts that only this kind has", _facts),
    )
)

USUAL = ("DEVICE", "KERNEL", "SIZE", "WHAT", "STATE", "USED-BY")

# lsblk's names for what we have by other words.
ALIASES = {
    "NAME": "DEVICE",
    "KNAME": "KERNEL",
    "MAJ:MIN": "DEV",
    "TYPE": "KIND",
    "MOUNTPOINT": "USED-BY",
    "MOUNTPOINTS": "USED-BY",
}
