"""
``/sys/block``: which block devices there are, and what the block layer says of each.

The listing of a device's directory tells what it is (``dm/``, ``md/``,
``loop/`` …), so nothing is opened only to learn that it is not there: a host
has thousands of devices. A kernel name's ``/`` (cciss/c0d0) is ``!`` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceError

if TYPE_CHECKING:
    from stackmap.host import Host

ROOT = "/sys/block"
SECTOR = 512  # bytes; the unit of ``size`` and ``start`` whatever the disk's own sector size

DM_ENTRIES = frozenset({"dm", "slaves", "queue"})

# Attributes of queue/ that geometry is told from.
GEOMETRY = (
    "logical_block_size",
    "physical_block_size",
    "minimum_io_size",
    "optimal_io_size",
    "rotational",
)

# Attributes of queue/ that say how it treats what it is sent.
SETTINGS = ("scheduler", "nr_requests", "read_ahead_kb", "write_cache", "max_sectors_kb")


class Block(NamedTuple):
    """
    A block device as sysfs shows it.

    ``path``: its directory; ``entries``: what is in there. ``diskseq``: ""
    where it was not asked for. ``whole``: the disk a partition is cut from,
    "" for all else.
    """

    name: str
    path: str
    entries: frozenset[str]
    number: str
    diskseq: str = ""
    disk: str = ""


def read(host: Host, numbers: Mapping[str, str]) -> list[Block]:
    """
    Return every block device, each partition after its disk; [] where there is no sysfs.

    *numbers* are those known already, by name; with none, each device is
    asked, which tells its diskseq too.
    """
    found = []
    for name in names_in(host, ROOT):
        path = f"{ROOT}/{name}"
        if name.startswith("dm-"):
            # There may be thousands, and what is in their directories is no question.
            known = numbers.get(name)
            found.append(
                Block(name, path, DM_ENTRIES, known)
                if known
                else _block(host, path, DM_ENTRIES, numbers)
            )
            continue
        entries = frozenset(names_in(host, path))
        found.append(_block(host, path, entries, numbers))
        for entry in sorted(entries):
            if entry.startswith(name):
                inside = f"{path}/{entry}"
                there = frozenset(names_in(host, inside))
                found.append(_block(host, inside, there, numbers, whole=kernel_name(name)))
    return found


def size(host: Host, block: Block) -> int:
    """Return the size of *block* in bytes."""
    return (parse_int(attribute(host, f"{block.path}/size")) or 0) * SECTOR


def read_only(host: Host, block: Block) -> bool:
    """Return whether *block* may not be written to."""
    return attribute(host, f"{block.path}/ro") == "1"


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


def parse_int(text: str) -> int | None:
    """Return *text* as a whole number, None if it is none."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None


def below(host: Host, block: Block) -> list[str]:
    """Return the names of the devices that the kernel says *block* stands on."""
    if "slaves" not in block.entries:
        return []
    return [kernel_name(name) for name in names_in(host, f"{block.path}/slaves")]


def queue(host: Host, block: Block, names: tuple[str, ...]) -> dict[str, str]:
    """Return the ``queue/`` attributes *names*, those that are there."""
    if "queue" not in block.entries:
        return {}
    found = {name: attribute(host, f"{block.path}/queue/{name}") for name in names}
    return {name: value for name, value in found.items() if value}


def alignment(host: Host, block: Block) -> dict[str, str]:
    """Return how many bytes past its disk's own boundary *block* begins, as the kernel has it."""
    said = attribute(host, f"{block.path}/alignment_offset")
    return {"alignment_offset": said} if said else {}


def kernel_name(name: str) -> str:
    """Return the kernel's name for a name in sysfs."""
    return name.replace("!", "/")


def _block(
    host: Host, path: str, entries: frozenset[str], numbers: Mapping[str, str], whole: str = ""
) -> Block:
    name = kernel_name(path.rpartition("/")[2])
    if name in numbers:
        return Block(name, path, entries, numbers[name], disk=whole)
    said = parse_uevent(attribute(host, f"{path}/uevent"))
    major, minor = said.get("MAJOR"), said.get("MINOR")
    known = f"{major}:{minor}" if major else attribute(host, f"{path}/dev")
    # DISKSEQ since 5.15; before, a name that was used again cannot be told by it.
    return Block(name, path, entries, known, said.get("DISKSEQ", ""), whole)
