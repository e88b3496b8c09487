"""A new array and an offline copy of the old one's data; for an array that is not a PV."""

from __future__ import annotations

from stackmap.analysis.plan import md_array
from stackmap.analysis.plan.plan_context import PlanContext, path_of
from stackmap.analysis.plan.step import GEOMETRY, Plan, Step, copy_and_compare, printable
from stackmap.analysis.plan.users import stop_users, untested_users
from stackmap.errors import PlanRefused
from stackmap.model.device import Kind


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
    old, new = path_of(context.target), f"/dev/md/{md_array.new_name(context)}"
    assemble = ("mdadm", "--assemble", "--readonly", old, *md_array.member_paths(context))
    stop, start = stop_users(context, new)
    steps = (
        *md_array.create(new, layout, chosen),
        md_array.show_config(new),
        *stop,
        Step(("mdadm", "--readonly", old), "protects the old array; fails if it is being written to",
             undo=(("mdadm", "--readwrite", old),), online=False),
        *copy_and_compare(old, new, size),
        Step(("mdadm", "--stop", old), "stops the old array to avoid duplicate file-system UUIDs",
             undo=(assemble,), online=False),
        *context.mark_unprotected((*start, *md_array.remove(context)[1:]), layout),
    )  # fmt: skip
    checked = (f"the new array holds at least {room} bytes, of {size} needed",)
    by_path = (
        f"configuration that names {old} by path (fstab, crypttab, a VM) must name {new} instead"
    )
    unchecked = (*md_array.unknown_contents(context), *untested_users(context), by_path, GEOMETRY)
    return Plan(printable(steps), layout, checked, unchecked)
