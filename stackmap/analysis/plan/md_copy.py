"""A new array and a copy of what is on the old one: offline; for an array that is no PV."""

from __future__ import annotations

import shlex

from stackmap.analysis.plan.md_new import (
    capacity,
    carriers,
    dropped,
    made,
    members,
    new_name,
    noted,
    unread,
)
from stackmap.analysis.plan.plan_context import Ground, path_of
from stackmap.analysis.plan.step import GEOMETRY, Plan, Step, printable
from stackmap.analysis.plan.users import stopped, unfollowed
from stackmap.errors import PlanRefused
from stackmap.model.device import Kind


def copy(ground: Ground) -> Plan:
    """Return the plan; refused where the copy has not the room, or a user cannot be stopped."""
    if ground.target.kind is not Kind.ARRAY:
        raise PlanRefused("it is no md array")
    layout = ground.wanted.on(ground.target.layout, lvm=False)
    chosen = members(ground, layout)
    size, room = ground.target.size or 0, capacity(chosen, layout)
    if room < size:
        raise PlanRefused(
            f"{ground.target.title} has {size} bytes, and {layout} of these disks {room}"
        )
    old, new = path_of(ground.target), f"/dev/md/{new_name(ground)}"
    again = shlex.join(["mdadm", "--assemble", old, *carriers(ground)])
    off, on = stopped(ground, new)
    back = f"mdadm --stop {new}; mdadm --readwrite {old}; start its users"
    steps = (
        *made(new, layout, chosen),
        noted(new),
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
        *ground.onward((*on, *dropped(ground)[1:]), layout),
    )  # fmt: skip
    checked = (f"{room} bytes at least on the new array for {size}",)
    by_path = f"who names {old} by path (fstab, crypttab, a VM) must name {new} from then on"
    return Plan(
        printable(steps), layout, checked, (*unread(ground), *unfollowed(ground), by_path, GEOMETRY)
    )
