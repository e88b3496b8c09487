"""
The in-place conversions of ``lvconvert`` as a table, and the safest path through it.

A *takeover* gives the same stripes another level, and adds or drops members.
A *reshape* moves every stripe, for another rotation of parity. Both keep the
number of data stripes. Source: lvmraid(7). tests/lab/convert_all.py ran every
pair with lvm2 2.03.16 on Linux 6.1 and compared the content.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

STRIPED = frozenset({"striped", "raid0", "raid0_meta"})
NO_METADATA = ("striped", "raid0")
PARITY = ("raid4", "raid5_n", "raid6_n_6", "raid10")
ROTATIONS = ("ls", "n")  # LVM's default rotation of parity, and the one that becomes striped
RAID5 = frozenset({"raid5_ls", "raid5_n"})
RAID6 = frozenset({"raid6_zr", "raid6_ls_6", "raid6_n_6"})

# lvs' names for the same type (lvmraid(7)).
ALIASES = {"raid5": "raid5_ls", "raid6": "raid6_zr", "raid10_near": "raid10"}

# Striped types gain members only through raid0_meta. A conversion that adds members names the new
# PVs, and LVM would put the metadata of the present members there too. Without PVs, as for
# raid0_meta, LVM keeps metadata next to its data (raid_manip.c, _alloc_rmeta_devs_for_rimage_devs).
TAKEOVERS: frozenset[tuple[str, str]] = frozenset(
    {("raid0_meta", b) for b in PARITY}
    | {(a, b) for a in PARITY for b in STRIPED}
    | {(a, b) for a in NO_METADATA for b in STRIPED if a != b}
    | {("raid0_meta", b) for b in NO_METADATA}
    | {("raid4", "raid5_n"), ("raid5_n", "raid4")}
    | {(f"raid5_{r}", f"raid6_{r}_6") for r in ROTATIONS}
    | {(f"raid6_{r}_6", f"raid5_{r}") for r in ROTATIONS}
)
RESHAPES: frozenset[tuple[str, str]] = frozenset(
    {(a, b) for family in (RAID5, RAID6) for a in family for b in family if a != b}
)

# A reshape reads and writes everything twice; any amount of I/O is better than no redundancy.
TAKEOVER_COST, RESHAPE_COST, STRIPED_COST = 1, 10, 1000


@dataclass(frozen=True, slots=True)
class Conversion:
    """One lvconvert between segment types; ``reshape``: it moves every stripe."""

    before: str
    after: str
    reshape: bool


def canonical(segtype: str) -> str:
    """
    Return the one name used here of a type with aliases.

    >>> canonical("raid5"), canonical("raid6_nr")
    ('raid5_ls', 'raid6_nr')
    """
    return ALIASES.get(segtype, segtype)


def names(segtype: str) -> tuple[str, ...]:
    """
    Return all names that lvs may print for a type.

    >>> names("raid6_zr")
    ('raid6_zr', 'raid6')
    """
    return (segtype, *(alias for alias, same in ALIASES.items() if same == segtype))


def members(segtype: str, data: int) -> int:
    """
    Return the members of a type with *data* stripes.

    >>> members("raid6_zr", 3), members("raid10", 2), members("striped", 4)
    (5, 4, 4)
    """
    level = segtype.partition("_")[0]
    parity = {"raid4": 1, "raid5": 1, "raid6": 2}.get(level, 0)
    return data * 2 if level == "raid10" else data + parity


def path(before: str, after: str) -> tuple[Conversion, ...] | None:
    """
    Return the conversions between two types, the safest path first, then the least I/O; None if none.

    >>> [each.after for each in path("raid5_ls", "raid6_zr")]
    ['raid6_ls_6', 'raid6_zr']
    >>> [each.after for each in path("raid5_ls", "raid10")]
    ['raid5_n', 'raid0_meta', 'raid10']
    """
    order = count()  # keeps the heap from comparing paths
    heap: list[tuple[int, int, str, tuple[Conversion, ...]]] = [(0, next(order), before, ())]
    seen: set[str] = set()
    while heap:
        cost, _, segtype, found = heapq.heappop(heap)
        if segtype == after:
            return found
        if segtype in seen:
            continue
        seen.add(segtype)
        for each in _conversions_from(segtype):
            more = RESHAPE_COST if each.reshape else TAKEOVER_COST
            more += STRIPED_COST if each.after in STRIPED and each.after != after else 0
            heapq.heappush(heap, (cost + more, next(order), each.after, (*found, each)))
    return None


def _conversions_from(segtype: str) -> list[Conversion]:
    found = [Conversion(a, b, reshape=False) for a, b in TAKEOVERS if a == segtype]
    found += [Conversion(a, b, reshape=True) for a, b in RESHAPES if a == segtype]
    return sorted(found, key=lambda each: (each.after != "striped", each.after))
