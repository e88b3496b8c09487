"""The layers of a stack: its devices, one step down after another."""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Topology, natural_key

# Devices that stand beside the data, not in its way.
ASIDE = frozenset({Role.METADATA, Role.JOURNAL})

ROLES = {
    Kind.DISK: "disks",
    Kind.PARTITION: "partitions",
    Kind.ARRAY: "array",
    Kind.VOLUME: "volume",
    Kind.MEMBER: "members",
    Kind.THIN_POOL: "pool",
}


@dataclass(frozen=True, slots=True)
class Layer:
    """
    The devices of a stack at one step down.

    ``devices`` carry the data; ``metadata`` are those beside it (rmeta, a
    journal, thin or cache metadata) and the disks that hold nothing else.
    """

    role: str
    devices: tuple[str, ...]
    metadata: tuple[str, ...] = ()


def layers(topology: Topology, top: str) -> list[Layer]:
    """
    Return the layers of the stack of *top*, itself first, its disks last.

    A device is one layer below the lowest that stands on it; what nothing
    stands below lies in the last layer, however short the way to it was.
    """
    stack = topology.with_all_below(top)
    data = carriers(topology, top)
    depth = _depths(topology, stack, data)
    last = max(depth[name] for name in data)
    for name in stack:
        if not _has_below(topology, name, data):
            depth[name] = last
    names = sorted(stack, key=natural_key)
    return [
        Layer(
            role=_role(topology, here),
            devices=tuple(here),
            metadata=tuple(n for n in names if n not in data and min(depth[n], last) == level),
        )
        for level in range(last + 1)
        if (here := [name for name in names if name in data and depth[name] == level])
    ]


def carriers(topology: Topology, top: str) -> frozenset[str]:
    """Return the devices of the stack of *top* that its data travels through."""
    found = {top}
    for name in topology.with_all_below(top):
        if name in found:
            found.update(
                edge.below
                for edge in topology.below(name)
                if edge.role not in ASIDE and edge.role is not Role.SPARE
            )
    return frozenset(found)


def spreading(topology: Topology, top: str) -> list[Device]:
    """Return the first device on each way that the data of *top* takes down which spreads it; *top* itself, or none."""
    data, found, todo = carriers(topology, top), {}, [top]
    while todo:
        name = todo.pop()
        if spreads(topology[name]):
            found[name] = topology[name]
        else:
            below = [edge.below for edge in topology.below(name) if edge.below in data]
            todo.extend(reversed(below))
    return list(found.values())


def spreads(device: Device) -> bool:
    """Whether *device* is an array or a volume with a layout over several members."""
    return device.layout is not None and device.layout.level != "linear"


def _depths(topology: Topology, stack: list[str], data: frozenset[str]) -> dict[str, int]:
    """Return the longest way down to each device; for data, by data alone."""
    depth = dict.fromkeys(stack, 0)
    for name in stack:  # each comes after all that stand on it
        for edge in topology.below(name):
            if edge.below not in data or (name in data and edge.role not in ASIDE):
                depth[edge.below] = max(depth[edge.below], depth[name] + 1)
    return depth


def _has_below(topology: Topology, name: str, data: frozenset[str]) -> bool:
    return any(edge.below in data or name not in data for edge in topology.below(name))


def _role(topology: Topology, names: list[str]) -> str:
    """Return what people call these devices together: "disks", "members", "partitions+disks"."""
    devices = [topology[name] for name in names]
    roles = (
        d.target or "dm" if d.kind is Kind.DM else ROLES.get(d.kind, str(d.kind)) for d in devices
    )
    return "+".join(dict.fromkeys(roles))
