"""
A requested layout, ``LEVEL[:members=,chunk=,copies=,layout=]``, and the layout it gives a volume.

What the request leaves open comes from the present layout, or else from the
defaults of mdadm and lvcreate. ``LayoutError`` if no such array exists.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from math import ceil

from stackmap.errors import LayoutError
from stackmap.model.raid import PAGE, RAID_LEVELS, Layout, layout
from stackmap.model.units import KIB

# A bare number is KiB, as for mdadm and lvcreate.
_UNITS = {"": KIB, "k": KIB, "m": KIB**2, "g": KIB**3}

# The minimum of members by level, for md and for LVM. LVM needs two data stripes, and three for
# raid6 (lvmraid(7)).
MIN_MEMBERS = {"raid0": (2, 2), "raid1": (2, 2), "raid4": (3, 3), "raid5": (3, 3), "raid6": (4, 5)} | {
    "raid10": (2, 4), "mirror": (2, 2), "striped": (2, 2), "linear": (1, 1)
}  # fmt: skip
DEFAULT_CHUNK_MD, DEFAULT_CHUNK_LVM = 512 * KIB, 64 * KIB  # defaults: mdadm(8), lvmraid(7)
DEFAULT_COPIES = 2

_PARITY = frozenset({"la", "ra", "ls", "rs", "n"})
VARIANTS = {
    "raid10": frozenset({"near", "far", "offset"}),
    "raid5": _PARITY,
    "raid6": frozenset({"zr", "nr", "nc", *(f"{v}_6" for v in _PARITY)}) | _PARITY,
}


@dataclass(frozen=True, slots=True)
class LayoutRequest:
    """The requested values, None where left open. ``chunk``: bytes. ``variant``: as in ``Layout``."""

    level: str
    members: int | None = None
    chunk: int | None = None
    copies: int | None = None
    variant: str | None = None

    def resolve(self, present: Layout | None, *, lvm: bool) -> Layout:
        """
        Return the requested layout for a volume laid out as *present* (None: on one device).

        The number of members stays, or grows to the level's minimum; *lvm*: LVM's
        minimum instead of md's. ``LayoutError`` if the request is impossible.
        """
        same = present if present is not None and present.level == self.level else None
        copies = self._copies(same)
        members = self._members(present, same, copies, lvm=lvm)
        variant = self.variant or (same.variant if same else "near" * (self.level == "raid10"))
        requested = layout(self.level, members, self._chunk(present, lvm=lvm), copies, variant)
        if requested is None:
            raise LayoutError(f"{self.level}: an array of {members} members is not possible")
        return requested

    def _copies(self, same: Layout | None) -> int | None:
        """Return the copies of each byte; None for a level without copies."""
        if self.level in ("raid1", "mirror"):
            if None not in (self.members, self.copies) and self.members != self.copies:
                raise LayoutError(
                    f"{self.level}: members and copies must be equal, for every member is a copy"
                )
            return self.copies or self.members or (same.copies if same else DEFAULT_COPIES)
        if self.level == "raid10":
            return self.copies or (same.copies if same else DEFAULT_COPIES)
        if self.copies not in (None, 1):
            raise LayoutError(f"{self.level} has no copies")
        return None

    def _members(
        self, present: Layout | None, same: Layout | None, copies: int | None, *, lvm: bool
    ) -> int:
        if self.level in ("raid1", "mirror"):
            return copies or DEFAULT_COPIES
        least = max(MIN_MEMBERS[self.level][lvm], copies or 1)
        current = present.members if present else 1
        if present and self.level == "linear" and same is None:
            # md's linear members are disks: as many as the data needs.
            current = 1 if lvm else ceil(present.data_members)
        chosen = self.members or max(current, least)
        if chosen < least:
            where = "LVM" if lvm else "md"
            raise LayoutError(f"{self.level}: {where} needs {least} members or more, not {chosen}")
        if not lvm or self.level != "raid10" or copies is None or chosen % copies == 0:
            return chosen
        if self.members:
            raise LayoutError(f"raid10: LVM needs a multiple of {copies} members, not {chosen}")
        return chosen + copies - chosen % copies

    def _chunk(self, present: Layout | None, *, lvm: bool) -> int | None:
        if not RAID_LEVELS[self.level].stripes:
            if self.chunk is not None:
                raise LayoutError(f"{self.level} has no chunks")
            return None
        default = DEFAULT_CHUNK_LVM if lvm else DEFAULT_CHUNK_MD
        return self.chunk or (present.chunk if present and present.chunk else default)


def unsupported_by_lvm(layout: Layout) -> str:
    """Return why LVM cannot make *layout*, as a sentence; "" if it can. Its RAID10 is always near."""
    if layout.level != "raid10" or layout.variant in ("", "near"):
        return ""
    return f"LVM cannot make a raid10 with the layout {layout.variant}"


def parse(text: str) -> LayoutRequest:
    """
    Return the request in *text*; ``LayoutError`` on a syntax error or an unknown value.

    >>> parse("raid10:members=6,chunk=128k,layout=far")
    LayoutRequest(level='raid10', members=6, chunk=131072, copies=None, variant='far')
    """
    level, _, options = text.lower().partition(":")
    if level not in RAID_LEVELS:
        similar = get_close_matches(level, RAID_LEVELS, 1)
        advice = f"did you mean {similar[0]}?" if similar else f"use {', '.join(RAID_LEVELS)}"
        raise LayoutError(f"unknown layout {level}; {advice}")
    values: dict[str, int | str] = {}
    for word in filter(None, options.split(",")):
        key, equals, value = word.partition("=")
        if key not in READERS or not equals:
            raise LayoutError(f"{word}: a layout takes {', '.join(f'{k}=' for k in READERS)}")
        name = "variant" if key == "layout" else key
        if name in values:
            raise LayoutError(f"{key}= is given twice")
        values[name] = READERS[key](level, value)
    return LayoutRequest(level, **values)  # type: ignore[arg-type] # the readers give each its type


def _count(_: str, value: str) -> int:
    if not re.fullmatch(r"0*[1-9][0-9]{0,3}", value):
        raise LayoutError(f"{value}: members and copies are whole numbers from 1 to 9999")
    return int(value)


def _size(_: str, value: str) -> int:
    match = re.fullmatch(r"([0-9]{1,9})([kmg]?)(?:i?b)?", value.lower())
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if size < PAGE or size & (size - 1):
        raise LayoutError(f"{value}: a chunk is a power of two from 4k, as in 64k or 1m")
    return size


def _variant(level: str, value: str) -> str:
    known = VARIANTS.get(level, frozenset())
    if value not in known:
        among = f"one of {', '.join(sorted(known))}" if known else "it has none to choose"
        raise LayoutError(f"{value}: not a layout of {level}; {among}")
    return value


READERS: dict[str, Callable[[str, str], int | str]] = {
    "members": _count,
    "chunk": _size,
    "copies": _count,
    "layout": _variant,
}
