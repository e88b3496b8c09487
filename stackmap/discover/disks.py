"""What is neither mapped nor an array: disks, their partitions, loop, nbd, zram, bcache."""

from __future__ import annotations

import re

from stackmap.discover.common_fields import common_fields
from stackmap.discover.discovered import Discovered
from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge
from stackmap.sources import disk_identity, sysfs
from stackmap.sources.sysfs import SECTOR, Block

# Disks whose drivers take bios as they come and merge nothing.
_BIO_BASED = re.compile(r"(ram|pmem|drbd|zram|bcache|dcssblk|nullb)\d+")
_NVME_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)")


def read(seen: Scan, block: Block) -> Discovered:
    """Return the device that *block* is, by what its directory holds."""
    if block.disk:
        return _partition(seen, block)
    for entry, reader in (("loop", _loop), ("bcache", _bcache)):
        if entry in block.entries and block.name.startswith(entry):
            return reader(seen, block)
    if block.name.startswith("nbd"):
        return _network(seen, block)
    if block.name.startswith("zram"):
        return Discovered(Device(**common_fields(seen, block), kind=Kind.ZRAM))
    return _disk(seen, block)


def _partition(seen: Scan, block: Block) -> Discovered:
    start = sysfs.parse_int(sysfs.attribute(seen.host, f"{block.path}/start"))
    size = sysfs.size(seen.host, block)
    device = Device(
        **common_fields(seen, block, size=size),
        kind=Kind.PARTITION,
        merges=_merges(seen, block.disk),
    )
    return Discovered(
        device,
        edges=(
            Edge(
                block.name,
                block.disk,
                Role.DATA,
                None if start is None else start * SECTOR,
                size,
            ),
        ),
    )


def _disk(seen: Scan, block: Block) -> Discovered:
    who = disk_identity.identity(seen.host, block)
    device = Device(
        **common_fields(seen, block, geometry=True),
        kind=Kind.DISK,
        uuid=who.wwn,
        state=disk_identity.state(seen.host, block),
        removable=sysfs.attribute(seen.host, f"{block.path}/removable") == "1",
        model=who.model,
        serial=who.serial,
        wwn=who.wwn,
        merges=_merges(seen, block.name),
    )
    return Discovered(device, edges=_paths(seen, block))


def _network(seen: Scan, block: Block) -> Discovered:
    """Return a network block device: a disk of another machine's, or an image that a program here serves."""
    fields = common_fields(seen, block, geometry=True)
    # Its driver calls each of them solid, whatever is at the other end.
    fields["rotational"] = None
    pid = sysfs.attribute(seen.host, f"{block.path}/pid")
    program = sysfs.attribute(seen.host, f"/proc/{pid}/comm") if pid.isdecimal() else ""
    facts = {"backend": sysfs.attribute(seen.host, f"{block.path}/backend"), "program": program}
    facts = {key: value for key, value in facts.items() if value}
    model = " ".join(["NBD", *(["by " + program] if program else [])])
    return Discovered(Device(**fields, kind=Kind.DISK, model=model, merges=True, facts=facts))


def _paths(seen: Scan, block: Block) -> tuple[Edge, ...]:
    """Return the edges from an NVMe multipath head (nvme0n1) to its paths (nvme0c1n1)."""
    return tuple(
        Edge(block.name, name, Role.PATH)
        for name in seen.blocks
        if (match := _NVME_PATH.fullmatch(name)) and match[1] + match[2] == block.name
    )


def _loop(seen: Scan, block: Block) -> Discovered:
    file = sysfs.attribute(seen.host, f"{block.path}/loop/backing_file")
    facts = {"file": file} if file else {}
    device = Device(
        **common_fields(seen, block, geometry=True),
        kind=Kind.LOOP,
        merges=True,
        facts=facts,
    )
    return Discovered(device)


def _bcache(seen: Scan, block: Block) -> Discovered:
    """Return a cached device: of those below it, the one its folder names has the data."""
    path = f"{block.path}/bcache"
    mode = sysfs.attribute(seen.host, f"{path}/cache_mode")
    chosen = re.search(r"\[(\w+)\]", mode)
    facts = {
        "mode": chosen[1] if chosen else "",
        "state": sysfs.attribute(seen.host, f"{path}/state"),
        "dirty": sysfs.attribute(seen.host, f"{path}/dirty_data"),
    }
    backing = sysfs.kernel_name(sysfs.attribute(seen.host, f"{path}/backing_dev_name"))
    below = sysfs.below(seen.host, block)
    edges = tuple(
        Edge(block.name, name, Role.ORIGIN if name == backing or len(below) == 1 else Role.CACHE)
        for name in below
    )
    device = Device(
        **common_fields(seen, block),
        kind=Kind.BCACHE,
        facts={key: value for key, value in facts.items() if value},
    )
    return Discovered(device, edges=edges)


def _merges(seen: Scan, name: str) -> bool:
    """Whether the driver of *name* queues requests, in which neighbours are merged."""
    block = seen.blocks.get(name)
    if block is None or "md" in block.entries or "dm" in block.entries:
        return False
    return _BIO_BASED.fullmatch(name) is None and not _is_nvme_head(seen, name)


def _is_nvme_head(seen: Scan, name: str) -> bool:
    block = seen.blocks[name]
    return name.startswith("nvme") and bool(_paths(seen, block))
