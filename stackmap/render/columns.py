"""
The columns of ``tree``: name, help and value, for tables and the manual; devices as lines for scripts.

One line of COLUMNS adds a column. A column that lsblk also has gets lsblk's name.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from stackmap.document import describe
from stackmap.document.describe import WRITE_MOSTLY, Row, kernel, listed
from stackmap.document.wording import UNKNOWN, size
from stackmap.model.device import Device, Role
from stackmap.model.health import ERROR_COUNTS, errors
from stackmap.model.topology import Topology
from stackmap.render.text import safe

SIZES = {"SIZE", "CHUNK", "STRIPE", "LOG-SEC", "PHY-SEC", "MIN-IO", "OPT-IO"}  # in bytes
_NO_NAME = r"[^A-Z0-9]"
_UNQUOTED = r'["\\$`]'

Value = str | int | bool | None | tuple[str, ...]


class Bytes(int):
    """A number of bytes: printed exactly, or with a unit."""


class Column(NamedTuple):
    """
    One column.

    ``value``: of a device. ``cell``: of a row of the tree, if it is not just
    its devices' values. ``again``: also shown where the tree repeats a device. ``unknown``: in the
    tree, for a value that is not known.
    ``geometry`` and ``counters``: needs attributes that are read only for it.
    """

    name: str
    help: str
    value: Callable[[Device], Value]
    cell: Callable[[Row], str] | None = None
    right: bool = False
    again: bool = False
    geometry: bool = False
    counters: bool = False
    unknown: str = ""

    @property
    def csv_name(self) -> str:
        """The name in CSV, with the unit."""
        name = re.sub(_NO_NAME, "_", self.name).lower()
        return f"{name}_bytes" if self.name in SIZES else name

    def of_device(self, device: Device, *, exact: bool) -> str:
        """Return the value as text, "" if unknown."""
        return _text(self.value(device), exact=exact)

    def of_row(self, row: Row, *, exact: bool) -> str:
        """Return the text for a row of the tree."""
        if self.cell is not None:
            return self.cell(row)
        if len(row.devices) == 1:
            return self.of_device(row.devices[0], exact=exact) or self.unknown
        values = dict.fromkeys(self.of_device(d, exact=exact) or self.unknown for d in row.devices)
        return listed(list(values))


def choose(wanted: str, *, everything: bool = False) -> list[Column]:
    """
    Return the columns in *wanted*: "a,b", or "+a,b" to add to the default ones.

    Raise ``KeyError`` with the name of an unknown column.

    >>> [column.name for column in choose("size,what")]
    ['SIZE', 'WHAT']
    """
    if everything:
        return list(COLUMNS.values())
    names = [name.strip().upper() for name in wanted.removeprefix("+").split(",") if name.strip()]
    usual = USUAL if wanted.startswith("+") or not names else ()
    chosen = dict.fromkeys([*usual, *(ALIASES.get(name, name) for name in names)])
    return [COLUMNS[name] for name in chosen]


def what(row: Row) -> str:
    """Return the cell of WHAT, with a role other than data: "cache: linear", from below "as cache"."""
    role = "" if row.role is None or row.role is Role.DATA else "as " * row.inverse + row.role
    role = WRITE_MOSTLY if row.write_mostly else role
    if row.again:
        return role
    text = describe.what(row.device)
    if len(row.devices) > 1:
        texts = Counter(describe.what(device) for device in row.devices)
        text = "; ".join(f"{count} × {words}" for words, count in texts.items())
    return f"{role}: {text}" if role else text


def _bytes(number: int | None) -> Bytes | None:
    return None if number is None else Bytes(number)


def _layout(name: str) -> Callable[[Device], Value]:
    return lambda device: getattr(device.layout, name, None)


def _facts(device: Device) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in sorted(device.facts.items()))


def _text(value: Value, *, exact: bool) -> str:
    if isinstance(value, Bytes):
        return str(int(value)) if exact else size(value)
    if isinstance(value, bool):
        return str(int(value))
    return ", ".join(value) if isinstance(value, tuple) else "" if value is None else str(value)


COLUMNS = {column.name: column for column in (
    Column("DEVICE", "name that people use", lambda d: d.title),
    Column("KERNEL", "kernel name", lambda d: d.name, kernel),
    Column("SIZE", "size", lambda d: _bytes(d.size), right=True, unknown=UNKNOWN),
    Column("WHAT", "layout, target or model", describe.what, what, again=True),
    Column("STATE", "active, or the problem or work in progress", lambda d: d.state, lambda row: describe.states(row.devices)),
    Column("ERRORS", "errors that the kernel counted", lambda d: tuple(ERROR_COUNTS[key].words(n) for key, n in errors(d.counts).items() if n)),
    Column("USED-BY", "mount points and other users", lambda d: tuple(use.name for use in d.uses), lambda row: describe.users(row.device)),
    Column("KIND", "disk, volume, member, array …", lambda d: str(d.kind)),
    Column("TARGET", "device-mapper target", lambda d: d.target or None),
    Column("DEV", "major:minor", lambda d: d.number),
    Column("LEVEL", "RAID level", _layout("level")),
    Column("MEMBERS", "number of members", _layout("members"), right=True),
    Column("DATA", "data chunks per stripe", _layout("data"), right=True),
    Column("PARITY", "parity chunks per stripe", _layout("parity"), right=True),
    Column("COPIES", "copies of each byte", _layout("copies"), right=True),
    Column("VARIANT", "layout algorithm of the level", _layout("variant")),
    Column("CHUNK", "consecutive bytes on one member", lambda d: _bytes(d.layout.chunk if d.layout else None), right=True),
    Column("STRIPE", "data bytes per stripe", lambda d: _bytes(d.layout.stripe if d.layout else None), right=True),
    Column("USES", "every user, with the source of that fact", lambda d: tuple(f"{use.kind} {use.name} ({use.source})" for use in d.uses)),
    Column("MODEL", "disk model", lambda d: d.model or None),
    Column("SERIAL", "serial number", lambda d: d.serial or None),
    Column("WWN", "World Wide Name", lambda d: d.wwn or None),
    Column("ROTA", "whether it is a spinning disk", lambda d: d.rotational, geometry=True),
    Column("RO", "whether it is read-only", lambda d: d.read_only),
    Column("RM", "whether it is removable", lambda d: d.removable),
    Column("UUID", "uuid of the mapping, array or disk", lambda d: d.uuid or None),
    Column("DISKSEQ", "the kernel's sequence number of the device", lambda d: d.diskseq or None, counters=True),
    Column("IOSTATS", "whether the kernel counts its I/O", lambda d: d.queue.iostats, counters=True),
    Column("LOG-SEC", "logical block size", lambda d: _bytes(d.queue.logical_block_size), right=True, geometry=True),
    Column("PHY-SEC", "physical block size", lambda d: _bytes(d.queue.physical_block_size), right=True, geometry=True),
    Column("MIN-IO", "minimum efficient request size", lambda d: _bytes(d.queue.minimum_io_size), right=True, geometry=True),
    Column("OPT-IO", "optimal request size", lambda d: _bytes(d.queue.optimal_io_size), right=True, geometry=True),
    Column("FACTS", "facts that only this kind has", _facts),
)}  # fmt: skip

USUAL = ("DEVICE", "KERNEL", "SIZE", "WHAT", "STATE", "USED-BY")

# lsblk's names for columns that have other names here.
ALIASES = {
    "NAME": "DEVICE",
    "KNAME": "KERNEL",
    "MAJ:MIN": "DEV",
    "TYPE": "KIND",
    "MOUNTPOINT": "USED-BY",
    "MOUNTPOINTS": "USED-BY",
}


def render_pairs(topology: Topology, columns: Sequence[Column], *, exact: bool = False) -> str:
    """Return a line per device, ``NAME="value"`` per column, safe to evaluate in a shell."""
    names = [re.sub(_NO_NAME, "_", column.name) for column in columns]
    return "".join(
        " ".join(
            f'{name}="{_quoted(column.of_device(device, exact=exact))}"'
            for name, column in zip(names, columns, strict=True)
        )
        + "\n"
        for device in topology
    )


def render_raw(
    topology: Topology, columns: Sequence[Column], *, heading: bool = True, exact: bool = False
) -> str:
    r"""Return a line per device, values separated by a space; a space inside is ``\x20``, "" is ``-``."""
    lines = [[column.name for column in columns]] if heading else []
    for device in topology:
        values = (safe(column.of_device(device, exact=exact)) for column in columns)
        lines.append([value.replace(" ", r"\x20") or "-" for value in values])
    return "".join(" ".join(line) + "\n" for line in lines)


def _quoted(text: str) -> str:
    """Return *text* without characters that a shell would interpret."""
    return re.sub(_UNQUOTED, lambda match: f"\\x{ord(match[0]):02x}", safe(text))
