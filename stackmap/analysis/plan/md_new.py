"""A new md array on disks that are named: what must be true of them, and the steps that make and drop one."""

from __future__ import annotations

import shlex

from stackmap.analysis.plan.md_changes import PARITY_LAST
from stackmap.analysis.plan.mdadm_grow import ROTATIONS
from stackmap.analysis.plan.placement import disks
from stackmap.analysis.plan.plan_context import PlanContext, path_of
from stackmap.analysis.plan.step import NO_UNDO, Step, script
from stackmap.errors import PlanRefused
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import RAID_LEVELS, Layout

SUITABLE = frozenset({Kind.DISK, Kind.PARTITION, Kind.MULTIPATH, Kind.CRYPT})
# What mdadm keeps at most of a member for itself: data offset, bitmap, and the room to reshape in
# (super1.c: 128 MiB, or a tenth of what is small).
RESERVED, RESERVED_SHARE = 128 * 1024**2, 10
MIB = 1024**2
BUSY = "(Resync|Recovery|Rebuild|Reshape|Check) Status|DELAYED|PENDING"
POLL_SECONDS = 5  # seconds between two looks
_NEAR = {"near": "n", "far": "f", "offset": "o"}


def members(context: PlanContext, layout: Layout) -> tuple[Device, ...]:
    """Return the disks that ``onto`` names, if a new array of *layout* may be made of them."""
    if not context.onto:
        raise PlanRefused(
            f"a new array needs {layout.members} disks that nothing uses: name them with --onto"
        )
    chosen = tuple(context.topology[name] for name in context.onto)
    if len(chosen) != layout.members:
        raise PlanRefused(
            f"{layout} is made of {layout.members} disks, and --onto names {len(chosen)}"
        )
    taken: set[str] = set()
    for device in chosen:
        require_unused(context, device)
        under = disks(context.topology, device.name)
        if under & taken:
            raise PlanRefused(f"{device.title} is on a disk that --onto names twice")
        taken |= under
    return chosen


def require_unused(context: PlanContext, device: Device) -> None:
    """Refuse a device that something uses or stands on, or that is not right."""
    if device.kind not in SUITABLE:
        raise PlanRefused(f"{device.title} is a {device.kind}: no place for a member")
    above = context.topology.above(device.name)
    if above:
        raise PlanRefused(
            f"{device.title} is in use: {context.topology[above[0].above].title} is on it"
        )
    if device.uses:
        raise PlanRefused(f"{device.title} is in use: {device.uses[0].name}")
    if device.state not in (None, "active") or device.read_only or device.size is None:
        raise PlanRefused(f"{device.title} is not in order, read-only, or of unknown size")
    if kept := context.contents.get(device.name):
        raise PlanRefused(f"{device.title} has {kept} on it: wipefs --all, if nobody needs that")


def unknown_contents(context: PlanContext) -> tuple[str, ...]:
    """Return what to say of disks of which nothing told what is on them."""
    names = [path_of(context.topology[n]) for n in context.onto if context.contents.get(n) is None]
    return (f"what is written on {', '.join(names)}: udev told nothing of it",) if names else ()


def capacity(chosen: tuple[Device, ...], layout: Layout) -> int:
    """Return the bytes that a new array of *chosen* has at least, whatever mdadm keeps for itself."""
    smallest = min(device.size or 0 for device in chosen)
    each = smallest - min(RESERVED, smallest // RESERVED_SHARE) - MIB
    width = (
        (layout.members - layout.parity) / layout.copies if RAID_LEVELS[layout.level].stripes else 1
    )
    return int(each * width)


def variant_words(layout: Layout) -> tuple[str, ...]:
    """Return mdadm's option for the layout's algorithm; () for the usual one of its level."""
    if layout.level == "raid10":
        return (f"--layout={_NEAR[layout.variant or 'near']}{layout.copies}",)
    if layout.level == "raid5" and layout.variant not in ("", "ls"):
        return (f"--layout={ROTATIONS[layout.variant]}",)
    if layout.level == "raid6" and layout.variant not in ("", "ls"):
        raise PlanRefused(f"how mdadm calls raid6 with the layout {layout.variant} is not known")
    return ()


def create_array(path: str, layout: Layout, chosen: tuple[Device, ...]) -> list[Step]:
    """Return the steps that make a new array at *path*, wait for its first sync, and have it empty."""
    chunk = (f"--chunk={(layout.chunk or 0) // 1024}",) if RAID_LEVELS[layout.level].stripes else ()
    names = tuple(path_of(device) for device in chosen)
    clear = f"mdadm --stop {path}; {shlex.join(['mdadm', '--zero-superblock', *names])}"
    create = Step(
        (
            "mdadm", "--create", path, "--run", f"--level={layout.level.removeprefix('raid')}",
            f"--raid-devices={layout.members}", *chunk, *variant_words(layout),
            *(("--bitmap=internal",) if layout.survivable_failures else ()), *names,
        ),
        f"makes {path}: {layout}",
        f"whatever is on {', '.join(names)} is lost; the first sync takes I/O of these disks",
        clear,
    )  # fmt: skip
    # What an array on these disks held before may be in its place again; LVM makes that active at sight.
    empty = Step(
        ("wipefs", "--all", path),
        "takes off what is left of former content; fails if something uses that: then stop here",
        f"what was once on {path} is not found again",
        clear,
    )
    return [create, *([waiting(path, layout)] if layout.survivable_failures else []), empty]


def waiting(path: str, after: Layout, *, reshaped: bool = False) -> Step:
    """
    Return the step that waits until an array is in sync, and fails unless it is whole and laid out as *after*.

    *reshaped*: whether mdadm may have left it a limit.
    """
    # Not mdadm --wait: it fails where the sync has ended before it looks. Twice quiet, for a
    # reshape ends before the sync that follows it begins, and before mdadm changes the level.
    detail = shlex.join(["mdadm", "--detail", path])
    free = "free; " if reshaped else ""
    loop = (
        f"busy() {{ {detail} | grep -qE '{BUSY}'; }}; "
        f"while sleep {POLL_SECONDS}; {free}busy || {{ sleep {POLL_SECONDS}; {free}busy; }}; do :; done; "
    )
    lines = ["State : [a-z-]+ ?", f"Raid Level : {after.level}", f"Raid Devices : {after.members}"]
    if (after.level, after.variant) == ("raid5", PARITY_LAST):
        lines.append(f"Layout : {ROTATIONS[PARITY_LAST]}")
    lines += [f"Chunk Size : {after.chunk // 1024}K"] if after.chunk else []
    proof = f"""[ "$({detail} | grep -cE '({"|".join(lines)})$')" = {len(lines)} ]"""
    return Step(
        script((_unlimited(path) if reshaped else "") + loop + proof),
        f"waits until it is in sync, and fails unless md has made it a whole {after.level}: then stop here",
    )


def _unlimited(path: str) -> str:
    """
    Return a shell function that lets a sync of an array run to its end.

    mdadm raises sync_max stretch by stretch while it reshapes (progress_reshape in Grow.c), and has been
    seen to set it once more when all was done: a sync after that stops there for ever, without a word.
    """
    return (
        f'md="/sys/class/block/$(basename "$(readlink -f {shlex.quote(path)})")/md"; '
        'free() { [ ! -e "$md/sync_max" ] || grep -qE "reshape|frozen" "$md/sync_action" || '
        'echo max > "$md/sync_max"; }; '
    )


def new_name(context: PlanContext) -> str:
    """Return a name for the new array that none has."""
    base = context.target.facts.get("alias", context.target.name)
    name = f"{base}-new"
    if any(d.facts.get("alias") == name for d in context.topology.devices.values()):
        raise PlanRefused(f"the name {name} is needed for the new array, and taken")
    return name


def show_config(path: str) -> Step:
    """Return the step that shows what the configuration must say of a new array."""
    return Step(
        ("mdadm", "--detail", "--brief", path),
        "prints the line for mdadm.conf: put it there in place of the old array's, and renew the "
        "initramfs (update-initramfs -u, dracut -f), or the next boot lacks it",
    )


def member_paths(context: PlanContext) -> tuple[str, ...]:
    """Return the paths of the target's members, its spares last."""
    edges = sorted(context.topology.below(context.target.name), key=lambda e: e.role is Role.SPARE)
    return tuple(path_of(context.topology[edge.below]) for edge in edges)


def remove_array(context: PlanContext) -> list[Step]:
    """Return the last steps: the old array is given up, later."""
    path, names = path_of(context.target), member_paths(context)
    return [
        Step(("mdadm", "--stop", path), "takes the old array down, days later",
             undo=shlex.join(["mdadm", "--assemble", path, *names]), later=True),
        Step(("mdadm", "--zero-superblock", *names), "gives its disks free",
             "there is no way back from here but a backup", NO_UNDO, later=True),
    ]  # fmt: skip
