"""A new array and a copy of what is on the old one: offline; for an array that is no PV."""

from __future__ import annotations

import shlex

from stackmap.analysis.plan.md_new import (
    capacity,
    create_array,
    member_paths,
    members,
    new_name,
    remove_array,
    show_config,
    unknown_contents,
)
from stackmap.analysis.plan.plan_context import PlanContext, path_of
from stackmap.analysis.plan.step import GEOMETRY, Plan, Step, printable
from stackmap.analysis.plan.users import stop_users, untested_users
from stackmap.errors import PlanRefused
from stackmap.model.device import Kind


def copy(context: PlanContext) -> Plan:
    """Return the plan; refused where the copy has not the room, or a user cannot be stopped."""
    if context.target.kind is not Kind.ARRAY:
        raise PlanRefused("it is no md array")
    layout = context.request.resolve(context.target.layout, lvm=False)
    chosen = members(context, layout)
    size, room = context.target.size or 0, capacity(chosen, layout)
    if room < size:
        raise PlanRefused(
            f"{context.target.title} has {size} bytes, and {layout} of these disks {room}"
        )
    old, new = path_of(context.target), f"/dev/md/{new_name(context)}"
    again = shlex.join(["mdadm", "--assemble", old, *member_paths(context)])
    off, on = stop_users(context, new)
    back = f"mdadm --stop {new}; mdadm --readwrite {old}; start its users"
    steps = (
        *create_array(new, layout, chosen),
        show_config(new),
        *off,
        Step(("mdadm", "--readonly", old), "protects the old array; fails if anything writes to it",
             undo=f"mdadm --readwrite {old}", online=False),
        Step(("dd", f"if={old}", f"of={new}", "bs=4M", "iflag=direct", "oflag=direct", "conv=fsync",
              "status=progress"), "copies it", f"overwrites {new}, which is new and empty", back,
             online=False),
        Step(("cmp", f"--bytes={size}", old, new),
             "compares every byte: go on only if this says nothing", undo=back, online=False),
        Step(("mdadm", "--stop", old), "takes the old array away, so that no UUID is there twice",
             undo=f"{again}; start its users", online=False),
        *context.mark_unprotected((*on, *remove_array(context)[1:]), layout),
    )  # fmt: skip
    checked = (f"{room} bytes at least on the new array for {size}",)
    by_path = f"who names {old} by path (fstab, crypttab, a VM) must name {new} from then on"
    return Plan(
        printable(steps),
        layout,
        checked,
        (*unknown_contents(context), *untested_users(context), by_path, GEOMETRY),
    )
