"""A VG moves from one array to a new one, extent by extent, while it is used: vgextend, pvmove, vgreduce."""

from __future__ import annotations

import shlex

from stackmap.analysis.plan.md_new import (
    capacity,
    create_array,
    members,
    new_name,
    remove_array,
    show_config,
    unknown_contents,
)
from stackmap.analysis.plan.plan_context import PlanContext, path_of
from stackmap.analysis.plan.step import GEOMETRY, Plan, Step, printable
from stackmap.errors import PlanRefused
from stackmap.model.device import Kind
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup

HEADER = (
    1024**2
)  # bytes; where LVM begins with extents at the latest, on a device that asks for no more
PROGRESS = "10"  # seconds between two lines of pvmove


def move(context: PlanContext) -> Plan:
    """Return the plan; refused where the array is no PV, or the new one has not the room."""
    if context.target.kind is not Kind.ARRAY:
        raise PlanRefused("it is no md array with a PV on it")
    group, old = _pv(context)
    layout = context.request.resolve(context.target.layout, lvm=False)
    chosen = members(context, layout)
    used = old.extents - old.free
    # Data begins at a whole stripe of the array, which LVM is told by it.
    head = max(HEADER, layout.stripe or 0) + group.extent
    room = (capacity(chosen, layout) - head) // group.extent
    if room < used:
        raise PlanRefused(
            f"{old.path} has {used} extents in use, and {layout} of these disks has {room} at least"
        )
    path = f"/dev/md/{new_name(context)}"
    begun, *moved = _moved(group.name, old.path, path)
    steps = (
        *create_array(path, layout, chosen),
        show_config(path),
        begun,
        *context.mark_unprotected((*moved, *remove_array(context)), layout),
    )
    checked = (
        f"{used} extents in use on {old.path}, room for {room} at least on the new array",
        f"nothing uses {', '.join(path_of(device) for device in chosen)}, disks of their own",
    )
    return Plan(printable(steps), layout, checked, (*unknown_contents(context), GEOMETRY))


def _pv(context: PlanContext) -> tuple[VolumeGroup, PhysicalVolume]:
    """Return the VG and the PV that are on the target."""
    if context.groups is None:
        raise PlanRefused(f"whether it is a PV is not known: {context.reason}")
    for group in context.groups.values():
        if pv := group.pv_of(context.target.name):
            if group.shared:
                raise PlanRefused(
                    f"{group.name} is shared by hosts: pvmove needs care that is not known"
                )
            if not pv.usable or any(not other.usable for other in group.pvs):
                raise PlanRefused(f"{group.name} has a PV that is missing or not allocatable")
            return group, pv
    raise PlanRefused(f"{context.target.title} is no PV")


def _moved(group: str, old: str, new: str) -> list[Step]:
    back = f"pvmove {shlex.quote(new)} {shlex.quote(old)}"
    return [
        Step(("pvcreate", "--yes", new), "makes the new array a PV", undo=f"pvremove {new}"),
        Step(("vgextend", group, new), f"adds it to {group}",
             undo=f"vgreduce {shlex.quote(group)} {new}"),
        Step(("pvmove", "--interval", PROGRESS, old, new),
             "moves all LVs over while they are used; each is mirrored until its copy is whole",
             "takes I/O from all; after a crash it goes on where it was (pvmove without arguments)",
             f"{back}; while it runs still, pvmove --abort"),
        Step(("vgreduce", group, old), "takes the old array out of the VG",
             undo=f"vgextend {shlex.quote(group)} {old}; {back}"),
        Step(("pvremove", old), "so that the old array is no PV any more", undo=f"pvcreate {old}",
             later=True),
    ]  # fmt: skip
