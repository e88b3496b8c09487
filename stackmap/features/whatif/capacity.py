"""The capacity of a layout, and the members it needs to hold as much as now."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

from stackmap.model.raid import RAID_LEVELS, Layout
from stackmap.model.topology import Topology


class Need(NamedTuple):
    """
    The ``members`` of ``member_bytes`` each that hold what the volume holds now.

    Members keep their present size, except where each is a copy of all the data and must be larger.
    """

    member_bytes: int
    members: int


class Room(NamedTuple):
    """
    Space for the new layout beside the present one, by the sizes of the PVs.

    ``member_bytes``: needed on each of ``members`` PVs. ``free``: bytes that each PV of the volume has at most
    beyond the LVs seen on it, in no order.
    """

    member_bytes: int
    members: int
    free: tuple[int, ...]

    @property
    def suffices(self) -> bool:
        """Whether enough of these PVs may have room."""
        return sum(free >= self.member_bytes for free in self.free) >= self.members


def room(topology: Topology, layout: Layout, size: int | None, pvs: Iterable[str]) -> Room | None:
    """Return the room on *pvs* for *size* bytes in *layout*; None if a size is not known."""
    if not size:
        return None
    free = []
    for pv in pvs:
        whole = topology[pv].size
        if whole is None:
            return None
        users = {edge.above for edge in topology.above(pv)}
        # What a device that spans several PVs has on this one is not known, so it counts as nothing.
        used = (topology[n].size for n in users if {e.below for e in topology.below(n)} == {pv})
        free.append(max(0, whole - sum(filter(None, used))))
    return Room(ceil(size / layout.data_members), layout.members, tuple(free)) if free else None


def usable(layout: Layout, each: int | None) -> int | None:
    """Return the capacity of *layout* on members of *each* bytes."""
    return None if each is None else int(layout.data_members * each)


def need(layout: Layout, size: int | None, each: int | None) -> Need | None:
    """Return the members of *each* bytes that hold *size* in *layout*; None if not known."""
    if not size or not each:
        return None
    if RAID_LEVELS[layout.level].copies is None:  # more members would add copies, not capacity
        return Need(max(each, size), layout.members)
    return Need(each, ceil(size * layout.copies / each) + layout.parity)
