"""Layers that come off before the layout changes and back on afterwards: caches and checksums."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from stackmap.errors import PlanRefused
from stackmap.features.plan.lvm_steps import place, waiting
from stackmap.features.plan.plan import PlanContext, Step
from stackmap.model.command_line import Command, words
from stackmap.model.device import Kind
from stackmap.model.operand import CACHE_MODES, LvmName, LvPath, PvPath, keyword
from stackmap.model.volume_group import LogicalVolume

_POOL = re.compile(r"(.+?)(?:_c(?:pool|vol))?")
NOT_REDUNDANT = frozenset({"linear", "striped", "raid0"})
WRITEBACK = "a failure of the cache's own disks loses data that is only in the cache"


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
    """Convert a thin pool's data in place, and make its metadata survive a disk failure too."""
    after = _pool_metadata(context, f"{name}_tmeta")
    return DetachedLayers(f"{name}_tdata", after=after, hidden=True)


def _pool_metadata(context: PlanContext, name: str) -> tuple[Step, ...]:
    """Return the steps that mirror a pool's metadata, if its data becomes redundant and it is not."""
    metadata = context.group.volumes.get(name)
    if metadata is None:
        raise PlanRefused(f"LVM does not report {context.group.name}/{name}")
    if context.request.level in NOT_REDUNDANT or metadata.segtype != "linear":
        return ()
    devices = {pv.path: pv.device for pv in context.group.pvs}
    # The data may take as much of the same PV.
    room = metadata.extents + 1 + context.volume.extents
    present = [devices[path] for path in metadata.on if path in devices]
    (pv,) = place(replace(context, onto=()), 1, room, avoiding=present)
    full, path = LvPath(f"{context.group.name}/{name}"), PvPath(pv.path)
    mirroring = Step(
        words("lvconvert --yes --type raid1 --mirrors 1 --", full, path),
        "mirrors the pool's metadata to a second disk; without metadata all thin volumes are lost",
        "causes a little I/O",
        (words("lvconvert --yes --mirrors 0 --", full, path),),
    )
    return mirroring, waiting(full, "raid1")


def _cached(context: PlanContext, name: str) -> DetachedLayers:
    """Detach a dm-cache, which writes its dirty blocks back."""
    cached = _visible(context, name, "cache")
    pool, label = LvmName(_split_name(cached.pool)), LvPath(f"{context.group.name}/{name}")
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
    pool = LvmName(_split_name(_visible(context, name, "writecache").pool))
    full = LvPath(f"{context.group.name}/{name}")
    attach = words("lvconvert --yes --type writecache --cachevol", pool, *words("--", full))
    return replace(_around_cache(full, attach, pool), unchecked=(WRITEBACK,))


def _around_cache(full: LvPath, attach: Command, pool: LvmName) -> DetachedLayers:
    name = full.name
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
    if len(on) == 1:
        return DetachedLayers(name, (before,), (after,))
    off = Step(deactivate, "deactivates the cache volume so that it can be attached")
    return DetachedLayers(name, (before,), (off, after))


def _visible(context: PlanContext, name: str, segtype: str) -> LogicalVolume:
    volume = context.group.volumes.get(name)
    if volume is None or volume.segtype != segtype or not volume.pool:
        raise PlanRefused(f"{context.group.name}/{name} is not a plain {segtype} LV")
    return volume


def _split_name(pool: str) -> str:
    """
    Return the name of a cache after it is split off.

    >>> _split_name("fast_cpool"), _split_name("fast_cvol"), _split_name("fast")
    ('fast', 'fast', 'fast')
    """
    match = _POOL.fullmatch(pool)
    return match[1] if match else pool


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
