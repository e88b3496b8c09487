"""
What the LVM strategies share: options for a layout, room for its members on PVs, steps that wait, remove and detach.

Each member of a new layout goes to a PV with enough room, and no two to one disk. Caches and checksums come off before
the layout changes, and back on afterwards.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from stackmap.errors import PlanRefused
from stackmap.features.plan.plan import NO_WAY_BACK, PlanContext, Step, disks
from stackmap.model.command_line import Command, script, words
from stackmap.model.device import Kind
from stackmap.model.layout_request import unsupported_by_lvm
from stackmap.model.operand import (
    CACHE_MODES,
    Keyword,
    Kibibytes,
    LvmName,
    LvPath,
    Number,
    Pattern,
    PvPath,
    Script,
    Word,
    keyword,
)
from stackmap.model.raid import RAID_LEVELS, Layout
from stackmap.model.volume_group import LogicalVolume, PhysicalVolume, VolumeGroup

_LVS = "lvs --all --noheadings --options"  # --all: a pool's data is a sub-LV
_WAIT = (
    f'while sleep 5; s=$(echo $({_LVS} sync_percent,raid_sync_action,lv_health_status -- "$1")); '
    '[ "$s" ] && [ "${s#100.00 idle}" = "$s" ]; do :; done; [ "$s" = "100.00 idle" ]'
)
_PROOF = f' && {_LVS} segtype -- "$1" | grep -qxE " *($2) *"'
WAIT, WAIT_AND_PROOF = Script(_WAIT), Script(_WAIT + _PROOF)
SUPERBLOCK = 4096  # bytes before the bitmap in a member's metadata (dm-raid.c)
REGION = 2 * 1024**2  # bytes; LVM's default (lvm.conf: activation/raid_region_size)
NOT_REDUNDANT = frozenset({"linear", "striped", "raid0"})
WRITEBACK = "a failure of the cache's own disks loses data that is only in the cache"


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


@dataclass(frozen=True, slots=True)
class DetachedLayers:
    """
    The LV to convert by name, and the steps ``before`` and ``after``.

    ``hidden``: whether it stays part of another LV, as a pool's data does.
    ``unchecked``: what the reader must check.
    """

    name: str
    before: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()
    hidden: bool = False
    unchecked: tuple[str, ...] = ()


def detach_layers(context: PlanContext) -> DetachedLayers:
    """Return the steps around a conversion of the target; refused if a layer cannot be detached."""
    name = context.target.label.partition("/")[2]
    for ending, detach in ENDINGS.items():
        if name.endswith(ending):
            return detach(context, name.removesuffix(ending))
    if context.target.kind is Kind.MEMBER:
        raise PlanRefused(f"{context.target.label} is a sub-LV of a type that is not supported")
    return _checksummed(context, name)


def require_no_snapshots(context: PlanContext) -> None:
    """Refuse a target with snapshots or VDO: no strategy moves them along."""
    for name in context.topology.with_all_above(context.target.name):
        device = context.topology[name]
        if device.kind is Kind.SNAPSHOT or device.target in ("snapshot-origin", "snapshot-merge"):
            raise PlanRefused(
                f"the stack has snapshots ({device.title}): remove or copy them first"
            )
        if device.target.startswith("vdo"):
            raise PlanRefused(f"{device.title} is VDO, and a conversion below it was not tested")


def _pool(context: PlanContext, name: str) -> DetachedLayers:
    """Convert a thin pool's data in place, and mirror its metadata if only its data becomes redundant."""
    data, group = f"{name}_tdata", context.group
    metadata = group.volumes.get(f"{name}_tmeta")
    if metadata is None:
        raise PlanRefused(f"LVM does not report {group.name}/{name}_tmeta")
    if context.request.level in NOT_REDUNDANT or metadata.segtype != "linear":
        return DetachedLayers(data, hidden=True)
    devices = {pv.path: pv.device for pv in group.pvs}
    # The data may take as much of the same PV.
    room = metadata.extents + 1 + context.volume.extents
    present = [devices[path] for path in metadata.on if path in devices]
    (pv,) = place(replace(context, onto=()), 1, room, avoiding=present)
    full, path = LvPath(f"{group.name}/{name}_tmeta"), PvPath(pv.path)
    mirroring = Step(
        words("lvconvert --yes --type raid1 --mirrors 1 --", full, path),
        "mirrors the pool's metadata to a second disk; without metadata all thin volumes are lost",
        "causes a little I/O",
        (words("lvconvert --yes --mirrors 0 --", full, path),),
    )
    return DetachedLayers(data, after=(mirroring, waiting(full, "raid1")), hidden=True)


def _cached(context: PlanContext, name: str) -> DetachedLayers:
    """Detach a dm-cache, which writes its dirty blocks back."""
    cached = _visible(context, name, "cache")
    pool, label = _split_name(cached.pool), LvPath(f"{context.group.name}/{name}")
    kind = words("--cachevol" if cached.pool.endswith("_cvol") else "--cachepool", pool)
    modes = (d.facts.get("mode") for d in context.topology if d.label == label)
    mode = next((mode for mode in modes if mode is not None), None)
    if mode is None:
        raise PlanRefused(f"the mode of the cache on {label} is not known")
    chosen = words("--cachemode", keyword(mode, CACHE_MODES, "the cache mode"), *words("--", label))
    attach = (*words("lvconvert --yes --type cache"), *kind, *chosen)
    unchecked = (WRITEBACK,) if mode == "writeback" else ()
    return replace(_around_cache(label, attach, pool), unchecked=unchecked)


def _writecached(context: PlanContext, name: str) -> DetachedLayers:
    pool = _split_name(_visible(context, name, "writecache").pool)
    full = LvPath(f"{context.group.name}/{name}")
    attach = words("lvconvert --yes --type writecache --cachevol", pool, *words("--", full))
    return replace(_around_cache(full, attach, pool), unchecked=(WRITEBACK,))


def _around_cache(full: LvPath, attach: Command, pool: LvmName) -> DetachedLayers:
    split = words("lvconvert --yes --splitcache --", full)
    # LVM does not attach an active volume as a cache; a cache pool is never active.
    deactivate = words("lvchange --activate n --", LvPath(f"{full.group}/{pool}"))
    on = (deactivate, attach) if "--cachevol" in attach else (attach,)
    before = Step(
        split,
        "writes dirty blocks back and detaches the cache",
        "the volume is as slow as its disks until the cache is back and warm",
        on,
    )
    after = Step(
        attach,
        "attaches the cache again, empty",
        "the cache starts cold, with LVM's default policy and chunk size",
        (split,),
    )
    off = [Step(deactivate, "deactivates the cache volume so that it can be attached")]
    return DetachedLayers(full.name, (before,), (*off[: len(on) - 1], after))


def _visible(context: PlanContext, name: str, segtype: str) -> LogicalVolume:
    volume = context.group.volumes.get(name)
    if volume is None or volume.segtype != segtype or not volume.pool:
        raise PlanRefused(f"{context.group.name}/{name} is not a plain {segtype} LV")
    return volume


def _split_name(pool: str) -> LvmName:
    """
    Return the name of a cache after it is split off.

    >>> _split_name("fast_cpool"), _split_name("fast_cvol"), _split_name("fast")
    ('fast', 'fast', 'fast')
    """
    return LvmName(re.sub(r"(?<=.)_c(?:pool|vol)\Z", "", pool))


def _checksummed(context: PlanContext, name: str) -> DetachedLayers:
    """Detach dm-integrity from a RAID LV: LVM does not convert one that has it."""
    below = context.topology.with_all_below(context.target.name)
    if not any(context.topology[other].target == "integrity" for other in below):
        return DetachedLayers(name)
    full = LvPath(f"{context.group.name}/{name}")
    if context.request.level in NOT_REDUNDANT:
        raise PlanRefused(f"{full} has checksums; {context.request.level} cannot have them")
    off = words("lvconvert --yes --raidintegrity n --", full)
    on = words("lvconvert --yes --raidintegrity y --", full)
    remove = Step(
        off,
        "removes the members' checksums",
        "corrupt data from a disk is not detected until the checksums are back",
        (on,),
    )
    add = Step(
        on,
        "computes checksums of all members again, in the background",
        "reads every member once",
        (off,),
    )
    return DetachedLayers(name, (remove,), (add,))


ENDINGS: dict[str, Callable[[PlanContext, str], DetachedLayers]] = {
    "_tdata": _pool,
    "_corig": _cached,
    "_wcorig": _writecached,
}
