"""The volumes of a fleet: their figures over a window, their order, their sums, and the object of ``fleet -J``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from stackmap.ledger.wear import DAY, Years, life, years
from stackmap.model.health import Health, Life
from stackmap.model.load import plus, ratio

if TYPE_CHECKING:
    from stackmap.features.fleet.health import Trouble

COPIES = 2  # of RAID10: bytes written per byte
LEAST_LEFT = 0.001  # of a disk's life, so that disks of which nothing is left have an order
SCHEMA = "stackmap.fleet/1"


class SlowestMember(NamedTuple):
    """A member, and its await ÷ the median of its peers."""

    device: str
    ratio: float


class Wear(NamedTuple):
    """
    The disk that a volume wears out first. ``rate``: the share of the remaining life that the volume uses per second.

    ``bytes``: that the volume writes to the disk per second, parity and metadata included. ``used``: the share of the
    disk's life. ``years``: how long the rest lasts if nothing else writes to the disk. ``all_bytes``, ``all_years``:
    with everything that writes to it, None if unknown.
    """

    disk: str
    rate: float
    bytes: float
    used: float
    years: Years
    all_bytes: float | None
    all_years: Years | None


class DiskLife(NamedTuple):
    """
    A disk that has ``used`` a share of its life: the rest, and the bytes that a ``rate`` of 1 of ``Wear`` is.

    ``all_bytes``: that are written to it per second, None if unknown.
    """

    used: float
    rest: Life
    bytes: float
    all_bytes: float | None


def disk_life(used: float, written: float, all_bytes: float | None) -> DiskLife | None:
    """Return the life of a disk that has *used* a share of it for *written* bytes; None if that is too little to tell."""
    rest = life(Health(used=used, written=round(written)))
    return rest and DiskLife(used, rest, max(1 - used, LEAST_LEFT) * written / used, all_bytes)


def wear(disk: str, rate: float, of: DiskLife) -> Wear | None:
    """Return the wear of *disk*; None if next to nothing is written to it."""
    per_second = rate * of.bytes
    lasts = years(of.rest, per_second, per_second)
    if lasts is None or not isfinite(lasts.high):
        return None
    everything = of.all_bytes
    all_years = years(of.rest, everything, everything) if everything else None
    return Wear(disk, rate, per_second, of.used, lasts, everything, all_years)


class Key(NamedTuple):
    """What identifies a volume at an instant; ``top``: its kernel name. ``cluster``: "" without such a label."""

    cluster: str
    job: str
    host: str
    top: str
    name: str


class Volume(NamedTuple):
    """
    A volume, or an array that several volumes share, over a window; figures per second, None if unknown.

    ``disk_bytes``, ``disk_requests``: everything the disks did for it. ``parity_bytes``: bytes
    read and written at its members beyond those it read, ``parity_write_bytes``: what it wrote while
    these are known, so not during a resync. ``ideal``: least bytes written at the
    disks per byte written. ``io_seconds``: seconds that its requests took together. ``uuid``: LVM's or md's, ""
    without one. ``shared``: several volumes use it.
    """

    key: Key
    level: str = ""
    uuid: str = ""
    shared: bool = False
    members: int | None = None
    state: str | None = None
    read_bytes: float | None = None
    write_bytes: float | None = None
    reads: float | None = None
    writes: float | None = None
    parity_bytes: float | None = None
    parity_write_bytes: float | None = None
    disk_bytes: float | None = None
    disk_requests: float | None = None
    wasted_bytes: float | None = None
    wasted_requests: float | None = None
    io_seconds: float | None = None
    ideal: float | None = None
    slowest: SlowestMember | None = None
    wear: Wear | None = None

    @property
    def await_ms(self) -> float | None:
        """Mean time per read or write; None where the kernel does not count it: old ones do not for md arrays."""
        return _await(self.io_seconds, self.iops)

    @property
    def iops(self) -> float | None:
        """Requests of the volume."""
        return plus(self.reads, self.writes)

    @property
    def cost(self) -> float | None:
        """Bytes at the members per byte written; None without parity."""
        return ratio(self.parity_bytes, self.parity_write_bytes)

    @property
    def disk_bytes_per_byte(self) -> float | None:
        """Bytes at the disks per byte read or written."""
        return ratio(self.disk_bytes, plus(self.read_bytes, self.write_bytes))

    @property
    def raid10_saves(self) -> float | None:
        """Bytes at the members that RAID10 would not move; negative where it would move more. None without parity."""
        if self.parity_bytes is None or self.parity_write_bytes is None:
            return None
        return self.parity_bytes - COPIES * self.parity_write_bytes

    @property
    def raid10_saves_requests(self) -> float | None:
        """Disk requests that RAID10 would save: an estimate that counts one request per copy of a write."""
        if self.raid10_saves is None or self.writes is None:
            return None
        if self.disk_requests is None or self.reads is None:
            return None
        return self.disk_requests - self.reads - COPIES * self.writes


# Fields of a volume that are means over the window.
RATES = frozenset({
    "read_bytes", "write_bytes", "reads", "writes", "parity_bytes", "parity_write_bytes", "disk_bytes", "disk_requests",
    "wasted_bytes", "wasted_requests", "io_seconds",
})  # fmt: skip


def _await(seconds: float | None, requests: float | None) -> float | None:
    """Return the await in ms; None if it was not counted."""
    return seconds / requests * 1000 if seconds and requests else None


SORTS: Mapping[str, Callable[[Volume], float | None]] = {
    "wasted": lambda v: v.wasted_bytes,
    "wasted-iops": lambda v: v.wasted_requests,
    "cost": lambda v: v.cost,
    "iops": lambda v: v.iops,
    "written": lambda v: v.write_bytes,
    "await": lambda v: v.await_ms,
    "slowest": lambda v: None if v.slowest is None else v.slowest.ratio,
    "raid10": lambda v: v.raid10_saves,
    "wear": lambda v: None if v.wear is None else v.wear.rate,
}


def worst_first(volumes: Iterable[Volume], sort: str) -> list[Volume]:
    """Return *volumes* with the highest figure first, the unknown ones last, then by host and name."""
    figure = SORTS[sort]

    def place(volume: Volume) -> tuple[bool, float, Key]:
        value = figure(volume)
        return value is None, -(value or 0.0), volume.key

    return sorted(volumes, key=place)


class Group(NamedTuple):
    """
    All volumes with a ``value`` of a label: how many, and their figures per second, None if unknown.

    Of disk models: all disks with it. ``shared``: arrays and pools that several of the volumes use; what they
    write is in the figures of the volumes alone. ``raid10_saves``: bytes at the members that RAID10 would not
    move, of the volumes where it saves any; ``gaining``: how many these are. ``troubles``: what is wrong there.
    """

    value: str
    hosts: float = 0
    volumes: float = 0
    shared: float = 0
    disks: float | None = None
    write_bytes: float | None = None
    requests: float | None = None
    io_seconds: float | None = None
    wasted_bytes: float | None = None
    wasted_requests: float | None = None
    raid10_saves: float | None = None
    gaining: float = 0
    troubles: float | None = None

    @property
    def await_ms(self) -> float | None:
        """Mean time per read or write."""
        return _await(self.io_seconds, self.requests)


def sums_by_level(volumes: Iterable[Volume]) -> tuple[Group, ...]:
    """Return the sums by level; bytes and requests of volumes alone, waste also of what they share."""
    by_level: dict[str, list[Volume]] = {}
    for volume in volumes:
        by_level.setdefault(volume.level, []).append(volume)
    return tuple(_level(level, by_level[level]) for level in sorted(by_level))


def _level(level: str, volumes: Sequence[Volume]) -> Group:
    own = [volume for volume in volumes if not volume.shared]
    saved = [volume.raid10_saves for volume in volumes if (volume.raid10_saves or 0) > 0]
    return Group(
        level, hosts=len({volume.key.host for volume in volumes}), volumes=len(own), shared=len(volumes) - len(own),
        write_bytes=_sum_of_known(volume.write_bytes for volume in own), requests=_sum_of_known(volume.iops for volume in own),
        io_seconds=_sum_of_known(volume.io_seconds for volume in own), wasted_bytes=_sum_of_known(volume.wasted_bytes for volume in volumes),
        wasted_requests=_sum_of_known(volume.wasted_requests for volume in volumes),
        raid10_saves=_sum_of_known(saved), gaining=len(saved),
    )  # fmt: skip


def _sum_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class Fleet(NamedTuple):
    """
    The answer for a fleet over ``window`` (as given) that ends at ``time``.

    ``volumes`` may be the worst only; ``levels`` has the sums of all. ``partial``: what is missing
    or doubtful, in sentences. ``notes``: what is used, though it covers a part of the window.
    ``health``: the worst first. ``groups``: the sums ``by`` a label, in place of volumes.
    """

    window: str
    time: float
    hosts: int
    volumes: tuple[Volume, ...]
    levels: tuple[Group, ...]
    partial: tuple[str, ...]
    notes: tuple[str, ...] = ()
    health: "tuple[Trouble, ...]" = ()
    by: str = ""
    groups: tuple[Group, ...] = ()

    @property
    def total(self) -> int:
        """How many volumes there are, with the arrays and pools that they share."""
        return round(sum(level.volumes + level.shared for level in self.levels))

    @property
    def shared(self) -> int:
        """How many of them are shared."""
        return round(sum(level.shared for level in self.levels))

    def sum_of(self, field: str) -> float | None:
        """Return the sum of a field over the levels where it is known; None if no level has it."""
        return _sum_of_known(getattr(level, field) for level in self.levels)


def fleet_json(fleet: Fleet, time: str) -> dict[str, object]:
    """Return *fleet* as one object; *time*: the end of the window."""
    return {
        "schema": SCHEMA,
        "window": fleet.window,
        "time": time,
        "hosts": fleet.hosts,
        "volumes_total": fleet.total,
        "shared_total": fleet.shared,
        "write_bytes": fleet.sum_of("write_bytes"),
        "wasted_bytes": fleet.sum_of("wasted_bytes"),
        "wasted_requests": fleet.sum_of("wasted_requests"),
        "partial": list(fleet.partial),
        "notes": list(fleet.notes),
        "health": [trouble.json_fields() for trouble in fleet.health],
        **({"groups": [_group(group, fleet.by) for group in fleet.groups]} if fleet.by else {}),
        "volumes": [_volume(volume) for volume in fleet.volumes],
    }


def _group(group: Group, by: str) -> dict[str, object]:
    return {
        by: group.value,
        "hosts": round(group.hosts),
        "volumes": None if group.disks is not None else round(group.volumes),
        "disks": group.disks,
        "iops": group.requests,
        "await": group.await_ms,
        "write_bytes": group.write_bytes,
        "wasted_bytes": group.wasted_bytes,
        "wasted_requests": group.wasted_requests,
        "troubles": group.troubles,
    }


def _volume(volume: Volume) -> dict[str, object]:
    slowest, wear = volume.slowest, volume.wear
    return {
        "cluster": volume.key.cluster or None,
        "host": volume.key.host,
        "job": volume.key.job,
        "top": volume.key.top,
        "name": volume.key.name,
        "uuid": volume.uuid or None,
        "shared": volume.shared,
        "level": volume.level,
        "members": volume.members,
        "state": volume.state,
        "iops": volume.iops,
        "await": volume.await_ms,
        "read_bytes": volume.read_bytes,
        "write_bytes": volume.write_bytes,
        "reads": volume.reads,
        "writes": volume.writes,
        "cost_bytes_per_byte": volume.cost,
        "disk_bytes_per_byte": volume.disk_bytes_per_byte,
        "ideal_bytes_per_byte": volume.ideal,
        "wasted_bytes": volume.wasted_bytes,
        "wasted_requests": volume.wasted_requests,
        "slowest_member": slowest and {"device": slowest.device, "ratio": slowest.ratio},
        "raid10_saves_bytes": volume.raid10_saves,
        "raid10_saves_requests": volume.raid10_saves_requests,
        "wear": wear
        and {
            "disk": wear.disk,
            "bytes_per_day": wear.bytes * DAY,
            "used": wear.used,
            "years": list(wear.years),
            "all_bytes_per_day": None if wear.all_bytes is None else wear.all_bytes * DAY,
            "all_years": wear.all_years and list(wear.all_years),
        },
    }
