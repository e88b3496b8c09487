"""What LVM itself says is wrong with an LV: the health in its attributes."""

from collections.abc import Mapping
from typing import NamedTuple

HEALTH = 8  # the place of the health in lv_attr, lvs(8)


class LvHealth(NamedTuple):
    """What a letter says of an LV, in ``words``; ``is_lost``: whether its data is lost or in danger; ``repair``: what to run."""

    words: str
    is_lost: bool
    repair: str


# Not listed: w (write-mostly) and R (reshape), which are healthy, and X (unknown).
LV_HEALTH: Mapping[str, LvHealth] = {
    "p": LvHealth("partial, a PV is missing", True, "attach the PV again, or run lvconvert --repair"),
    "F": LvHealth("failed", True, "see the kernel log, then lvconvert --repair"),
    "D": LvHealth("out of data space", True, "extend the pool with lvextend"),
    "M": LvHealth("its metadata is read-only", True, "deactivate it, then run lvconvert --repair"),
    "E": LvHealth("error of its write cache", True, "see the kernel log and replace the cache's disk"),
    "r": LvHealth("refresh needed, a PV was missing for a time", False, "run lvchange --refresh"),
    "m": LvHealth("mismatches, copies or parity differ", False, "run lvchange --syncaction check"),
}  # fmt: skip


def lv_health(attributes: str) -> LvHealth | None:
    """
    Return the problem that LVM itself reports for an LV, by its lv_attr; None without one.

    >>> lv_health("rwi-aor-p-").words, lv_health("rwi-aor---"), lv_health("")
    ('partial, a PV is missing', None, None)
    """
    return LV_HEALTH.get(attributes[HEALTH : HEALTH + 1])
