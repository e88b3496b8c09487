"""
Device-mapper devices: ``/sys/block/dm-N/dm``, ``dmsetup info``, ``dmsetup table`` and ``dmsetup status``.

sysfs has four files per device, readable by everyone; dmsetup has all devices at once but needs
root. Without root the tables are unknown. Still, the uuid names the creator ("CRYPT-LUKS2-…",
"mpath-…", "LVM-…"), LVM names sub-LVs by purpose, and ``slaves/`` lists the devices below.

A line of a table or status is ``name: start length target words…`` in 512-byte sectors. A device may have
several lines, or none without a table. ``dm_targets`` reads the words.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host import Host
from stackmap.model.device import Kind, Role
from stackmap.model.units import SECTOR
from stackmap.sources import dm_commands, lvm_names, sysfs
from stackmap.sources.dm_commands import STATUS, TABLE
from stackmap.sources.dm_targets.segment import Segment
from stackmap.sources.lvm_names import unmangle
from stackmap.sources.sysfs import Block, attribute, read_only

# Target and kind by the beginning of the uuid, longer beginnings first.
MAKERS = {
    "CRYPT-VERITY-": ("verity", Kind.DM),
    "CRYPT-INTEGRITY-": ("integrity", Kind.DM),
    "CRYPT-": ("crypt", Kind.CRYPT),
    "mpath-": ("multipath", Kind.MULTIPATH),
    "part": ("linear", Kind.PARTITION),
    "VDO-": ("vdo", Kind.DM),
}

# Target and kind of an LV, by the endings of the sub-LVs below it.
_TARGETS_BY_BELOW = {
    "rimage": ("raid", Kind.VOLUME),
    "mimage": ("mirror", Kind.VOLUME),
    "tdata": ("thin-pool", Kind.THIN_POOL),
    "tpool": ("thin", Kind.THIN),
    "corig": ("cache", Kind.CACHE),
    "wcorig": ("writecache", Kind.CACHE),
    "iorig": ("integrity", Kind.MEMBER),
    "vdata": ("vdo", Kind.MEMBER),
    "vpool": ("linear", Kind.VOLUME),
    "cow": ("snapshot", Kind.SNAPSHOT),
    "real": ("snapshot-origin", Kind.VOLUME),
}


# Headings of plain ``dmsetup info -c``.
COLUMNS = ["Name", "Maj", "Min", "Stat", "Open", "Targ", "Event", "UUID"]


class MappedDevice(NamedTuple):
    """A device-mapper device: its unmangled name, its uuid, and its LVM name if it has one."""

    block: Block
    name: str
    uuid: str
    suspended: bool
    read_only: bool
    lv: lvm_names.LvName | None

    @property
    def label(self) -> str:
        """The name people use."""
        return self.lv.label if self.lv else self.name


class DmInfo(NamedTuple):
    """The facts that sysfs and ``dmsetup info`` report about a device; the name is still mangled."""

    name: str
    uuid: str
    suspended: bool
    read_only: bool


class InferredTarget(NamedTuple):
    """Target and kind inferred without a table; "" for an unknown target."""

    target: str
    kind: Kind


NO_MAPPED: Mapping[str, MappedDevice] = {}


def read(
    host: Host, blocks: Iterable[Block], known: Mapping[str, MappedDevice] = NO_MAPPED
) -> dict[str, MappedDevice]:
    """Return the device-mapper devices among *blocks*, by kernel name; *known*: what they were before."""
    wanted = [block for block in blocks if "dm" in block.entries]
    info: Mapping[str, DmInfo] = {}
    if wanted:
        dm_commands.start(host)
        with suppress(SourceError):  # sysfs has the same
            info = parse_info(host.run(*dm_commands.INFO))
    return {
        block.name: _mapped(host, block, info.get(block.number), known.get(block.name))
        for block in wanted
    }


@lru_cache(maxsize=1)  # after most uevents it is the same
def parse_info(text: str) -> Mapping[str, DmInfo]:
    """
    Return the devices by number; any columns may stand in between.

    Separated by "|" as stackmap asks, or by spaces under a heading as ``dmsetup info -c`` prints.

    >>> parse_info("vg-lv|254|3|L-sw|LVM-abc")
    {'254:3': DmInfo(name='vg-lv', uuid='LVM-abc', suspended=True, read_only=False)}
    """
    first, _, rest = text.partition("\n")
    if first.split() == COLUMNS:
        # A device may lack the uuid, the last column.
        rows = (line.split() for line in rest.splitlines())
        lines = (words + [""] * (len(COLUMNS) - len(words)) for words in rows)
    else:
        lines = (line.split("|") for line in text.splitlines())
    return {
        f"{words[1]}:{words[2]}": DmInfo(
            words[0], words[-1], words[3][2] == "s", words[3][3] == "r"
        )
        for words in lines
        if len(words) >= 5 and len(words[3]) == 4
    }


def _from_sysfs(host: Host, block: Block) -> DmInfo:
    path = f"{block.path}/dm"
    name, uuid = attribute(host, f"{path}/name"), attribute(host, f"{path}/uuid")
    if not name:  # a partial tree
        said = sysfs.udev_properties(host, block.number)
        name, uuid = said.get("DM_NAME", ""), said.get("DM_UUID", "")
    return DmInfo(
        name=name,
        uuid=uuid,
        suspended=_is_suspended(host, block),
        read_only=read_only(host, block),
    )


def _is_suspended(host: Host, block: Block) -> bool:
    return attribute(host, f"{block.path}/dm/suspended") == "1"


def _mapped(
    host: Host, block: Block, info: DmInfo | None, before: MappedDevice | None
) -> MappedDevice:
    if info is None and before is not None and before.block is block:
        return before._replace(suspended=_is_suspended(host, block))
    info = info or _from_sysfs(host, block)
    name = lvm_names.unmangle(info.name)
    if before is not None and before[:-1] == (block, name, *info[1:]):
        return before
    lv = lvm_names.parse(name, info.uuid) if info.uuid else None
    return MappedDevice(block, name, info.uuid, info.suspended, info.read_only, lv)


def infer_target(mapped: MappedDevice, below: Sequence[MappedDevice]) -> InferredTarget:
    """Return target and kind from uuids and names; *below*: the device-mapper devices below."""
    for start, made in MAKERS.items():
        if mapped.uuid.startswith(start):
            return InferredTarget(*made)
    if mapped.lv is None:
        return InferredTarget("", Kind.DM)
    endings = {other.lv.ending for other in below if other.lv}
    fitting = (said for ending, said in _TARGETS_BY_BELOW.items() if ending in endings)
    target, kind = next(fitting, ("", Kind.VOLUME))
    cows = {other.lv.lv for other in below if other.lv and other.lv.ending == "cow"}
    if target == "snapshot" and mapped.lv.lv not in cows:
        # The cow belongs to another LV: that snapshot is being merged back into this one, its origin.
        target, kind = "snapshot-merge", Kind.VOLUME
    if mapped.lv.ending == "pvmove":
        return InferredTarget("mirror", Kind.MEMBER)
    if mapped.uuid.endswith("-pool"):
        return InferredTarget("linear", Kind.THIN_POOL)
    if mapped.lv.is_hidden and kind is not Kind.THIN_POOL:
        kind = Kind.MEMBER
    return InferredTarget(target, kind)


def default_role(target: str) -> Role:
    """Return the role of a device without a telling name, below a device with *target*."""
    return Role.PATH if target == "multipath" else Role.DATA


def role(below: MappedDevice, target: str) -> Role:
    """Return the role of *below* for a device with *target*, by its name."""
    if below.lv is None or not below.lv.is_hidden or target == "linear":
        return default_role(target)
    # "-real" holds an origin's data, and is the origin of its snapshots.
    if below.lv.ending == "real" and target in ("snapshot", "snapshot-merge", "thin"):
        return Role.ORIGIN
    return below.lv.role


NO_DEVICES = "No devices found"
_SEGMENT = re.compile(r"(.*?): (\d{1,19}) (\d{1,19}) (\S+)(.*)", re.ASCII)

Segments = Mapping[str, tuple[Segment, ...]]


def read_tables(host: Host) -> Segments:
    """Return the live tables; ``SourceError`` if the text is the message of a failed command."""
    text = host.run(*TABLE)
    if segments := parse_segments(text):
        return segments
    # A device without a table is "name:".
    others = [
        line for line in text.splitlines() if line.strip() and not line.rstrip().endswith(":")
    ]
    if others and others[0] != NO_DEVICES:
        raise SourceError(f"dmsetup table: {others[0][:80]}")
    return segments


def read_statuses(host: Host) -> Segments:
    """Return the status lines, without a metadata commit."""
    return parse_segments(host.run(*STATUS))


@lru_cache(maxsize=2)  # after most uevents, the tables and the states are the same
def parse_segments(text: str) -> Segments:
    """Return the segments of each device, by its unmangled name."""
    segments: defaultdict[str, list[Segment]] = defaultdict(list)
    for line in text.splitlines():
        if match := _SEGMENT.fullmatch(line):
            name, start, length, target, words = match.groups()
            segments[unmangle(name)].append(
                Segment(int(start) * SECTOR, int(length) * SECTOR, target, tuple(words.split()))
            )
    return {name: tuple(ordered) for name, ordered in segments.items()}
