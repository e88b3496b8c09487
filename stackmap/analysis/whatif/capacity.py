"""What a layout holds, and how many members it takes to hold as much as now."""

from __future__ import annotations

from math import ceil

from stackmap.analysis.whatif.projection import Need
from stackmap.model.raid import RAID_LEVELS, Layout


def member_bytes(size: int | None, present: Layout | None) -> int | None:
    """Return what a member holds now of a volume of *size*."""
    data_members = 1 if present is None else present.data_members
    return None if size is None or not data_members else ceil(size / data_members)


def usable(layout: Layout, each: int | None) -> int | None:
    """Return what *layout* holds on members of *each* bytes."""
    return None if each is None else int(layout.data_members * each)


def need(layout: Layout, size: int | None, each: int | None) -> Need | None:
    """
    Return how many members of *each* bytes hold *size* in *layout*; None where it is not known.

    Where each is a copy of all, members are as many as they are: what they lack in size, no further one adds.
    """
    if not size or not each:
        return None
    if RAID_LEVELS[layout.level].copies is None:
        return Need(max(each, size), layout.members)
    return Need(each, ceil(size * layout.copies / each) + layout.parity)
