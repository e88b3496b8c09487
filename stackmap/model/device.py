"""
A block device: its names, kind, state, settings and users, and its own report at an instant.

Status is that of device-mapper targets, md arrays and md's threads.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from stackmap.model.raid import Layout

Counts = Mapping[str, int]
NO_COUNTS: Counts = {}


MAX_DEVICES = 50_000  # of a machine: 8 s and 300 MiB; an input with more is refused


class TargetStatus(NamedTuple):
    """
    The state and the numbers of one device.

    ``identity``: tells two devices of one name apart. ``state``: as in ``Device``.
    ``counts``: by name, in blocks of the target: thin pool and vdo ``data_used``, ``data_total``,
    thin pool ``metadata_used``, ``metadata_total``; snapshot ``used``, ``total`` (sectors);
    cache ``used``, ``total``, ``dirty``, ``metadata_used``, ``metadata_total``, and since its table
    was loaded ``read_hits``, ``read_misses``, ``write_hits``, ``write_misses``, ``demotions``,
    ``promotions`` (requests and blocks); writecache ``total``, ``free``, ``writeback``; md
    ``missing`` (members); and the keys of ``ERROR_COUNTS``.
    """

    identity: str
    state: str | None
    counts: Counts = MappingProxyType({})


class RaidThread(NamedTuple):
    """A kernel thread that serves one array: ``name`` as in ``ps`` ("md0_raid5"; LVM: "mdX_raid5")."""

    pid: int
    name: str


class Stalled(NamedTuple):
    """Seconds in which some task waited for I/O, and all that were not idle; None if unknown."""

    some: float
    full: float | None = None


class StatusReading(NamedTuple):
    """
    The status of every device that has one, read once.

    ``time``: when it was read, seconds since the epoch. ``targets`` by kernel name.
    ``threads``: CPU seconds that each md thread has used. ``stalled``: since boot, None if unknown.
    """

    time: float
    targets: Mapping[str, TargetStatus]
    threads: Mapping[RaidThread, float] = MappingProxyType({})
    stalled: Stalled | None = None


# A fact of an array whose redundancy was not initialised at creation.
NEVER_SYNCED = "never synced"
NO_TEXTS: Mapping[str, str] = {}


class Kind(StrEnum):
    """What a device is; ``dm`` is any device-mapper target without a kind of its own."""

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

    __hash__ = str.__hash__  # Enum's is a call of Python, and edges by the thousand are hashed


class Role(StrEnum):
    """What a device below is for, to the device above it."""

    DATA = "data"
    METADATA = "metadata"
    JOURNAL = "journal"
    CACHE = "cache"
    ORIGIN = "origin"
    COW = "cow"
    SPARE = "spare"
    FAILED = "failed"
    REPLACEMENT = "replacement"
    PATH = "path"

    __hash__ = str.__hash__  # as above


# The states of paths that take requests, and of those that the storage keeps for another time. dm-multipath and
# NVMe (ANA) have different words.
USABLE_PATH = ("active", "standby", "non-optimized")
UNUSED_PATH = ("disabled", "inaccessible")

# The roles of members without valid data.
UNUSED = frozenset({Role.SPARE, Role.FAILED, Role.REPLACEMENT})


KUBERNETES = "kubernetes "  # how the name of a user in Kubernetes begins
_KUBELET = re.compile(r"/.*/kubelet/(?:pods|plugins)/.*")  # a mount point that kubelet made


class Use(NamedTuple):
    """A user of a device: ``kind`` ("mount", "swap"), ``name`` ("/srv"), ``source`` (the file that says so)."""

    kind: str
    name: str
    source: str


class Queue(NamedTuple):
    """
    The settings of a device's request queue, as in its ``queue/`` in sysfs; None for one that was not read.

    Sizes are bytes. ``iostats``: whether the kernel counts the device's I/O; on dm-raid, it counts twice.
    ``scheduler``: the available ones, the chosen one in brackets. ``write_cache``: "write back" or "write
    through". ``alignment_offset``: bytes by which the device begins past its disk's alignment boundary.
    ``boundary``: of an array, bytes at whose multiples the kernel cuts requests before it counts them; 0: nowhere.
    ``throttling``: microseconds that writeback throttling aims at, 0 if it is off. ``depth``: requests that the
    driver gives to the device at once.
    """

    iostats: bool | None = None
    logical_block_size: int | None = None
    physical_block_size: int | None = None
    minimum_io_size: int | None = None
    optimal_io_size: int | None = None
    rotational: bool | None = None
    scheduler: str | None = None
    nr_requests: int | None = None
    read_ahead_kb: int | None = None
    write_cache: str | None = None
    max_sectors_kb: int | None = None
    alignment_offset: int | None = None
    boundary: int | None = None
    throttling: int | None = None
    depth: int | None = None


NO_QUEUE = Queue()


class Device(NamedTuple):
    """
    A block device at one instant.

    ``name``: the kernel's ("dm-8"), unique, the key in the topology. ``label``: the name people
    use ("vghdd/vm-disk1"). ``number``: major:minor. ``size``: bytes. ``dm_name``: device-mapper's
    name ("vghdd-vm--disk1"); ``target``: its dm target. ``uuid``: dm uuid, md uuid or WWN, stable
    across reboots. ``diskseq``: the kernel's sequence number of disks; it tells two devices of
    one name apart. ``state``: "active", or what is wrong or running ("degraded", "resync 12.5
    %"); None if unknown. ``merges``: whether its driver merges requests. ``facts``: what only its kind has (cipher, cache
    use), for display. ``counts``: numbers of its status, see ``TargetStatus``. ``full_stripes``: the
    share of bytes written to a parity array as full stripes, and the seconds in which a trace in the
    capture counted it; None without one. ``far_side``: a key of ``FAR_SIDES`` if sysfs shows that its
    data is not in this machine ("iscsi"), read with the geometry.
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
    merges: bool = False
    uses: tuple[Use, ...] = ()
    queue: Queue = NO_QUEUE
    facts: Mapping[str, str] = NO_TEXTS
    counts: Counts = NO_COUNTS
    full_stripes: tuple[float, float] | None = None
    far_side: str = ""

    @property
    def title(self) -> str:
        """The label, or the kernel's name if it has none."""
        return self.label or self.name

    @property
    def full_title(self) -> str:
        """The title, followed by the kernel's name if that differs: ``vghdd/data (dm-7)``."""
        return self.title if self.title == self.name else f"{self.title} ({self.name})"

    def fact_number(self, name: str) -> int | None:
        """Return a fact that is a whole number; None if there is none."""
        text = self.facts.get(name, "")  # untrusted
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None

    @property
    def identity(self) -> str:
        """
        What tells it apart from any other device of its name.

        That is the kernel's diskseq (5.15). Before, it is a uuid or WWN, and uevents
        must show whether the device was replaced.
        """
        return f"{self.number} {self.diskseq or self.uuid or self.wwn}"

    @property
    def status(self) -> TargetStatus:
        """Its state and counts when it was discovered."""
        return TargetStatus(self.identity, self.state, self.counts)

    @property
    def users(self) -> tuple[Use, ...]:
        """Its users by the names that people know: pods instead of the mount points that kubelet made for them."""
        if not any(use.name.startswith(KUBERNETES) for use in self.uses):
            return self.uses
        return tuple(
            use for use in self.uses if use.kind != "mount" or not _KUBELET.fullmatch(use.name)
        )

    @property
    def mounts(self) -> tuple[str, ...]:
        """Its mount points."""
        return tuple(use.name for use in self.uses if use.kind == "mount")
