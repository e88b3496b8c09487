"""
Device-mapper devices without their tables: inferred from names, uuids, sizes and queue limits.

The edges come from sysfs and are exact. Roles come from LVM's names. The level
of a RAID volume follows from its size in members: n for raid0, n-1 for raid4
and raid5, n-2 for raid6 (LVM needs 5), n/2 for raid10, 1 for raid1. The chunk is
the volume's minimum_io_size, which dm-raid sets to it (raid_io_hints).
"""

from collections.abc import Iterator
from typing import NamedTuple

from stackmap.discover.discovered import Discovered, base_device
from stackmap.discover.scan import Scan
from stackmap.model.device import Device
from stackmap.model.dm_targets import DM_TARGETS, UNKNOWN
from stackmap.model.raid import Layout, layout
from stackmap.model.topology import Edge
from stackmap.sources import dm, sysfs
from stackmap.sources.dm import MappedDevice

STRANGE = "table of {devices}: unknown form; inferred from names and sizes instead"
NO_LEVEL = "RAID level of {devices}: needs root (dmsetup table)"
PARITY = "raid4 and raid5 look alike without the table (needs root): {devices} may be either"
SPREAD = "data layout of {devices}: needs root (dmsetup table)"

NOTHING_BELOW = "devices below {devices}: not in the input"

MIN_RAID6_MEMBERS = 5  # in LVM
SMALLEST_CHUNK = 4096  # bytes; a smaller minimum_io_size is a disk's sector


class InferredLayout(NamedTuple):
    """A layout as far as it can be inferred, and what stays uncertain."""

    layout: Layout | None = None
    uncertainty: str = ""


def read(scan: Scan, mapped: MappedDevice) -> Discovered:
    """Return a device-mapper device as far as it can be inferred without its table."""
    block = mapped.block
    names = sysfs.slaves(scan.host, block)
    below = [scan.mapped[name] for name in names if name in scan.mapped]
    inferred = dm.infer_target(mapped, below)
    spread = inferred.target in ("raid", "mirror") or (not inferred.target and len(names) > 1)
    base = base_device(scan, block, inferred.kind, geometry=spread, read_only=mapped.read_only)
    shape = _infer_layout(scan, inferred.target, base, names) if spread else InferredLayout()
    target = _target(mapped, inferred.target, names, shape)
    record = DM_TARGETS.get(target, UNKNOWN)
    device = base._replace(
        label=mapped.label,
        dm_name=mapped.name,
        target=target,
        uuid=mapped.uuid,
        layout=shape.layout,
        state="suspended" if mapped.suspended else None,
        counted=record.counted,
        merges=record.merges,
    )
    doubts = (shape.uncertainty, NOTHING_BELOW if scan.partial and not names else "")
    uncertainties = tuple(filter(None, doubts))
    return Discovered(device, tuple(edges(scan, mapped, target)), uncertainties=uncertainties)


def edges(scan: Scan, mapped: MappedDevice, target: str) -> Iterator[Edge]:
    """Yield the edges that sysfs shows, with roles by name; sub-LVs in order of their index."""
    names = sysfs.slaves(scan.host, mapped.block)
    found = []
    for name in names:
        if name in scan.mapped:
            other = scan.mapped[name]
            place = other.lv.position if other.lv and other.lv.position is not None else 0
            found.append((place, Edge(mapped.block.name, name, dm.role(other, target))))
        else:
            role = dm.default_role(target)
            found.append((0, Edge(mapped.block.name, name, role)))
    yield from (edge for _, edge in sorted(found, key=lambda pair: pair[0]))


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


def _target(mapped: MappedDevice, target: str, names: list[str], shape: InferredLayout) -> str:
    """Return *target*; for an LV without one: its striped level, or linear if on one device."""
    if target or mapped.lv is None:
        return target
    if shape.layout:
        return shape.layout.level
    return "linear" if len(names) == 1 else ""


def _ending(mapped: MappedDevice) -> str:
    return mapped.lv.ending if mapped.lv else ""
