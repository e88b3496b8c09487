"""The input of a plan: the stack, the requested layout, and the space that LVM and md report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stackmap.errors import PlanRefused
from stackmap.features.plan.step import Step, unprotected
from stackmap.model.device import Device, Kind, Role
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.operand import BlockDevicePath, LvPath, MdName
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology
from stackmap.model.volume_group import LogicalVolume, VolumeGroup

# Besides letters and digits, device-mapper leaves these as they are in node names (dmsetup(8)).
_UNMANGLED = "#+-.:=@_"
# Roles on the data path, and kinds of devices that have a layout.
DATA_ROLES = frozenset({Role.DATA, Role.ORIGIN})
WITH_LAYOUT = frozenset({Kind.VOLUME, Kind.MEMBER, Kind.ARRAY})


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount: file system type, options, and the mounted directory ("/" for all)."""

    kind: str
    options: str
    root: str = "/"


@dataclass(frozen=True, slots=True)
class Origin:
    """
    Where and when the input of a plan was read.

    ``host``: its name. ``time``: seconds since the epoch, None if unknown. ``source``: the name of a capture, ""
    for the running host. ``is_old``: whether the input is older than a day. ``machine_id``: the salted hash of
    the machine-id, "" if unknown.
    """

    host: str = ""
    time: float | None = None
    source: str = ""
    is_old: bool = False
    machine_id: str = ""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """
    What every strategy reads.

    ``target``: the device whose layout changes. ``groups``: VGs by name, None
    if LVM did not report; ``reason`` says why. ``mounts``: by mount point.
    ``priorities``: of swap devices, by path; the kernel chose the negative ones.
    ``component_sizes``: bytes that md uses of each member, by array.
    ``onto``: devices for the new layout, () for any. ``contents``: what is on
    each of them, "" for nothing known, None if udev did not report. ``pv_uuids``: by PV path, as
    far as udev reports them.
    """

    topology: Topology
    target: Device
    request: LayoutRequest
    groups: Mapping[str, VolumeGroup] | None = None
    reason: str = ""
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    priorities: Mapping[str, int] = field(default_factory=dict)
    component_sizes: Mapping[str, int | None] = field(default_factory=dict)
    onto: tuple[str, ...] = ()
    contents: Mapping[str, str | None] = field(default_factory=dict)
    pv_uuids: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = Origin()

    @property
    def is_lvm(self) -> bool:
        """Whether the target is an LV or a sub-LV."""
        return "/" in self.target.label and self.target.uuid.startswith("LVM-")

    @property
    def survivable_failures(self) -> int:
        """How many disks, any of them, may fail now without data loss."""
        return self.target.layout.survivable_failures if self.target.layout else 0

    def mark_unprotected(self, steps: Iterable[Step], result: Layout | None) -> list[Step]:
        """Return *steps* that run once the layout is *result*; marked if that loses all redundancy."""
        return unprotected(steps) if self.loses_redundancy(result) else list(steps)

    def loses_redundancy(self, result: Layout | None) -> bool:
        """Whether the target survives a disk failure now and would not as *result*."""
        return self.survivable_failures > 0 and not (result and result.survivable_failures)

    @property
    def group(self) -> VolumeGroup:
        """The target's VG; refused if LVM did not report it."""
        if self.groups is None:
            raise PlanRefused(f"free space and placement are not known: {self.reason}")
        name = self.target.label.partition("/")[0]
        if name not in self.groups:
            raise PlanRefused(f"LVM does not report the VG {name}")
        return self.groups[name]

    @property
    def volume(self) -> LogicalVolume:
        """The target as LVM reports it."""
        name = self.target.label.partition("/")[2]
        if name not in self.group.volumes:
            raise PlanRefused(f"LVM does not report the LV {self.target.label}")
        return self.group.volumes[name]


def target(topology: Topology, names: list[str]) -> Device:
    """
    Return the first device with a level on the data path below *names*; without one, the lowest LV.

    Refused where *names* mean several volumes, or the data path forks above the first level.
    """
    tops = [name for name in names if topology[name].kind is not Kind.MEMBER] or names
    if len(tops) != 1:
        titles = ", ".join(sorted(topology[name].title for name in tops))
        raise PlanRefused(f"plan takes one volume or array, not {len(tops)}: {titles}")
    device = topology[tops[0]]
    lowest: Device | None = None
    while True:
        if device.kind in WITH_LAYOUT:
            lowest = device
            if device.layout is not None and device.layout.level != "linear":
                return device
        below = dict.fromkeys(e.below for e in topology.below(device.name) if e.role in DATA_ROLES)
        if len(below) > 1 and any(topology[name].layout for name in below):
            raise PlanRefused(f"{device.title} uses several arrays or volumes: name one of them")
        if len(below) != 1:
            break
        device = topology[next(iter(below))]
    if lowest is None:
        raise PlanRefused(
            f"{topology[tops[0]].title} is neither an LV nor an md array, and is built on none"
        )
    return lowest


def disks(topology: Topology, name: str) -> frozenset[str]:
    """Return the disks below *name*; a multipath device counts as one disk."""
    found: set[str] = set()
    todo = [name]
    while todo:
        device = topology[todo.pop()]
        below = [edge.below for edge in topology.below(device.name)]
        if not below or device.kind in (Kind.MULTIPATH, Kind.DISK):
            found.add(device.name)
        else:
            todo += below
    return frozenset(found)


def path_of(device: Device) -> BlockDevicePath:
    """Return the path of *device* in /dev, by a persistent name where it has one."""
    if device.uuid.startswith("LVM-") and "/" in device.label:
        return LvPath(device.label).path
    if device.dm_name:
        return BlockDevicePath(f"/dev/mapper/{mangled(device.dm_name)}")
    alias = device.facts.get("alias", "")
    if alias and device.kind is Kind.ARRAY:
        return MdName(alias).path
    return BlockDevicePath(f"/dev/{device.name}")


def mangled(name: str) -> str:
    r"""
    Return the node name of a device-mapper name: udev hex-encodes unusual characters.

    >>> mangled("a safe")
    'a\\x20safe'
    """
    return "".join(
        letter
        if (letter.isascii() and letter.isalnum()) or letter in _UNMANGLED
        else "".join(f"\\x{byte:02x}" for byte in _bytes(letter))
        for letter in name
    )


def _bytes(letter: str) -> bytes:
    """Return the bytes of *letter*, which may stand for one that is not UTF-8."""
    not_utf8 = "\udc80" <= letter <= "\udcff"
    return letter.encode(errors="surrogateescape" if not_utf8 else "surrogatepass")
