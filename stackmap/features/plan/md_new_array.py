"""
A new array, and two ways to fill it.

``copy`` copies the old array's data offline. ``move`` is for an array that is a PV: vgextend, pvmove
and vgreduce move the extents online.
"""

from __future__ import annotations

from dataclasses import replace

from stackmap.errors import PlanRefused
from stackmap.features.plan import md_array
from stackmap.features.plan.guard import new_array_uuid
from stackmap.features.plan.plan_context import PlanContext, path_of
from stackmap.features.plan.step import GEOMETRY, Plan, Step, copy_and_compare
from stackmap.features.plan.users import enlarged, moving_btrfs, stop_users, untested_users
from stackmap.model.command_line import words
from stackmap.model.device import Kind
from stackmap.model.operand import BlockDevicePath, LvmName, PvPath
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup

HEADER = 1024**2  # bytes before LVM's first extent at most, without special alignment


def copy(context: PlanContext) -> Plan:
    """Return the plan; refused if the new array is too small, or a user cannot be stopped."""
    if context.target.kind is not Kind.ARRAY:
        raise PlanRefused("the target is not an md array")
    layout = context.request.resolve(context.target.layout, lvm=False)
    chosen = md_array.chosen_members(context, layout)
    size, room = context.target.size or 0, md_array.capacity(chosen, layout)
    if room < size:
        raise PlanRefused(
            f"{context.target.title} has {size} bytes; {layout} on these disks holds {room}"
        )
    old, new = path_of(context.target), md_array.new_name(context).path
    assemble = words("mdadm --assemble --readonly", old, *md_array.member_paths(context))
    begin = (
        *md_array.create(new, new_array_uuid(context), layout, chosen),
        md_array.show_config(new),
    )
    if moving := moving_btrfs(context, old, new):
        steps = (
            *begin,
            *context.mark_unprotected(
                (replace(moving, fills=(new, room)), *md_array.remove(context)), layout
            ),
        )
    else:
        stop, start = stop_users(context, new)
        steps = (
            *begin,
            *stop,
            Step(words("mdadm --readonly", old), "protects the old array; fails if it is being written to",
                 undo=(words("mdadm --readwrite", old),), online=False),
            *copy_and_compare(old, new, size, room),
            Step(words("mdadm --stop", old), "stops the old array to avoid duplicate file-system UUIDs",
                 "a reboot may assemble it again; until its superblocks are erased, mount by path, not by UUID",
                 undo=(assemble,), online=False),
            *context.mark_unprotected((*start, *md_array.remove(context)[1:]), layout),
        )  # fmt: skip
    checked = (f"the new array holds at least {room} bytes, of {size} needed",)
    by_path = (
        f"configuration that names {old} by path (fstab, crypttab, a VM) must name {new} instead"
    )
    untested = () if moving else untested_users(context)
    unchecked = (
        *md_array.unknown_contents(context), *untested, by_path, *enlarged(context), GEOMETRY,
    )  # fmt: skip
    return Plan(steps, layout, checked, unchecked)


def move(context: PlanContext) -> Plan:
    """Return the plan; refused if the array is not a PV, or the new one is too small."""
    if context.target.kind is not Kind.ARRAY:
        raise PlanRefused("the target is not an md array with a PV")
    group, old = _pv(context)
    layout = context.request.resolve(context.target.layout, lvm=False)
    chosen = md_array.chosen_members(context, layout)
    used = old.extents - old.free
    # LVM aligns its data to the array's stripe.
    head = max(HEADER, layout.stripe or 0) + group.extent
    room = (md_array.capacity(chosen, layout) - head) // group.extent
    if room < used:
        raise PlanRefused(
            f"{old.path} has {used} extents in use; {layout} on these disks has at least {room}"
        )
    path = md_array.new_name(context).path
    begin, *moves = _move(LvmName(group.name), PvPath(old.path), path)
    steps = (
        *md_array.create(path, new_array_uuid(context), layout, chosen),
        md_array.show_config(path),
        begin,
        *context.mark_unprotected((*moves, *md_array.remove(context)), layout),
    )
    checked = (
        f"{used} extents in use on {old.path}, room for at least {room} on the new array",
        f"nothing uses {', '.join(path_of(device) for device in chosen)}; they share no disk",
    )
    return Plan(steps, layout, checked, (*md_array.unknown_contents(context), GEOMETRY))


def _pv(context: PlanContext) -> tuple[VolumeGroup, PhysicalVolume]:
    """Return the VG and the PV of the target."""
    if context.groups is None:
        raise PlanRefused(f"whether it is a PV is not known: {context.reason}")
    for group in context.groups.values():
        if pv := group.pv_of(context.target.name):
            if group.shared:
                raise PlanRefused(
                    f"{group.name} is shared by several hosts; pvmove there was not tested"
                )
            if not pv.usable or any(not other.usable for other in group.pvs):
                raise PlanRefused(f"{group.name} has a PV that is missing or not allocatable")
            return group, pv
    raise PlanRefused(f"{context.target.title} is not a PV")


def _move(group: LvmName, old: PvPath, path: BlockDevicePath) -> list[Step]:
    new = PvPath(path)
    return [
        Step(words("pvcreate --yes --", new), "makes the new array a PV",
             undo=(words("pvremove --", new),), fills=(path, 0)),
        Step(words("vgextend --", group, new), f"adds it to {group}",
             undo=(words("vgreduce --", group, new),)),
        Step(words("pvmove --interval 10 --", old, new),
             "moves all LVs online; each is mirrored until its copy is complete",
             "competes for I/O; after a crash, pvmove without arguments continues",
             (words("pvmove --", new, old),), "while it runs, stop it with pvmove --abort instead"),
        Step(words("vgreduce --", group, old), "removes the old array from the VG",
             undo=(words("vgextend --", group, old),)),
        Step(words("pvremove --", old), "removes the PV label from the old array",
             undo=(words("pvcreate --", old),),
             later=True),
    ]  # fmt: skip
