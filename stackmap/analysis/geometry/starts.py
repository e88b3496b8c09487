"""Does each layer begin on a boundary of the one below?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.finding import Seen, Severity
from stackmap.analysis.geometry.check import Check, Ground, numbers
from stackmap.analysis.geometry.grain import Grain, grain
from stackmap.model.device import Kind, Role
from stackmap.model.topology import Edge, Topology

# What the start of a device is called, by its kind; of all others, "start".
CALLED = {
    Kind.PARTITION: "partition start",
    Kind.ARRAY: "data offset",
    Kind.CRYPT: "payload offset",
    Kind.VOLUME: "segment start",
    Kind.MEMBER: "segment start",
}


def starts(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield every start that is known, good where it lies on a boundary of chunks or sectors."""
    for edge in ground.topology.edges:
        below = grain(ground.topology, edge.below)
        # A start of 0 says nothing: the device begins where the one below does.
        if _counts(ground.topology, edge) and below is not None and edge.start:
            past = below.past(edge.start)
            severity = None if past else Severity.GOOD
            yield _seen(ground.topology, edge, below, past, severity)


def stripe_starts(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield starts on a boundary of chunks, but not of the full stripes of a parity array."""
    for edge in ground.topology.edges:
        chunks = grain(ground.topology, edge.below)
        below = grain(ground.topology, edge.below, stripes=True)
        if below is None or chunks is None or edge.start is None:
            continue
        past = below.past(edge.start)
        if past and not chunks.past(edge.start) and _counts(ground.topology, edge):
            yield _seen(ground.topology, edge, below, past, None)


def offsets(ground: Ground, _: Mapping[str, float]) -> Iterator[Seen]:
    """Yield devices that the kernel itself calls misaligned."""
    for device in ground.topology:
        said = device.queue.get("alignment_offset", "0")
        if said.lstrip("-").isdigit() and int(said):
            yield Seen(device.name, numbers(device.name, offset=int(said)))


def _counts(topology: Topology, edge: Edge) -> bool:
    """Whether a start on *edge* is where data begins: metadata keeps its own order."""
    if edge.role not in (Role.DATA, Role.ORIGIN, Role.CACHE):
        return False
    above = topology[edge.above]
    return not any(e.role is Role.METADATA for e in topology.above(above.name))


def _seen(
    topology: Topology, edge: Edge, below: Grain, past: int, severity: Severity | None
) -> Seen:
    start = edge.start or 0
    words = {
        "start_of": CALLED.get(topology[edge.above].kind, "start"),
        "below": topology[edge.below].title,
        "what": below.what,
        "whose": topology[below.whose].title,
    }
    evidence = numbers(edge.above, start=start, past=past, grain=below.size)
    return Seen(edge.above, evidence, words, weight=past, severity=severity)


STARTS = Check(
    "SM901",
    "start",
    Severity.WARNING,
    says="{start_of} on {below}: {start}, {past} past a boundary of {whose}'s {grain} {what}",
    should="a multiple of {grain}",
    why="a request that fits above straddles two below: twice the requests, and old data is read "
    "to be written again",
    advice="make it anew at a boundary (1 MiB, or a multiple of the stripe) and copy; a start cannot "
    "be moved under data",
    source="Linux ABI/stable/sysfs-block, alignment_offset; heketi 1665: a device that is not "
    "aligned on its RAID 5",
    find=starts,
    fine="{start_of} on {below}: {start}, a multiple of {grain}",
)
STRIPE_STARTS = Check(
    "SM902",
    "stripe-start",
    Severity.INFO,
    says="{start_of} on {below}: {start}, {past} past a boundary of {whose}'s {grain} {what}",
    should="a multiple of {grain}, if much is written in sequence",
    why="the first and last part of each large write fill no stripe; with 3, 5 or 6 data disks LVM's "
    "4 MiB extents are no multiple of a stripe",
    advice="vgcreate with --physicalextentsize and pvcreate --dataalignment that are multiples of the "
    "stripe, or 2, 4 or 8 data disks",
    source="Linux ABI/stable/sysfs-block, optimal_io_size: LV start % (chunk x data disks)",
    find=stripe_starts,
)
OFFSETS = Check(
    "SM903",
    "alignment-offset",
    Severity.WARNING,
    says="alignment_offset is {offset}",
    should="0",
    why="the kernel says that this device does not begin where its disk's physical sectors do",
    advice="begin the partition at a multiple of 1 MiB",
    source="Documentation/ABI/stable/sysfs-block; lvm2 183",
    find=offsets,
)
CHECKS = (STARTS, STRIPE_STARTS, OFFSETS)
