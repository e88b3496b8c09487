"""What lies around the LV whose layout changes, taken off before and put back after: caches, checksums."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace

from stackmap.analysis.plan.lvm_steps import waiting
from stackmap.analysis.plan.placement import place
from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import Step
from stackmap.errors import PlanRefused
from stackmap.model.device import Kind
from stackmap.model.volume_group import LogicalVolume

_POOL = re.compile(r"(.+?)(?:_c(?:pool|vol))?")
BARE = frozenset({"linear", "striped", "raid0"})
WRITEBACK = "what is in the cache alone is lost with the cache's own disks, whatever is below it"
SLOWER = "the volume is as slow as its disks until the cache is back and warm"


@dataclass(frozen=True, slots=True)
class DetachedLayers:
    """
    The LV to work on by name, and the steps around that.

    ``hidden``: whether it is a part of another LV throughout (a pool's data).
    ``unchecked``: what of it the reader should know is not sure.
    """

    name: str
    before: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()
    hidden: bool = False
    unchecked: tuple[str, ...] = ()


def detach_layers(context: PlanContext) -> DetachedLayers:
    """Return how to get at the target; refused where what lies around it is not known to come off."""
    name = context.target.label.partition("/")[2]
    for ending, unwrap in ENDINGS.items():
        if name.endswith(ending):
            return unwrap(context, name.removesuffix(ending))
    if context.target.kind is Kind.MEMBER:
        raise PlanRefused(f"{context.target.label} is hidden: what it is a part of is not known")
    return _checksummed(context, name)


def require_no_snapshots(context: PlanContext) -> None:
    """Refuse what has snapshots, or VDO on it: no way takes those along."""
    for name in context.topology.with_all_above(context.target.name):
        device = context.topology[name]
        if device.kind is Kind.SNAPSHOT or device.target in ("snapshot-origin", "snapshot-merge"):
            raise PlanRefused(
                f"{device.title}: snapshots rest on it; remove them, or copy each, first"
            )
        if device.target.startswith("vdo"):
            raise PlanRefused(f"{device.title}: how VDO takes a change below it is not known")


def _pool(context: PlanContext, name: str) -> DetachedLayers:
    """A thin pool goes on using its data; its metadata must not die with one disk either."""
    return DetachedLayers(
        f"{name}_tdata", after=_pool_metadata(context, f"{name}_tmeta"), hidden=True
    )


def _pool_metadata(context: PlanContext, name: str) -> tuple[Step, ...]:
    """Return the steps that copy a pool's metadata, where its data is to be safe and it is on one disk."""
    metadata = context.group.volumes.get(name)
    if metadata is None:
        raise PlanRefused(f"LVM does not report {context.group.name}/{name}")
    if context.request.level in BARE or metadata.segtype != "linear":
        return ()
    devices = {pv.path: pv.device for pv in context.group.pvs}
    # Beside what the data may take of the same PV.
    room = metadata.extents + 1 + context.volume.extents
    avoiding = [devices[path] for path in metadata.on if path in devices]
    (pv,) = place(replace(context, onto=()), 1, room, avoiding=avoiding)
    full = f"{context.group.name}/{name}"
    copying = Step(
        ("lvconvert", "--yes", "--type", "raid1", "--mirrors", "1", full, pv.path),
        "copies the pool's metadata to a second disk: without it all thin volumes are lost",
        "a little I/O",
        f"lvconvert --yes --mirrors 0 {shlex.quote(full)} {pv.path}",
    )
    return copying, waiting(full, "raid1")


def _cached(context: PlanContext, name: str) -> DetachedLayers:
    """Take off a dm-cache: what is dirty in it is written back by that."""
    cached = _visible(context, name, "cache")
    pool = _bare(cached.pool)
    group = context.group.name
    kind = "--cachevol" if cached.pool.endswith("_cvol") else "--cachepool"
    mode = next(
        (d.facts["mode"] for d in context.topology.devices.values()
         if d.label == f"{group}/{name}" and "mode" in d.facts), None,
    )  # fmt: skip
    if mode is None:
        raise PlanRefused(f"{group}/{name}: the mode of its cache is not known")
    again = (
        "lvconvert", "--yes", "--type", "cache", kind, pool, "--cachemode", mode, f"{group}/{name}"
    )  # fmt: skip
    volatile = (WRITEBACK,) if mode == "writeback" else ()
    return replace(_around_cache(group, name, again, pool), unchecked=volatile)


def _writecached(context: PlanContext, name: str) -> DetachedLayers:
    cached = _visible(context, name, "writecache")
    group = context.group.name
    pool = _bare(cached.pool)
    again = ("lvconvert", "--yes", "--type", "writecache", "--cachevol", pool, f"{group}/{name}")
    return replace(_around_cache(group, name, again, pool), unchecked=(WRITEBACK,))


def _around_cache(group: str, name: str, again: tuple[str, ...], pool: str) -> DetachedLayers:
    off = ("lvconvert", "--yes", "--splitcache", f"{group}/{name}")
    # LVM attaches no volume that is active; a pool never is.
    quiet = ("lvchange", "--activate", "n", f"{group}/{pool}")
    on = (quiet, again) if "--cachevol" in again else (again,)
    split = Step(
        off,
        "writes back what is only in the cache, and takes the cache off",
        SLOWER,
        " && ".join(map(shlex.join, on)),
    )
    attach = Step(
        again,
        "puts the cache back, empty",
        "what was in it must be read again; policy and chunk are LVM's usual ones",
        shlex.join(off),
    )
    first = [Step(quiet, "so that it can be attached")] if quiet in on else []
    return DetachedLayers(name, (split,), (*first, attach))


def _visible(context: PlanContext, name: str, segtype: str) -> LogicalVolume:
    found = context.group.volumes.get(name)
    if found is None or found.segtype != segtype or not found.pool:
        raise PlanRefused(f"{context.group.name}/{name} is not a plain {segtype} LV")
    return found


def _bare(pool: str) -> str:
    """
    Return the name that a cache bears when it is split off.

    >>> _bare("fast_cpool"), _bare("fast_cvol"), _bare("fast")
    ('fast', 'fast', 'fast')
    """
    match = _POOL.fullmatch(pool)
    return match[1] if match else pool


def _checksummed(context: PlanContext, name: str) -> DetachedLayers:
    """Take integrity off a RAID LV: LVM converts none that has it."""
    below = context.topology.with_all_below(context.target.name)
    if not any(context.topology[other].target == "integrity" for other in below):
        return DetachedLayers(name)
    full = f"{context.group.name}/{name}"
    off, on = (("lvconvert", "--yes", "--raidintegrity", to, full) for to in "ny")
    bared = Step(
        off,
        "takes the members' checksums off",
        "a disk that returns wrong data is not caught until they are back",
        shlex.join(on),
    )
    if context.request.level in BARE:
        raise PlanRefused(
            f"{full} has checksums of its members, and {context.request.level} has none"
        )
    covered = Step(
        on,
        "computes checksums of all members again, in the background",
        "reads every member once",
        shlex.join(off),
    )
    return DetachedLayers(name, (bared,), (covered,))


ENDINGS: dict[str, Callable[[PlanContext, str], DetachedLayers]] = {
    "_tdata": _pool,
    "_corig": _cached,
    "_wcorig": _writecached,
}
