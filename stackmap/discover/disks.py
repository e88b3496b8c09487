"""Disks, partitions, loop, nbd, zram and bcache devices."""

import re

from stackmap.discover.scan import Discovered, Scan, base_device
from stackmap.model.device import UNUSED_PATH, USABLE_PATH, Device, Kind, Role
from stackmap.model.far_side import FAR_SIDES, by_place
from stackmap.model.topology import Edge
from stackmap.model.units import SECTOR
from stackmap.sources import disk_identity, drbd, sysfs
from stackmap.sources.sysfs import Block

ROUNDING = 0.1  # share by which the sizes of a text are rounded
# Disks with bio-based drivers, which never merge.
_BIO_BASED = frozenset({"ram", "pmem", "drbd", "zram", "bcache", "dcssblk", "nullb"})


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
        return Discovered(base_device(scan, block, Kind.ZRAM))
    return _disk(scan, block)


def _partition(scan: Scan, block: Block) -> Discovered:
    start = sysfs.parse_int(sysfs.attribute(scan.host, f"{block.path}/start"))
    size = sysfs.size(scan.host, block)
    if start is None:  # udev has both, the size in sectors too
        entry = sysfs.udev_properties(scan.host, block.number)
        start = sysfs.parse_int(entry.get("ID_PART_ENTRY_OFFSET", ""))
        sectors = sysfs.parse_int(entry.get("ID_PART_ENTRY_SIZE", ""))
        size = size if sectors is None else sectors * SECTOR
    base = base_device(scan, block, Kind.PARTITION, size=size)
    offset = None if start is None else start * SECTOR
    edge = Edge(block.name, block.disk, Role.DATA, offset, size)
    state = disk_identity.state(scan.host, block)  # in a text, as a member of a ZFS pool
    return Discovered(base._replace(merges=_merges(scan, block.disk), state=state), (edge,))


def _disk(scan: Scan, block: Block) -> Discovered:
    model, serial, wwn = disk_identity.identity(scan.host, block)
    device = base_device(scan, block, Kind.DISK, geometry=True)._replace(
        uuid=wwn,
        state=_state(scan, block),
        removable=sysfs.attribute(scan.host, f"{block.path}/removable") == "1",
        model=model,
        serial=serial,
        wwn=wwn,
        merges=_merges(scan, block.name),
        far_side=_far_side(scan, block, model) if scan.geometry else "",
    )
    edges = _paths(scan, block)
    if edges:
        return Discovered(_with_paths(scan, device, edges), edges)
    if sysfs.NVME_PATH.fullmatch(block.name):
        return Discovered(device._replace(facts=disk_identity.controller(scan.host, block)))
    return Discovered(device, _backing(scan, block))


def _state(scan: Scan, block: Block) -> str | None:
    if "drbd" in block.entries:  # a text told it
        return sysfs.attribute(scan.host, f"{block.path}/drbd/state") or None
    if block.name.startswith("drbd"):
        return drbd.parse(sysfs.attribute(scan.host, drbd.PATH)).get(block.name)
    return disk_identity.state(scan.host, block)


def _with_paths(scan: Scan, head: Device, edges: tuple[Edge, ...]) -> Device:
    """Return the *head* of NVMe paths with the state that they leave it, how many work, and the policy."""
    blocks = [scan.blocks[edge.below] for edge in edges]
    states = [disk_identity.state(scan.host, block) for block in blocks]
    working = sum(state in USABLE_PATH for state in states)
    lost = any(state not in (*USABLE_PATH, *UNUSED_PATH) for state in states)
    state = "failed" if not working else "degraded" if lost else "active"
    policy = sysfs.attribute(scan.host, f"{sysfs.ROOT}/{head.name}/device/iopolicy")
    facts = _known(paths=f"{working} of {len(edges)}", policy=policy)
    return head._replace(state=None if None in states else state, facts=facts)


def _far_side(scan: Scan, block: Block, model: str) -> str:
    """
    Return where the data of a disk is, by its path and model; of NVMe and in a ticket by its transport.

    NVMe's heads have those of a path.
    """
    is_nvme = block.name.startswith("nvme")
    if not is_nvme and (path := sysfs.link(scan.host, block.path)):
        return by_place(path, "", model)
    names = (block.name, *scan.nvme_paths.get(block.name, ()))
    files = (f"{sysfs.ROOT}/{name}/device/transport" for name in names)
    transport = next(filter(None, (sysfs.attribute(scan.host, f) for f in files)), "")
    if is_nvme:
        return by_place("", transport, model)
    # lsblk's column TRAN has other words: "fc" and "loop" of NVMe are NVMe-oF.
    return transport if transport in FAR_SIDES else by_place("", "", model)


def _network(scan: Scan, block: Block) -> Discovered:
    """Return a network block device: a remote disk, or an image served by a local program."""
    base = base_device(scan, block, Kind.DISK, geometry=True)
    pid = sysfs.attribute(scan.host, f"{block.path}/pid")
    program = sysfs.attribute(scan.host, f"/proc/{pid}/comm") if pid.isdecimal() else ""
    facts = _known(backend=sysfs.attribute(scan.host, f"{block.path}/backend"), program=program)
    model = " ".join(["NBD", *(["by " + program] if program else [])])
    # Its driver reports every one as non-rotational.
    return Discovered(base._replace(rotational=None, model=model, merges=True, facts=facts))


def _paths(scan: Scan, block: Block) -> tuple[Edge, ...]:
    """Return the edges from an NVMe multipath head (nvme0n1) to its paths (nvme0c1n1)."""
    paths = scan.nvme_paths.get(block.name, ())
    return tuple(Edge(block.name, name, Role.PATH) for name in paths)


def _backing(scan: Scan, block: Block) -> tuple[Edge, ...]:
    """Return the edges from DRBD's device to the disk that has its data here, and to a smaller one with its metadata."""
    below = [] if "device" in block.entries else sysfs.slaves(scan.host, block)
    if len(below) < 2:
        return tuple(Edge(block.name, name, Role.DATA) for name in below)
    sizes = {
        name: sysfs.size(scan.host, scan.blocks[name]) or 0 for name in below if name in scan.blocks
    }
    least = sysfs.size(scan.host, block) or 0
    return tuple(
        Edge(block.name, name, Role.DATA if size >= least else Role.METADATA)
        for name, size in sizes.items()
    )


def _loop(scan: Scan, block: Block) -> Discovered:
    base = base_device(scan, block, Kind.LOOP, geometry=True)
    facts = _known(file=sysfs.attribute(scan.host, f"{block.path}/loop/backing_file"))
    if facts and scan.geometry:
        facts |= _known(dio=sysfs.attribute(scan.host, f"{block.path}/loop/dio"))
    return Discovered(base._replace(merges=True, facts=facts))


def _bcache(scan: Scan, block: Block) -> Discovered:
    """Return a cached device; its ``backing_dev_name`` holds the data."""
    path = f"{block.path}/bcache"
    mode = sysfs.attribute(scan.host, f"{path}/cache_mode")
    chosen = re.search(r"\[(\w+)\]", mode)
    facts = _known(
        mode=chosen[1] if chosen else "",
        state=sysfs.attribute(scan.host, f"{path}/state"),
        dirty=sysfs.attribute(scan.host, f"{path}/dirty_data"),
    )
    backing = sysfs.kernel_name(sysfs.attribute(scan.host, f"{path}/backing_dev_name"))
    below = sysfs.slaves(scan.host, block)
    holding = [name for name in below if not _is_smaller(scan, name, block)]
    if len(holding) == 1:
        backing = holding[0]
    else:
        backing = (backing or _unshared(scan, block, below)) if holding else ""
    other = Role.CACHE if backing or not holding else Role.DATA
    edges = tuple(
        Edge(block.name, name, Role.ORIGIN if name == backing else other) for name in below
    )
    return Discovered(base_device(scan, block, Kind.BCACHE)._replace(facts=facts), edges)


def _is_smaller(scan: Scan, name: str, cached: Block) -> bool:
    """Whether the device *name* cannot hold what is *cached*, beyond rounding: it is a cache."""
    size = sysfs.size(scan.host, scan.blocks[name]) if name in scan.blocks else None
    whole = sysfs.size(scan.host, cached)
    return None not in (size, whole) and (size or 0) < (1 - ROUNDING) * (whole or 0)


def _unshared(scan: Scan, block: Block, below: list[str]) -> str:
    """Return the only device *below* that no other bcache uses, "" if it is not one: caches may be shared, disks not."""
    others = [b for b in scan.blocks.values() if "bcache" in b.entries and b.name != block.name]
    shared = {name for other in others for name in sysfs.slaves(scan.host, other)}
    unshared = [name for name in below if name not in shared]
    return unshared[0] if len(unshared) == 1 else ""


def _known(**facts: str) -> dict[str, str]:
    return {key: value for key, value in facts.items() if value}


def _merges(scan: Scan, name: str) -> bool:
    """Whether the driver of *name* queues requests, so that neighbours can merge."""
    block = scan.blocks.get(name)
    if block is None or "md" in block.entries or "dm" in block.entries:
        return False
    is_nvme_head = name.startswith("nvme") and bool(_paths(scan, block))
    driver = re.match("[a-z]*", name)  # pmem0s, pmem1.1
    return driver is not None and driver[0] not in _BIO_BASED and not is_nvme_head
