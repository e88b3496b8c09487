"""A volume group as LVM reports it: its PVs with their free extents, and its LVs with their placement."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
