"""
Does each layer start on a boundary of the layer below, where requests are cheap?

A disk has a boundary every physical sector (4 KiB at least: disks that report
512 bytes may hide larger ones), an array every chunk, and an array with parity
every stripe. A device that passes requests on has the boundaries of the device
below, shifted by its start.
"""

from collections.abc import Iterator
from typing import NamedTuple

from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import is_passthrough
from stackmap.model.raid import RAID_LEVELS
from stackmap.model.topology import Edge, Topology
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observation, Observations, Rule, Severity, check, observe

SMALLEST_PHYSICAL_SECTOR = 4096  # bytes


class Boundaries(NamedTuple):
    """
    Boundaries every *size* bytes, the first at *offset*: the *unit* ("chunks") of *device*.

    ``sectors``: they are a disk's physical sectors, ``assumed`` if it reports smaller ones or none.
    """

    size: int
    offset: int
    unit: str
    device: str
    sectors: bool = False
    assumed: bool = False

    def past(self, position: int) -> int:
        """Return how many bytes *position* is past a boundary."""
        return (position - self.offset) % self.size


def boundaries(topology: Topology, name: str, *, stripes: bool = False) -> Boundaries | None:
    """
    Return the boundaries of *name*; with *stripes*, those of the nearest full stripe below.

    None if they are unknown: a start is unknown, or several devices lie below.
    """
    device = topology[name]
    layout = device.layout
    if stripes and layout is not None and layout.parity and layout.stripe is not None:
        return Boundaries(layout.stripe, 0, "full stripes", name)
    if not stripes and layout is not None and layout.chunk and RAID_LEVELS[layout.level].stripes:
        return Boundaries(layout.chunk, 0, "chunks", name)
    if not topology.below(name):
        return None if stripes else _sectors(device)
    edges = [edge for edge in topology.below(name) if edge.role == Role.DATA]
    if len(edges) != 1 or edges[0].start is None or not is_passthrough(device):
        return None
    below = boundaries(topology, edges[0].below, stripes=stripes)
    return below and below._replace(offset=(below.offset - edges[0].start) % below.size)


def _sectors(disk: Device) -> Boundaries:
    """Return the physical sectors of *disk*; assumed ones where those it reports may hide larger ones."""
    physical = disk.queue.physical_block_size or 0
    if physical >= SMALLEST_PHYSICAL_SECTOR:
        return Boundaries(physical, 0, "physical sectors", disk.name, sectors=True)
    reported = f", it reports {physical} bytes" if physical else ""
    unit = f"physical sectors are assumed{reported}"
    return Boundaries(SMALLEST_PHYSICAL_SECTOR, 0, unit, disk.name, sectors=True, assumed=True)


# What users call the start of a device, by its kind; for all others, "start".
START_NAMES = {
    Kind.PARTITION: "partition start",
    Kind.ARRAY: "data offset",
    Kind.CRYPT: "payload offset",
    Kind.VOLUME: "segment start",
    Kind.MEMBER: "segment start",
}


@Rule(
    "SM105",
    Severity.WARNING,
    title="{device} is misaligned on {below}",
    sentence="{device} starts at {start} on {below}, not at a multiple of {grain} ({owner}'s {unit}). "
    "Its requests ({rate} of {size}) cross boundaries below and are split.",
    caveat="Random requests far smaller than {grain} rarely cross a boundary.",
    advice="Run `stackmap check`. Recreate {device} at a multiple of {grain} and copy the data.",
    source="Linux ABI/stable/sysfs-block, minimum_io_size and optimal_io_size",
    thresholds={"requests": (50, "count")},
)
def misaligned(context: Context, limits: Limits) -> Observations:
    """Yield devices with load whose start is not on a boundary."""
    for edge, below in _known_starts(context):
        load = context.load(edge.above).total
        if below.past(edge.start or 0) and context.enough(load.ios, limits["requests"]):
            yield _start(
                context, edge, below, rate=(load.ios, "requests/s"), size=(load.size, "bytes")
            )


@check(
    "SM901",
    Severity.WARNING,
    title="{device} starts at no multiple of {grain}",
    sentence="{start_of} on {below}: {start}, not a multiple of {grain} ({owner}'s {unit}); the "
    "remainder is {past}",
    good_sentence="{start_of} on {below}: {start}, a multiple of {grain}",
    expected="a multiple of {grain}",
    reason="requests that fit one unit above cross two below: more requests, read-modify-write",
    advice="recreate it at a boundary (1 MiB, or a multiple of the stripe) and copy the data",
    source="Linux ABI/stable/sysfs-block, alignment_offset; heketi issue 1665",
    superseded_by=("SM105",),
)
def start(context: Context, _: Limits) -> Observations:
    """Yield every known start, good if it is on a boundary."""
    for edge, below in _known_starts(context):
        yield _start(context, edge, below)


@check(
    "SM902",
    Severity.INFO,
    title="{device} starts at no multiple of {grain}",
    sentence="{start_of} on {below}: {start}, not a multiple of {grain} ({owner}'s {unit}); the "
    "remainder is {past}",
    expected="a multiple of {grain}, for sequential writes",
    reason="large writes start and end with a partial stripe; LVM's 4 MiB extents do not fit stripes "
    "of 3, 5 or 6 data disks",
    advice="use `vgcreate --physicalextentsize` and `pvcreate --dataalignment` with multiples of the "
    "stripe, or 2, 4 or 8 data disks",
    source="Linux ABI/stable/sysfs-block, optimal_io_size",
)
def stripe_start(context: Context, _: Limits) -> Observations:
    """Yield starts on a chunk boundary that are not on a boundary of full stripes."""
    for edge in context.topology.edges:
        chunks = boundaries(context.topology, edge.below)
        stripes = boundaries(context.topology, edge.below, stripes=True)
        if stripes is None or chunks is None or edge.start is None:
            continue
        aligned = chunks.past(edge.start) == 0
        if aligned and stripes.past(edge.start) and _holds_data(context.topology, edge):
            yield _start(context, edge, stripes)


@check(
    "SM903",
    Severity.WARNING,
    title="{device} has an alignment offset",
    sentence="alignment_offset is {offset}",
    expected="0",
    reason="the kernel reports that this device does not start on a physical sector of its disk",
    advice="start the partition at a multiple of 1 MiB",
    source="Linux ABI/stable/sysfs-block, alignment_offset; lvm2 issue 183",
)
def alignment_offset(context: Context, _: Limits) -> Observations:
    """Yield devices that the kernel reports as misaligned, unless a known start explains it."""
    topology = context.topology
    known = {edge.above for edge, below in _known_starts(context) if below.past(edge.start or 0)}
    offsets = {d.name: d.queue.alignment_offset for d in topology if d.queue.alignment_offset}
    for name, offset in offsets.items():
        lower = topology.with_all_below(name)
        if known.isdisjoint(lower) and offsets.keys().isdisjoint(lower[1:]):
            yield observe(name, {"offset": (float(offset), "bytes")})


def _known_starts(context: Context) -> Iterator[tuple[Edge, Boundaries]]:
    """Yield each edge where data starts, with the boundaries below. A start of 0 is no evidence."""
    for edge in context.topology.edges:
        below = boundaries(context.topology, edge.below)
        if not edge.start or below is None or not _holds_data(context.topology, edge):
            continue
        # If the device below does not start on a boundary itself, that start is the one to report.
        inherited = below.past(0) and below.past(edge.start) and edge.start % below.size == 0
        if not inherited:
            yield edge, below


def _holds_data(topology: Topology, edge: Edge) -> bool:
    """Whether the device above *edge* holds data: the alignment of metadata does not matter."""
    if edge.role not in (Role.DATA, Role.ORIGIN, Role.CACHE):
        return False
    return not any(e.role is Role.METADATA for e in topology.above(edge.above))


def _start(
    context: Context, edge: Edge, below: Boundaries, **load: tuple[float | None, str]
) -> Observation:
    topology, start = context.topology, edge.start or 0
    past = below.past(start)
    beside = Severity.INFO if below.assumed else None
    sizes = {"start": start, "past": past, "grain": below.size}
    figures = {name: (float(size), "bytes") for name, size in sizes.items()}
    words = {
        "start_of": START_NAMES.get(topology[edge.above].kind, "start"),
        "below": topology[edge.below].title,
        "unit": below.unit,
        "owner": topology[below.device].title,
    }
    severity = beside if past else Severity.GOOD
    return observe(edge.above, {**figures, **load}, words, weight=past, severity=severity)
