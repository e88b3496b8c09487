"""One block device: what it is called, what it is, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stackmap.model.raid import Layout

NEVER_SYNCED = (
    "never synced"  # a fact of an array whose redundancy nobody worked out when it was made
)


class Kind(StrEnum):
    """What a device is to the people who run it; ``dm`` is any target without a kind of its own."""

    DISK = "disk"
    PARTITION = "partition"
    ARRAY = "array"
    VOLUME = "volume"
    MEMBER = "member"
    CRYPT = "crypt"
    MULTIPATH = "multipath"
    CACHE = "cache"
    THIN = "thin"
    THIN_POOL = "thin-pool"
    SNAPSHOT = "snapshot"
    LOOP = "loop"
    ZRAM = "zram"
    BCACHE = "bcache"
    DM = "dm"


class Role(StrEnum):
    """What a device below is for, to the device above it."""

    DATA = "data"
    METADATA = "metadata"
    JOURNAL = "journal"
    CACHE = "cache"
    ORIGIN = "origin"
    COW = "cow"
    SPARE = "spare"
    PATH = "path"


@dataclass(frozen=True, slots=True)
class Use:
    """Who uses a device: ``how`` ("mount", "swap"), ``who`` ("/srv"), ``source`` (where that is said)."""

    kind: str
    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Device:
    """
    A block device, frozen at one instant.

    ``name`` is the kernel's ("dm-8"), unique, and so the key of the graph;
    ``label`` what people call it ("vghdd/vm-disk1"); ``number`` its
    major:minor; ``size`` bytes; ``dm_name`` device-mapper's own
    ("vghdd-vm--disk1"); ``target`` the dm target type; ``uuid`` what
    stays when numbers change (dm uuid, md uuid, WWN); ``diskseq`` the kernel's
    count of devices ever made, by which a name that was used again is told.
    ``state`` is "active" or what is wrong or under way ("degraded", "resync
    12.5 %", "suspended"); None where nothing told. ``counted`` is False where
    I/O passes without touching this device's own counters (a thin pool).
    ``queue`` holds the ``queue/`` attributes that were asked for, and where
    its geometry was, ``alignment_offset``, which stands beside them.
    ``facts`` holds what only its kind has (cipher, cache use), for display.
    """

    name: str
    kind: Kind
    number: str
    size: int | None = None
    label: str = ""
    dm_name: str = ""
    target: str = ""
    uuid: str = ""
    diskseq: str = ""
    layout: Layout | None = None
    state: str | None = None
    read_only: bool = False
    removable: bool = False
    rotational: bool | None = None
    model: str = ""
    serial: str = ""
    wwn: str = ""
    counted: bool = True
    merges: bool = False
    uses: tuple[Use, ...] = ()
    queue: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The label, or the kernel's name where people have no other."""
        return self.label or self.name

    @property
    def full_title(self) -> str:
        """The title, and the kernel's name with it where that is another: ``vghdd/data (dm-7)``."""
        return self.title if self.title == self.name else f"{self.title} ({self.name})"

    @property
    def mounts(self) -> tuple[str, ...]:
        """Where it is mounted."""
        return tuple(use.name for use in self.uses if use.kind == "mount")
