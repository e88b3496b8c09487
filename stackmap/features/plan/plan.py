"""
A plan and its inputs: the stack with the requested layout; steps with their risks and undo.

``PlanContext`` has the stack and the space that LVM and md report. A strategy makes a ``Plan`` of it: ``Step`` by
``Step``, each a command with its risk and how to undo it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from stackmap.errors import PlanRefused
from stackmap.model.command_line import Command, quoted, words
from stackmap.model.device import Device, Kind, Role
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.operand import BlockDevicePath, LvPath, MdName, Number, assigned
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology
from stackmap.model.volume_group import LogicalVolume, VolumeGroup
from stackmap.rules.decision import Decision, Judged
from stackmap.rules.rule import Finding
from stackmap.sources.mountinfo import Mount

# What device-mapper does not leave as it is in node names (dmsetup(8)).
_MANGLED = r"[^A-Za-z0-9#+\-.:=@_]"
# Roles on the data path, and kinds of devices that have a layout.
DATA_ROLES = frozenset({Role.DATA, Role.ORIGIN})
WITH_LAYOUT = frozenset({Kind.VOLUME, Kind.MEMBER, Kind.ARRAY})
NOTHING = "nothing"
NO_WAY_BACK = "cannot be undone; restore from a backup"
AFTER_SYNC = "first wait until it is in sync"
REQUESTED = "NO REDUNDANCY from here on, as requested"
SYNC_LOAD = "the sync competes for I/O on these disks"
FEWER_FAILURES = "survives one disk failure less"

# Applies to every strategy that changes how data is spread.
GEOMETRY = "the file system was made for the old stripe width; `stackmap check` shows it afterwards"


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


@dataclass(frozen=True)
class PlanContext:
    """
    What every strategy reads.

    ``target``: the device whose layout changes. ``groups``: VGs by name, None
    if LVM did not report; ``reason`` says why. ``mounts``: by mount point.
    ``priorities``: of swap devices, by path; the kernel chose the negative ones.
    ``component_sizes``: bytes that md uses of each member, by array.
    ``onto``: devices for the new layout, () for any. ``contents``: what is on
    each of them, "" for nothing known, None if udev did not report. ``pv_uuids``: by PV path, as
    far as udev reports them. ``judged``: what the rules found in the samples of all devices, None without any.
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
    judged: Judged | None = None

    @property
    def decision(self) -> Decision:
        """What to do first about the stack of the target."""
        return Decision((), ()) if self.judged is None else self.judged.decide(self.target.name)

    @cached_property
    def suspects(self) -> Mapping[str, Finding]:
        """The disks that hang or are sick, with the finding that says so."""
        suspects = {} if self.judged is None else self.judged.decide().suspects
        return {
            disk: finding
            for name, finding in suspects.items()
            for disk in disks(self.topology, name)
        }

    @property
    def is_lvm(self) -> bool:
        """Whether the target is an LV or a sub-LV."""
        return "/" in self.target.label and self.target.uuid.startswith("LVM-")

    @property
    def survivable_failures(self) -> int:
        """How many disks, any of them, may fail now without data loss."""
        return self.target.layout.survivable_failures if self.target.layout else 0

    def mark_unprotected(self, steps: "Iterable[Step]", result: Layout | None) -> "list[Step]":
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
        several = [n for n in below if topology[n].layout or (lowest is None and topology.below(n))]
        if len(below) > 1 and several:
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
    names: set[str] = set()
    todo = [name]
    while todo:
        device = topology[todo.pop()]
        below = [edge.below for edge in topology.below(device.name)]
        if not below or device.kind in (Kind.MULTIPATH, Kind.DISK):
            names.add(device.name)
        else:
            todo += below
    return frozenset(names)


def path_of(device: Device) -> BlockDevicePath:
    """Return the path of *device* in /dev, by a persistent name where it has one."""
    if device.uuid.startswith("LVM-") and "/" in device.label:
        return LvPath(device.label).path
    if device.dm_name:
        return BlockDevicePath(f"/dev/mapper/{mangled(device.dm_name)}")
    alias = device.facts.get("alias", "")
    # udev makes other links of a name with other characters, and several of one with a blank.
    if alias and device.kind is Kind.ARRAY and not re.search(_MANGLED, MdName(alias)):
        return MdName(alias).path
    return BlockDevicePath(f"/dev/{device.name}")


def mangled(name: str) -> str:
    r"""
    Return the node name of a device-mapper name: udev hex-encodes unusual characters.

    >>> mangled("a safe")
    'a\\x20safe'
    """
    return re.sub(_MANGLED, _hexadecimal, name)


def _hexadecimal(match: re.Match[str]) -> str:
    """Return a letter, which may stand for a byte that is not UTF-8, as the hexadecimal of its bytes."""
    not_utf8 = "\udc80" <= match[0] <= "\udcff"
    letter = match[0].encode(errors="surrogateescape" if not_utf8 else "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in letter)


@dataclass(frozen=True, slots=True)
class Step:
    """
    One command.

    ``does``, ``risks``, ``undo_remark``: sentences. ``undo``: the commands that
    undo this step, after all later steps are undone. ``online``: users of the
    volume may keep running. ``redundant``: False if one disk failure can lose data
    that is safe now. ``later``: run it when the new layout has worked for some
    days. ``final``: it cannot be undone. ``fills``: a new device that it writes to, and its bytes.
    ``guard`` and ``undo_guard``: the checks before the command, and before those that undo it; see
    ``guard.py``. ``pasted``: the lines to paste if they are not the command's own.
    """

    command: Command
    does: str
    risks: str = NOTHING
    undo: tuple[Command, ...] = ()
    undo_remark: str = ""
    online: bool = True
    redundant: bool = True
    later: bool = False
    final: bool = False
    fills: tuple[BlockDevicePath, int] | None = None
    guard: tuple[Command, ...] = ()
    undo_guard: tuple[Command, ...] = ()
    pasted: str = ""

    @property
    def line(self) -> str:
        """The command quoted for a shell, behind its guard."""
        return self.pasted or _guarded(self.guard, self.command)

    @property
    def undo_lines(self) -> tuple[str, ...]:
        """The commands that undo it, quoted for a shell, each behind its guard."""
        return tuple(_guarded(self.undo_guard, command) for command in self.undo)


@dataclass(frozen=True, slots=True)
class Plan:
    """
    The steps to ``result``.

    ``checked`` and ``unchecked``: the conditions that stackmap verified, and the others. ``guard``: the checks of the
    first step. ``suspects``: each step that names a slow or hanging disk, by its number, and the disk.
    """

    steps: tuple[Step, ...]
    result: Layout | None
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    guard: tuple[Command, ...] = ()
    suspects: tuple[tuple[int, str], ...] = ()

    @property
    def online(self) -> bool:
        """Whether users of the volume may keep running during all steps."""
        return all(step.online for step in self.steps)

    @property
    def redundant(self) -> bool:
        """Whether the volume keeps its present redundancy during all steps."""
        return all(step.redundant for step in self.steps)


def _guarded(guard: tuple[Command, ...], command: Command) -> str:
    return " && ".join(map(quoted, (*guard, command)))


def unprotected(steps: Iterable[Step]) -> list[Step]:
    """Return *steps* marked as without redundancy."""
    return [replace(step, redundant=False) for step in steps]


def copy_and_compare(
    old: BlockDevicePath, new: BlockDevicePath, size: int, room: int
) -> list[Step]:
    """Return the offline steps that copy *size* bytes from path *old* to *new*, of *room* bytes, and compare them."""
    dd = words("dd", assigned("if=", old), assigned("of=", new))
    copy = (*dd, *words("bs=4M iflag=direct oflag=direct conv=fsync status=progress"))
    return [
        Step(copy, "copies the data", f"overwrites {new}, which must be new and empty",
             online=False, fills=(new, room)),
        Step(words("cmp", assigned("--bytes=", Number(size)), *words("--", old, new)),
             "compares every byte; continue only if it prints nothing", online=False),
    ]  # fmt: skip
