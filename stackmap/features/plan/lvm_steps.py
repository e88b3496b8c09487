"""
What the LVM strategies share: options for a layout, room for its members on PVs, and steps that wait and remove.

Each member of a new layout goes to a PV with enough room, and no two to one disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stackmap.errors import PlanRefused
from stackmap.features.plan.plan import NO_WAY_BACK, PlanContext, Step, disks
from stackmap.model.command_line import Command, script, words
from stackmap.model.layout_request import unsupported_by_lvm
from stackmap.model.operand import Keyword, Kibibytes, LvPath, Number, Pattern, Script, Word
from stackmap.model.raid import RAID_LEVELS, Layout
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup

_LVS = "lvs --all --noheadings --options"  # --all: a pool's data is a sub-LV
_WAIT = (
    f'while sleep 5; s=$(echo $({_LVS} sync_percent,raid_sync_action,lv_health_status -- "$1")); '
    '[ "$s" ] && [ "${s#100.00 idle}" = "$s" ]; do :; done; [ "$s" = "100.00 idle" ]'
)
_PROOF = f' && {_LVS} segtype -- "$1" | grep -qxE " *($2) *"'
WAIT, WAIT_AND_PROOF = Script(_WAIT), Script(_WAIT + _PROOF)
SUPERBLOCK = 4096  # bytes before the bitmap in a member's metadata (dm-raid.c)
REGION = 2 * 1024**2  # bytes; LVM's default (lvm.conf: activation/raid_region_size)


def shape(layout: Layout) -> Command:
    """Return lvcreate's options for *layout*; refused if LVM cannot make it."""
    if missing := unsupported_by_lvm(layout):
        raise PlanRefused(missing)
    level = RAID_LEVELS[layout.level]
    options: list[Word] = [*words("--type", Keyword(segtype(layout)))]
    if level.copies is None or layout.level == "raid10":
        options += words("--mirrors", Number(layout.copies - 1))
    if level.stripes:
        options += words("--stripes", Number(layout.data))
        options += words("--stripesize", Kibibytes((layout.chunk or 0) // 1024))
    return tuple(options)


def segtype(layout: Layout) -> str:
    """
    Return LVM's segment type of *layout*, with its variant.

    >>> from stackmap.model.raid import layout
    >>> segtype(layout("raid5", 4, 65536, variant="n"))
    'raid5_n'
    """
    if layout.level in ("raid5", "raid6") and layout.variant:
        return f"{layout.level}_{layout.variant}"
    return layout.level


def waiting(name: LvPath, *segtypes: str) -> Step:
    """Return the step that waits for the sync of LV *name*; it fails unless that is healthy and of *segtypes*."""
    if not segtypes:
        return Step(script(WAIT, name), "waits for the sync; stop here if it fails")
    return Step(
        script(WAIT_AND_PROOF, name, Pattern("|".join(segtypes))),
        f"waits for the sync, then checks that the type is {segtypes[0]}; stop here if it fails",
    )


def removal(name: LvPath, what: str) -> Step:
    """Return the last step, days later: remove the LV *name*."""
    return Step(
        words("lvremove --yes --", name),
        f"frees {what}; run it when the new layout has worked for some days",
        NO_WAY_BACK,
        later=True,
        final=True,
    )


def format_extent_size(group: VolumeGroup) -> str:
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

    PVs on disks that are not suspect come first, then those on the same type of disk as the target, then
    those with the most room; with ``onto``, only those, in its order. *freed*: extents that
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
            f"{len(chosen)} {'qualifies' if len(chosen) == 1 else 'qualify'} (free: {room}; extents of {format_extent_size(group)})"
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

    def rank(pv: PhysicalVolume) -> tuple[bool, bool, int]:
        below = disks(topology, pv.device)
        suspect = not below.isdisjoint(context.suspects)
        return suspect, any(topology[name].rotational not in now for name in below), -pv.free

    return sorted(usable, key=rank)
