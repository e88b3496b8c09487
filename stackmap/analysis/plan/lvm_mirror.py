"""``lvconvert --type raid1``: copies added to a linear LV or a RAID1, or dropped from one, while it is used."""

from __future__ import annotations

import shlex

from stackmap.analysis.plan.detach_layers import detach_layers
from stackmap.analysis.plan.lvm_convert import require_synced
from stackmap.analysis.plan.lvm_steps import waiting
from stackmap.analysis.plan.placement import metadata_extents, place, require_room
from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import REQUESTED, Plan, Step, printable
from stackmap.errors import PlanRefused
from stackmap.model.raid import Layout, layout

MIRRORED = frozenset({"linear", "raid1"})


def mirror(context: PlanContext) -> Plan:
    """Return the plan; refused where it is no LV of one or more plain copies, or is not to be."""
    if not context.is_lvm:
        raise PlanRefused("it is no LV")
    if context.volume.segtype not in MIRRORED or context.request.level not in MIRRORED:
        raise PlanRefused("it is for linear and raid1 alone")
    require_synced(context)
    held = _images(context)
    now, then = len(held), _wanted(context)
    result = layout("raid1", then) if then > 1 else layout("linear", 1)
    detached = detach_layers(context)
    name = f"{context.group.name}/{detached.name}"
    steps, checked = (
        _added(context, name, held, then) if then > now else ([_dropped(name, now, then)], ())
    )
    mark_unprotected = context.mark_unprotected((*steps, *detached.after), result)
    return Plan(
        printable((*detached.before, *mark_unprotected)), result, checked, detached.unchecked
    )


def _wanted(context: PlanContext) -> int:
    if context.request.level == "linear":
        return 1
    present = context.target.layout
    meant: Layout = context.request.resolve(
        present if present and present.copies > 1 else None, lvm=True
    )
    return meant.copies


def _images(context: PlanContext) -> list[frozenset[str]]:
    """Return the PVs of each copy."""
    volumes, name = context.group.volumes, context.volume.name
    found: list[frozenset[str]] = []
    while (image := volumes.get(f"{name}_rimage_{len(found)}")) is not None:
        found.append(frozenset(image.on))
    return found or [frozenset(context.volume.on)]


def _added(
    context: PlanContext, name: str, held: list[frozenset[str]], then: int
) -> tuple[list[Step], tuple[str, ...]]:
    group, extents = context.group, context.volume.extents
    metadata = metadata_extents(group, extents, context.volume.region)
    devices = {pv.path: pv.device for pv in group.pvs}
    avoiding = [devices[path] for image in held for path in image if path in devices]
    pvs = place(context, then - len(held), extents + metadata, avoiding=avoiding)
    if len(held) == 1:
        require_room(context, _room(held[0], metadata, context), "the first copy's metadata")
    paths = tuple(pv.path for pv in pvs)
    making = Step(
        ("lvconvert", "--yes", "--type", "raid1", "--mirrors", str(then - 1), name, *paths),
        f"adds {then - len(held)} to its copies, on {', '.join(paths)}, and begins to fill them",
        "its sync takes I/O of all who use these disks",
        shlex.join(["lvconvert", "--yes", "--mirrors", str(len(held) - 1), name, *paths]),
    )
    checked = (
        f"{extents + metadata} free extents on each of {', '.join(paths)}, disks of their own",
    )
    return [making, waiting(name, "raid1")], checked


def _room(image: frozenset[str], metadata: int, context: PlanContext) -> dict[str, int]:
    """Return where the metadata of the copy that is there will be: on one of its PVs."""
    free = {pv.path: pv.free for pv in context.group.pvs}
    return {max(image, key=lambda path: free.get(path, 0)): metadata} if image else {}


def _dropped(name: str, now: int, then: int) -> Step:
    return Step(
        ("lvconvert", "--yes", "--mirrors", str(then - 1), name),
        f"drops {now - then} of its {now} copies",
        REQUESTED if then == 1 else "one disk less may die",
        f"lvconvert --yes --type raid1 --mirrors {now - 1} {shlex.quote(name)}, and a sync",
    )
