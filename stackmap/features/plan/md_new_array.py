"""
A new md array on named disks, and two ways to fill it.

``copy`` copies the old array's data offline. ``move`` is for an array that is a PV: vgextend, pvmove and vgreduce move
the extents online. What the disks must be, and the steps that create arrays, wait for them and remove them, serve
``mdadm --grow`` too.
"""

from dataclasses import replace

from stackmap.errors import PlanRefused
from stackmap.features.plan import plan
from stackmap.features.plan.guard import new_array_uuid
from stackmap.features.plan.users import enlarged, moving_btrfs, stop_users, untested_users
from stackmap.model.command_line import Command, script, words
from stackmap.model.device import UNUSED, Device, Kind
from stackmap.model.operand import (
    BlockDevicePath,
    Fixed,
    LvmName,
    MdName,
    Number,
    Pattern,
    PvPath,
    Script,
    assigned,
)
from stackmap.model.raid import RAID_LEVELS, Layout
from stackmap.model.volume_group import PhysicalVolume, VolumeGroup

HEADER = 1024**2  # bytes before LVM's first extent at most, without special alignment
# The rotation of parity that leaves a raid0 when the last member goes. --level=0 alone reshapes to
# it and then drops the member, but mdadm 4.2 may miss the end of the reshape and wait forever
# (Grow.c, progress_reshape; fixed in 2024; every second run in the lab). So it is a change of its own.
PARITY_LAST = "n"
# mdadm's names for the rotations of parity.
ROTATIONS = {
    "ls": "left-symmetric", "la": "left-asymmetric", "rs": "right-symmetric",
    "ra": "right-asymmetric", PARITY_LAST: "parity-last",
}  # fmt: skip
SUITABLE = frozenset({Kind.DISK, Kind.PARTITION, Kind.MULTIPATH, Kind.CRYPT})
# The most that mdadm reserves of a member: data offset, bitmap and reshape room
# (super1.c: 128 MiB, or a tenth of a small device).
RESERVED, RESERVED_SHARE = 128 * 1024**2, 10
MIB = 1024**2
BUSY = "(Resync|Recovery|Rebuild|Reshape|Check) Status|DELAYED|PENDING"
POLL_SECONDS = 5
# Lets a sync run to its end. During a reshape mdadm raises sync_max step by step (Grow.c,
# progress_reshape). In the lab it set it once more after the end, and the next sync stopped there
# without a message.
_REMOVE_LIMIT = (
    'md="/sys/class/block/$(basename "$(readlink -f "$1")")/md"; '
    'free() { [ ! -e "$md/sync_max" ] || grep -qE "reshape|frozen" "$md/sync_action" || '
    'echo max > "$md/sync_max"; }; '
)
_BUSY = f'array=$1; busy() {{ mdadm --detail "$array" | grep -qE "{BUSY}"; }}; '
_LOOP = f"while sleep {POLL_SECONDS}; busy || {{ sleep {POLL_SECONDS}; busy; }}; do :; done; "
_FREE_LOOP = _LOOP.replace("; busy", "; free; busy")
_PROOF = '[ "$(mdadm --detail "$array" | grep -cE "($2)$")" = "$3" ]'
WAIT = Script(_BUSY + _LOOP + _PROOF)
WAIT_FREE = Script(_REMOVE_LIMIT + _BUSY + _FREE_LOOP + _PROOF)
_RAID10_LAYOUTS = {"near": "n", "far": "f", "offset": "o"}


def copy(context: plan.PlanContext) -> plan.Plan:
    """Return the plan; refused if the new array is too small, or a user cannot be stopped."""
    if context.target.kind is not Kind.ARRAY:
        raise PlanRefused("the target is not an md array")
    layout = _requested(context)
    chosen = chosen_members(context, layout)
    size, room = context.target.size or 0, capacity(chosen, layout)
    if room < size:
        raise PlanRefused(
            f"{context.target.title} has {size} bytes; {layout} on these disks holds {room}"
        )
    old, new = plan.path_of(context.target), new_name(context).path
    begin = create(context, new, layout, chosen)
    if moving := moving_btrfs(context, old, new):
        offline = []
        switched = [replace(moving, fills=(new, room)), *remove(context)]
    else:
        stop, start = stop_users(context, new)
        offline = [
            *stop,
            plan.Step(words("mdadm --readonly", old), "protects the old array; fails if it is being written to",
                 undo=(words("mdadm --readwrite", old),), online=False),
            *plan.copy_and_compare(old, new, size, room),
            plan.Step(words("mdadm --stop", old), "stops the old array to avoid duplicate file-system UUIDs",
                 "a reboot may assemble it again; until its superblocks are erased, mount by path, not by UUID",
                 undo=(words("mdadm --assemble --readonly", old, *member_paths(context)),), online=False),
        ]  # fmt: skip
        switched = [*start, *remove(context)[1:]]
    steps = (*begin, *offline, *context.mark_unprotected(switched, layout))
    checked = (f"the new array holds at least {room} bytes, of {size} needed",)
    by_path = (
        f"configuration that names {old} by path (fstab, crypttab, a VM) must name {new} instead"
    )
    untested = () if moving else untested_users(context)
    other = (*untested, by_path, *enlarged(context), plan.GEOMETRY)
    return plan.Plan(steps, layout, checked, (*unknown_contents(context), *other))


def move(context: plan.PlanContext) -> plan.Plan:
    """Return the plan; refused if the array is not a PV, or the new one is too small."""
    if context.target.kind is not Kind.ARRAY:
        raise PlanRefused("the target is not an md array with a PV")
    group, old = _pv(context)
    layout = _requested(context)
    chosen = chosen_members(context, layout)
    used = old.extents - old.free
    # LVM aligns its data to the array's stripe.
    head = max(HEADER, layout.stripe or 0) + group.extent
    room = (capacity(chosen, layout) - head) // group.extent
    if room < used:
        raise PlanRefused(
            f"{old.path} has {used} extents in use; {layout} on these disks has at least {room}"
        )
    path = new_name(context).path
    begin, *moves = _move(LvmName(group.name), PvPath(old.path), path)
    steps = (
        *create(context, path, layout, chosen),
        begin,
        *context.mark_unprotected((*moves, *remove(context)), layout),
    )
    checked = (
        f"{used} extents in use on {old.path}, room for at least {room} on the new array",
        f"nothing uses {', '.join(plan.path_of(device) for device in chosen)}; they share no disk",
    )
    return plan.Plan(steps, layout, checked, (*unknown_contents(context), plan.GEOMETRY))


def _requested(context: plan.PlanContext) -> Layout:
    """Return the layout of the new array; refused unless it is a RAID level."""
    layout = context.request.resolve(context.target.layout, lvm=False)
    if not layout.level.startswith("raid"):
        raise PlanRefused(f"{layout.level} is no RAID level, and no other new array was tested")
    return layout


def _pv(context: plan.PlanContext) -> tuple[VolumeGroup, PhysicalVolume]:
    """Return the VG and the PV of the target."""
    if context.groups is None:
        raise PlanRefused(f"whether it is a PV is not known: {context.reason}")
    for group in context.groups.values():
        if pv := next((pv for pv in group.pvs if pv.device == context.target.name), None):
            if group.shared:
                raise PlanRefused(
                    f"{group.name} is shared by several hosts; pvmove there was not tested"
                )
            if not pv.usable or any(not other.usable for other in group.pvs):
                raise PlanRefused(f"{group.name} has a PV that is missing or not allocatable")
            return group, pv
    raise PlanRefused(f"{context.target.title} is not a PV")


def _move(group: LvmName, old: PvPath, path: BlockDevicePath) -> list[plan.Step]:
    new = PvPath(path)
    return [
        plan.Step(words("pvcreate --yes --", new), "makes the new array a PV",
             undo=(words("pvremove --", new),), fills=(path, 0)),
        plan.Step(words("vgextend --", group, new), f"adds it to {group}",
             undo=(words("vgreduce --", group, new),)),
        plan.Step(words("pvmove --interval 10 --", old, new),
             "moves all LVs online; each is mirrored until its copy is complete",
             "competes for I/O; after a crash, pvmove without arguments continues",
             (words("pvmove --", new, old),), "while it runs, stop it with pvmove --abort instead"),
        plan.Step(words("vgreduce --", group, old), "removes the old array from the VG",
             undo=(words("vgextend --", group, old),)),
        plan.Step(words("pvremove --", old), "removes the PV label from the old array",
             undo=(words("pvcreate --", old),),
             later=True),
    ]  # fmt: skip


def chosen_members(context: plan.PlanContext, layout: Layout) -> tuple[Device, ...]:
    """Return the disks of ``onto``; refused unless a new array of *layout* can use them."""
    if not context.onto:
        raise PlanRefused(f"a new array needs {layout.members} unused disks: name them with --onto")
    chosen = tuple(context.topology[name] for name in context.onto)
    if len(chosen) != layout.members:
        raise PlanRefused(f"{layout} needs {layout.members} disks; --onto names {len(chosen)}")
    taken: set[str] = set()
    for device in chosen:
        require_unused(context, device)
        below = plan.disks(context.topology, device.name)
        if below & taken:
            raise PlanRefused(f"{device.title} shares a disk with another device of --onto")
        taken |= below
    return chosen


def require_unused(context: plan.PlanContext, device: Device) -> None:
    """Refuse a device that is in use, unhealthy, or not empty."""
    if device.kind not in SUITABLE:
        raise PlanRefused(f"{device.title} is a {device.kind}, which cannot be a member")
    above = context.topology.above(device.name)
    if above:
        user = context.topology[above[0].above].title
        raise PlanRefused(f"{device.title} is in use by {user}")
    if device.uses:
        raise PlanRefused(f"{device.title} is in use: {device.uses[0].name}")
    if device.state not in (None, "active") or device.read_only or device.size is None:
        raise PlanRefused(f"{device.title} is not active, read-only, or of unknown size")
    if content := context.contents.get(device.name):
        raise PlanRefused(
            f"{device.title} contains {content}: run wipefs --all if it is not needed"
        )


def unknown_contents(context: plan.PlanContext) -> tuple[str, ...]:
    """Return a sentence on the disks whose contents udev does not report; () if none."""
    topology = context.topology
    names = [plan.path_of(topology[n]) for n in context.onto if context.contents.get(n) is None]
    return (f"contents of {', '.join(names)}: udev does not report them",) if names else ()


def capacity(chosen: tuple[Device, ...], layout: Layout) -> int:
    """Return the minimum bytes of a new array on *chosen*, with the most that mdadm reserves."""
    smallest = min(device.size or 0 for device in chosen)
    per_member = smallest - min(RESERVED, smallest // RESERVED_SHARE) - MIB
    striped = RAID_LEVELS[layout.level].stripes
    return int(per_member * ((layout.members - layout.parity) / layout.copies if striped else 1))


def _layout_option(layout: Layout) -> Command:
    """Return mdadm's --layout; () for the level's default."""
    if layout.level == "raid10":
        copies = Number(layout.copies)
        return (assigned(f"--layout={_RAID10_LAYOUTS[layout.variant or 'near']}", copies),)
    if layout.level not in ("raid5", "raid6") or layout.variant in ("", "ls"):
        return ()
    if layout.level == "raid6":
        raise PlanRefused(f"mdadm's name for raid6 with the layout {layout.variant} is not known")
    return (assigned("--layout=", Fixed(ROTATIONS[layout.variant])),)


def create(
    context: plan.PlanContext, path: BlockDevicePath, layout: Layout, chosen: tuple[Device, ...]
) -> list[plan.Step]:
    """Return the steps that create an array at *path*, wait for its first sync, empty it, and print its configuration."""
    shape = words(
        "--run",
        assigned("--uuid=", new_array_uuid(context)),
        assigned("--level=", Number(layout.level.removeprefix("raid"))),
        assigned("--raid-devices=", Number(layout.members)),
    )
    if RAID_LEVELS[layout.level].stripes:
        shape = (*shape, assigned("--chunk=", Number((layout.chunk or 0) // 1024)))
    bitmap = words("--bitmap=internal") if layout.survivable_failures else ()
    names = tuple(plan.path_of(device) for device in chosen)
    create = plan.Step(
        (*words("mdadm --create", path), *shape, *_layout_option(layout), *bitmap, *names),
        f"creates {path}: {layout}",
        f"erases {', '.join(names)}; the first sync competes for I/O on these disks",
        (words("mdadm --stop", path), words("mdadm --zero-superblock", *names)),
    )
    # Contents of an earlier array on these disks may reappear, and LVM activates what it finds.
    empty = plan.Step(
        words("wipefs --all --", path),
        "removes signatures of earlier contents; if it fails, they are in use: stop here",
        f"earlier contents of {path} can no longer be found",
        fills=(path, 0),
    )
    synced = [waiting(path, layout)] if layout.survivable_failures else []
    return [create, *synced, empty, show_config(path)]


def waiting(path: BlockDevicePath, after: Layout, *, reshaped: bool = False) -> plan.Step:
    """
    Return the step that waits for a sync; it fails unless the array is healthy and laid out as *after*.

    *reshaped*: mdadm may have left a limit on the sync.
    """
    # mdadm --wait fails if the sync has already ended. The loop wants two idle polls in a row:
    # a reshape ends before the sync after it begins, and before mdadm changes the level.
    lines = ["State : [a-z-]+ ?", f"Raid Level : {after.level}", f"Raid Devices : {after.members}"]
    if (after.level, after.variant) == ("raid5", PARITY_LAST):
        lines.append(f"Layout : {ROTATIONS[PARITY_LAST]}")
    lines += [f"Chunk Size : {after.chunk // 1024}K"] if after.chunk else []
    text = WAIT_FREE if reshaped else WAIT
    return plan.Step(
        script(text, path, Pattern("|".join(lines)), Number(len(lines))),
        f"waits for the sync, then checks that it is a healthy {after.level}; stop here if it fails",
    )


def new_name(context: plan.PlanContext) -> MdName:
    """Return an unused name for the new array."""
    name = f"{plan.path_of(context.target).rpartition('/')[2]}-new"
    if any(device.facts.get("alias") == name for device in context.topology):
        raise PlanRefused(f"the new array needs the name {name}, which is in use")
    return MdName(name)


def show_config(path: BlockDevicePath) -> plan.Step:
    """Return the step that prints the line of mdadm.conf for an array."""
    return plan.Step(
        words("mdadm --detail --brief", path),
        "prints the line for mdadm.conf; replace the old array's line with it and rebuild the "
        "initramfs (update-initramfs -u, dracut -f), or the array is missing after a reboot",
    )


def member_paths(context: plan.PlanContext) -> tuple[BlockDevicePath, ...]:
    """Return the paths of the target's members, its spares last."""
    edges = sorted(context.topology.below(context.target.name), key=lambda e: e.role in UNUSED)
    return tuple(plan.path_of(context.topology[edge.below]) for edge in edges)


def remove(context: plan.PlanContext) -> list[plan.Step]:
    """Return the last steps, days later: stop the old array and erase its superblocks."""
    path, names = plan.path_of(context.target), member_paths(context)
    return [
        plan.Step(words("mdadm --stop", path), "stops the old array, days later",
             undo=(words("mdadm --assemble", path, *names),), later=True),
        plan.Step(words("mdadm --zero-superblock", *names), "frees its disks", plan.NO_WAY_BACK, later=True, final=True),
    ]  # fmt: skip
