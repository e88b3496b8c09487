"""The control groups and processes whose requests are at each layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.model.device import Kind
from stackmap.model.owner_io import OwnerIo
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
    A group (``is_group``) or a thread at the device ``device``, and its I/O by direction.

    ``number``: of the group or thread. ``name``: the group's path, the thread's name.
    """

    device: str
    is_group: bool
    number: int
    name: str
    parts: Mapping[str, Sum]

    @property
    def bytes(self) -> int:
        """Both directions."""
        return sum(part.bytes for part in self.parts.values())


def owners(
    topology: Topology, names: Iterable[str], rows: Iterable[OwnerIo], groups: Mapping[int, str]
) -> list[Owner]:
    """
    Return the owners at *names* and at all devices above and below, in tree order, the heaviest first.

    A thread's own name counts, a group is named by *groups*: "" if it is not among them.
    """
    found: defaultdict[tuple[str, bool, int], dict[str, Sum]] = defaultdict(dict)
    titles: dict[tuple[bool, int], str] = {}
    selected = topology.select(names)
    for row in rows:
        for name in _devices(selected, row.number):
            parts = found[name, row.is_group, row.owner]
            parts[row.direction] = parts.get(row.direction, Sum()).plus(row)
            titles[row.is_group, row.owner] = (
                groups.get(row.owner, "") if row.is_group else row.name
            )
    place = {device.name: number for number, device in enumerate(selected)}
    listed = [Owner(*key, titles[key[1:]], parts) for key, parts in found.items()]
    return sorted(listed, key=lambda each: (place[each.device], -each.bytes, each.name))


def _devices(topology: Topology, number: str) -> Iterator[str]:
    """Yield the device *number*, and the disk below a partition: its requests are not submitted again."""
    name = next((device.name for device in topology if device.number == number), None)
    if name is not None:
        yield name
        if topology[name].kind is Kind.PARTITION:
            yield from (edge.below for edge in topology.below(name))
