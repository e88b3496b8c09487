"""
``/sys/block``: which block devices there are, and what the block layer says of each.

The listing of a device's directory tells what it is (``dm/``, ``md/``,
``loop/`` …), so nothing is opened only to learn that it is not there: a host
has thousands of devices. A kernel name's ``/`` (cciss/c0d0) is ``!`` here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stackmap.errors import SourceError

if TYPE_CHECKING:
    from stackmap.host import Host

ROOT = "/sys/block"
SECTOR = 512  # bytes; the unit of ``size`` and ``start`` whatever the disk's own sector size

# Attributes of queue/ that geometry is told from.
GEOMETRY = (
    "logical_block_size",
    "physical_block_size",
    "minimum_io_size",
    "optimal_io_size",
    "rotational",
)


@dataclass(frozen=True, slots=True)
class Block:
    """
    A block device as sysfs shows it.

    ``path``: its directory; ``entries``: what is in there. ``whole``: the
    disk a partition is cut from, "" for all else. ``size`` in bytes.
    """

    name: str
    path: str
    entries: frozenset[str]
    number: str
    diskseq: str
    size: int
    read_only: bool
    whole: str = ""


def read(host: Host) -> list[Block]:
    """Return every block device, each partition after its disk; [] where there is no sysfs."""
    return [block for name in names_in(host, ROOT) for block in _with_partitions(host, name)]


def parse_uevent(text: str) -> dict[str, str]:
    """Return the ``KEY=value`` lines of a ``uevent`` file: number, name and diskseq in one read."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def attribute(host: Host, path: str) -> str:
    """Return an attribute's text, "" where there is none or it may not be read."""
    try:
        return host.read(path).strip()
    except SourceError:
        return ""


def names_in(host: Host, path: str) -> list[str]:
    """Return a directory's names, [] where there is none."""
    try:
        return host.names_in(path)
    except SourceError:
        return []


def number(text: str) -> int | None:
    """Return *text* as a whole number, None if it is none."""
    return int(text) if text.lstrip("-").isdigit() else None


def below(host: Host, block: Block) -> list[str]:
    """Return the names of the devices that the kernel says *block* stands on."""
    if "slaves" not in block.entries:
        return []
    return [unescaped(name) for name in names_in(host, f"{block.path}/slaves")]


def queue(host: Host, block: Block, names: tuple[str, ...]) -> dict[str, str]:
    """Return the ``queue/`` attributes *names*, those that are there."""
    if "queue" not in block.entries:
        return {}
    found = {name: attribute(host, f"{block.path}/queue/{name}") for name in names}
    return {name: value for name, value in found.items() if value}


def unescaped(name: str) -> str:
    """Return the kernel's name for a name in sysfs."""
    return name.replace("!", "/")


def _with_partitions(host: Host, name: str) -> Iterator[Block]:
    path = f"{ROOT}/{name}"
    entries = names_in(host, path)
    yield _block(host, name, path, entries)
    for entry in entries:
        if entry.startswith(name):
            inside = f"{path}/{entry}"
            yield _block(host, entry, inside, names_in(host, inside), whole=unescaped(name))


def _block(host: Host, name: str, path: str, entries: list[str], whole: str = "") -> Block:
    said = parse_uevent(attribute(host, f"{path}/uevent"))
    major, minor = said.get("MAJOR"), said.get("MINOR")
    return Block(
        name=unescaped(name),
        path=path,
        entries=frozenset(entries),
        number=f"{major}:{minor}" if major else attribute(host, f"{path}/dev"),
        # Since 5.15; before, a name that was used again cannot be told by it.
        diskseq=said.get("DISKSEQ", ""),
        size=(number(attribute(host, f"{path}/size")) or 0) * SECTOR,
        read_only=attribute(host, f"{path}/ro") == "1",
        whole=whole,
    )
