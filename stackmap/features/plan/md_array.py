"""A new md array on named disks: what these disks must be, and the steps that create and remove arrays."""

from __future__ import annotations

from stackmap.errors import PlanRefused
from stackmap.features.plan.md_changes import PARITY_LAST
from stackmap.features.plan.mdadm_grow import ROTATIONS
from stackmap.features.plan.placement import disks
from stackmap.features.plan.plan_context import PlanContext, path_of
from stackmap.features.plan.step import NO_WAY_BACK, Step
from stackmap.model.command_line import Command, script, words
from stackmap.model.device import UNUSED, Device, Kind
from stackmap.model.operand import (
    BlockDevicePath,
    Fixed,
    MdName,
    Number,
    Pattern,
    Script,
    Uuid,
    assigned,
)
from stackmap.model.raid import RAID_LEVELS, Layout

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


def chosen_members(context: PlanContext, layout: Layout) -> tuple[Device, ...]:
    """Return the disks of ``onto``; refused unless a new array of *layout* can use them."""
    if not context.onto:
        raise PlanRefused(f"a new array needs {layout.members} unused disks: name them with --onto")
    chosen = tuple(context.topology[name] for name in context.onto)
    if len(chosen) != layout.members:
        raise PlanRefused(f"{layout} needs {layout.members} disks; --onto names {len(chosen)}")
    taken: set[str] = set()
    for device in chosen:
        require_unused(context, device)
        below = disks(context.topology, device.name)
        if below & taken:
            raise PlanRefused(f"{device.title} shares a disk with another device of --onto")
        taken |= below
    return chosen


def require_unused(context: PlanContext, device: Device) -> None:
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
    if found := context.contents.get(device.name):
        raise PlanRefused(f"{device.title} contains {found}: run wipefs --all if it is not needed")


def unknown_contents(context: PlanContext) -> tuple[str, ...]:
    """Return a sentence on the disks whose contents udev does not report; () if none."""
    topology = context.topology
    names = [path_of(topology[n]) for n in context.onto if context.contents.get(n) is None]
    return (f"contents of {', '.join(names)}: udev does not report them",) if names else ()


def capacity(chosen: tuple[Device, ...], layout: Layout) -> int:
    """Return the minimum bytes of a new array on *chosen*, with the most that mdadm reserves."""
    smallest = min(device.size or 0 for device in chosen)
    each = smallest - min(RESERVED, smallest // RESERVED_SHARE) - MIB
    striped = RAID_LEVELS[layout.level].stripes
    return int(each * ((layout.members - layout.parity) / layout.copies if striped else 1))


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
    path: BlockDevicePath, uuid: Uuid, layout: Layout, chosen: tuple[Device, ...]
) -> list[Step]:
    """Return the steps that create an array at *path*, wait for its first sync, and empty it."""
    shape = words(
        "--run",
        assigned("--uuid=", uuid),
        assigned("--level=", Number(layout.level.removeprefix("raid"))),
        assigned("--raid-devices=", Number(layout.members)),
    )
    if RAID_LEVELS[layout.level].stripes:
        shape = (*shape, assigned("--chunk=", Number((layout.chunk or 0) // 1024)))
    bitmap = words("--bitmap=internal") if layout.survivable_failures else ()
    names = tuple(path_of(device) for device in chosen)
    create = Step(
        (*words("mdadm --create", path), *shape, *_layout_option(layout), *bitmap, *names),
        f"creates {path}: {layout}",
        f"erases {', '.join(names)}; the first sync competes for I/O on these disks",
        (words("mdadm --stop", path), words("mdadm --zero-superblock", *names)),
    )
    # Contents of an earlier array on these disks may reappear, and LVM activates what it finds.
    empty = Step(
        words("wipefs --all --", path),
        "removes signatures of earlier contents; if it fails, they are in use: stop here",
        f"earlier contents of {path} can no longer be found",
        fills=(path, 0),
    )
    return [create, *([waiting(path, layout)] if layout.survivable_failures else []), empty]


def waiting(path: BlockDevicePath, after: Layout, *, reshaped: bool = False) -> Step:
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
    return Step(
        script(text, path, Pattern("|".join(lines)), Number(len(lines))),
        f"waits for the sync, then checks that it is a healthy {after.level}; stop here if it fails",
    )


def new_name(context: PlanContext) -> MdName:
    """Return an unused name for the new array."""
    base = context.target.facts.get("alias", context.target.name)
    name = f"{base}-new"
    if any(device.facts.get("alias") == name for device in context.topology):
        raise PlanRefused(f"the new array needs the name {name}, which is in use")
    return MdName(name)


def show_config(path: BlockDevicePath) -> Step:
    """Return the step that prints the line of mdadm.conf for an array."""
    return Step(
        words("mdadm --detail --brief", path),
        "prints the line for mdadm.conf; replace the old array's line with it and rebuild the "
        "initramfs (update-initramfs -u, dracut -f), or the array is missing after a reboot",
    )


def member_paths(context: PlanContext) -> tuple[BlockDevicePath, ...]:
    """Return the paths of the target's members, its spares last."""
    edges = sorted(context.topology.below(context.target.name), key=lambda e: e.role in UNUSED)
    return tuple(path_of(context.topology[edge.below]) for edge in edges)


def remove(context: PlanContext) -> list[Step]:
    """Return the last steps, days later: stop the old array and erase its superblocks."""
    path, names = path_of(context.target), member_paths(context)
    return [
        Step(words("mdadm --stop", path), "stops the old array, days later",
             undo=(words("mdadm --assemble", path, *names),), later=True),
        Step(words("mdadm --zero-superblock", *names), "frees its disks", NO_WAY_BACK, later=True, final=True),
    ]  # fmt: skip
