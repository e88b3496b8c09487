"""
A layout as it is asked for, ``LEVEL[:members=,chunk=,copies=,layout=]``, and what it means for a volume.

What is not said is taken from the layout that is there now, or from what
mdadm and lvcreate would choose; ``LayoutError`` where no array can be so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from stackmap.errors import LayoutError
from stackmap.model.raid import PAGE, RAID_LEVELS, Layout, layout

KIB = 1024
_UNITS = {
    "": KIB,
    "k": KIB,
    "m": KIB**2,
    "g": KIB**3,
}  # a bare number is KiB, as mdadm and lvcreate

# The least members, by level: of md, and of LVM, which asks for two stripes of data in all but raid6,
# and for three there (lvmraid(7)).
MIN_MEMBERS = {"raid0": (2, 2), "raid1": (2, 2), "raid4": (3, 3), "raid5": (3, 3), "raid6": (4, 5)} | {
    "raid10": (2, 4), "mirror": (2, 2), "striped": (2, 2), "linear": (1, 1)
}  # fmt: skip
DEFAULT_CHUNK_MD, DEFAULT_CHUNK_LVM = (
    512 * KIB,
    64 * KIB,
)  # where nothing is said: mdadm(8), lvmraid(7)
DEFAULT_COPIES = 2

_PARITY = frozenset({"la", "ra", "ls", "rs", "n"})
VARIANTS = {
    "raid10": frozenset({"near", "far", "offset"}),
    "raid5": _PARITY,
    "raid6": frozenset({"zr", "nr", "nc", *(f"{v}_6" for v in _PARITY)}) | _PARITY,
}


@dataclass(frozen=True, slots=True)
class LayoutRequest:
    """What was said; None where it was not. ``chunk``: bytes. ``variant``: as in ``Layout``."""

    level: str
    members: int | None = None
    chunk: int | None = None
    copies: int | None = None
    variant: str | None = None

    def resolve(self, present: Layout | None, *, lvm: bool) -> Layout:
        """
        Return the layout that is meant, for a volume laid out as *present* (None: on one device).

        The members stay as many as they are, or become as many as the level
        needs, of a linear volume one; *lvm*: where LVM makes it, which needs
        more. ``LayoutError`` if what was said cannot be.
        """
        same = present if present is not None and present.level == self.level else None
        copies = self._copies(same)
        members = self._members(present, same, copies, lvm=lvm)
        variant = self.variant or (same.variant if same else "near" * (self.level == "raid10"))
        meant = layout(self.level, members, self._chunk(present, lvm=lvm), copies, variant)
        if meant is None:
            raise LayoutError(f"{self.level}: no array of {members} members can be made")
        return meant

    def _copies(self, same: Layout | None) -> int | None:
        """Return the copies of each byte; None for a level that has one, or parity."""
        if self.level in ("raid1", "mirror"):
            if None not in (self.members, self.copies) and self.members != self.copies:
                raise LayoutError(
                    f"{self.level}: every member is a copy, so members and copies are one"
                )
            return self.copies or self.members or (same.copies if same else DEFAULT_COPIES)
        if self.level == "raid10":
            return self.copies or (same.copies if same else DEFAULT_COPIES)
        if self.copies not in (None, 1):
            raise LayoutError(f"{self.level} has no copies to choose")
        return None

    def _members(
        self, present: Layout | None, same: Layout | None, copies: int | None, *, lvm: bool
    ) -> int:
        if self.level in ("raid1", "mirror"):
            return copies or DEFAULT_COPIES
        least = max(MIN_MEMBERS[self.level][lvm], copies or 1)
        chosen = self.members or max(self._default_members(same, present, lvm=lvm), least)
        if chosen < least:
            where = "LVM" if lvm else "md"
            raise LayoutError(
                f"{self.level}: {where} makes it of {least} members or more, not {chosen}"
            )
        if not lvm or self.level != "raid10" or copies is None or chosen % copies == 0:
            return chosen
        if self.members:
            raise LayoutError(
                f"raid10: LVM makes it of whole sets of {copies} members, not {chosen}"
            )
        return chosen + copies - chosen % copies

    def _default_members(self, same: Layout | None, present: Layout | None, *, lvm: bool) -> int:
        """Return how many members it has where nothing is said."""
        there = same or present
        if there is None:
            return 1
        if self.level == "linear" and same is None:
            return (
                1 if lvm else ceil(there.data_members)
            )  # md's members are disks: as many as hold the data
        return there.members

    def _chunk(self, present: Layout | None, *, lvm: bool) -> int | None:
        if not RAID_LEVELS[self.level].stripes:
            if self.chunk is not None:
                raise LayoutError(f"{self.level} has no chunks")
            return None
        usual = DEFAULT_CHUNK_LVM if lvm else DEFAULT_CHUNK_MD
        return self.chunk or (present.chunk if present and present.chunk else usual)


def unsupported_by_lvm(layout: Layout) -> str:
    """Return what LVM has not of *layout*, as a sentence; "" where it has all: its RAID10 is laid out near."""
    if layout.level != "raid10" or layout.variant in ("", "near"):
        return ""
    return f"LVM makes no raid10 with the layout {layout.variant}"


def parse(text: str) -> LayoutRequest:
    """
    Return what *text* asks for; ``LayoutError`` if it cannot be understood.

    >>> parse("raid10:members=6,chunk=128k,layout=far")
    LayoutRequest(level='raid10', members=6, chunk=131072, copies=None, variant='far')
    """
    level, _, said = text.partition(":")
    if level not in RAID_LEVELS:
        raise LayoutError(f"no layout is named {level}: one of {', '.join(RAID_LEVELS)}")
    found: dict[str, int | str] = {}
    for word in filter(None, said.split(",")):
        key, equals, value = word.partition("=")
        if key not in OPTION_PARSERS or not equals:
            raise LayoutError(
                f"{word}: a layout takes {', '.join(f'{k}=' for k in OPTION_PARSERS)}"
            )
        name = "variant" if key == "layout" else key
        if name in found:
            raise LayoutError(f"{key}= is said twice")
        found[name] = OPTION_PARSERS[key](level, value)
    return LayoutRequest(level, **found)  # type: ignore[arg-type] # the readers give each its type


def _count(_: str, value: str) -> int:
    if not re.fullmatch(r"0*[1-9][0-9]{0,3}", value):
        raise LayoutError(f"{value}: a count of members or copies is a whole number from 1")
    return int(value)


def _size(_: str, value: str) -> int:
    found = re.fullmatch(r"([0-9]{1,9})([kmg]?)(?:i?b)?", value.lower())
    size = int(found[1]) * _UNITS[found[2]] if found else 0
    if size < PAGE or size & (size - 1):
        raise LayoutError(f"{value}: a chunk is a power of two from 4k, as in 64k or 1m")
    return size


def _variant(level: str, value: str) -> str:
    known = VARIANTS.get(level, frozenset())
    if value not in known:
        among = f"one of {', '.join(sorted(known))}" if known else "none to choose"
        raise LayoutError(f"{value}: {level} has no such layout; {among}")
    return value


OPTION_PARSERS: dict[str, Callable[[str, str], int | str]] = {
    "members": _count,
    "chunk": _size,
    "copies": _count,
    "layout": _variant,
}
