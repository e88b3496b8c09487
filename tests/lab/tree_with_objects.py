"""
The least that a tree takes with one object per device, edge and row, as every command of stackmap shares
them: devices sorted as people count, two rows for each, six columns as wide as their widest cell, and a
look at every cell for what a terminal would obey. Nothing is checked, and all devices are linear.

With the word "text", the kernel's answers are dmsetup's text in between, as captures keep them. With
"whole", the modules that tree imports are loaded too, and what tree may not leave out is done as
cheaply: names and sizes of all devices, checked edges, users, sizes that people read.
"""

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from tree_by_ioctl import mapped

DIGITS = re.compile("([0-9]+)")
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


class Device(NamedTuple):
    """As many fields as a mapped device of stackmap has that are not empty."""

    name: str
    kind: str
    number: str
    size: int
    dm_name: str
    target: str
    uuid: str
    state: str
    read_only: bool


class Edge(NamedTuple):
    """One use of a device by another."""

    above: str
    below: str
    role: str
    start: int
    length: int


class Row(NamedTuple):
    """A line of the tree."""

    device: Device
    depth: int
    again: bool


def natural(device: Device) -> list[str | int]:
    parts = DIGITS.split(device.dm_name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def mapped_by_text() -> Iterator[tuple[str, str, int, str, int, str]]:
    """Yield what ``mapped`` does, from the lines that stackmap makes of the kernel's answers."""
    from stackmap.host import dm_ioctl

    found = dm_ioctl.tables(dm_ioctl.opened())
    texts = (text.decode().splitlines() for text in (found.info, found.table))
    for info, table in zip(*texts, strict=True):
        name, _, minor, _, uuid = info.split("|")
        _, _, length, target, words = table.split(" ", 4)
        yield name, uuid, int(minor), target, int(length), words


def listed() -> dict[str, tuple[str, int]]:
    """Return name and bytes of each device of the machine, by number."""
    with open("/proc/partitions", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[2:]]
    return {f"{row[0]}:{row[1]}": (row[3], int(row[2]) << 10) for row in rows}


def checked(edges: dict[str, Edge], known: dict[str, tuple[str, int]]) -> None:
    """Refuse an edge to nothing, beyond the end of the device below, or in a circle."""
    names = {number: name for number, (name, _) in known.items()}
    for edge in edges.values():
        _, size = known[edge.below]
        if edge.start + edge.length > size:
            raise ValueError(edge)
        seen = {edge.above}
        below = names[edge.below]
        while below in edges:
            if below in seen:
                raise ValueError(edge)
            seen.add(below)
            below = names[edges[below].below]


def mounted() -> dict[str, str]:
    """Return the mount points by number."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return {row[2]: row[4] for row in rows}


def readable(size: int) -> str:
    order = max(0, size.bit_length() - 1) // 10
    return f"{size / 1024**order:.4g} {UNITS[order]}"


def main() -> None:
    devices, edges = {}, {}
    whole = sys.argv[1:] == ["whole"]
    if whole:
        import stackmap.cli.tree
        import stackmap.discover.device_mapper
        import stackmap.document.describe
        import stackmap.host.dm_ioctl
        import stackmap.host.live
        import stackmap.render.tree  # noqa: F401 - what tree imports
    asked = mapped_by_text() if whole or sys.argv[1:] == ["text"] else mapped()
    for name, uuid, minor, target, length, words in asked:
        number, start = words.split()
        kernel, size = f"dm-{minor}", length << 9
        devices[kernel] = Device(
            kernel, "dm", f"254:{minor}", size, name, target, uuid, "active", False
        )
        edges[kernel] = Edge(kernel, number, "data", int(start) << 9, size)
    users = {}
    if whole:
        known, users = listed(), mounted()
        checked(edges, known)
    disks = {edge.below for edge in edges.values()}
    disk = {each: Device(each, "disk", each, 0, each, "disk", "", "", False) for each in disks}
    rows, drawn = [], set()
    for device in sorted(devices.values(), key=natural):
        below = disk[edges[device.name].below]
        rows += [Row(device, 0, False), Row(below, 1, below.name in drawn)]
        drawn.add(below.name)
    cells = [("DEVICE", "KERNEL", "SIZE", "WHAT", "STATE", "USED-BY")]
    for device, depth, again in rows:
        if again:
            cells.append((f"└─ {device.dm_name} ↑", "", "", "", "", ""))
        else:
            size = readable(device.size) if whole else f"{device.size >> 20} MiB"
            user = users.get(device.number, "")
            shown = (device.name, size, device.target, device.state, user)
            cells.append(("└─ " * depth + device.dm_name, *shown))
    columns = list(zip(*cells, strict=True))
    assert all("".join(column).isprintable() for column in columns)
    form = "  ".join(f"%-{max(map(len, column))}s" for column in columns)
    print("\n".join([(form % line).rstrip() for line in cells]))


main()
