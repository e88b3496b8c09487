"""
What is different between two topologies of one machine.

A device is the same one if it has the same uuid, or serial, or where it has
neither the same name: numbers change from boot to boot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from stackmap.model.device import Device
from stackmap.model.topology import Topology


@dataclass(frozen=True, slots=True)
class Change:
    """*what* of a device was *before* and is *after*, as text; "" for none."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Devices that came and went, and those that changed, with how."""

    appeared: tuple[Device, ...]
    gone: tuple[Device, ...]
    changed: tuple[tuple[Device, tuple[Change, ...]], ...]


def differences(before: Topology, after: Topology) -> Differences:
    """Return what is different in *after*, in its order."""
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
    """Return the identities that several devices of one topology have, as paths share a WWN."""
    counts = (Counter(map(_identity, topology)) for topology in topologies)
    return {key for count in counts for key, times in count.items() if times > 1}


def _identity(device: Device) -> str:
    return device.uuid or device.serial or device.title


def _by_identity(topology: Topology, shared: set[str]) -> dict[str, Device]:
    """Return the devices by what stays; of those in *shared* the name counts."""
    return {
        device.title if _identity(device) in shared else _identity(device): device
        for device in topology
    }


def _changes(before: Topology, was: Device, after: Topology, device: Device) -> tuple[Change, ...]:
    told = ((what, text(before, was), text(after, device)) for what, text in TEXTS.items())
    return tuple(Change(what, old, new) for what, old, new in told if old != new)


def _below(topology: Topology, device: Device) -> str:
    """Return what *device* stands on, by the names that stay."""
    edges = ((str(edge.role), topology[edge.below].title) for edge in topology.below(device.name))
    return ", ".join(f"{name} ({role})" for role, name in dict.fromkeys(edges))


# What of a device is compared, as text.
TEXTS: dict[str, Callable[[Topology, Device], str]] = {
    "name": lambda _, device: device.title,
    "kind": lambda _, device: str(device.kind),
    "target": lambda _, device: device.target,
    "layout": lambda _, device: str(device.layout or ""),
    "chunk": lambda _, device: str(device.layout.chunk or "") if device.layout else "",
    "size": lambda _, device: "" if device.size is None else str(device.size),
    # How far something has come is no difference; that it goes on is.
    "state": lambda _, device: (device.state or "").rstrip("0123456789. %"),
    "read-only": lambda _, device: "yes" if device.read_only else "no",
    "below": _below,
    "used by": lambda _, device: ", ".join(use.name for use in device.uses),
    "model": lambda _, device: device.model,
    "cache mode": lambda _, device: device.facts.get("mode", ""),
}
