"""Where the members of a new layout fit: each on a PV with room for it, no two on one disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.errors import PlanRefused
from stackmap.model.device import Kind
from stackmap.model.topology import Topology
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup

SUPERBLOCK = 4096  # bytes at the start of a member's metadata, before its bitmap (dm-raid)
REGION = 2 * 1024**2  # bytes; LVM's default (activation/raid_region_size)


def disks(topology: Topology, name: str) -> frozenset[str]:
    """Return the disks that *name* stands on; a multipath device is one, whatever its paths."""
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
    """Return the size of an extent in words."""
    mib, rest = divmod(group.extent, 1024**2)
    return f"{mib} MiB" if not rest else f"{group.extent // 1024} KiB"


def metadata_extents(group: VolumeGroup, image: int, region: int | None) -> int:
    """Return the extents that LVM takes for a member's superblock and bitmap, its *image* given."""
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
    Return *count* PVs with *extents* free on each, no two of them on one disk, nor on one of *avoiding*.

    Those on the same sort of disk as the target's come first, then those with
    the most room; with ``onto``, in its order and no others. *freed*: extents
    that will be free on PVs by then. Refused where there are not enough.
    """
    group = context.group
    taken = {disk for name in avoiding for disk in disks(context.topology, name)}
    chosen: list[PhysicalVolume] = []
    for pv in _candidates(context, group):
        under = disks(context.topology, pv.device)
        if (
            pv.free + (freed or {}).get(pv.path, 0) >= extents
            and not under & taken
            and len(chosen) < count
        ):
            chosen.append(pv)
            taken |= under
    if len(chosen) < count:
        raise PlanRefused(_shortage(context, group, count, extents, chosen))
    return tuple(chosen)


def require_room(context: PlanContext, needed: dict[str, int], what: str) -> None:
    """Refuse where a PV, by path, has fewer extents free than are *needed* on it."""
    free = {pv.path: pv.free if pv.usable else 0 for pv in context.group.pvs}
    for path, extents in needed.items():
        if free.get(path, 0) < extents:
            raise PlanRefused(
                f"{what} needs {extents} extents free on {path}, which has {free.get(path, 0)}"
            )


def _candidates(context: PlanContext, group: VolumeGroup) -> Sequence[PhysicalVolume]:
    usable = [pv for pv in group.pvs if pv.usable and pv.device in context.topology]
    if context.onto:
        by_device = {pv.device: pv for pv in usable}
        strange = [name for name in context.onto if name not in by_device]
        if strange:
            raise PlanRefused(f"{', '.join(strange)}: no PV of {group.name} that may be used")
        return [by_device[name] for name in context.onto]
    now = {
        context.topology[name].rotational for name in disks(context.topology, context.target.name)
    }

    def rank(pv: PhysicalVolume) -> tuple[bool, int]:
        under = disks(context.topology, pv.device)
        return any(context.topology[name].rotational not in now for name in under), -pv.free

    return sorted(usable, key=rank)


def _shortage(
    context: PlanContext,
    group: VolumeGroup,
    count: int,
    extents: int,
    chosen: Sequence[PhysicalVolume],
) -> str:
    among = [pv for pv in group.pvs if not context.onto or pv.device in context.onto]
    free = ", ".join(f"{pv.path} {pv.free if pv.usable else 'none'}" for pv in among)
    return (
        f"{count} PVs on disks of their own with {extents} free extents each are needed, and there "
        f"are {len(chosen)} (free: {free}; extents of {extent_words(group)})"
    )
