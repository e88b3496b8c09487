"""
For each layer of each stack: the devices whose counters, times a factor, are its traffic.

The rules are the ledger's (``ledger.ownership``), but without loads: a server has the counters. For a device that
only the stack uses, these are its own counters. For a shared device, they are those of the devices above it that pass
requests on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stackmap.ledger.corrections import counted_twice, counting, uncounted
from stackmap.ledger.layers import Layer, carriers, layers, spreading
from stackmap.ledger.ownership import is_pool, joins
from stackmap.ledger.parity import parity_device
from stackmap.ledger.sent import divides, targets_of
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import passes_on
from stackmap.model.raid import Layout
from stackmap.model.topology import Edge, Topology, computed_once

VOLUME, RAID, MEMBERS, DISKS = "volume", "raid", "members", "disks"
# With nothing below them, devices of these kinds are no storage of their own.
UNBACKED = frozenset({Kind.LOOP, Kind.ZRAM})
Names = frozenset[str]
LASTING = ("LVM-", "CRYPT-")  # uuids of device-mapper that a reboot keeps and that name no disk


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
    ``shared``: several stacks use it, so what arrives there is counted with them too. ``plain``: it is a disk
    or a partition of one, which is no volume.
    """

    top: Device
    raid: Device | None = None
    weights: tuple[Weight, ...] = ()
    disks: tuple[tuple[str, str], ...] = ()
    shared: bool = False
    plain: bool = False

    @property
    def shape(self) -> Layout | None:
        """The layout of its RAID; None without one."""
        return self.raid.layout if self.raid else None


def lasting_uuid(device: Device) -> str:
    """Return the UUID of an LV or array, "" for other devices: a WWN is a serial number."""
    known = device.kind is Kind.ARRAY or device.uuid.startswith(LASTING)
    return device.uuid if known else ""


def stacks(topology: Topology, names: Iterable[str] = ()) -> Iterator[Stack]:
    """
    Yield the stacks of the tops and of the devices that several of them share; *names*: only these tops.

    A plain disk or partition is no volume: it has no weights, so no figures.
    """
    wanted = list(names) or [top.name for top in topology.tops]
    tops = [name for name in wanted if topology.below(name) or not _is_empty(topology[name])]
    todo, seen = list(tops), set(tops)
    while todo:
        senders = Senders(topology, todo.pop(0))
        top = topology[senders.top]
        if _is_plain(topology, top):
            yield Stack(top, plain=True)
        else:
            yield _stack(senders)._replace(shared=top.name not in tops or is_pool(top))
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
    weights = [weight for word, names in parts for weight in _data(senders, word, names)]
    if any(weight.layer == DISKS for weight in weights):
        weights += _metadata(senders, levels)
    return Stack(topology[top], raid, tuple(dict.fromkeys(weights)), _disks(senders, levels[-1]))


def _distinct(word: str) -> str:
    """Return the name of a layer between; the volume below a crypt device is not the stack's own volume."""
    return f"lower {word}" if word in (VOLUME, RAID, MEMBERS, DISKS) else word


def _data(senders: Senders, word: str, names: Sequence[str]) -> Iterator[Weight]:
    for name in sorted(senders.of_layer(names) or ()):
        yield Weight(word, "data", name, senders.factor(name))


def _metadata(senders: Senders, levels: list[Layer]) -> Iterator[Weight]:
    """Yield the I/O of metadata and journals at the disks."""
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
    known = [device for device in candidates if senders.of(device.name)]
    return known[0] if len(candidates) == 1 and known else None


def _members(topology: Topology, raid: Device | None) -> tuple[str, ...]:
    if raid is None:
        return ()
    return tuple(edge.below for edge in topology.below(raid.name) if edge.role is Role.DATA)


def _is_empty(device: Device) -> bool:
    """Whether *device*, with nothing below it, is an empty drive or a device in memory."""
    return device.removable or device.kind in UNBACKED or device.size == 0


def _is_plain(topology: Topology, device: Device) -> bool:
    """Whether *device* is a disk, or a partition of one."""
    below = [topology[edge.below].kind for edge in topology.below(device.name)]
    return device.kind is Kind.DISK or (device.kind is Kind.PARTITION and below == [Kind.DISK])


class Senders:
    """
    The devices whose counters, added up, are the traffic of the stack of *top*.

    ``shared``: devices of the stack that make requests for several stacks.
    """

    def __init__(self, topology: Topology, top: str) -> None:
        self.topology = topology
        self.top = top
        self.stack = topology.with_all_below(top)
        self.data = carriers(topology, top)
        self._above = topology.edges_above(self.stack)

    @computed_once
    def of(self, name: str) -> Names | None:
        """Return the devices whose counters are the data at *name*; None if no counters show it."""
        above = self.topology.above(name)
        if name != self.top and above and all(passes_on(self.topology, edge) for edge in above):
            return self._union(
                edge.above for edge in self._above.get(name, ()) if self._is_data(name, edge)
            )
        return self._own(name) if name == self.top or self._alone(name) else None

    def of_layer(self, names: Iterable[str]) -> Names | None:
        """Return the devices whose counters are the data at *names* together; None if one is unknown, or if a device divides its data among others too."""
        here = frozenset(names)
        dividing = (
            edge
            for name in here
            for edge in self._above.get(name, ())
            if divides(self.topology, edge)
        )
        if not all(targets_of(self.topology, edge) <= here for edge in dividing):
            return None
        return self._union(here)

    @computed_once
    def of_metadata(self, name: str) -> Names | None:
        """Return the devices whose counters are metadata and journals at *name*, including those passed on by devices with data."""
        if name not in self.data:
            return self.of(name)
        senders: set[str] = set()
        for edge in self._above.get(name, ()):
            if passes_on(self.topology, edge):
                inside = self._is_data(name, edge)
                senders |= (self.of_metadata if inside else self.of)(edge.above) or set()
        return frozenset(senders)

    @property
    def shared(self) -> list[str]:
        """Devices with known traffic. Below them several stacks share traffic, and no counter divides it."""
        unknown = (
            name
            for name in self.stack
            if name != self.top
            and not self._alone(name)
            and not all(passes_on(self.topology, edge) for edge in self.topology.above(name))
        )
        above = (edge.above for name in unknown for edge in self._above.get(name, ()))
        known = (n for n in above if self.of(n) or is_pool(self.topology[n]))
        return [name for name in dict.fromkeys(known) if name != self.top]

    def factor(self, name: str) -> float:
        """Return the factor for the counters of *name*."""
        return 0.5 if counted_twice(self.topology, self.topology[name]) else 1.0

    def _is_data(self, name: str, edge: Edge) -> bool:
        return edge.above in self.data or name not in self.data or joins(self.topology, name)

    @computed_once
    def _alone(self, name: str) -> bool:
        """Whether all I/O at *name* comes through the top."""
        return all(
            edge.above == self.top
            or (bool(self.topology.above(edge.above)) and self._alone(edge.above))
            for edge in self.topology.above(name)
        )

    def _own(self, name: str) -> Names | None:
        device = self.topology[name]
        counted = counting(self.topology, device)
        if name not in counted:
            return counted
        unusable = uncounted(self.topology, device) or counted_twice(self.topology, device) is None
        return None if unusable else counted

    def _union(self, names: Iterable[str]) -> Names | None:
        union: set[str] = set()
        for name in names:
            senders = self.of(name)
            if senders is None:
                return None
            union |= senders
        return frozenset(union)
