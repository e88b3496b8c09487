"""The control groups and processes whose requests are at each layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackmap.model.device import Device, Kind
from stackmap.model.owner_io import ControlGroup, OwnerIo, Sum
from stackmap.model.topology import Topology


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
    names_of = {device.number: _counted_at(selected, device) for device in selected}
    for row in rows:
        for name in names_of.get(row.number, ()):
            group = groups.get(row.owner, ControlGroup()) if row.is_group else None
            key = (name, row.is_group, row.owner)
            owner = found.setdefault(key, Owner(name, group, row.owner, row.name, {}))
            owner.parts[row.direction] = owner.parts.get(row.direction, Sum()).plus(row.io)
    place = {device.name: number for number, device in enumerate(selected)}
    return sorted(found.values(), key=lambda each: (place[each.device], -each.bytes, each.name))


def _counted_at(topology: Topology, device: Device) -> list[str]:
    """Return *device*, and the disk below a partition: its requests are not submitted again."""
    disks = topology.below(device.name) if device.kind is Kind.PARTITION else ()
    return [device.name, *(edge.below for edge in disks)]
