"""What the kernel has charged one control group for one device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CgroupCounters(NamedTuple):
    """Totals since group and device are both there: requests and bytes."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    write_bytes: int = 0


CgroupSample = Mapping[
    tuple[str, str], CgroupCounters
]  # by group ("/system.slice/x.service") and device number


class CgroupLoad(NamedTuple):
    """
    What *group* sent to the device with *number*, a second.

    It is of the layer it was charged at, the device named: requests before
    anything below made more of them.
    """

    group: str
    number: str
    ios: float
    bytes: float


def cgroup_loads(earlier: CgroupSample, later: CgroupSample, seconds: float) -> list[CgroupLoad]:
    """Return what grew between two readings, the heaviest first; a group that is new has no rate."""
    found = []
    for (group, number), now in later.items():
        before = earlier.get((group, number))
        if before is None or now.reads < before.reads or now.writes < before.writes:
            continue
        ios = now.reads + now.writes - before.reads - before.writes
        moved = now.read_bytes + now.write_bytes - before.read_bytes - before.write_bytes
        if ios > 0:
            found.append(CgroupLoad(group, number, ios / seconds, moved / seconds))
    return sorted(found, key=lambda each: -each.ios)
