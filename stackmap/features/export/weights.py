"""For each layer of each stack: the devices whose counters, times a factor, are its traffic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stackmap.features.export.senders import Senders
from stackmap.ledger.layers import Layer, layers, spreading
from stackmap.ledger.parity import parity_device
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Topology

VOLUME, RAID, MEMBERS, DISKS = "volume", "raid", "members", "disks"
# With nothing below them, devices of these kinds are no storage of their own.
UNBACKED = frozenset({Kind.LOOP, Kind.ZRAM})


class Weight(NamedTuple):
    """
    The counters of ``device`` times ``factor`` are part of what the stack did at ``layer``.

    ``role``: "data", or "metadata" for what is beside the data path.
    """

    layer: str
    role: str
    device: str
    factor: float


class Stack(NamedTuple):
    """
    A stack as it is exported. ``raid``: its RAID device, None without one.

    ``disks``: pairs of a device whose counters are used at the disks, and the only disk it sends to.
    """

    top: Device
    raid: Device | None
    weights: tuple[Weight, ...]
    disks: tuple[tuple[str, str], ...]


def stacks(topology: Topology, names: Iterable[str] = ()) -> Iterator[Stack]:
    """Yield the stacks of the tops and of the devices that several of them share; *names*: only these tops."""
    wanted = list(names) or [top.name for top in topology.tops]
    todo = [name for name in wanted if _is_storage(topology, topology[name])]
    seen = set(todo)
    while todo:
        senders = Senders(topology, todo.pop(0))
        yield _stack(senders)
        more = [name for name in senders.shared if name not in seen]
        seen.update(more)
        todo += more


def _stack(senders: Senders) -> Stack:
    topology, top = senders.topology, senders.top
    levels = layers(topology, top)
    raid = _raid(senders)
    members = _members(topology, raid)
    parts: list[tuple[str, tuple[str, ...]]] = [(VOLUME, (top,))]
    if raid is not None and raid.name != top:
        parts.append((RAID, (raid.name,)))
    parts += [
        (_distinct(level.word), level.devices)
        for level in levels[1:-1]
        if set(level.devices) != set(members)
    ]
    parts += [(MEMBERS, members), (DISKS, levels[-1].devices)]
    found = [weight for word, names in parts for weight in _data(senders, word, names)]
    if any(weight.layer == DISKS for weight in found):
        found += _metadata(senders, levels)
    return Stack(topology[top], raid, tuple(dict.fromkeys(found)), _disks(senders, levels[-1]))


def _distinct(word: str) -> str:
    """Return the name of a layer between; the volume below a crypt device is not the stack's own volume."""
    return f"lower {word}" if word in (VOLUME, RAID, MEMBERS, DISKS) else word


def _data(senders: Senders, word: str, names: Sequence[str]) -> Iterator[Weight]:
    for name in sorted(senders.of_layer(names) or ()):
        yield Weight(word, "data", name, senders.factor(name))


def _metadata(senders: Senders, levels: list[Layer]) -> Iterator[Weight]:
    """Yield what metadata and journals did at the disks."""
    last = levels[-1]
    beside = {s for name in last.devices for s in senders.of_metadata(name) or ()}
    for name in last.metadata:
        beside |= senders.of_metadata(name) or set()
    for name in sorted(beside):
        yield Weight(DISKS, "metadata", name, senders.factor(name))


def _disks(senders: Senders, last: Layer) -> tuple[tuple[str, str], ...]:
    """Return each sender with its disk, where it has only one."""
    reached: dict[str, list[str]] = {}
    for disk in (*last.devices, *last.metadata):
        both = (senders.of(disk) or frozenset()) | (senders.of_metadata(disk) or frozenset())
        for name in sorted(both):
            reached.setdefault(name, []).append(disk)
    return tuple((name, disks[0]) for name, disks in reached.items() if len(disks) == 1)


def _raid(senders: Senders) -> Device | None:
    """Return the device of this stack alone that spreads its data: the first with parity, or the only one."""
    topology, top = senders.topology, senders.top
    parity = parity_device(topology, top)
    candidates = [parity] if parity is not None else spreading(topology, top)
    known = [each for each in candidates if senders.of(each.name)]
    return known[0] if len(candidates) == 1 and known else None


def _members(topology: Topology, raid: Device | None) -> tuple[str, ...]:
    if raid is None:
        return ()
    return tuple(edge.below for edge in topology.below(raid.name) if edge.role is Role.DATA)


def _is_storage(topology: Topology, device: Device) -> bool:
    """Whether *device* is more than an empty drive or a device in memory."""
    lone = device.removable or device.kind in UNBACKED or device.size == 0
    return bool(topology.below(device.name)) or not lone
