"""Disks, partitions, loop, nbd, zram and bcache devices."""

from __future__ import annotations

import re

from stackmap.discover.common_fields import common_fields
from stackmap.discover.discovered import Discovered
from stackmap.discover.scan import Scan
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge
from stackmap.model.units import SECTOR
from stackmap.sources import disk_identity, sysfs
from stackmap.sources.sysfs import Block

# Disks with bio-based drivers, which never merge.
_BIO_BASED = re.compile(r"(ram|pmem|drbd|zram|bcache|dcssblk|nullb)\d+")
_NVME_PATH = re.compile(r"(nvme\d+)c\d+(n\d+)")


def read(scan: Scan, block: Block) -> Discovered:
    """Return the device *block*, by the entries of its directory."""
    if block.disk:
        return _partition(scan, block)
    for entry, reader in (("loop", _loop), ("bcache", _bcache)):
        if entry in block.entries and block.name.startswith(entry):
            return reader(scan, block)
    if block.name.startswith("nbd"):
        return _network(scan, block)
    if block.name.startswith("zram"):
        return Discovered(Device(**common_fields(scan, block), kind=Kind.ZRAM))
    return _disk(scan, block)


def _partition(scan: Scan, block: Block) -> Discovered:
    start = sysfs.parse_int(sysfs.attribute(scan.host, f"{block.path}/start"))
    size = sysfs.size(scan.host, block)
    device = Device(
        **common_fields(scan, block, size=size),
        kind=Kind.PARTITION,
        merges=_merges(scan, block.disk),
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


def _disk(scan: Scan, block: Block) -> Discovered:
    who = disk_identity.identity(scan.host, block)
    device = Device(
        **common_fields(scan, block, geometry=True),
        kind=Kind.DISK,
        uuid=who.wwn,
        state=disk_identity.state(scan.host, block),
        removable=sysfs.attribute(scan.host, f"{block.path}/removable") == "1",
        model=who.model,
        serial=who.serial,
        wwn=who.wwn,
        merges=_merges(scan, block.name),
    )
    return Discovered(device, edges=_paths(scan, block))


def _network(scan: Scan, block: Block) -> Discovered:
    """Return a network block device: a remote disk, or an image served by a local program."""
    fields = common_fields(scan, block, geometry=True)
    # Its driver reports every one as non-rotational.
    fields["rotational"] = None
    pid = sysfs.attribute(scan.host, f"{block.path}/pid")
    program = sysfs.attribute(scan.host, f"/proc/{pid}/comm") if pid.isdecimal() else ""
    facts = {"backend": sysfs.attribute(scan.host, f"{block.path}/backend"), "program": program}
    facts = {key: value for key, value in facts.items() if value}
    model = " ".join(["NBD", *(["by " + program] if program else [])])
    return Discovered(Device(**fields, kind=Kind.DISK, model=model, merges=True, facts=facts))


def _paths(scan: Scan, block: Block) -> tuple[Edge, ...]:
    """Return the edges from an NVMe multipath head (nvme0n1) to its paths (nvme0c1n1)."""
    return tuple(
        Edge(block.name, name, Role.PATH)
        for name in scan.blocks
        if (match := _NVME_PATH.fullmatch(name)) and match[1] + match[2] == block.name
    )


def _loop(scan: Scan, block: Block) -> Discovered:
    file = sysfs.attribute(scan.host, f"{block.path}/loop/backing_file")
    facts = {"file": file} if file else {}
    device = Device(
        **common_fields(scan, block, geometry=True),
        kind=Kind.LOOP,
        merges=True,
        facts=facts,
    )
    return Discovered(device)


def _bcache(scan: Scan, block: Block) -> Discovered:
    """Return a cached device; its ``backing_dev_name`` holds the data."""
    path = f"{block.path}/bcache"
    mode = sysfs.attribute(scan.host, f"{path}/cache_mode")
    chosen = re.search(r"\[(\w+)\]", mode)
    facts = {
        "mode": chosen[1] if chosen else "",
        "state": sysfs.attribute(scan.host, f"{path}/state"),
        "dirty": sysfs.attribute(scan.host, f"{path}/dirty_data"),
    }
    backing = sysfs.kernel_name(sysfs.attribute(scan.host, f"{path}/backing_dev_name"))
    below = sysfs.slaves(scan.host, block)
    edges = tuple(
        Edge(block.name, name, Role.ORIGIN if name == backing or len(below) == 1 else Role.CACHE)
        for name in below
    )
    device = Device(
        **common_fields(scan, block),
        kind=Kind.BCACHE,
        facts={key: value for key, value in facts.items() if value},
    )
    return Discovered(device, edges=edges)


def _merges(scan: Scan, name: str) -> bool:
    """Whether the driver of *name* queues requests, so that neighbours can merge."""
    block = scan.blocks.get(name)
    if block is None or "md" in block.entries or "dm" in block.entries:
        return False
    return _BIO_BASED.fullmatch(name) is None and not _is_nvme_head(scan, name)


def _is_nvme_head(scan: Scan, name: str) -> bool:
    block = scan.blocks[name]
    return name.startswith("nvme") and bool(_paths(scan, block))
