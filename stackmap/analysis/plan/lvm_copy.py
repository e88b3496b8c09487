"""
An LV of the wanted layout beside the old one, and a copy: offline, but the old one stays whole.

Nothing rests on what lvconvert can do, so it is the way between any two
layouts. The old LV is made read-only before a byte is copied, and kept.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from stackmap.analysis.plan.detach_layers import detach_layers
from stackmap.analysis.plan.lvm_steps import removal, shape, waiting
from stackmap.analysis.plan.placement import extent_words, metadata_extents, place
from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import GEOMETRY, NOTHING, REQUESTED, Plan, Step, printable
from stackmap.analysis.plan.users import stop_users, untested_users
from stackmap.errors import PlanRefused
from stackmap.model.raid import RAID_LEVELS, Layout
from stackmap.model.volume_group import PhysicalVolume

NEW_SUFFIX, OLD_SUFFIX = "_new", "_old"
SYNC = "its first sync takes I/O from all who use these disks; lvchange --maxrecoveryrate curbs it"
MAX_NAME = 127  # characters of an LV's name (lvm(8)), the VG's and a hyphen not counted


def copy(context: PlanContext) -> Plan:
    """Return the plan; refused where the LV cannot be exchanged for another."""
    if not context.is_lvm:
        raise PlanRefused("it is no LV")
    group = context.group
    detached = detach_layers(context)
    if detached.hidden:
        raise PlanRefused(f"{context.target.label} is a part of another LV, which goes on using it")
    name = detached.name
    for other in (name + NEW_SUFFIX, name + OLD_SUFFIX):
        if other in group.volumes or len(other) > MAX_NAME:
            raise PlanRefused(f"the name {group.name}/{other} is needed, and taken or too long")
    result = context.request.resolve(context.target.layout, lvm=True)
    extents = _rounded(context.volume.extents, result)
    image = extents // (result.data if RAID_LEVELS[result.level].stripes else 1)
    each = image + (metadata_extents(group, image, None) if result.survivable_failures else 0)
    pvs = place(context, result.members, each)
    off, on = stop_users(context, f"/dev/{group.name}/{name}")
    *exchanged, renamed = _exchanged(group.name, name, context.volume.extents * group.extent)
    if context.loses_redundancy(result):
        renamed = replace(renamed, risks=f"{renamed.risks}; {REQUESTED}")
    gone = removal(f"{group.name}/{name}{OLD_SUFFIX}", "the old LV's space")
    steps = (
        *_made(group.name, name, extents, result, pvs),
        *detached.before,
        *off,
        *exchanged,
        *context.mark_unprotected((renamed, *on, *detached.after, gone), result),
    )
    unchecked = (*detached.unchecked, *untested_users(context), GEOMETRY)
    return Plan(printable(steps), result, _checked(context, each, pvs), unchecked)


def _checked(context: PlanContext, each: int, pvs: tuple[PhysicalVolume, ...]) -> tuple[str, ...]:
    room = f"{each} free extents of {extent_words(context.group)} on "
    if len(pvs) == 1:
        return (room + pvs[0].path,)
    paths = ", ".join(pv.path for pv in pvs)
    return f"{room}each of {paths}", f"these {len(pvs)} PVs share no disk"


def _rounded(extents: int, result: Layout) -> int:
    """Return the extents of a new LV that holds *extents*: LVM makes whole stripes of them."""
    data = result.data if RAID_LEVELS[result.level].stripes else 1
    return -(-extents // data) * data


def _made(
    group: str, name: str, extents: int, result: Layout, pvs: tuple[PhysicalVolume, ...]
) -> list[Step]:
    new = f"{group}/{name}{NEW_SUFFIX}"
    words = (
        "lvcreate", "--yes", *shape(result), "--extents", str(extents), "--name", name + NEW_SUFFIX,
        group, *(pv.path for pv in pvs),
    )  # fmt: skip
    making = Step(
        words,
        f"makes {new}: {result}, {'one member on each of these PVs' if len(pvs) > 1 else 'on this PV'}",
        SYNC if result.survivable_failures else NOTHING,
        f"lvremove {shlex.quote(new)}",
    )
    return [making, *([waiting(new)] if result.survivable_failures else [])]


def _exchanged(group: str, name: str, size: int) -> list[Step]:
    """Return the steps that copy the LV and give the copy its name; nobody uses it meanwhile."""
    old, new = f"{group}/{name}", f"{group}/{name}{NEW_SUFFIX}"
    from_, to = f"/dev/{old}", f"/dev/{new}"
    quoted = shlex.quote(old)
    awake = f"lvchange --activate y {quoted}"
    contents = f"lvchange --activate n {quoted} && lvchange --permission rw {quoted} && {awake}"
    undo = f"{contents}; start its users"
    new_name, old_name = shlex.quote(name + NEW_SUFFIX), shlex.quote(name + OLD_SUFFIX)
    named = f"lvrename {shlex.quote(group)} {old_name} {shlex.quote(name)}"
    aside = f"lvrename {shlex.quote(group)} {shlex.quote(name)} {new_name}"
    return [
        Step(("lvchange", "--activate", "n", old), "proves that nobody uses it, and fails else: stop its users first",
             undo=awake, online=False),
        Step(("lvchange", "--permission", "r", old), "protects the old LV from being written to",
             undo=f"lvchange --permission rw {quoted} && {awake}", online=False),
        Step(("lvchange", "--activate", "y", old), "activates it, read-only",
             undo=undo, online=False),
        Step(("dd", f"if={from_}", f"of={to}", "bs=4M", "iflag=direct", "oflag=direct",
              "conv=fsync", "status=progress"),
             "copies it", f"overwrites {new}, which is to be new and empty", undo, online=False),
        Step(("cmp", f"--bytes={size}", from_, to),
             "compares every byte: go on only if this says nothing", undo=undo, online=False),
        Step(("lvchange", "--activate", "n", old),
             "takes the old LV away, so that no UUID is there twice", undo=undo, online=False),
        Step(("lvrename", group, name, name + OLD_SUFFIX), "the old LV steps aside",
             undo=f"{named} && {undo}", online=False),
        Step(("lvrename", group, name + NEW_SUFFIX, name), "the new one takes its name: start its users",
             "what is written from here on is on the new LV alone",
             f"stop its users; lvchange --activate n {quoted} && {aside} && {named} && {undo}; "
             "what was written since stays on the new one", online=False),
    ]  # fmt: skip
