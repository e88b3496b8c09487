"""A volume group as LVM reports it: its PVs, what is free on each, and which LV has what of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PhysicalVolume:
    """
    A PV: ``path`` as LVM calls it, ``device`` the kernel's name ("" if it is not there).

    ``extents`` and ``free``: how many it has, and how many of them no LV does;
    ``usable``: whether LVM may allocate on it.
    """

    path: str
    device: str
    extents: int
    free: int
    usable: bool = True


@dataclass(frozen=True, slots=True)
class LogicalVolume:
    """
    An LV, hidden ones too: ``name`` without LVM's brackets, ``extents`` its own length.

    ``segtypes``: of each of its segments ("raid5_ls"). ``attributes``: lvs'
    ten letters. ``pool``: the pool it is in or is cached by. ``on``: extents
    on each PV, by path; of an LV that has hidden ones, theirs are on the PVs.
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
        """The type of all its segments, "" where they differ."""
        return self.segtypes[0] if len(set(self.segtypes)) == 1 else ""


@dataclass(frozen=True, slots=True)
class VolumeGroup:
    """A VG: ``extent`` is the bytes of one; ``attributes`` are vgs' six letters; PVs and LVs by name."""

    name: str
    extent: int
    attributes: str
    shared: bool
    pvs: tuple[PhysicalVolume, ...]
    volumes: Mapping[str, LogicalVolume]

    def pv_of(self, device: str) -> PhysicalVolume | None:
        """Return the PV on the device with this kernel name."""
        return next((pv for pv in self.pvs if pv.device == device), None)
