"""The capacity of a layout, and the members it needs to hold as much as now."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from stackmap.model.raid import RAID_LEVELS, Layout


class Need(NamedTuple):
    """
    The ``members`` of ``member_bytes`` each that hold what the volume holds now.

    Members keep their present size, except where each is a copy of all the data and must be larger.
    """

    member_bytes: int
    members: int


def member_bytes(size: int | None, present: Layout | None) -> int | None:
    """Return the bytes per member of a volume of *size*."""
    holds = 1 if present is None else present.data_members
    return None if size is None or not holds else ceil(size / holds)


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
