"""Do the units of one layer fit those of the next: sectors, thin chunks, file systems, what is passed up?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.finding import Seen, Severity
from stackmap.analysis.geometry.check import Check, Ground, numbers
from stackmap.analysis.geometry.grain import Grain, grain
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import RAID_LEVELS
from stackmap.model.topology import Topology

BASIC = 512  # bytes: the unit of XFS' sunit and swidth in mount options
BLOCKS = (4096, 2048, 1024)  # bytes: ext4's stripe counts its blocks, whose size no mount tells


def sectors(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices that take smaller requests than the disk below can write at once."""
    for device in ground.topology:
        logical, physical = _queue(device, "logical_block_size"), _below_physical(ground, device)
        if device.kind is Kind.CRYPT and logical and physical:
            evidence = numbers(device.name, logical=logical, physical=physical)
            good = logical >= physical
            yield Seen(device.name, evidence, severity=Severity.GOOD if good else None)


def _below_physical(ground: Ground, device: Device) -> int | None:
    """Return the largest physical sector of the disks below."""
    names = ground.topology.stack(device.name)
    leaves = (ground.topology[name] for name in names if not ground.topology.below(name))
    found = [size for leaf in leaves if (size := _queue(leaf, "physical_block_size"))]
    return max(found, default=None)


def thin_chunks(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield thin pools on an array, good where their chunk is a whole number of its units."""
    for pool in ground.topology:
        chunk = pool.facts.get("block", "")
        if pool.target != "thin-pool" or not chunk.isdecimal():
            continue
        data = [e.below for e in ground.topology.below(pool.name) if e.role is Role.DATA]
        below = _unit(ground.topology, data[0]) if data else None
        if below is not None:
            good = int(chunk) % below.size == 0
            yield Seen(
                pool.name,
                numbers(pool.name, chunk=int(chunk), unit=below.size),
                {"what": below.what, "whose": ground.topology[below.whose].title},
                severity=Severity.GOOD if good else None,
            )


def _unit(topology: Topology, name: str) -> Grain | None:
    """Return the stripes below *name*, or the chunks where there are none; None on a plain disk."""
    found = grain(topology, name, stripes=True) or grain(topology, name)
    return None if found is None or found.what == "physical sectors" else found


def file_systems(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield mounted file systems on arrays, good where they know the stripe."""
    for name, options in ground.mounted.items():
        below = _array_below(ground.topology, name)
        if below is None or below.layout is None or not below.layout.stripe:
            continue
        widths = _widths(options)
        if not widths:
            continue
        good = below.layout.stripe in widths
        yield Seen(
            name,
            numbers(
                name,
                width=below.layout.stripe if good else widths[0],
                stripe=below.layout.stripe,
            ),
            {"array": below.title, "fs": options.get("type", "file system")},
            severity=Severity.GOOD if good else None,
        )


def _widths(options: Mapping[str, str]) -> list[int]:
    """Return the stripes a file system may believe in, in bytes; 0 for none, [] where nothing tells."""
    kind = options.get("type", "")
    if kind == "xfs":
        return [_whole(options.get("swidth", "0")) * BASIC]
    if kind in ("ext4", "ext3"):
        return [_whole(options.get("stripe", "0")) * block for block in BLOCKS]
    return []


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def optimal(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield tops above a striped array, good where they pass its best request size up."""
    for top in ground.topology.tops:
        below = _array_below(ground.topology, top.name)
        told = _queue(top, "optimal_io_size")
        wanted = None if below is None else _queue(below, "optimal_io_size")
        if below is None or below.name == top.name or told is None or not wanted:
            continue
        yield Seen(
            top.name,
            numbers(top.name, told=told, wanted=wanted),
            {"array": below.title},
            severity=Severity.GOOD if told == wanted else None,
        )


def _array_below(topology: Topology, name: str) -> Device | None:
    """Return the first striped array at or below *name*, the way data takes; None if it forks before."""
    while True:
        device = topology[name]
        if device.layout is not None and device.layout.chunk:
            return device if RAID_LEVELS[device.layout.level].stripes else None
        edges = [edge for edge in topology.below(name) if edge.role is Role.DATA]
        if len({edge.below for edge in edges}) != 1:
            return None
        name = edges[0].below


def _queue(device: Device, name: str) -> int | None:
    said = device.queue.get(name, "")
    return int(said) if said.isdecimal() else None


SECTORS = Check(
    "SM921",
    "crypt-sector",
    Severity.INFO,
    says="encrypted in sectors of {logical}; the disk's physical sector is {physical}",
    should="{physical}",
    why="each small sector is encrypted by itself: more work for the processor, and smaller writes "
    "than the disk can do at once become possible",
    advice="cryptsetup luksFormat --sector-size 4096 when it is next made; reencrypt can change it",
    source="cryptsetup(8)",
    find=sectors,
)
THIN_CHUNKS = Check(
    "SM922",
    "thin-chunk",
    Severity.WARNING,
    says="thin chunks of {chunk} on {what} of {unit} ({whose})",
    should="a multiple of {unit}",
    why="the first write to each chunk zeroes part of a stripe, and chunks begin inside of stripes: "
    "old data and parity are read for each",
    advice="lvcreate --chunksize with a multiple of {unit} when the pool is next made",
    source="harvester docs 1083: read-modify-write on first touch",
    find=thin_chunks,
)
FILE_SYSTEMS = Check(
    "SM923",
    "file-system-stripe",
    Severity.INFO,
    says="{fs} lays out for stripes of {width}; those of {array} are {stripe}",
    should="{stripe}",
    why="it does not know where stripes begin, so it neither fills them nor spreads its metadata over "
    "the disks",
    advice="ext4: tune2fs -E stripe_width; XFS: mount -o sunit=,swidth= (in 512-byte sectors)",
    source="ext4(5), xfs(5): what /proc/self/mountinfo tells of a mounted one; nothing is opened",
    find=file_systems,
)
OPTIMAL = Check(
    "SM924",
    "optimal-size",
    Severity.INFO,
    says="optimal_io_size {told}; that of {array} below is {wanted}",
    should="{wanted}",
    why="mkfs and LVM take alignment from it: what is not passed up, they do not keep to",
    advice="give it by hand: mkfs.xfs -d su=,sw=; mkfs.ext4 -E stride=,stripe_width=",
    source="Linux drivers/md/raid5.c, raid5_run: optimal_io_size = chunk x data disks",
    find=optimal,
)
CHECKS = (SECTORS, THIN_CHUNKS, FILE_SYSTEMS, OPTIMAL)
