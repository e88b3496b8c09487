"""Do sectors, thin chunks, file systems and optimal_io_size fit the layers below?"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import RAID_LEVELS
from stackmap.model.topology import Topology
from stackmap.rules.boundaries import Boundaries, boundaries
from stackmap.rules.context import Context
from stackmap.rules.rule import Found, Limits, Observation, Severity, check, observe

XFS_UNIT = 512  # bytes: the unit of sunit and swidth in XFS mount options
EXT4_BLOCKS = (4096, 2048, 1024)  # bytes: ext4 counts its stripe in blocks of unknown size


@check(
    "SM921",
    Severity.INFO,
    sentence="encryption sector of {logical}; the disk's physical sector is {physical}",
    expected="{physical}",
    reason="each small sector is encrypted separately; writes below a physical sector are possible",
    advice="`cryptsetup luksFormat --sector-size 4096` for new devices, or `cryptsetup reencrypt`",
    source="cryptsetup(8)",
)
def crypt_sector(context: Context, _: Limits) -> Found:
    """Yield encrypted devices, good if their sectors are no smaller than the disk's physical ones."""
    for device in context.topology:
        logical = device.queue.logical_block_size
        physical = _largest_physical_sector(context.topology, device.name)
        if device.kind is Kind.CRYPT and logical and physical:
            yield _compare(device.name, logical >= physical, logical=logical, physical=physical)


def _largest_physical_sector(topology: Topology, name: str) -> int:
    """Return the largest physical sector of the disks below *name*; 0 if none is known."""
    disks = (topology[n] for n in topology.with_all_below(name) if not topology.below(n))
    return max((disk.queue.physical_block_size or 0 for disk in disks), default=0)


@check(
    "SM922",
    Severity.WARNING,
    sentence="thin chunks of {chunk} on {what} of {unit} ({owner})",
    expected="a multiple of {unit}",
    reason="the first write to a chunk zeroes part of a stripe, so old data and parity are read",
    advice="recreate the pool with `lvcreate --chunksize` and a multiple of {unit}",
    source="harvester issue 1083: read-modify-write on first touch",
)
def thin_chunk(context: Context, _: Limits) -> Found:
    """Yield thin pools on an array, good if their chunk is a multiple of its stripe or chunk."""
    for pool in context.topology:
        chunk, data = pool.fact_number("block"), context.below(pool.name, Role.DATA)
        if pool.target != "thin-pool" or chunk is None or not data:
            continue
        below = _stripe_or_chunk(context.topology, data[0])
        if below is not None:
            words = {"what": below.unit, "owner": context.topology[below.device].title}
            good = chunk % below.size == 0
            yield _compare(pool.name, good, words, chunk=chunk, unit=below.size)


def _stripe_or_chunk(topology: Topology, name: str) -> Boundaries | None:
    """Return the stripes below *name*, or the chunks if there are no stripes; None on a plain disk."""
    found = boundaries(topology, name, stripes=True) or boundaries(topology, name)
    return None if found is None or found.sectors else found


@check(
    "SM923",
    Severity.INFO,
    sentence="{fs} assumes stripes of {width}; {array} has stripes of {stripe}",
    expected="{stripe}",
    reason="the file system cannot fill stripes or spread its metadata over the disks",
    advice="ext4: `tune2fs -E stripe_width`; XFS: `mount -o sunit=,swidth=` (in 512-byte sectors)",
    source="ext4(5), xfs(5); mount options in /proc/self/mountinfo",
)
def file_system_stripe(context: Context, _: Limits) -> Found:
    """Yield mounted file systems on arrays, good if they know the stripe."""
    for name, options in context.mounted.items():
        array, widths = _array_below(context.topology, name), _stripe_widths(options)
        stripe = None if array is None or array.layout is None else array.layout.stripe
        if array is None or not stripe or not widths:
            continue
        good = stripe in widths
        words = {"array": array.title, "fs": options.get("type", "file system")}
        yield _compare(name, good, words, width=stripe if good else widths[0], stripe=stripe)


def _stripe_widths(options: Mapping[str, str]) -> list[int]:
    """Return the possible stripe widths of a file system in bytes; 0 for none, [] if unknown."""
    kind = options.get("type", "")
    key = {"xfs": "swidth", "ext4": "stripe", "ext3": "stripe"}.get(kind)
    if key is None:
        return []
    text = options.get(key, "0")
    count = int(text) if text.isdecimal() else 0
    return [count * unit for unit in ((XFS_UNIT,) if kind == "xfs" else EXT4_BLOCKS)]


@check(
    "SM924",
    Severity.INFO,
    sentence="optimal_io_size is {told}; {array} below has {wanted}",
    expected="{wanted}",
    reason="mkfs and LVM take their alignment from optimal_io_size",
    advice="set it by hand: `mkfs.xfs -d su=,sw=` or `mkfs.ext4 -E stride=,stripe_width=`",
    source="Linux drivers/md/raid5.c, raid5_run: optimal_io_size = chunk × data disks",
)
def optimal_size(context: Context, _: Limits) -> Found:
    """Yield tops above a striped array, good if they have its optimal_io_size."""
    for top in context.topology.tops:
        array = _array_below(context.topology, top.name)
        own = top.queue.optimal_io_size
        wanted = None if array is None else array.queue.optimal_io_size
        if array is not None and array.name != top.name and own is not None and wanted:
            words = {"array": array.title}
            yield _compare(top.name, own == wanted, words, told=own, wanted=wanted)


def _array_below(topology: Topology, name: str) -> Device | None:
    """Return the first striped array at or below *name*; None if its data forks above one."""
    while True:
        device = topology[name]
        if device.layout is not None and device.layout.chunk:
            return device if RAID_LEVELS[device.layout.level].stripes else None
        below = {edge.below for edge in topology.below(name) if edge.role is Role.DATA}
        if len(below) != 1:
            return None
        (name,) = below


def _compare(
    device: str, good: bool, words: Mapping[str, str] | None = None, /, **sizes: int
) -> Observation:
    figures = {name: (float(size), "bytes") for name, size in sizes.items()}
    return observe(device, figures, words, severity=Severity.GOOD if good else None)
