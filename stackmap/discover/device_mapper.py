"""
Device-mapper devices: from their tables, or without root from names, uuids, sizes and queue limits.

Without tables, the edges come from sysfs and are exact. Roles come from LVM's names. The level
of a RAID volume follows from its size in members: n for raid0, n-1 for raid4
and raid5, n-2 for raid6 (LVM needs 5), n/2 for raid10, 1 for raid1. The chunk is
the volume's minimum_io_size, which dm-raid sets to it (raid_io_hints).
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from stackmap.discover.scan import Discovered, Scan, base_device, queue_of
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import DM_TARGETS, POOL, UNKNOWN, VDO_BLOCK
from stackmap.model.health import PATH_FAILURES
from stackmap.model.lv_health import lv_health
from stackmap.model.raid import LOST, Layout, layout
from stackmap.model.topology import Edge
from stackmap.model.units import SECTOR
from stackmap.sources import dm, dm_targets, sysfs
from stackmap.sources.dm import MappedDevice
from stackmap.sources.dm_targets.passthrough import path_status
from stackmap.sources.dm_targets.segment import Below, DmStatus, Segment, is_device
from stackmap.sources.sysfs import PATH_STATE, Block

MAX_TITLES = 10  # in a sentence
STRANGE = "table of {devices}: unknown form; inferred from names and sizes instead"
NO_LEVEL = "RAID level of {devices}: only `dmsetup table` has it, as root"
PARITY = "raid4 and raid5 look alike without the table (needs root): {devices} may be either"
SLAVES = "table of {devices}: not understood in full; devices below are from sysfs, and their roles are assumed"
SPREAD = "data layout of {devices}: only `dmsetup table` has it, as root"

NOTHING_BELOW = "devices below {devices}: not in the input"
PART_BELOW = "some devices below {devices}: not in the input, by the sizes of those that are"

_DEVICE = re.compile(r"[0-9]+:[0-9]+|/dev/\S+")  # in the words of a table

ABSENT = ("failed", "missing")  # states of a member in the status of a RAID volume
ARRAYS = ("raid", "mirror")  # targets whose data may be whole without one of the devices below
MIN_RAID6_MEMBERS = 5  # in LVM
ROUNDING = 0.06  # share by which the sizes of a text are rounded
SMALLEST_CHUNK = 4096  # bytes; a smaller minimum_io_size is a disk's sector


class InferredLayout(NamedTuple):
    """A layout as far as it can be inferred, and what stays uncertain."""

    layout: Layout | None = None
    uncertainty: str = ""


def infer(scan: Scan, mapped: MappedDevice) -> Discovered:
    """Return a device-mapper device as far as it can be inferred without its table."""
    block = mapped.block
    names = sysfs.slaves(scan.host, block)
    below = [scan.mapped[name] for name in names if name in scan.mapped]
    inferred = dm.infer_target(mapped, below)
    images = sum(_ending(other) in ("rimage", "mimage") for other in below)
    told = _told_layout(scan, block, images) if scan.partial else None
    status = _told_status(scan, block) if scan.partial else DmStatus()
    if inferred.target == "multipath":
        status = _told_paths(scan, mapped)
    if status.counts and not inferred.target:
        target = _told(scan, block, "segtype")
        inferred = inferred._replace(target=target, kind=DM_TARGETS[target].kind)
    if told is not None and not inferred.target:
        inferred = inferred._replace(target="raid" if told.level.startswith("raid") else told.level)
    spread = inferred.target in ("raid", "mirror") or (not inferred.target and len(names) > 1)
    base = base_device(scan, block, inferred.kind, geometry=spread, read_only=mapped.read_only)
    shape = InferredLayout(told)
    if spread and told is None:
        shape = _infer_layout(scan, inferred.target, base, names)
    target = _inferred_target(mapped, inferred.target, names, shape)
    has_others = target == "linear" and scan.partial and _exceeds(scan, block, names)
    target = "" if has_others else target
    record = DM_TARGETS.get(target, UNKNOWN)
    device = base._replace(
        label=mapped.label,
        dm_name=mapped.name,
        target=target,
        uuid=mapped.uuid,
        layout=shape.layout,
        state="suspended" if mapped.suspended else status.state,
        merges=record.merges,
        facts={**base.facts, **status.facts},
        counts=status.counts,
    )
    doubts = (
        shape.uncertainty,
        NOTHING_BELOW if scan.partial and not names else "",
        PART_BELOW if has_others else "",
    )
    uncertainties = tuple(filter(None, doubts))
    edges = tuple(inferred_edges(scan, mapped, target))
    return Discovered(device, edges, _states(edges, status, scan.names), uncertainties)


def _exceeds(scan: Scan, block: Block, names: Iterable[str]) -> bool:
    """Whether *block* is larger than the devices *names* together: a text may be lsblk of one of its disks."""
    own = sysfs.size(scan.host, block)
    sizes = [sysfs.size(scan.host, scan.blocks[name]) for name in names if name in scan.blocks]
    known = [size for size in sizes if size is not None]
    return own is not None and len(known) == len(sizes) and sum(known) < (1 - ROUNDING) * own


def _told_paths(scan: Scan, mapped: MappedDevice) -> DmStatus:
    """Return the states of the paths that ``multipath -ll`` printed; nothing on other machines than those of texts."""
    names = sysfs.slaves(scan.host, mapped.block) if scan.partial else []
    # Of a device that goes away, sysfs may still have the link.
    paths = [scan.blocks[name] for name in names if name in scan.blocks]
    told = {path.number: sysfs.attribute(scan.host, f"{path.path}/{PATH_STATE}") for path in paths}
    states = {number: state for number, state in told.items() if state}
    return path_status(states) if states else DmStatus()


def _told(scan: Scan, block: Block, name: str) -> str:
    """Return the field *name* of a volume in LVM's report, "" without one."""
    return sysfs.attribute(scan.host, f"{block.path}/lv/{name}")


def _told_status(scan: Scan, block: Block) -> DmStatus:
    """Return how full a pool or a snapshot is by LVM's report; the size of a thin pool's metadata is in another row."""
    used = re.fullmatch(r"\d{1,3}(?:\.\d{1,9})?", _told(scan, block, "data_percent"))
    segtype = _told(scan, block, "segtype")
    size = sysfs.parse_int(_told(scan, block, "cow_size"))
    if segtype == POOL:
        size = sysfs.size(scan.host, block)
    if not size or not used or segtype not in _TOLD_UNITS:
        return DmStatus()
    health = lv_health(_told(scan, block, "attr"))
    unit, name = _TOLD_UNITS[segtype]
    total = size // unit
    share = f"{used[0]} %"
    return DmStatus(
        "active" if health is None else health.words,
        facts={"block": "1", "data used": share} if segtype == POOL else {"used": share},
        counts={f"{name}used": round(total * float(used[0]) / 100), f"{name}total": total},
    )


# In which units the counts of a target are, and how their names begin, where LVM's report tells a share.
_TOLD_UNITS = {POOL: (1, "data_"), "vdo": (VDO_BLOCK, "data_"), "snapshot": (SECTOR, "")}


def _told_layout(scan: Scan, block: Block, images: int) -> Layout | None:
    """Return the layout in LVM's report of a volume with *images* below; None without one, or if it spreads no data."""
    segtype = _told(scan, block, "segtype")
    level, _, variant = segtype.partition("_")
    stripes = sysfs.parse_int(_told(scan, block, "stripes")) or images
    if stripes < 2 or not segtype.startswith(("raid", "striped", "mirror")):
        return None
    chunk = sysfs.parse_int(_told(scan, block, "stripe_size"))
    return layout(level, stripes, chunk or None, variant=variant)


def inferred_edges(scan: Scan, mapped: MappedDevice, target: str) -> Iterator[Edge]:
    """Yield the edges that sysfs shows, with roles by name; sub-LVs in order of their index."""
    placed = []
    for name in sysfs.slaves(scan.host, mapped.block):
        other = scan.mapped.get(name)
        place = (other.lv.position or 0) if other and other.lv else 0
        role = dm.role(other, target) if other else dm.default_role(target)
        placed.append((place, Edge(mapped.block.name, name, role)))
    yield from (edge for _, edge in sorted(placed, key=itemgetter(0)))


def _infer_layout(scan: Scan, target: str, device: Device, names: list[str]) -> InferredLayout:
    below = [scan.mapped[name] for name in names if name in scan.mapped]
    chunk = device.queue.minimum_io_size or 0
    if target == "mirror":
        # pvmove's mirror has no sub-LVs: it copies from one PV to another.
        images = sum(_ending(other) == "mimage" for other in below)
        return InferredLayout(layout("mirror", images or len(names)))
    if target == "raid":
        blocks = [other.block for other in below if _ending(other) == "rimage"]
        sizes = [sysfs.size(scan.host, block) or 0 for block in blocks]
        return infer_raid(device.size or 0, sizes, chunk)
    if chunk * len(names) == device.queue.optimal_io_size:
        return InferredLayout(layout("striped", len(names), chunk))
    return InferredLayout(uncertainty=SPREAD)


def infer_raid(size: int, members: list[int], chunk: int) -> InferredLayout:
    """Return the layout of a volume of *size* bytes on *members* of these sizes."""
    count = len(members)
    largest = max(members, default=0)
    data = round(size / largest) if largest else 0
    chunk = chunk if chunk >= SMALLEST_CHUNK else 0
    if count < 2:  # other members are not known
        return InferredLayout(uncertainty=NO_LEVEL)
    if data == 1:
        return InferredLayout(layout("raid1", count))
    if data == count:
        return InferredLayout(layout("raid0", count, chunk))
    if data == count - 1:
        return InferredLayout(layout("raid5", count, chunk), PARITY)
    if data == count - 2 and count >= MIN_RAID6_MEMBERS:
        return InferredLayout(layout("raid6", count, chunk))
    if data * 2 == count:
        return InferredLayout(layout("raid10", count, chunk, 2))
    return InferredLayout(uncertainty=NO_LEVEL)


def _inferred_target(
    mapped: MappedDevice, target: str, names: list[str], shape: InferredLayout
) -> str:
    """Return *target*; for an LV without one: its striped level, or linear if on one device."""
    if target or mapped.lv is None:
        return target
    if shape.layout:
        return shape.layout.level
    return "linear" if len(names) == 1 else ""


def _ending(mapped: MappedDevice) -> str:
    return mapped.lv.ending if mapped.lv else ""


def read(scan: Scan, block: Block) -> Discovered:
    """Return the device-mapper device *block*."""
    mapped = scan.mapped[block.name]
    segments = (scan.tables or {}).get(mapped.name)
    if segments is None:
        return infer(scan, mapped)
    try:
        return _from_table(scan, mapped, segments)
    except dm_targets.DAMAGE:
        inferred = infer(scan, mapped)
        return inferred._replace(uncertainties=(*inferred.uncertainties, STRANGE))


def unknown(discovered: Iterable[Discovered]) -> Iterator[str]:
    """Yield one sentence per uncertainty, with the devices that share it."""
    doubted: defaultdict[str, list[str]] = defaultdict(list)
    for entry in discovered:
        for doubt in entry.uncertainties:
            doubted[doubt].append(entry.device.title)
    for doubt, titles in doubted.items():
        yield doubt.format(devices=some_of(titles))


def some_of(titles: Collection[str]) -> str:
    """
    Return *titles* in order, of many the first.

    >>> some_of(["sdb", "sda"]), some_of([f"sd{each}" for each in "abcdefghijklm"])
    ('sda, sdb', 'sda, sdb, sdc, sdd, sde, sdf, sdg, sdh, sdi, sdj and 3 more')
    """
    shown = sorted(titles)[:MAX_TITLES]
    more = f" and {len(titles) - MAX_TITLES} more" if len(titles) > MAX_TITLES else ""
    return ", ".join(shown) + more


def _from_table(scan: Scan, mapped: MappedDevice, segments: tuple[Segment, ...]) -> Discovered:
    readers = [dm_targets.parser(segment.target) for segment in segments]
    used = [
        (segment.target, below)
        for reader, segment in zip(readers, segments, strict=True)
        for below in reader.below(segment)
    ]
    edges = tuple(
        Edge(mapped.block.name, name, role, start, length)
        for _, (word, role, start, length) in used
        if (name := scan.device_named(word)) is not None
    )
    left_out = _left_out(scan, mapped, edges, segments)
    status = _read_statuses(scan, mapped)
    if status.state == "active" and _lacks_device(scan, used):
        status = status._replace(state=LOST)
    names = list(dict.fromkeys([segment.target for segment in segments]))
    targets = [DM_TARGETS.get(name, UNKNOWN) for name in names]
    layouts = {reader.layout(segment) for reader, segment in zip(readers, segments, strict=True)}
    queue = queue_of(scan, mapped.block)
    device = Device(
        name=mapped.block.name,
        kind=_kind(mapped, {target.kind for target in targets}),
        number=mapped.block.number,
        size=sum([segment.length for segment in segments]),
        diskseq=mapped.block.diskseq,
        read_only=mapped.read_only,
        queue=queue,
        rotational=queue.rotational,
        label=mapped.label,
        dm_name=mapped.name,
        target=",".join(names),
        uuid=mapped.uuid,
        layout=layouts.pop() if len(layouts) == 1 else None,
        state="suspended" if mapped.suspended else status.state,
        merges=any(target.merges for target in targets) and queues_requests(scan, mapped.block),
        facts={**_facts(readers, segments), **status.facts},
        counts=status.counts,
    )
    unnamed = scan.partial and len(edges) < len(used)
    doubts = (NOTHING_BELOW,) * unnamed + (SLAVES,) * bool(left_out)
    states = _states(edges, status, scan.names)
    counts = {
        scan.names[n]: {PATH_FAILURES: k} for n, k in status.failures.items() if n in scan.names
    }
    slots = _slots(scan, segments, status)
    return Discovered(device, (*edges, *left_out), states, doubts, counts, slots)


def _lacks_device(scan: Scan, used: Iterable[tuple[str, Below]]) -> bool:
    """Whether a device that a target passes its data to is gone; False where an array has others."""
    return not scan.partial and any(
        below.role is Role.DATA and is_device(below.number) and below.number not in scan.names
        for target, below in used
        if target not in ARRAYS
    )


def _slots(scan: Scan, segments: Sequence[Segment], status: DmStatus) -> tuple[str, ...]:
    """Return the sub-LV in each slot of a RAID volume, "" where one is missing or failed."""
    if scan.partial or len(segments) != 1 or segments[0].target != "raid" or not status.members:
        return ()
    numbers = dm_targets.own_requests.members(segments[0].words)[1::2]
    if len(numbers) != len(status.members):
        return ()
    return tuple(
        "" if state in ABSENT else scan.names.get(number, "")
        for number, state in zip(numbers, status.members, strict=True)
    )


def _left_out(
    scan: Scan, mapped: MappedDevice, edges: Sequence[Edge], segments: Sequence[Segment]
) -> tuple[Edge, ...]:
    """
    Return the edges of sysfs that are not among *edges*, because the table is not understood in full.

    sysfs is asked only where a target is unknown, or a word names another device, or none names any: a host may
    have thousands of devices.
    """
    below = {edge.below for edge in edges}
    words = _DEVICE.findall(" ".join([word for segment in segments for word in segment.words]))
    named = {name for word in words if (name := scan.device_named(word)) is not None}
    if (
        below
        and named <= below
        and all(segment.target in dm_targets.PARSERS for segment in segments)
    ):
        return ()
    shown = inferred_edges(scan, mapped, segments[0].target)
    # Of a device that is gone, sysfs still has the link.
    return tuple(edge for edge in shown if edge.below not in below and edge.below in scan.blocks)


def _kind(mapped: MappedDevice, kinds: set[Kind]) -> Kind:
    kind = kinds.pop() if len(kinds) == 1 else Kind.DM
    if mapped.lv is None:
        return dm.infer_target(mapped, ()).kind if kind is Kind.DM else kind
    if kind is Kind.THIN_POOL or mapped.uuid.endswith("-pool"):
        return Kind.THIN_POOL
    if mapped.lv.is_hidden:
        return Kind.MEMBER
    return Kind.VOLUME if kind is Kind.DM else kind


def _read_statuses(scan: Scan, mapped: MappedDevice) -> DmStatus:
    """Return the content of the status lines; of several, the first that is not active."""
    if scan.statuses is None:
        return _told_paths(scan, mapped)
    lines = scan.statuses.get(mapped.name, ())
    if lines and scan.statuses is scan.tables:  # not read: no target here has more in its status
        return dm_targets.ACTIVE
    statuses = [dm_targets.status_of(line) for line in lines]
    wrong = (status for status in statuses if status.state != "active")
    return next(wrong, statuses[0] if statuses else DmStatus())


def _facts(readers: Sequence[dm_targets.Parser], segments: Sequence[Segment]) -> dict[str, str]:
    facts = {"segments": str(len(segments))} if len(segments) > 1 else {}
    for reader, segment in zip(readers, segments, strict=True):
        facts |= reader.facts(segment)
    return facts


def _states(edges: tuple[Edge, ...], status: DmStatus, names: Mapping[str, str]) -> dict[str, str]:
    if not status.paths and not status.members:
        return {}
    states = {names[number]: state for number, state in status.paths.items() if number in names}
    carriers = [edge.below for edge in edges if edge.role != "metadata"]
    # There is one letter per place in the table, missing members included.
    if len(carriers) == len(status.members):
        states |= dict(zip(carriers, status.members, strict=True))
    return states


def queues_requests(scan: Scan, block: Block) -> bool:
    """Whether a multipath device merges: a request-based one has an I/O scheduler."""
    scheduler = sysfs.queue(scan.host, block, ("queue/scheduler",)).scheduler or ""
    return "mq" in block.entries or "[" in scheduler
