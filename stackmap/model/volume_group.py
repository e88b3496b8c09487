"""A volume group as LVM reports it: its PVs with their free extents, and its LVs with their placement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class PhysicalVolume:
    """
    A PV: ``path`` in LVM's words, ``device`` the kernel name ("" if the device is missing).

    ``extents`` and ``free``: all extents, and unallocated ones; ``usable``: allocatable and present.
    """

    path: str
    device: str
    extents: int
    free: int
    usable: bool = True


@dataclass(frozen=True, slots=True)
class LogicalVolume:
    """
    An LV or sub-LV: ``name`` without LVM's brackets, ``extents`` its own length.

    ``segtypes``: one per segment ("raid5_ls"). ``attributes``: lv_attr. ``pool``: the pool it belongs
    to or is cached by. ``region``: bytes per bit of its bitmap, None if it has none. ``on``: extents
    per PV path; an LV with sub-LVs has none of its own.
    """

    name: str
    segtypes: tuple[str, ...]
    extents: int
    attributes: str = ""
    pool: str = ""
    origin: str = ""
    region: int | None = None
    on: Mapping[str, int] = field(default_factory=dict)

    @property
    def segtype(self) -> str:
        """The type of all segments, "" if they differ."""
        return self.segtypes[0] if len(set(self.segtypes)) == 1 else ""


@dataclass(frozen=True, slots=True)
class VolumeGroup:
    """A VG: ``extent`` is bytes per extent, ``attributes`` is vg_attr, ``volumes`` is LVs by name."""

    name: str
    extent: int
    attributes: str
    shared: bool
    pvs: tuple[PhysicalVolume, ...]
    volumes: Mapping[str, LogicalVolume]

    def pv_of(self, device: str) -> PhysicalVolume | None:
        """Return the PV on a device, by kernel name; None if there is none."""
        return next((pv for pv in self.pvs if pv.device == device), None)


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
    Return what LVM itself says is wrong with an LV, by its lv_attr; None if nothing.

    >>> lv_health("rwi-aor-p-").words, lv_health("rwi-aor---"), lv_health("")
    ('partial, a PV is missing', None, None)
    """
    return LV_HEALTH.get(attributes[HEALTH : HEALTH + 1])
