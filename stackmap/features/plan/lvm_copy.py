"""
LVs with more or fewer copies: mirrors that are added and removed online, and a new LV with an offline copy.

``mirror`` is for linear and RAID1 LVs. ``copy`` works between any two layouts: the old LV becomes read-only before the
copy, and is kept until the last step. A btrfs moves online, by ``btrfs replace``.
"""

from dataclasses import replace

from stackmap.errors import PlanRefused
from stackmap.features.plan import lvm_steps as lvm
from stackmap.features.plan import plan
from stackmap.features.plan.lvm_convert import require_synced
from stackmap.features.plan.users import enlarged, moving_btrfs, stop_users, untested_users
from stackmap.model.command_line import Command, words
from stackmap.model.operand import LvPath, Number, PvPath
from stackmap.model.raid import RAID_LEVELS, Layout, layout
from stackmap.model.volume_group import PhysicalVolume

NEW_SUFFIX, OLD_SUFFIX = "_new", "_old"
SYNC = "the first sync competes for I/O on these disks; `lvchange --maxrecoveryrate` limits it"
MAX_NAME = 127  # characters of an LV's name, without the VG's and a hyphen (lvm(8))
MIRRORED = frozenset({"linear", "raid1"})


def copy(context: plan.PlanContext) -> plan.Plan:
    """Return the plan; refused if the LV cannot be replaced by another."""
    group = context.group
    layers = lvm.detach_layers(context)
    if layers.hidden:
        raise PlanRefused(f"{context.target.label} is part of another LV, which keeps using it")
    name = layers.name
    for other in (name + NEW_SUFFIX, name + OLD_SUFFIX):
        if other in group.volumes or len(other) > MAX_NAME:
            raise PlanRefused(
                f"the new LV needs the name {group.name}/{other}, which is in use or too long"
            )
    result = context.request.resolve(context.target.layout, lvm=True)
    stripes = result.data if RAID_LEVELS[result.level].stripes else 1
    lv = LvPath(f"{group.name}/{name}")
    image = -(-context.volume.extents // stripes)  # LVM rounds up to whole stripes
    metadata = lvm.metadata_extents(group, image, None) if result.survivable_failures else 0
    pvs = lvm.place(context, result.members, image + metadata)
    before, (switch, *after) = _exchange(context, lv, image * stripes * group.extent)
    if context.loses_redundancy(result):
        switch = replace(switch, risks=f"{switch.risks}; {plan.REQUESTED}")
    remove = lvm.removal(lv.with_suffix(OLD_SUFFIX), "the old LV's space")
    steps = (
        *_create(lv, image * stripes, result, pvs),
        *layers.before,
        *before,
        *context.mark_unprotected((switch, *after, *layers.after, remove), result),
    )
    prefix, several = (
        ("each of ", (f"these {len(pvs)} PVs share no disk",)) if pvs[1:] else ("", ())
    )
    room = f"{image + metadata} free extents of {lvm.format_extent_size(group)}"
    checked = (f"{room} on {prefix}{', '.join(pv.path for pv in pvs)}", *several)
    untested = untested_users(context) if before else ()
    larger = enlarged(context) if image * stripes > context.volume.extents else ()
    unchecked = (*layers.unchecked, *untested, *larger, plan.GEOMETRY)
    return plan.Plan(steps, result, checked, unchecked)


def _create(
    lv: LvPath, extents: int, result: Layout, pvs: tuple[PhysicalVolume, ...]
) -> list[plan.Step]:
    new = lv.with_suffix(NEW_SUFFIX)
    named = (*words("--extents", Number(extents)), *words("--name", new.name))
    paths = (PvPath(pv.path) for pv in pvs)
    create = plan.Step(
        (*words("lvcreate --yes"), *lvm.shape(result), *named, *words("--", new.group), *paths),
        f"creates {new}: {result}, {'one member on each of these PVs' if len(pvs) > 1 else 'on this PV'}",
        SYNC if result.survivable_failures else plan.NOTHING,
        (words("lvremove --yes --", new),),
    )
    return [create, *([lvm.waiting(new)] if result.survivable_failures else [])]


def _exchange(
    context: plan.PlanContext, lv: LvPath, room: int
) -> tuple[list[plan.Step], list[plan.Step]]:
    """Return the steps until the new LV, of *room* bytes, takes the writes, and those from then on."""
    if moving := moving_btrfs(context, lv.path, lv.with_suffix(NEW_SUFFIX).path):
        set_aside, restore = _renames(lv, lv.with_suffix(OLD_SUFFIX))
        unname, give_name = _renames(lv, lv.with_suffix(NEW_SUFFIX))
        return [], [
            replace(moving, fills=(lv.with_suffix(NEW_SUFFIX).path, room)),
            plan.Step(set_aside, "renames the old LV", undo=(restore,)),
            plan.Step(give_name, "gives the new LV its name", undo=(unname,)),
        ]
    stop, start = stop_users(context, lv.path)
    *swap, renamed = _swap(lv, context.volume.extents * context.group.extent, room)
    return [*stop, *swap], [renamed, *start]


def _swap(old: LvPath, size: int, room: int) -> list[plan.Step]:
    """Return the offline steps that copy the LV and give the copy its name."""
    new = old.with_suffix(NEW_SUFFIX)
    activate = words("lvchange --activate y --", old)
    deactivate = words("lvchange --activate n --", old)
    protect = words("lvchange --permission r --", old)
    unprotect = words("lvchange --permission rw --", old)
    skip = words("lvchange --setactivationskip y --", old)
    activatable = words("lvchange --setactivationskip n --", old)
    set_aside, restore = _renames(old, old.with_suffix(OLD_SUFFIX))
    unname, give_name = _renames(old, new)
    return [
        plan.Step(deactivate, "deactivates the LV; fails if it is in use, so stop its users first",
             undo=(activate,), online=False),
        plan.Step(protect, "protects the old LV against writes", undo=(unprotect,), online=False),
        plan.Step(activate, "activates it read-only", undo=(deactivate,), online=False),
        *plan.copy_and_compare(old.path, new.path, size, room),
        plan.Step(deactivate, "deactivates the old LV to avoid duplicate file-system UUIDs",
             undo=(activate,), online=False),
        plan.Step(skip, "keeps it inactive after a reboot, too", undo=(activatable,), online=False),
        plan.Step(set_aside, "renames the old LV", undo=(restore,), online=False),
        plan.Step(give_name, "gives the new LV its name; then start the users",
             "writes from here on go only to the new LV", (deactivate, unname),
             "later writes stay on the new LV", online=False),
    ]  # fmt: skip


def _renames(one: LvPath, other: LvPath) -> tuple[Command, Command]:
    """Return the commands that rename an LV, and rename it back."""
    forth, back = (one.name, other.name), (other.name, one.name)
    return words("lvrename --", one.group, *forth), words("lvrename --", one.group, *back)


def mirror(context: plan.PlanContext) -> plan.Plan:
    """Return the plan; refused unless both layouts are linear or RAID1."""
    if context.volume.segtype not in MIRRORED or context.request.level not in MIRRORED:
        raise PlanRefused("supports only the target layouts linear and raid1")
    require_synced(context)
    images = _images(context)
    now, present = len(images), context.target.layout
    base = present if present and present.copies > 1 else None
    linear = context.request.level == "linear"
    count = 1 if linear else context.request.resolve(base, lvm=True).copies
    result = layout("raid1", count) if count > 1 else layout("linear", 1)
    layers = lvm.detach_layers(context)
    name = LvPath(f"{context.group.name}/{layers.name}")
    checked: tuple[str, ...] = ()
    if count > now:
        steps, checked = _add(context, name, images, count)
    else:
        undo = words("lvconvert --yes --type raid1 --mirrors", Number(now - 1), *words("--", name))
        removed = plan.Step(
            words("lvconvert --yes --mirrors", Number(count - 1), *words("--", name)),
            f"removes {now - count} of {now} copies",
            plan.REQUESTED if count == 1 else plan.FEWER_FAILURES,
            (undo,),
            "this starts a sync",
        )
        steps = [removed]
    rest = context.mark_unprotected((*steps, *layers.after), result)
    return plan.Plan((*layers.before, *rest), result, checked, layers.unchecked)


def _images(context: plan.PlanContext) -> list[frozenset[str]]:
    """Return the PVs of each copy."""
    volumes, name = context.group.volumes, context.volume.name
    images: list[frozenset[str]] = []
    while (image := volumes.get(f"{name}_rimage_{len(images)}")) is not None:
        images.append(frozenset(image.on))
    return images or [frozenset(context.volume.on)]


def _add(
    context: plan.PlanContext, name: LvPath, images: list[frozenset[str]], count: int
) -> tuple[list[plan.Step], tuple[str, ...]]:
    group, extents = context.group, context.volume.extents
    metadata = lvm.metadata_extents(group, extents, context.volume.region)
    devices = {pv.path: pv.device for pv in group.pvs}
    present = [devices[path] for image in images for path in image if path in devices]
    pvs = lvm.place(context, count - len(images), extents + metadata, avoiding=present)
    if len(images) == 1 and images[0]:
        # LVM puts the metadata of the present copy on one of its PVs.
        free = {pv.path: pv.free for pv in group.pvs}
        roomiest = max(images[0], key=lambda path: free.get(path, 0))
        lvm.require_room(context, {roomiest: metadata}, "the first copy's metadata")
    paths = tuple(PvPath(pv.path) for pv in pvs)
    more = count - len(images)
    convert = plan.Step(
        words(
            "lvconvert --yes --type raid1 --mirrors", Number(count - 1), *words("--", name), *paths
        ),
        f"adds {more} mirror{'s' * (more > 1)} on {', '.join(paths)} and starts the sync",
        plan.SYNC_LOAD,
        (words("lvconvert --yes --mirrors", Number(len(images) - 1), *words("--", name), *paths),),
    )
    prefix, separate = ("each of ", ", on separate disks") if len(paths) > 1 else ("", "")
    room = f"{extents + metadata} free extents on {prefix}{', '.join(paths)}{separate}"
    return [convert, lvm.waiting(name, "raid1")], (room,)
