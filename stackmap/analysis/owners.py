"""The control groups and processes whose requests are at each layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.model.device import Kind
from stackmap.model.owner_io import ControlGroup, OwnerIo
from stackmap.model.topology import Topology


class Sum(NamedTuple):
    """Requests and bytes in one direction; ``timed`` and ``took``: as in ``OwnerIo``."""

    requests: int = 0
    bytes: int = 0
    timed: int = 0
    took: int = 0

    def plus(self, more: OwnerIo) -> Sum:
        """Return the sum with *more*."""
        return Sum(
            self.requests + more.requests,
            self.bytes + more.bytes,
            self.timed + more.timed,
            self.took + more.took,
        )

    @property
    def size(self) -> float | None:
        """Mean bytes per request; None without requests."""
        return self.bytes / self.requests if self.requests else None

    @property
    def milliseconds(self) -> float | None:
        """Mean latency; None if no request completed."""
        return self.took / self.timed / 1000 if self.timed else None


class Owner(NamedTuple):
    """
    A ``group``, or a thread without one, at the device ``device``, and its I/O by direction.

    ``number``: of the group or thread. ``name``: the thread's.
    """

    device: str
    group: ControlGroup | None
    number: int
    name: str
    parts: dict[str, Sum]

    @property
    def bytes(self) -> int:
        """Both directions."""
        return sum(part.bytes for part in self.parts.values())


def owners(
    topology: Topology,
    names: Iterable[str],
    rows: Iterable[OwnerIo],
    groups: Mapping[int, ControlGroup],
) -> list[Owner]:
    """
    Return the owners at *names* and at all devices above and below, in tree order, the heaviest first.

    A group that is not among *groups* has no path and no owner.
    """
    found: dict[tuple[str, bool, int], Owner] = {}
    selected = topology.select(names)
    for row in rows:
        for name in _devices(selected, row.number):
            group = groups.get(row.owner, ControlGroup()) if row.is_group else None
            key = (name, row.is_group, row.owner)
            owner = found.setdefault(key, Owner(name, group, row.owner, row.name, {}))
            owner.parts[row.direction] = owner.parts.get(row.direction, Sum()).plus(row)
    place = {device.name: number for number, device in enumerate(selected)}
    return sorted(found.values(), key=lambda each: (place[each.device], -each.bytes, each.name))


def _devices(topology: Topology, number: str) -> Iterator[str]:
    """Yield the device *number*, and the disk below a partition: its requests are not submitted again."""
    name = next((device.name for device in topology if device.number == number), None)
    if name is not None:
        yield name
        if topology[name].kind is Kind.PARTITION:
            yield from (edge.below for edge in topology.below(name))
