"""
What ``lvconvert`` turns into what without moving all data: a table, and the safest path through it.

A *takeover* gives the same stripes another level, and adds or drops members;
a *reshape* moves every stripe (another rotation of parity). From lvmraid(7);
tests/lab/convert_all.py tries it, pair by pair, and tests/lab/test_plan.py the
whole ways: with lvm2 2.03.16 on Linux 6.1 every pair was gone, and the content
compared. Data stripes stay as many as they are.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count

STRIPED = frozenset({"striped", "raid0", "raid0_meta"})
NO_METADATA = ("striped", "raid0")  # those whose members have no metadata
PARITY = ("raid4", "raid5_n", "raid6_n_6", "raid10")
LEFT_ROTATIONS = (
    "ls",
    "n",
)  # rotations of parity: LVM's usual one, and the one that becomes striped
RAID5 = frozenset({"raid5_ls", "raid5_n"})
RAID6 = frozenset({"raid6_zr", "raid6_ls_6", "raid6_n_6"})

# What lvs calls them, and what they are the same as (lvmraid(7)).
ALIASES = {"raid5": "raid5_ls", "raid6": "raid6_zr", "raid10_near": "raid10"}

# Up from striped only by way of raid0_meta: a leg that adds members is told which PVs to take, and
# LVM would put the metadata of the members that are there on those, too; told no PVs, as raid0_meta
# is, it keeps it beside their data (_alloc_rmeta_devs_for_rimage_devs in raid_manip.c, and tried).
TAKEOVERS: frozenset[tuple[str, str]] = frozenset(
    {("raid0_meta", b) for b in PARITY}
    | {(a, b) for a in PARITY for b in STRIPED}
    | {(a, b) for a in NO_METADATA for b in STRIPED if a != b}
    | {("raid0_meta", b) for b in NO_METADATA}
    | {("raid4", "raid5_n"), ("raid5_n", "raid4")}
    | {(f"raid5_{r}", f"raid6_{r}_6") for r in LEFT_ROTATIONS}
    | {(f"raid6_{r}_6", f"raid5_{r}") for r in LEFT_ROTATIONS}
)
RESHAPES: frozenset[tuple[str, str]] = frozenset(
    {(a, b) for family in (RAID5, RAID6) for a in family for b in family if a != b}
)

# A reshape reads and writes everything twice; no redundancy is worse than any work.
TAKEOVER_COST, RESHAPE_COST, BARE_COST = 1, 10, 1000


@dataclass(frozen=True, slots=True)
class Conversion:
    """One lvconvert: to which type, and whether every stripe moves for it."""

    before: str
    after: str
    reshape: bool


def canonical(segtype: str) -> str:
    """
    Return the one name of a type that has several.

    >>> canonical("raid5"), canonical("raid6_nr")
    ('raid5_ls', 'raid6_nr')
    """
    return ALIASES.get(segtype, segtype)


def names(segtype: str) -> tuple[str, ...]:
    """
    Return what lvs may call a type.

    >>> names("raid6_zr")
    ('raid6_zr', 'raid6')
    """
    return (segtype, *(alias for alias, same in ALIASES.items() if same == segtype))


def members(segtype: str, data: int) -> int:
    """
    Return how many members a type has with *data* stripes.

    >>> members("raid6_zr", 3), members("raid10", 2), members("striped", 4)
    (5, 4, 4)
    """
    level = segtype.partition("_")[0]
    return (
        data * 2 if level == "raid10" else data + {"raid4": 1, "raid5": 1, "raid6": 2}.get(level, 0)
    )


def path(before: str, after: str) -> tuple[Conversion, ...] | None:
    """
    Return the legs from one type to another, the safest first and then the least work; None if none.

    >>> [leg.after for leg in path("raid5_ls", "raid6_zr")]
    ['raid6_ls_6', 'raid6_zr']
    >>> [leg.after for leg in path("raid5_ls", "raid10")]
    ['raid5_n', 'raid0_meta', 'raid10']
    """
    order = count()  # so that the heap never compares paths
    heap: list[tuple[int, int, str, tuple[Conversion, ...]]] = [(0, next(order), before, ())]
    seen: set[str] = set()
    while heap:
        cost, _, here, conversions = heapq.heappop(heap)
        if here == after:
            return conversions
        if here in seen:
            continue
        seen.add(here)
        for conversion in _from(here):
            more = RESHAPE_COST if conversion.reshape else TAKEOVER_COST
            more += BARE_COST if conversion.after in STRIPED and conversion.after != after else 0
            heapq.heappush(
                heap, (cost + more, next(order), conversion.after, (*conversions, conversion))
            )
    return None


def _from(here: str) -> list[Conversion]:
    found = [Conversion(a, b, reshape=False) for a, b in TAKEOVERS if a == here]
    return sorted(
        found + [Conversion(a, b, reshape=True) for a, b in RESHAPES if a == here],
        key=lambda conversion: (conversion.after != "striped", conversion.after),
    )
