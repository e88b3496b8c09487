"""
``/sys/block``: the block devices, and the block layer's attributes of each; udev's record of a device.

The listing of a device's directory shows its kind (``dm/``, ``md/``, ``loop/`` …),
so no missing file is opened: a host has thousands of devices. A ``/`` in a
kernel name (cciss/c0d0) is ``!`` here.
"""

import re
from collections.abc import Iterable, Mapping, Sized
from typing import Any, NamedTuple, TypeVar

from stackmap.errors import InputError, SourceError
from stackmap.host import Host
from stackmap.model.device import MAX_DEVICES, Queue
from stackmap.model.units import SECTOR

Listing = TypeVar("Listing", bound=Sized)

ROOT = "/sys/block"
NVME_PATH = re.compile(r"(nvme[0-9]+)c[0-9]+(n[0-9]+)")  # nvme0c1n1, a path of nvme0n1
PRINTED = "printed"  # in the directory of a device that is known from printed texts
PATH_STATE = "multipath/state"  # there: of a path, as multipath -ll printed it

DM_ENTRIES = frozenset({"dm", "slaves", "queue"})

# The files of a device with its queue's geometry, and with its other settings.
GEOMETRY = (
    "queue/logical_block_size", "queue/physical_block_size", "queue/minimum_io_size", "queue/optimal_io_size",
    "queue/rotational",
)  # fmt: skip
SETTINGS = (
    "queue/scheduler", "queue/wbt_lat_usec", "queue/nr_requests", "queue/read_ahead_kb", "queue/write_cache",
    "queue/max_sectors_kb", "alignment_offset", "device/queue_depth",
)  # fmt: skip
# Fields of ``Queue`` that have another name than their file, and those that are no numbers.
_FIELDS = {"wbt_lat_usec": "throttling", "queue_depth": "depth"}
_FLAGS, _TEXTS = ("iostats", "rotational"), ("scheduler", "write_cache")


class Block(NamedTuple):
    """
    A block device as sysfs shows it.

    ``path``: its directory; ``entries``: the names in it. ``diskseq``: "" if not
    read. ``disk``: the disk of a partition, "" for all else. ``listed_size`` (bytes): from another
    file where sysfs is incomplete; see ``partial_tree``.
    """

    name: str
    path: str
    entries: frozenset[str]
    number: str
    diskseq: str = ""
    disk: str = ""
    listed_size: int | None = None


NO_BLOCKS: Mapping[str, Block] = {}


def read(
    host: Host, numbers: Mapping[str, str], known: Mapping[str, Block] = NO_BLOCKS
) -> list[Block]:
    """
    Return every block device, each partition after its disk; [] without sysfs.

    *numbers*: device numbers by name, if known. A device without one is read, which
    also gives its diskseq. *known*: devices by path that have not changed.
    """
    blocks: list[Block] = []
    for name in _few(list_names(host, ROOT)):
        path = f"{ROOT}/{name}"
        block = known.get(path)
        if name.startswith("dm-"):
            # There may be thousands, and the entries of their directories are known.
            blocks.append(block or _block(host, path, name, DM_ENTRIES, numbers))
            continue
        entries = block.entries if block else frozenset(list_names(host, path))
        blocks.append(block or _block(host, path, kernel_name(name), entries, numbers))
        partitions = sorted(entry for entry in entries if entry.startswith(name))
        _few(range(len(blocks) + len(partitions)))
        for entry in partitions:
            inside = f"{path}/{entry}"
            part = known.get(inside) or _partition(host, inside, numbers, kernel_name(name))
            blocks.append(part)
    return blocks


def _few(devices: Listing) -> Listing:
    if len(devices) > MAX_DEVICES:
        raise InputError(f"{ROOT}: more than {MAX_DEVICES} devices")
    return devices


def size(host: Host, block: Block) -> int | None:
    """Return the size of *block* in bytes, None if unknown."""
    sectors = parse_int(attribute(host, f"{block.path}/size"))
    return block.listed_size if sectors is None else sectors * SECTOR


def read_only(host: Host, block: Block) -> bool:
    """Return whether *block* is read-only."""
    return attribute(host, f"{block.path}/ro") == "1"


def parse_uevent(text: str) -> dict[str, str]:
    """Return the ``KEY=value`` lines of a ``uevent`` file: number, name and diskseq in one read."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def attribute(host: Host, path: str) -> str:
    """Return an attribute's text, "" if it is missing or unreadable."""
    try:
        return host.read(path).strip()
    except SourceError:
        return ""


def attributes(host: Host, paths: Iterable[str]) -> dict[str, str | None]:
    """Return the text of each attribute by path, None of one that is missing or unreadable."""
    texts: dict[str, str | None] = {}
    for path in paths:
        try:
            texts[path] = host.read(path).strip()
        except SourceError:
            texts[path] = None
    return texts


def link(host: Host, path: str) -> str:
    """Return the target of a link, unresolved; "" if it is missing or unreadable."""
    try:
        return host.link(path)
    except SourceError:
        return ""


def output(host: Host, *command: str) -> str:
    """Return the output of *command*, "" if it is missing, refused or fails."""
    try:
        return host.run(*command)
    except SourceError:
        return ""


def list_names(host: Host, path: str) -> list[str]:
    """Return a directory's names, [] if it is missing or unreadable."""
    try:
        return host.names_in(path)
    except SourceError:
        return []


def parse_int(text: str) -> int | None:
    """Return *text* as a whole number, None if it is not one."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None


def slaves(host: Host, block: Block) -> list[str]:
    """Return the kernel names of the devices below *block*."""
    names = list_names(host, f"{block.path}/slaves") if "slaves" in block.entries else []
    return [kernel_name(name) for name in names]


def queue(host: Host, block: Block, paths: Iterable[str]) -> Queue:
    """Return the settings of the queue of *block* that its files *paths* have."""
    values: dict[str, Any] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        is_there = not folder or folder in block.entries
        text = attribute(host, f"{block.path}/{path}") if is_there else ""
        number = parse_int(text)
        if name in _FLAGS:
            value: object = text == "1" if text else None
        elif name in _TEXTS:
            value = text or None
        else:  # only an offset may be negative
            value = None if (number or 0) < 0 and name != "alignment_offset" else number
        values[_FIELDS.get(name, name)] = value
    return Queue(**values)


def kernel_name(name: str) -> str:
    """Return the kernel's name for a name in sysfs."""
    return name.replace("!", "/")


def _partition(host: Host, path: str, numbers: Mapping[str, str], whole: str) -> Block:
    name = kernel_name(path.rpartition("/")[2])
    return _block(host, path, name, frozenset(list_names(host, path)), numbers, whole)


def _block(
    host: Host,
    path: str,
    name: str,
    entries: frozenset[str],
    numbers: Mapping[str, str],
    whole: str = "",
) -> Block:
    if name in numbers:
        return Block(name, path, entries, numbers[name], "", whole)
    record = parse_uevent(attribute(host, f"{path}/uevent"))
    major, minor = record.get("MAJOR"), record.get("MINOR")
    known = f"{major}:{minor}" if major else attribute(host, f"{path}/dev")
    # DISKSEQ exists since 5.15.
    return Block(name, path, entries, known, record.get("DISKSEQ", ""), whole)


def udev_properties(host: Host, number: str) -> dict[str, str]:
    """Return udev's properties of device *number*, {} without any or without permission."""
    try:
        return host.udev(number)
    except SourceError:
        return {}


def udev_content(record: dict[str, str], *, partition: bool) -> str | None:
    """
    Return the file system or partition table on a device; "" if there is none that udev knows.

    None if udev has no record. A *partition* has its disk's table among its properties.

    >>> udev_content({"DEVTYPE": "disk", "ID_PART_TABLE_TYPE": "gpt"}, partition=False)
    'gpt'
    """
    if not record:
        return None
    table = "" if partition else record.get("ID_PART_TABLE_TYPE", "")
    return record.get("ID_FS_TYPE") or table
