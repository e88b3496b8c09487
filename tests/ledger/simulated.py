"""
Random stacks whose traffic is known request by request, and the counters that a kernel would show for it.

The truth is made first, from the tops down; the counters are sums over it. So a figure that the
ledger derives from the counters is compared with what happened, not with another derivation.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field

from stackmap.model.device import Device, Kind, Role
from stackmap.model.load import Flow, Load
from stackmap.model.raid import PAGE, layout
from stackmap.model.topology import Edge, Topology
from tests.drawn import disk, passing

GIB = 1 << 30
SIZES = (512, 4096, 16384, 65536)
Sums = dict[str, list[float]]  # by direction: requests, bytes


def _nothing() -> Sums:
    return {"read": [0, 0], "write": [0, 0]}


@dataclass
class Machine:
    """
    A machine under load: its topology, its counters, and what was sent.

    *truth*: by top and device the data (parity included), *metadata*: the bitmap's writes.
    """

    devices: list[Device] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    truth: dict[tuple[str, str], Sums] = field(default_factory=lambda: defaultdict(_nothing))
    metadata: dict[tuple[str, str], Sums] = field(default_factory=lambda: defaultdict(_nothing))
    tops: list[str] = field(default_factory=list)
    uncounted: set[str] = field(default_factory=set)
    merging: dict[str, float] = field(default_factory=dict)  # share of arrivals that merge, by disk

    def topology(self) -> Topology:
        """The devices and edges."""
        return Topology(self.devices, self.edges)

    def loads(self) -> dict[str, Load]:
        """The counters of every device per second: the sums of what arrived, less what merged."""
        totals: dict[str, Sums] = {device.name: _nothing() for device in self.devices}
        for (_, name), sums in (*self.truth.items(), *self.metadata.items()):
            for direction, (requests, moved) in sums.items():
                totals[name][direction][0] += requests
                totals[name][direction][1] += moved
        nothing = Flow(0.0, 0.0, 0.0, 0.0)
        return {
            name: Load(*(self._flow(name, *sums[d]) for d in ("read", "write")), nothing, nothing)
            for name, sums in totals.items()
            if name not in self.uncounted
        }

    def _flow(self, name: str, requests: float, moved: float) -> Flow:
        merged = int(requests * self.merging.get(name, 0.0))
        return Flow(requests - merged, merged, moved, 0.0)


class Builder:
    """Builds a machine: *chance* decides what is on it and what it does."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.machine = Machine()
        self._below: dict[str, list[Edge]] = {}
        self._bases = self._disks()
        if chance.random() < 0.4:  # a volume that others lie on, itself on several disks
            self._bases.append(self._mapped("base"))

    def build(self) -> Machine:
        """Return a machine with one to five volumes, each under its own load."""
        for number in range(self.chance.randint(1, 5)):
            kind = self.chance.choice((self._mapped, self._mapped, self._encrypted, self._raid))
            top = kind(f"v{number}")
            self.machine.tops.append(top)
            for direction in ("read", "write"):
                for _ in range(self.chance.choice((0, 1, 1, 2, 7))):
                    requests, size = self.chance.randint(1, 400), self.chance.choice(SIZES)
                    self._send(top, top, direction, requests, size)
        return self.machine

    def _add(self, device: Device, *edges: Edge) -> str:
        self.machine.devices.append(device)
        self.machine.edges += edges
        self._below[device.name] = list(edges)
        return device.name

    def _disks(self) -> list[str]:
        bases = []
        for number in range(self.chance.randint(2, 5)):
            name = self._add(disk(f"sd{chr(97 + number)}"))
            self.machine.merging[name] = self.chance.choice((0.0, 0.0, 0.3, 0.9))
            if self.chance.random() < 0.3:
                part = Device(f"{name}1", Kind.PARTITION, "", merges=True)
                self._add(part, Edge(part.name, name, Role.DATA, 0, 8 * GIB))
                # The kernel counts a merge for the partition and for its disk.
                self.machine.merging[part.name] = self.machine.merging[name]
                name = part.name
            bases.append(name)
        return bases

    def _mapped(self, name: str) -> str:
        """A linear or striped volume with one to six segments, several perhaps on one device."""
        bases = self.chance.sample(self._bases, self.chance.randint(1, len(self._bases)))
        if self.chance.random() < 0.4 and len(bases) > 1:
            edges = [Edge(name, base, Role.DATA, 0, GIB) for base in bases]
            return self._add(passing(name, target="striped"), *edges)
        edges = [
            Edge(name, self.chance.choice(bases), Role.DATA, place * GIB, self.chance.randint(1, 9) * GIB)
            for place in range(self.chance.randint(1, 6))
        ]  # fmt: skip
        return self._add(passing(name), *edges)

    def _encrypted(self, name: str) -> str:
        below = self._mapped(f"{name}-plain")
        return self._add(passing(name, Kind.CRYPT, "crypt"), Edge(name, below, Role.DATA, 0, GIB))

    def _raid(self, name: str) -> str:
        """A RAID1 or RAID5 volume with sub-LVs and a bitmap, on disks that others may use too."""
        members = len(self._bases)
        level = "raid5" if members > 2 and self.chance.random() < 0.5 else "raid1"
        edges = []
        for place, base in enumerate(self._bases):
            for role, part in ((Role.DATA, "rimage"), (Role.METADATA, "rmeta")):
                member = f"{name}_{part}_{place}"
                on = [base]
                if role is Role.DATA and self.chance.random() < 0.1:  # extended onto another disk
                    on.append(self.chance.choice(self._bases))
                    if self.chance.random() < 0.5:
                        self.machine.uncounted.add(member)
                self._add(
                    passing(member, Kind.MEMBER),
                    *(Edge(member, each, Role.DATA, place * GIB, GIB) for each in on),
                )
                edges.append(Edge(name, member, role))
        shape = layout(level, members, 65536 if level == "raid5" else None)
        device = Device(name, Kind.VOLUME, "", target="raid", layout=shape, state="active")
        return self._add(device, *edges)

    def _send(
        self,
        top: str,
        name: str,
        direction: str,
        requests: int,
        size: int,
        *,
        metadata: bool = False,
    ) -> None:
        """Send requests to a device and, as its target would, on to the devices below it."""
        if not requests:
            return
        kept = self.machine.metadata if metadata else self.machine.truth
        sums = kept[top, name][direction]
        sums[0] += requests
        sums[1] += requests * size
        edges = self._below[name]
        if any(edge.role is Role.METADATA for edge in edges):
            self._send_raid(top, name, direction, requests, size)
            return
        for edge, part in zip(edges, self._parts(requests, len(edges)), strict=True):
            self._send(top, edge.below, direction, part, size, metadata=metadata)

    def _parts(self, total: int, count: int) -> list[int]:
        """Divide *total* at random, often very unequally."""
        if not count:
            return []
        weights = [self.chance.random() ** self.chance.choice((1, 6)) for _ in range(count)]
        parts = [int(total * weight / sum(weights)) for weight in weights]
        parts[self.chance.randrange(count)] += total - sum(parts)
        return parts

    def _send_raid(self, top: str, name: str, direction: str, requests: int, size: int) -> None:
        data = [edge.below for edge in self._below[name] if edge.role is Role.DATA]
        meta = [edge.below for edge in self._below[name] if edge.role is Role.METADATA]
        shape = next(d.layout for d in self.machine.devices if d.name == name)
        if direction == "write":
            for member in meta:
                self._send(top, member, "write", self.chance.randint(0, 5), 512, metadata=True)
        if direction == "read":
            for member, part in zip(data, self._parts(requests, len(data)), strict=True):
                self._send(top, member, "read", part, size)
        elif shape.parity:
            pages = max(1, requests * size // PAGE)  # one page per row, read-modify-write
            for member, part in zip(data, self._parts(2 * pages, len(data)), strict=True):
                self._send(top, member, "read", part, PAGE)
                self._send(top, member, "write", part, PAGE)
        else:
            for member in data:
                self._send(top, member, "write", requests, size)


def machine(seed: int) -> Machine:
    """Return the machine of *seed*."""
    return Builder(random.Random(seed)).build()
