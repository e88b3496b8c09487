"""``lvconvert --type raid1``: add mirrors to a linear or RAID1 LV, or remove them, online."""

from __future__ import annotations

from stackmap.errors import PlanRefused
from stackmap.features.plan.detach_layers import detach_layers
from stackmap.features.plan.lvm_convert import require_synced
from stackmap.features.plan.lvm_steps import waiting
from stackmap.features.plan.placement import metadata_extents, place, require_room
from stackmap.features.plan.plan_context import PlanContext
from stackmap.features.plan.step import FEWER_FAILURES, REQUESTED, SYNC_LOAD, Plan, Step
from stackmap.model.command_line import words
from stackmap.model.operand import LvPath, Number, PvPath
from stackmap.model.raid import layout

MIRRORED = frozenset({"linear", "raid1"})


def mirror(context: PlanContext) -> Plan:
    """Return the plan; refused unless both layouts are linear or RAID1."""
    if context.volume.segtype not in MIRRORED or context.request.level not in MIRRORED:
        raise PlanRefused("supports only the target layouts linear and raid1")
    require_synced(context)
    images = _images(context)
    now, count = len(images), _requested(context)
    result = layout("raid1", count) if count > 1 else layout("linear", 1)
    layers = detach_layers(context)
    name = LvPath(f"{context.group.name}/{layers.name}")
    steps, checked = (
        _add(context, name, images, count) if count > now else ([_remove(name, now, count)], ())
    )
    rest = context.mark_unprotected((*steps, *layers.after), result)
    return Plan((*layers.before, *rest), result, checked, layers.unchecked)


def _requested(context: PlanContext) -> int:
    """Return the requested number of copies."""
    if context.request.level == "linear":
        return 1
    present = context.target.layout
    base = present if present and present.copies > 1 else None
    return context.request.resolve(base, lvm=True).copies


def _images(context: PlanContext) -> list[frozenset[str]]:
    """Return the PVs of each copy."""
    volumes, name = context.group.volumes, context.volume.name
    found: list[frozenset[str]] = []
    while (image := volumes.get(f"{name}_rimage_{len(found)}")) is not None:
        found.append(frozenset(image.on))
    return found or [frozenset(context.volume.on)]


def _add(
    context: PlanContext, name: LvPath, images: list[frozenset[str]], count: int
) -> tuple[list[Step], tuple[str, ...]]:
    group, extents = context.group, context.volume.extents
    metadata = metadata_extents(group, extents, context.volume.region)
    devices = {pv.path: pv.device for pv in group.pvs}
    present = [devices[path] for image in images for path in image if path in devices]
    pvs = place(context, count - len(images), extents + metadata, avoiding=present)
    if len(images) == 1 and images[0]:
        # LVM puts the metadata of the present copy on one of its PVs.
        free = {pv.path: pv.free for pv in group.pvs}
        roomiest = max(images[0], key=lambda path: free.get(path, 0))
        require_room(context, {roomiest: metadata}, "the first copy's metadata")
    paths = tuple(PvPath(pv.path) for pv in pvs)
    more = count - len(images)
    convert = Step(
        words(
            "lvconvert --yes --type raid1 --mirrors", Number(count - 1), *words("--", name), *paths
        ),
        f"adds {more} mirror{'s' * (more > 1)} on {', '.join(paths)} and starts the sync",
        SYNC_LOAD,
        (words("lvconvert --yes --mirrors", Number(len(images) - 1), *words("--", name), *paths),),
    )
    each, separate = ("each of ", ", on separate disks") if len(paths) > 1 else ("", "")
    room = f"{extents + metadata} free extents on {each}{', '.join(paths)}{separate}"
    return [convert, waiting(name, "raid1")], (room,)


def _remove(name: LvPath, now: int, count: int) -> Step:
    return Step(
        words("lvconvert --yes --mirrors", Number(count - 1), *words("--", name)),
        f"removes {now - count} of {now} copies",
        REQUESTED if count == 1 else FEWER_FAILURES,
        (words("lvconvert --yes --type raid1 --mirrors", Number(now - 1), *words("--", name)),),
        "this starts a sync",
    )
