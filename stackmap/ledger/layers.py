"""
The layers of a stack, from the top down to the disks; the tops and the disks whose loads may be summed.

A request is counted at every layer it passes, and once more at a partition's
disk. So only devices that are not above each other may be summed.
"""

import re
from collections import Counter
from collections.abc import Container, Mapping
from typing import NamedTuple

from stackmap.model.device import UNUSED, Device, Kind, Role
from stackmap.model.load import Load, sum_loads
from stackmap.model.topology import Edge, Topology, natural_key

# Roles of devices beside the data path.
ASIDE = frozenset({Role.METADATA, Role.JOURNAL})

SUB_LV = re.compile(r"[-_]([a-z]+)(?:_\d+)?$")

ROLES = {
    Kind.DISK: "disks",
    Kind.PARTITION: "partitions",
    Kind.ARRAY: "array",
    Kind.VOLUME: "volume",
    Kind.MEMBER: "members",
    Kind.THIN_POOL: "pool",
}


class Layer(NamedTuple):
    """
    The devices of a stack at one level.

    ``devices`` carry the data. ``metadata``: those beside the data path (rmeta,
    journal, thin or cache metadata), and disks that hold nothing else. ``word``: the role,
    with what tells it from another layer of the same role ("rimage members").
    """

    role: str
    devices: tuple[str, ...]
    metadata: tuple[str, ...] = ()
    word: str = ""


def layers(topology: Topology, top: str) -> list[Layer]:
    """
    Return the layers of the stack of *top*, the top first, the disks last.

    A device is one layer below the lowest device that uses it. All devices
    with nothing below them are in the last layer.
    """
    stack = topology.with_all_below(top)
    data = carriers(topology, top)
    depth = _depths(topology, stack, data)
    last = max(depth[name] for name in data)
    for name in stack:
        if not any(edge.below in data or name not in data for edge in topology.below(name)):
            depth[name] = last
    names = sorted(stack, key=natural_key)
    levels = [
        Layer(
            role=_role(topology, here),
            devices=tuple(here),
            metadata=tuple(n for n in names if n not in data and min(depth[n], last) == level),
        )
        for level in range(last + 1)
        if (here := [name for name in names if name in data and depth[name] == level])
    ]
    return _with_words(topology, levels)


def carriers(topology: Topology, top: str) -> frozenset[str]:
    """Return the devices of the stack of *top* that are on its data path."""
    data = {top}
    for name in topology.with_all_below(top):
        if name in data:
            data.update(edge.below for edge in topology.below(name) if carries_data(edge))
    return frozenset(data)


def carries_data(edge: Edge) -> bool:
    """Whether *edge* leads to data rather than to metadata or a spare."""
    return edge.role not in ASIDE | UNUSED


def counted_tops(topology: Topology, loads: Mapping[str, Load]) -> list[str]:
    """Return the highest devices with counters, in tree order: the tops, unless a text lacks them."""
    tops: list[str] = []
    below: set[str] = set()  # a device with counters
    for device, _ in topology.rows():
        if device.name in loads and device.name not in below:
            tops.append(device.name)
        if device.name in loads or device.name in below:
            below.update(edge.below for edge in topology.below(device.name))
    return tops


def spreading(topology: Topology, top: str) -> list[Device]:
    """Return the first device on each data path below *top* that spreads the data over members; may be *top* itself."""
    data, devices, todo = carriers(topology, top), {}, [top]
    while todo:
        name = todo.pop()
        if spreads(topology[name]):
            devices[name] = topology[name]
        else:
            below = [edge.below for edge in topology.below(name) if edge.below in data]
            todo.extend(reversed(below))
    return list(devices.values())


def _with_words(topology: Topology, levels: list[Layer]) -> list[Layer]:
    """Return the layers with words, no two the same."""
    same = Counter(layer.role for layer in levels)
    parts = ["+".join(dict.fromkeys(_part(topology[n]) for n in layer.devices)) for layer in levels]
    known = Counter(zip((layer.role for layer in levels), parts, strict=True))
    words = (
        layer.role
        if same[layer.role] == 1
        else f"{part if part and known[layer.role, part] == 1 else layer.devices[0]} {layer.role}"
        for layer, part in zip(levels, parts, strict=True)
    )
    return [layer._replace(word=word) for layer, word in zip(levels, words, strict=True)]


def _part(device: Device) -> str:
    """Return the role in the name of a sub-LV: "rimage" of vg/lv_rimage_0; "" for another device."""
    match = SUB_LV.search(device.title) if device.kind is Kind.MEMBER else None
    return match[1] if match else ""


def spreads(device: Device) -> bool:
    """Whether *device* spreads its data over members: an array, or a volume with a layout."""
    return device.layout is not None and device.layout.level != "linear"


def _depths(topology: Topology, stack: list[str], data: frozenset[str]) -> dict[str, int]:
    """Return the longest path to each device; for devices on the data path, along it."""
    depth = dict.fromkeys(stack, 0)
    for name in stack:  # each comes after all devices above it
        for edge in topology.below(name):
            if edge.below not in data or (name in data and edge.role not in ASIDE):
                depth[edge.below] = max(depth[edge.below], depth[name] + 1)
    return depth


def _role(topology: Topology, names: list[str]) -> str:
    """Return the name of the layer: "disks", "members", "partitions+disks"."""
    devices = [topology[name] for name in names]
    roles = (_role_of(topology, device) for device in devices)
    return "+".join(dict.fromkeys(roles))


def _role_of(topology: Topology, device: Device) -> str:
    if device.kind is Kind.DM:
        return device.target or "dm"
    # An NVMe disk with several paths is the head of them.
    has_paths = device.kind is Kind.DISK and topology.used_by(device.name, Role.PATH)
    return "multipath" if has_paths else ROLES.get(device.kind, str(device.kind))


# Devices with nothing below that are not disks: their I/O ends in memory or in a file on another device.
NOT_DISKS = frozenset({Kind.ZRAM, Kind.LOOP, Kind.DM})


class Total(NamedTuple):
    """``cut``: "tops" or "disks". ``devices``: those summed. ``load``: their sum."""

    cut: str
    devices: tuple[str, ...]
    load: Load


def totals(topology: Topology, loads: Mapping[str, Load]) -> tuple[Total, Total]:
    """Return the sums at the tops and at the disks, over the devices with counters."""
    tops, disks = summed_devices(topology, loads)
    return _total("tops", tops, loads), _total("disks", disks, loads)


def summed_devices(topology: Topology, names: Container[str]) -> tuple[list[str], list[str]]:
    """Return the tops and the disks among *names*, those with counters, in tree order."""
    known = [device for device, _ in topology.rows() if device.name in names]
    tops = [device.name for device in known if not topology.above(device.name)]
    disks = [d.name for d in known if not topology.below(d.name) and d.kind not in NOT_DISKS]
    return tops, disks


def _total(cut: str, names: list[str], loads: Mapping[str, Load]) -> Total:
    return Total(cut, tuple(names), sum_loads([loads[name] for name in names]))
