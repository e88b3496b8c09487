"""
Two topologies beside each other: whether they are of one machine, and what differs.

Devices are matched by uuid, else by serial, else by name: kernel numbers change from boot to boot.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from stackmap.model.device import Device
from stackmap.model.topology import Machine, Topology, of_another

# How world-wide names begin. Hypervisors give other ids to several disks.
UNIQUE = ("0x", "eui.", "nvme.", "uuid.")
UNNAMED = ("", "(none)", "localhost", "localhost.localdomain")  # before DHCP gives a name
ALL_OTHERS = "no disk has the world-wide name of one there"


def another_machine(ours: Topology, theirs: Topology) -> str:
    """
    Return how *theirs* differs as another machine does; "" if it may be the same.

    One disk must be the same, by its world-wide name, if both sides have any. A machine
    that was renamed has the same disks, but for new or removed ones: two nodes of a
    cluster share some, and each has others.
    """
    here, there = _named_disks(ours), _named_disks(theirs)
    if here and there and here.isdisjoint(there):
        return ALL_OTHERS
    names = ours.machine.host, theirs.machine.host
    if any(name in UNNAMED for name in names) or (
        here and there and (here <= there or here >= there)
    ):
        return ""
    return of_another(*map(Machine, names))


def _named_disks(topology: Topology) -> set[str]:
    return {device.wwn for device in topology if device.wwn.startswith(UNIQUE)}


class Change(NamedTuple):
    """An attribute, ``what``, with its text ``before`` and ``after``; "" for none."""

    what: str
    before: str
    after: str


class Differences(NamedTuple):
    """Devices that appeared, disappeared, or changed, with their changes."""

    appeared: tuple[Device, ...]
    gone: tuple[Device, ...]
    changed: tuple[tuple[Device, tuple[Change, ...]], ...]


def differences(before: Topology, after: Topology) -> Differences:
    """Return the differences, in the order of *after*."""
    shared = _shared(before, after)
    old, new = _by_identity(before, shared), _by_identity(after, shared)
    both = [(old[key], device) for key, device in new.items() if key in old]
    changed = ((device, _changes(before, was, after, device)) for was, device in both)
    return Differences(
        appeared=tuple(device for key, device in new.items() if key not in old),
        gone=tuple(device for key, device in old.items() if key not in new),
        changed=tuple((device, changes) for device, changes in changed if changes),
    )


def _shared(*topologies: Topology) -> set[str]:
    """Return identities that several devices of one topology have, as paths of one disk do."""
    counts = (Counter(map(_identity, topology)) for topology in topologies)
    return {key for count in counts for key, times in count.items() if times > 1}


def _identity(device: Device) -> str:
    return device.uuid or device.serial or device.title


def _by_identity(topology: Topology, shared: set[str]) -> dict[str, Device]:
    """Return the devices by identity; by name where the identity is in *shared*."""
    return {
        device.title if _identity(device) in shared else _identity(device): device
        for device in topology
    }


def _changes(before: Topology, was: Device, after: Topology, device: Device) -> tuple[Change, ...]:
    texts = ((what, text(before, was), text(after, device)) for what, text in TEXTS.items())
    return tuple(Change(what, old, new) for what, old, new in texts if old != new)


def _below(topology: Topology, device: Device) -> str:
    """Return the devices below *device* with their roles, as text."""
    edges = ((str(edge.role), topology[edge.below].title) for edge in topology.below(device.name))
    return ", ".join(f"{name} ({role})" for role, name in dict.fromkeys(edges))


# The attributes that are compared, as text.
TEXTS: dict[str, Callable[[Topology, Device], str]] = {
    "name": lambda _, device: device.title,
    "kind": lambda _, device: str(device.kind),
    "target": lambda _, device: device.target,
    "layout": lambda _, device: str(device.layout or ""),
    "chunk": lambda _, device: str(device.layout.chunk or "") if device.layout else "",
    "size": lambda _, device: "" if device.size is None else str(device.size),
    # Without its progress.
    "state": lambda _, device: (device.state or "").rstrip("0123456789. %"),
    "read-only": lambda _, device: "yes" if device.read_only else "no",
    "below": _below,
    "used by": lambda _, device: ", ".join(use.name for use in device.uses),
    "model": lambda _, device: device.model,
    "cache mode": lambda _, device: device.facts.get("mode", ""),
}
