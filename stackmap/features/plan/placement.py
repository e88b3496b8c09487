"""Placement of the members of a new layout: each on a PV with enough room, no two on one disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stackmap.errors import PlanRefused
from stackmap.features.plan.plan_context import PlanContext
from stackmap.model.device import Kind
from stackmap.model.topology import Topology
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup

SUPERBLOCK = 4096  # bytes before the bitmap in a member's metadata (dm-raid.c)
REGION = 2 * 1024**2  # bytes; LVM's default (lvm.conf: activation/raid_region_size)


def disks(topology: Topology, name: str) -> frozenset[str]:
    """Return the disks below *name*; a multipath device counts as one disk."""
    found: set[str] = set()
    todo = [name]
    while todo:
        device = topology[todo.pop()]
        below = [edge.below for edge in topology.below(device.name)]
        if not below or device.kind in (Kind.MULTIPATH, Kind.DISK):
            found.add(device.name)
        else:
            todo += below
    return frozenset(found)


def extent_words(group: VolumeGroup) -> str:
    """Return the size of an extent with its unit."""
    mib, rest = divmod(group.extent, 1024**2)
    return f"{mib} MiB" if not rest else f"{group.extent // 1024} KiB"


def metadata_extents(group: VolumeGroup, image: int, region: int | None) -> int:
    """Return the extents of the superblock and bitmap that LVM allocates for a member of *image* extents."""
    bits = image * group.extent // (region or REGION)
    return -(-(SUPERBLOCK + bits // 8) // group.extent)


def place(
    context: PlanContext,
    count: int,
    extents: int,
    *,
    avoiding: Iterable[str] = (),
    freed: Mapping[str, int] | None = None,
) -> tuple[PhysicalVolume, ...]:
    """
    Return *count* PVs with *extents* free on each, no two on one disk or on a disk of *avoiding*.

    PVs on the same type of disk as the target come first, then those with the
    most room; with ``onto``, only those, in its order. *freed*: extents that
    earlier steps free, by PV. Refused if there are not enough.
    """
    group = context.group
    taken = {disk for name in avoiding for disk in disks(context.topology, name)}
    chosen: list[PhysicalVolume] = []
    for pv in _candidates(context, group):
        below = disks(context.topology, pv.device)
        free = pv.free + (freed or {}).get(pv.path, 0)
        if free >= extents and not below & taken and len(chosen) < count:
            chosen.append(pv)
            taken |= below
    if len(chosen) < count:
        among = [pv for pv in group.pvs if not context.onto or pv.device in context.onto]
        room = ", ".join(f"{pv.path} {pv.free if pv.usable else 'none'}" for pv in among)
        raise PlanRefused(
            f"needs {count} PVs on separate disks with {extents} free extents each; only "
            f"{len(chosen)} {'qualifies' if len(chosen) == 1 else 'qualify'} (free: {room}; extents of {extent_words(group)})"
        )
    return tuple(chosen)


def require_room(context: PlanContext, needed: dict[str, int], what: str) -> None:
    """Refuse if a PV, by path, has fewer free extents than are *needed* on it."""
    free = {pv.path: pv.free if pv.usable else 0 for pv in context.group.pvs}
    for path, extents in needed.items():
        if free.get(path, 0) < extents:
            raise PlanRefused(
                f"{what} needs {extents} free extents on {path}, which has {free.get(path, 0)}"
            )


def _candidates(context: PlanContext, group: VolumeGroup) -> Sequence[PhysicalVolume]:
    topology = context.topology
    usable = [pv for pv in group.pvs if pv.usable and pv.device in topology]
    if context.onto:
        by_device = {pv.device: pv for pv in usable}
        unknown = [name for name in context.onto if name not in by_device]
        if unknown:
            raise PlanRefused(f"{', '.join(unknown)}: not an allocatable PV of {group.name}")
        return [by_device[name] for name in context.onto]
    now = {topology[name].rotational for name in disks(topology, context.target.name)}

    def rank(pv: PhysicalVolume) -> tuple[bool, int]:
        below = disks(topology, pv.device)
        return any(topology[name].rotational not in now for name in below), -pv.free

    return sorted(usable, key=rank)
