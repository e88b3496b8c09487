"""
``/sys/block/dm-N/dm``: a mapped device's name and uuid, for everyone to read; and ``dmsetup info``.

The one is four files a device, the other tells of all devices at once but needs root.
Without root nothing says what a device is mapped to. But what made it left
its mark in the uuid ("CRYPT-LUKS2-…", "mpath-…", "LVM-…"), LVM names what
stands below by its purpose, and ``slaves/`` says which that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceError
from stackmap.model.device import Kind, Role
from stackmap.sources import lvm_names
from stackmap.sources.dm_commands import INFO
from stackmap.sources.sysfs import Block, attribute, read_only

if TYPE_CHECKING:
    from stackmap.host import Host

# Target and kind by how the uuid begins, longer beginnings first.
MAKERS = {
    "CRYPT-VERITY-": ("verity", Kind.DM),
    "CRYPT-INTEGRITY-": ("integrity", Kind.DM),
    "CRYPT-": ("crypt", Kind.CRYPT),
    "mpath-": ("multipath", Kind.MULTIPATH),
    "part": ("linear", Kind.PARTITION),
    "VDO-": ("vdo", Kind.DM),
}

_BEGINNINGS = tuple(MAKERS)

# What an LV must be, by the endings of the hidden LVs it stands on.
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


class MappedDevice(NamedTuple):
    """A mapped device: its name without mangling, its uuid, and what LVM's names say of it."""

    block: Block
    name: str
    uuid: str
    suspended: bool
    read_only: bool
    lv: lvm_names.LvName | None

    @property
    def label(self) -> str:
        """What people call it."""
        return self.lv.label if self.lv else self.name


class DmInfo(NamedTuple):
    """A mapped device as sysfs and ``dmsetup info`` both tell of it: its name is mangled still."""

    name: str
    uuid: str
    suspended: bool
    read_only: bool


class InferredTarget(NamedTuple):
    """What a mapped device is without its table: "" for a target that nothing tells."""

    target: str
    kind: Kind


NOT_INFERRED = InferredTarget("", Kind.DM)


def read(host: Host, blocks: Iterable[Block]) -> dict[str, MappedDevice]:
    """Return what is said of the mapped devices among *blocks*, by the kernel's names."""
    wanted = [block for block in blocks if "dm" in block.entries]
    told = _read_info(host) if wanted else {}
    return {
        block.name: _mapped(block, told.get(block.number) or _from_sysfs(host, block))
        for block in wanted
    }


def parse(text: str) -> dict[str, DmInfo]:
    """
    Return what is told, by device number; columns between may be any.

    >>> parse("vg-lv|254|3|L-sw|LVM-abc")
    {'254:3': DmInfo(name='vg-lv', uuid='LVM-abc', suspended=True, read_only=False)}
    """
    lines = (line.split("|") for line in text.splitlines())
    return {
        f"{words[1]}:{words[2]}": DmInfo(
            words[0], words[-1], words[3][2] == "s", words[3][3] == "r"
        )
        for words in lines
        if len(words) >= 5 and len(words[3]) == 4
    }


def _read_info(host: Host) -> dict[str, DmInfo]:
    try:
        return parse(host.run(*INFO))
    except SourceError:
        return {}  # the same is in sysfs


def _from_sysfs(host: Host, block: Block) -> DmInfo:
    """Ask sysfs for *block*."""
    path = f"{block.path}/dm"
    return DmInfo(
        name=attribute(host, f"{path}/name"),
        uuid=attribute(host, f"{path}/uuid"),
        suspended=attribute(host, f"{path}/suspended") == "1",
        read_only=read_only(host, block),
    )


def _mapped(block: Block, told: DmInfo) -> MappedDevice:
    name = lvm_names.unmangle(told.name)
    lv = lvm_names.parse(name, told.uuid) if told.uuid else None
    return MappedDevice(block, name, told.uuid, told.suspended, told.read_only, lv)


def infer_target(mapped: MappedDevice, below: Sequence[MappedDevice]) -> InferredTarget:
    """Tell target and kind from uuids and names; *below* are the mapped devices below."""
    if mapped.uuid.startswith(_BEGINNINGS):
        return next(
            InferredTarget(*said) for start, said in MAKERS.items() if mapped.uuid.startswith(start)
        )
    if mapped.lv is None:
        return NOT_INFERRED
    endings = {other.lv.ending for other in below if other.lv}
    fitting = (said for ending, said in _TARGETS_BY_BELOW.items() if ending in endings)
    target, kind = next(fitting, ("", Kind.VOLUME))
    cows = {other.lv.lv for other in below if other.lv and other.lv.ending == "cow"}
    if target == "snapshot" and mapped.lv.lv not in cows:
        # Another's cow: that snapshot is being merged back into this, its origin.
        target, kind = "snapshot-merge", Kind.VOLUME
    if mapped.lv.ending == "pvmove":
        return InferredTarget("mirror", Kind.MEMBER)
    if mapped.uuid.endswith("-pool"):
        return InferredTarget("linear", Kind.THIN_POOL)
    if mapped.lv.hidden and kind is not Kind.THIN_POOL:
        kind = Kind.MEMBER
    return InferredTarget(target, kind)


def default_role(target: str) -> Role:
    """Return what a device whose name says nothing is for to a device with *target*."""
    return Role.PATH if target == "multipath" else Role.DATA


def role(below: MappedDevice, target: str) -> Role:
    """Return what *below* is for to a device with *target*, by its name."""
    if below.lv is None or not below.lv.hidden or target == "linear":
        return default_role(target)
    # "-real" is both what an origin's data became and what others are copies of.
    if below.lv.ending == "real" and target in ("snapshot", "snapshot-merge", "thin"):
        return Role.ORIGIN
    return below.lv.role
