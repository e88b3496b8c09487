"""Who has to let go of a volume before it can be exchanged, and how they get it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stackmap.analysis.plan.plan_context import PlanContext, path_of
from stackmap.analysis.plan.step import Step
from stackmap.errors import PlanRefused
from stackmap.model.device import Device, Kind, Use

INTERRUPTED = "whoever uses it is interrupted from here on"
TESTED = frozenset({"mount"})  # in tests/lab, as ext4
ROOTS = frozenset({"/", "/usr"})

# Read-only checks of file systems, by what mountinfo calls them; others have none that is known here.
CHECKS = {"ext2": ("e2fsck", "-fn"), "ext3": ("e2fsck", "-fn"), "ext4": ("e2fsck", "-fn")} | {
    "xfs": ("xfs_repair", "-n"),
    "vfat": ("fsck.fat", "-n"),
}

StopAndStart = tuple[list[Step], list[Step]]


def stop_users(context: PlanContext, place: str) -> StopAndStart:
    """
    Return the steps that make all users let go of the target, and those that bring them back.

    They find it again at *place*, a path in /dev. Refused where a user is not
    known to be stoppable, or where what stands on the target is more than
    crypt mappings.
    """
    off: list[Step] = []
    on: list[Step] = []
    for device in _above(context):
        path = place if device.name == context.target.name else path_of(device)
        for use in device.uses:
            if use.kind not in USERS:
                raise PlanRefused(f"{use.name} uses {device.title}: how to stop it is not known")
            stop, start = USERS[use.kind](context, use, device, path)
            off, on = off + stop, start + on
        if device.kind is Kind.CRYPT:
            stop, start = _crypt(context, device, place)
            off, on = off + stop, start + on
    return off, on


def untested_users(context: PlanContext) -> tuple[str, ...]:
    """Return what to say of users whose stopping and starting was followed in no lab."""
    names = context.topology.with_all_above(context.target.name)
    uses = (use for name in names for use in context.topology[name].uses)
    return tuple(
        f"{use.name} ({use.kind}): how it lets go and comes back was not tried"
        for use in dict.fromkeys(uses)
        if use.kind not in TESTED
    )


def _above(context: PlanContext) -> Iterator[Device]:
    """Yield the target and what stands on it, the topmost first."""
    names = context.topology.with_all_above(context.target.name)
    for name in reversed(names):
        device = context.topology[name]
        if name != context.target.name and device.kind not in (Kind.CRYPT, Kind.CACHE):
            raise PlanRefused(
                f"{device.title} ({device.kind}) stands on {context.target.title}: "
                "how to take it along is not known"
            )
        yield device


def _mount(context: PlanContext, use: Use, device: Device, path: str) -> StopAndStart:
    mounts = context.mounts.get(use.name)
    if mounts is None or mounts.root != "/":
        raise PlanRefused(f"{use.name} shows only a part of {device.title}, or how is not known")
    if use.name in ROOTS:
        raise PlanRefused(f"{use.name} cannot be unmounted on a machine that runs from it")
    if mounts.kind == "btrfs":
        raise PlanRefused(
            f"{use.name} is btrfs, which the kernel may mix up with a copy of it that it sees"
        )
    again = ("mount", "-t", mounts.kind, "-o", mounts.options, path, use.name)
    checks = [
        Step((*check, path), f"checks the {mounts.kind} as it was copied", online=False)
        for check in (CHECKS.get(mounts.kind),)
        if check is not None
    ]
    return (
        [
            Step(
                ("umount", use.name),
                f"unmounts {use.name}: stop what has files open there",
                INTERRUPTED,
                f"mount {use.name} again",
                online=False,
            )
        ],
        [
            *checks,
            Step(again, f"mounts {use.name} again", undo=f"unmount {use.name}", online=False),
        ],
    )


def _swap(_: PlanContext, __: Use, ___: Device, path: str) -> StopAndStart:
    return (
        [Step(("swapoff", path), "takes the swap back", "what is in it must fit in memory",
              "swapon again", online=False)],
        [Step(("swapon", path), "swaps to it again", undo="swapoff", online=False)],
    )  # fmt: skip


def _guest(_: PlanContext, use: Use, device: Device, __: str) -> StopAndStart:
    """Libvirt's and Proxmox' guests, by where it is said that they use it."""
    number = use.source.rpartition("/")[2].removesuffix(".conf")
    if "/libvirt/" in use.source:
        tool, guest = "virsh", ["--domain", use.name]
    elif use.source.startswith("/etc/pve/qemu-server/"):
        tool, guest = "qm", [number]
    elif use.source.startswith("/etc/pve/lxc/"):
        tool, guest = "pct", [number]
    else:
        raise PlanRefused(f"the VM {use.name} uses {device.title}: what would stop it is not known")
    return (
        [Step((tool, "shutdown", *guest), f"shuts the VM {use.name} down: wait until it is off", INTERRUPTED,
              "start it again", online=False)],
        [Step((tool, "start", *guest), f"starts the VM {use.name} again", undo="shut it down", online=False)],
    )  # fmt: skip


def _crypt(context: PlanContext, device: Device, place: str) -> StopAndStart:
    below = [edge.below for edge in context.topology.below(device.name)]
    if below != [context.target.name] or not device.uuid.startswith("CRYPT-LUKS"):
        raise PlanRefused(
            f"{device.title} is not LUKS on {context.target.title}: its key is not there"
        )
    name = device.dm_name
    return (
        [Step(("cryptsetup", "close", name), "closes the LUKS mapping", INTERRUPTED,
              "open it again", online=False)],
        [Step(("cryptsetup", "open", "--type", "luks", place, name),
              "opens LUKS again: it asks for the passphrase", "its header was copied with the rest",
              "close it", online=False)],
    )  # fmt: skip


USERS: dict[str, Callable[[PlanContext, Use, Device, str], StopAndStart]] = {
    "mount": _mount,
    "swap": _swap,
    "vm": _guest,
}
