"""What a plan is made from: the stack, the layout that is wanted, and what LVM and md say of their space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stackmap.analysis.plan.step import Step, unprotected
from stackmap.errors import PlanRefused
from stackmap.model.device import Device, Kind
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology
from stackmap.model.volume_group import LogicalVolume, VolumeGroup

_PLAIN = (
    "#+-.:=@_"  # what dm allows in a node's name, besides letters and digits (dmsetup(8), mangling)
)


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount: of which file system, with which options, and what of it (``root``, "/" for all)."""

    kind: str
    options: str
    root: str = "/"


@dataclass(frozen=True, slots=True)
class PlanContext:
    """
    Everything a way is judged by.

    ``target``: the device whose layout is to change. ``groups``: LVM's VGs by
    name, None where LVM did not tell, which ``reason`` says. ``mounts``: by
    mount point. ``component_sizes``: bytes that md uses of each member, by the
    array's name. ``onto``: the devices that the new layout shall stand on, ()
    for any that fit. ``contents``: what is on each of them, "" for nothing that
    is known, None where nothing told.
    """

    topology: Topology
    target: Device
    request: LayoutRequest
    groups: Mapping[str, VolumeGroup] | None = None
    reason: str = ""
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    component_sizes: Mapping[str, int | None] = field(default_factory=dict)
    onto: tuple[str, ...] = ()
    contents: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def is_lvm(self) -> bool:
        """Whether the target is an LV, hidden or not."""
        return "/" in self.target.label and self.target.uuid.startswith("LVM-")

    @property
    def survivable_failures(self) -> int:
        """How many disks may die now, whichever they are."""
        return self.target.layout.survivable_failures if self.target.layout else 0

    def mark_unprotected(self, steps: Iterable[Step], result: Layout | None) -> list[Step]:
        """Return the *steps* from where it is laid out as *result*: bare, if it outlived a disk and outlives none then."""
        return unprotected(steps) if self.loses_redundancy(result) else list(steps)

    def loses_redundancy(self, result: Layout | None) -> bool:
        """Whether the target outlives a disk now, and would outlive none as *result*."""
        return self.survivable_failures > 0 and not (result and result.survivable_failures)

    @property
    def group(self) -> VolumeGroup:
        """The target's VG; refused where LVM did not tell of it."""
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


def path_of(device: Device) -> str:
    """Return where *device* is found in /dev, by the name that stays."""
    if device.uuid.startswith("LVM-") and "/" in device.label:
        return f"/dev/{device.label}"
    if device.dm_name:
        return f"/dev/mapper/{mangled(device.dm_name)}"
    alias = device.facts.get("alias", "")
    return f"/dev/md/{alias}" if alias and device.kind is Kind.ARRAY else f"/dev/{device.name}"


def mangled(name: str) -> str:
    r"""
    Return a device-mapper name as udev makes a node of it: what dm does not allow in one is spelled out.

    >>> mangled("a safe")
    'a\\x20safe'
    """
    return "".join(
        letter
        if (letter.isascii() and letter.isalnum()) or letter in _PLAIN
        else "".join(f"\\x{byte:02x}" for byte in letter.encode())
        for letter in name
    )
