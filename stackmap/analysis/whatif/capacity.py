"""What a layout holds, and how many members it takes to hold as much as now."""

from __future__ import annotations

from math import ceil

from stackmap.analysis.whatif.projection import Need
from stackmap.model.raid import Layout


def data_members(layout: Layout, members: int) -> float:
    """Return how many of *members* hold data, each counted once; RAID10 of an odd number halves one."""
    if layout.level in ("raid1", "mirror"):
        return 1.0
    return max(0.0, (members - layout.parity) / layout.copies)


def member_bytes(size: int | None, present: Layout | None) -> int | None:
    """Return what a member holds now of a volume of *size*."""
    if size is None:
        return None
    return ceil(size / (1 if present is None else data_members(present, present.members)))


def usable(layout: Layout, each: int | None) -> int | None:
    """Return what *layout* holds on members of *each* bytes."""
    return None if each is None else int(data_members(layout, layout.members) * each)


def need(layout: Layout, size: int | None, each: int | None) -> Need | None:
    """Return how many members of *each* bytes hold *size* in *layout*; None where it is not known."""
    if not size or not each:
        return None
    if layout.level in ("raid1", "mirror"):
        return Need(each, layout.members) if each >= size else None
    return Need(each, ceil(size * layout.copies / each) + layout.parity)
