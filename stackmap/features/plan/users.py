"""How to stop the users of a volume before it is replaced, and start them again afterwards."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from stackmap.errors import PlanRefused
from stackmap.features.plan.plan import NOTHING, PlanContext, Step, path_of
from stackmap.model.command_line import Command, words
from stackmap.model.device import Device, Kind, Use
from stackmap.model.operand import (
    MOUNT_TYPES,
    BlockDevicePath,
    GuestName,
    MapName,
    MountPoint,
    Number,
    assigned,
    keyword,
    mount_options,
)

INTERRUPTED = "its users are interrupted from here on"
# What tests/lab stopped and started again, and what continued there through online steps: kinds of
# users, of mounts the file systems.
STOPPED = frozenset({"ext4", "xfs", "swap"})
CONTINUED = frozenset({"ext4", "xfs", "btrfs", "swap", "vm"})
ROOTS = frozenset({"/", "/usr"})

# Read-only file-system checks, by the type in mountinfo.
CHECKS = dict.fromkeys(("ext2", "ext3", "ext4"), words("e2fsck -fn --")) | {
    "xfs": words("xfs_repair -n --"),
    "vfat": words("fsck.fat -n --"),
}

# How a file system takes the space of a larger volume.
LARGER = {
    "ext4": "resize2fs lets {} use the new space; before going back it must shrink, unmounted",
    "xfs": "xfs_growfs lets {} use the new space; XFS cannot shrink, so there is no way back then",
    "btrfs": "`btrfs filesystem resize max` lets {} use the new space; before going back it must "
    "shrink, which btrfs can while it is mounted",
}

StopAndStart = tuple[list[Step], list[Step]]


def stop_users(context: PlanContext, place: BlockDevicePath) -> StopAndStart:
    """
    Return the steps that stop all users of the target, and those that start them on *place*, a path.

    Refused if a user cannot be stopped by a known command, or a layer above is not a LUKS mapping.
    """
    stop: list[Step] = []
    start: list[Step] = []
    for device in _from_the_top(context):
        path = place if device.name == context.target.name else path_of(device)
        for use in reversed(device.uses):  # a mount may be below an earlier one
            if use.kind not in USERS:
                raise PlanRefused(
                    f"{use.name} uses {device.title}; stackmap cannot tell how to stop it: "
                    "stop it yourself, or use an online method"
                )
            before, after = USERS[use.kind](context, use, device, path)
            # Several mounts of one file system need one check, before the first.
            stop, start = stop + before, after + [step for step in start if step not in after]
        if device.kind is Kind.CRYPT:
            before, after = _crypt(context, device, place)
            stop, start = stop + before, after + start
    return stop, start


def moving_btrfs(context: PlanContext, old: BlockDevicePath, new: BlockDevicePath) -> Step | None:
    """
    Return the step that moves a mounted btrfs from path *old* to *new*; None if the target has other users.

    btrfs erases its superblock on *old*, so there is no second one with its UUID.
    """
    topology, target = context.topology, context.target.name
    above = [topology[name] for name in topology.with_all_above(target) if name != target]
    users = list(_users(context))
    if not users or any(kind != "btrfs" for _, kind in users):
        return None
    if any(path_of(device) != old for device in above):  # LVM's cache has the LV's path
        return None
    point = MountPoint(users[0][0].name)
    return Step(
        words("btrfs replace start -B --", old, new, point),
        "moves the btrfs to the new device while it is mounted; checksums are verified",
        f"competes for I/O; erases the btrfs signature of {old}",
        (words("btrfs replace start -B --", new, old, point),),
    )


def untested_users(context: PlanContext) -> tuple[str, ...]:
    """Return a sentence per user whose stop and start was not tested in the lab."""
    return tuple(
        f"stopping and restarting {use.name} ({kind}) was not tested"
        for use, kind in _users(context)
        if kind not in STOPPED
    )


def continuing(context: PlanContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return sentences on users that continue during online steps: those tested in the lab, and those not."""
    words = {f"{use.name} ({kind})": kind in CONTINUED for use, kind in _users(context)}
    known = ", ".join(name for name, tested in words.items() if tested)
    checked = (f"no need to stop {known}: such users continued in the lab",) if known else ()
    return checked, tuple(
        f"whether {name} continues during these steps was not tested"
        for name, tested in words.items()
        if not tested
    )


def enlarged(context: PlanContext) -> tuple[str, ...]:
    """Return a sentence per user on taking the space of a larger volume, and on giving it back."""
    return tuple(LARGER[kind].format(use.name) for use, kind in _users(context) if kind in LARGER)


def _users(context: PlanContext) -> Iterator[tuple[Use, str]]:
    """Yield the users of the target and of what is above it; of a mount the file system."""
    names = context.topology.with_all_above(context.target.name)
    for use in dict.fromkeys(use for name in names for use in context.topology[name].uses):
        mount = context.mounts.get(use.name) if use.kind == "mount" else None
        yield use, mount.kind if mount else use.kind


def _from_the_top(context: PlanContext) -> Iterator[Device]:
    """Yield the devices above the target, the top first, and the target."""
    names = context.topology.with_all_above(context.target.name)
    for name in reversed(names):
        device = context.topology[name]
        if name != context.target.name and device.kind not in (Kind.CRYPT, Kind.CACHE):
            raise PlanRefused(
                f"{device.title} ({device.kind}) uses {context.target.title}; stackmap cannot tell "
                "how to move it along"
            )
        yield device


def _pair(
    stop: tuple[Command, str, str], start: tuple[Command, str, str], again: Command
) -> StopAndStart:
    """
    Return two offline steps. *stop* and *start*: the command, what the command does, and its risk.

    Each step undoes the other; *again*: the command that starts the user in its old place.
    """
    return (
        [Step(*stop, undo=(again,), online=False)],
        [Step(*start, undo=(stop[0],), online=False)],
    )


def _mount(context: PlanContext, use: Use, device: Device, path: BlockDevicePath) -> StopAndStart:
    mount = context.mounts.get(use.name)
    if mount is None or mount.root != "/":
        raise PlanRefused(
            f"{use.name} mounts only a part of {device.title}, or is not in mountinfo"
        )
    if use.name in ROOTS:
        raise PlanRefused(f"{use.name} cannot be unmounted on a running machine")
    if mount.kind == "btrfs":
        raise PlanRefused(
            f"{use.name} is btrfs; the kernel may confuse it with a copy that has the same UUID, and "
            f"`btrfs replace` moves it only if nothing else uses {context.target.title}"
        )

    point = MountPoint(use.name)
    kind, options = (
        keyword(mount.kind, MOUNT_TYPES, "the file system"),
        mount_options(mount.flags),
    )

    def mounting(place: BlockDevicePath) -> Command:
        return (*words("mount -t", kind), *words("-o", options), *words("--", place, point))

    stop, start = _pair(
        (words("umount --", point), f"unmounts {use.name}; first stop programs with open files there", INTERRUPTED),
        (mounting(path), f"mounts {use.name} again", NOTHING),
        mounting(path_of(device)),
    )  # fmt: skip
    if check := CHECKS.get(mount.kind):
        start.insert(0, Step((*check, path), f"checks the copied {mount.kind}", online=False))
    return stop, start


def _swap(context: PlanContext, _: Use, device: Device, path: BlockDevicePath) -> StopAndStart:
    old = path_of(device)
    known = (context.priorities.get(name) for name in (f"/dev/{device.name}", old))
    chosen = next((number for number in known if number is not None and number >= 0), None)
    priority = () if chosen is None else words("--priority", Number(chosen))
    swapon = (*words("swapon"), *priority, *words("--"))
    stop, start = _pair(
        (words("swapoff --", old), "stops swapping to it", "the swapped data must fit in memory"),
        ((*swapon, path), "swaps to it again", NOTHING),
        (*swapon, old),
    )
    return stop, [replace(step, undo=(words("swapoff --", path),)) for step in start]


def _guest(_: PlanContext, use: Use, device: Device, __: BlockDevicePath) -> StopAndStart:
    """Return the commands for a guest of libvirt or Proxmox, by the path of its configuration file."""
    number = use.source.rpartition("/")[2].removesuffix(".conf")
    if "/pve/" in use.source and not number.isdecimal():
        raise PlanRefused(f"{use.source} is not the configuration of a guest")
    if "/libvirt/" in use.source:
        guest = assigned("--domain=", GuestName(use.name))
        stop, start = words("virsh shutdown", guest), words("virsh start", guest)
    elif use.source.startswith("/etc/pve/qemu-server/"):
        stop, start = words("qm shutdown", Number(number)), words("qm start", Number(number))
    elif use.source.startswith("/etc/pve/lxc/"):
        stop, start = words("pct shutdown", Number(number)), words("pct start", Number(number))
    else:
        raise PlanRefused(
            f"the VM {use.name} uses {device.title}; stackmap cannot tell how to stop it: shut it "
            "down yourself, or use an online method"
        )
    return _pair(
        (stop, f"shuts down the VM {use.name}; wait until it is off", INTERRUPTED),
        (start, f"starts the VM {use.name} again", NOTHING),
        start,
    )  # fmt: skip


def _crypt(context: PlanContext, device: Device, place: BlockDevicePath) -> StopAndStart:
    below = [edge.below for edge in context.topology.below(device.name)]
    if below != [context.target.name] or not device.uuid.startswith("CRYPT-LUKS"):
        raise PlanRefused(
            f"{device.title} is not LUKS on {context.target.title}, so no passphrase can reopen it"
        )
    name = MapName(device.dm_name)
    open_ = words("cryptsetup open --type luks --")
    return _pair(
        (words("cryptsetup close --", name), "closes the LUKS mapping", INTERRUPTED),
        ((*open_, place, name), "opens LUKS again; asks for the passphrase",
         "the LUKS header was copied with the data"),
        (*open_, path_of(context.target), name),
    )  # fmt: skip


USERS: dict[str, Callable[[PlanContext, Use, Device, BlockDevicePath], StopAndStart]] = {
    "mount": _mount,
    "swap": _swap,
    "vm": _guest,
}
