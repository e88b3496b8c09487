"""
An LV of the wanted layout beside the old one, and a copy: offline, but the old one stays whole.

Nothing rests on what lvconvert can do, so it is the way between any two
layouts. The old LV is made read-only before a byte is copied, and kept.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from stackmap.analysis.plan.detach_layers import wrapped
from stackmap.analysis.plan.lvm_steps import removal, shape, waiting
from stackmap.analysis.plan.placement import extent_words, metadata_extents, place
from stackmap.analysis.plan.plan_context import Ground
from stackmap.analysis.plan.step import ASKED, GEOMETRY, NOTHING, Plan, Step, printable
from stackmap.analysis.plan.users import stopped, unfollowed
from stackmap.errors import PlanRefused
from stackmap.model.raid import RAID_LEVELS, Layout
from stackmap.model.volume_group import PhysicalVolume

NEW, OLD = "_new", "_old"
SYNC = "its first sync takes I/O from all who use these disks; lvchange --maxrecoveryrate curbs it"
LONGEST = 127  # characters of an LV's name (lvm(8)), the VG's and a hyphen not counted


def copy(ground: Ground) -> Plan:
    """Return the plan; refused where the LV cannot be exchanged for another."""
    if not ground.is_lvm:
        raise PlanRefused("it is no LV")
    group = ground.group
    wrap = wrapped(ground)
    if wrap.hidden:
        raise PlanRefused(f"{ground.target.label} is a part of another LV, which goes on using it")
    name = wrap.name
    for other in (name + NEW, name + OLD):
        if other in group.volumes or len(other) > LONGEST:
            raise PlanRefused(f"the name {group.name}/{other} is needed, and taken or too long")
    result = ground.wanted.on(ground.target.layout, lvm=True)
    extents = _rounded(ground.volume.extents, result)
    image = extents // (result.data if RAID_LEVELS[result.level].stripes else 1)
    each = image + (metadata_extents(group, image, None) if result.outlives else 0)
    pvs = place(ground, result.members, each)
    off, on = stopped(ground, f"/dev/{group.name}/{name}")
    *exchanged, renamed = _exchanged(group.name, name, ground.volume.extents * group.extent)
    if ground.loses_all(result):
        renamed = replace(renamed, risks=f"{renamed.risks}; {ASKED}")
    gone = removal(f"{group.name}/{name}{OLD}", "the old LV's space")
    steps = (
        *_made(group.name, name, extents, result, pvs),
        *wrap.before,
        *off,
        *exchanged,
        *ground.onward((renamed, *on, *wrap.after, gone), result),
    )
    unchecked = (*wrap.unchecked, *unfollowed(ground), GEOMETRY)
    return Plan(printable(steps), result, _checked(ground, each, pvs), unchecked)


def _checked(ground: Ground, each: int, pvs: tuple[PhysicalVolume, ...]) -> tuple[str, ...]:
    room = f"{each} free extents of {extent_words(ground.group)} on "
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
    new = f"{group}/{name}{NEW}"
    words = (
        "lvcreate", "--yes", *shape(result), "--extents", str(extents), "--name", name + NEW,
        group, *(pv.path for pv in pvs),
    )  # fmt: skip
    making = Step(
        words,
        f"makes {new}: {result}, {'one member on each of these PVs' if len(pvs) > 1 else 'on this PV'}",
        SYNC if result.outlives else NOTHING,
        f"lvremove {shlex.quote(new)}",
    )
    return [making, *([waiting(new)] if result.outlives else [])]


def _exchanged(group: str, name: str, size: int) -> list[Step]:
    """Return the steps that copy the LV and give the copy its name; nobody uses it meanwhile."""
    old, new = f"{group}/{name}", f"{group}/{name}{NEW}"
    from_, to = f"/dev/{old}", f"/dev/{new}"
    quoted = shlex.quote(old)
    awake = f"lvchange --activate y {quoted}"
    written = f"lvchange --activate n {quoted} && lvchange --permission rw {quoted} && {awake}"
    undo = f"{written}; start its users"
    new_name, old_name = shlex.quote(name + NEW), shlex.quote(name + OLD)
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
        Step(("lvrename", group, name, name + OLD), "the old LV steps aside",
             undo=f"{named} && {undo}", online=False),
        Step(("lvrename", group, name + NEW, name), "the new one takes its name: start its users",
             "what is written from here on is on the new LV alone",
             f"stop its users; lvchange --activate n {quoted} && {aside} && {named} && {undo}; "
             "what was written since stays on the new one", online=False),
    ]  # fmt: skip
