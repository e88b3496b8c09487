"""Who has to let go of a volume before it can be exchanged, and how they get it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stackmap.analysis.plan.plan_context import Ground, path_of
from stackmap.analysis.plan.step import Step
from stackmap.errors import PlanRefused
from stackmap.model.device import Device, Kind, Use

DISTURBED = "whoever uses it is interrupted from here on"
FOLLOWED = frozenset({"mount"})  # in tests/lab, as ext4
ROOTS = frozenset({"/", "/usr"})

# Read-only checks of file systems, by what mountinfo calls them; others have none that is known here.
CHECKS = {"ext2": ("e2fsck", "-fn"), "ext3": ("e2fsck", "-fn"), "ext4": ("e2fsck", "-fn")} | {
    "xfs": ("xfs_repair", "-n"),
    "vfat": ("fsck.fat", "-n"),
}

Stopped = tuple[list[Step], list[Step]]


def stopped(ground: Ground, place: str) -> Stopped:
    """
    Return the steps that make all users let go of the target, and those that bring them back.

    They find it again at *place*, a path in /dev. Refused where a user is not
    known to be stoppable, or where what stands on the target is more than
    crypt mappings.
    """
    off: list[Step] = []
    on: list[Step] = []
    for device in _above(ground):
        path = place if device.name == ground.target.name else path_of(device)
        for use in device.uses:
            if use.how not in USERS:
                raise PlanRefused(f"{use.who} uses {device.title}: how to stop it is not known")
            stop, start = USERS[use.how](ground, use, device, path)
            off, on = off + stop, start + on
        if device.kind is Kind.CRYPT:
            stop, start = _crypt(ground, device, place)
            off, on = off + stop, start + on
    return off, on


def unfollowed(ground: Ground) -> tuple[str, ...]:
    """Return what to say of users whose stopping and starting was followed in no lab."""
    names = ground.topology.stands_on(ground.target.name)
    uses = (use for name in names for use in ground.topology[name].uses)
    return tuple(
        f"{use.who} ({use.how}): how it lets go and comes back was not tried"
        for use in dict.fromkeys(uses)
        if use.how not in FOLLOWED
    )


def _above(ground: Ground) -> Iterator[Device]:
    """Yield the target and what stands on it, the topmost first."""
    names = ground.topology.stands_on(ground.target.name)
    for name in reversed(names):
        device = ground.topology[name]
        if name != ground.target.name and device.kind not in (Kind.CRYPT, Kind.CACHE):
            raise PlanRefused(
                f"{device.title} ({device.kind}) stands on {ground.target.title}: "
                "how to take it along is not known"
            )
        yield device


def _mount(ground: Ground, use: Use, device: Device, path: str) -> Stopped:
    mounted = ground.mounted.get(use.who)
    if mounted is None or mounted.root != "/":
        raise PlanRefused(f"{use.who} shows only a part of {device.title}, or how is not known")
    if use.who in ROOTS:
        raise PlanRefused(f"{use.who} cannot be unmounted on a machine that runs from it")
    if mounted.kind == "btrfs":
        raise PlanRefused(
            f"{use.who} is btrfs, which the kernel may mix up with a copy of it that it sees"
        )
    again = ("mount", "-t", mounted.kind, "-o", mounted.options, path, use.who)
    checks = [
        Step((*check, path), f"checks the {mounted.kind} as it was copied", online=False)
        for check in (CHECKS.get(mounted.kind),)
        if check is not None
    ]
    return (
        [
            Step(
                ("umount", use.who),
                f"unmounts {use.who}: stop what has files open there",
                DISTURBED,
                f"mount {use.who} again",
                online=False,
            )
        ],
        [
            *checks,
            Step(again, f"mounts {use.who} again", undo=f"unmount {use.who}", online=False),
        ],
    )


def _swap(_: Ground, __: Use, ___: Device, path: str) -> Stopped:
    return (
        [Step(("swapoff", path), "takes the swap back", "what is in it must fit in memory",
              "swapon again", online=False)],
        [Step(("swapon", path), "swaps to it again", undo="swapoff", online=False)],
    )  # fmt: skip


def _guest(_: Ground, use: Use, device: Device, __: str) -> Stopped:
    """Libvirt's and Proxmox' guests, by where it is said that they use it."""
    number = use.source.rpartition("/")[2].removesuffix(".conf")
    if "/libvirt/" in use.source:
        tool, guest = "virsh", ["--domain", use.who]
    elif use.source.startswith("/etc/pve/qemu-server/"):
        tool, guest = "qm", [number]
    elif use.source.startswith("/etc/pve/lxc/"):
        tool, guest = "pct", [number]
    else:
        raise PlanRefused(f"the VM {use.who} uses {device.title}: what would stop it is not known")
    return (
        [Step((tool, "shutdown", *guest), f"shuts the VM {use.who} down: wait until it is off", DISTURBED,
              "start it again", online=False)],
        [Step((tool, "start", *guest), f"starts the VM {use.who} again", undo="shut it down", online=False)],
    )  # fmt: skip


def _crypt(ground: Ground, device: Device, place: str) -> Stopped:
    below = [edge.below for edge in ground.topology.below(device.name)]
    if below != [ground.target.name] or not device.uuid.startswith("CRYPT-LUKS"):
        raise PlanRefused(
            f"{device.title} is not LUKS on {ground.target.title}: its key is not there"
        )
    name = device.dm_name
    return (
        [Step(("cryptsetup", "close", name), "closes the LUKS mapping", DISTURBED,
              "open it again", online=False)],
        [Step(("cryptsetup", "open", "--type", "luks", place, name),
              "opens LUKS again: it asks for the passphrase", "its header was copied with the rest",
              "close it", online=False)],
    )  # fmt: skip


USERS: dict[str, Callable[[Ground, Use, Device, str], Stopped]] = {
    "mount": _mount,
    "swap": _swap,
    "vm": _guest,
}
