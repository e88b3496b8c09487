"""
The guard of a plan: shell commands that fail on another host, or where a device differs from the planned one.

Step 1 defines one function and checks everything with it. Each later step that changes something checks the target
again, and what else it writes to. In a shell without the function such a step fails, too. The LV, the PVs and the
array are known by their UUIDs and sizes.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from stackmap.errors import PlanRefused
from stackmap.features.plan.lvm_steps import detach_layers
from stackmap.features.plan.plan import Plan, PlanContext, Step, path_of
from stackmap.model.command_line import Command, quoted, words
from stackmap.model.device import Device
from stackmap.model.operand import Digest, LvPath, Number, PvPath, ShellText, Uuid, Word

# What `planned KIND NAME VALUE...` compares. The machine-id is confidential (machine-id(5)), so a salted hash stands
# for it; stackmap/host/live.py makes the same one.
FUNCTION = """\
planned() (
  kind=$1 name=$2; shift 2
  here=$(case $kind in
    (machine) printf 'stackmap %s' "$(cat /etc/machine-id)" | sha256sum | cut -c 1-64 ;;
    (lv) lvs --all --noheadings --units b --nosuffix -o vg_uuid,lv_uuid,lv_size -- "$name" ;;
    (pv) pvs --noheadings --units b --nosuffix -o vg_uuid,dev_size -- "$name" ;;
    (pv-uuid) pvs --noheadings -o pv_uuid -- "$name" ;;
    (array) mdadm --detail --export "$name" | sed -n 's/^MD_UUID=//p' ;;
    (member) mdadm --examine --export "$name" | sed -n 's/^MD_UUID=//p' ;;
    (size) blockdev --getsize64 "$name" ;;
    (empty) blockdev --getsize64 "$name"; wipefs --noheadings -- "$name" ;;
  esac | xargs)
  [ "$here" = "$*" ] && exit 0
  echo "STOP: $kind $name is '$here' here; the plan is for '$*'" >&2
  exit 1
)"""
OLD = (
    '[ $(($(date +%s) - {})) -lt 86400 ] || echo "This plan is older than a day: make it again" >&2'
)
# Commands that change nothing.
READING = (
    words("sh -c"),
    words("mdadm --detail"),
    words("cmp"),
    words("e2fsck -fn"),
    words("xfs_repair -n"),
    words("fsck.fat -n"),
)
ERASING = words("mdadm --zero-superblock")
NO_MACHINE = "the machine: the capture has no hash of its machine-id"
NO_PV_UUIDS = "the UUIDs of the PVs: udev's record of them is not known"


def guarded(context: PlanContext, plan: Plan) -> Plan:
    """Return *plan* with its guard as the first step; refused if an identity is not known."""
    target = _Target(context)
    steps = []
    for step in plan.steps:
        reads = any(step.command[: len(reading)] == reading for reading in READING)
        before = () if reads else (*target.checks(), *_written(context, step))
        target.follow(step.command)
        # A roll-back may erase the superblocks of the new array's members.
        erased = [path for command in step.undo if command[:2] == ERASING for path in command[2:]]
        members = (_member(path, new_array_uuid(context)) for path in erased)
        steps.append(replace(step, guard=before, undo_guard=(*target.checks(), *members)))
    checks = tuple(dict.fromkeys(_first_checks(context, plan)))
    missing = [] if context.origin.machine_id else [NO_MACHINE]
    missing += [NO_PV_UUIDS] if context.is_lvm and not context.pv_uuids else []
    return replace(
        plan,
        steps=(_first_step(context, checks), *steps),
        unchecked=(*missing, *plan.unchecked),
        guard=checks,
    )


def _first_step(context: PlanContext, checks: tuple[Command, ...]) -> Step:
    lines = [FUNCTION]
    if context.origin.time is not None:
        lines.append(OLD.format(int(context.origin.time)))
    lines.append(" &&\n".join(map(quoted, checks)))
    text = ShellText("\n".join(lines))
    return Step(
        (*words("sh -c"), text),
        "checks that host and stack are those of the plan; stop here if it prints STOP",
        pasted=text,
    )


def _first_checks(context: PlanContext, plan: Plan) -> Iterator[Command]:
    """Yield all that can be checked before the first change."""
    if context.origin.machine_id:
        yield words("planned machine machine-id", Digest(context.origin.machine_id))
    yield from _Target(context).checks()
    if context.is_lvm:
        stack = context.topology.with_all_below(context.target.name)
        below = {path for volume in context.group.volumes.values() for path in volume.on}
        used = {word for step in plan.steps for word in step.command if isinstance(word, PvPath)}
        for pv in context.group.pvs:
            if pv.path in used or (pv.path in below and pv.device in stack):
                yield from _pv(context, PvPath(pv.path))
        return
    yield words("planned size", path_of(context.target), size_of(context.target))
    uuid = array_uuid(context)
    for edge in context.topology.below(context.target.name):
        yield _member(path_of(context.topology[edge.below]), uuid)
    for name in context.onto:
        yield _empty(context.topology[name])


class _Target:
    """The LV or array that a plan changes, under the name that it has at a step."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context
        self._stopped = False
        self._lv: LvPath | None = None
        if context.is_lvm:
            self._lv = LvPath(f"{context.group.name}/{detach_layers(context).name}")
            self._values = lv_identity(context, self._lv)

    def checks(self) -> tuple[Command, ...]:
        """Return the check of its identity."""
        if self._lv is not None:
            return (words("planned lv", self._lv, *self._values),)
        uuid = array_uuid(self._context)
        if not self._stopped:
            return (words("planned array", path_of(self._context.target), uuid),)
        first = self._context.topology.below(self._context.target.name)[0]
        return (_member(path_of(self._context.topology[first.below]), uuid),)

    def follow(self, command: Command) -> None:
        """Follow its name through *command*."""
        if self._lv is not None:
            if command[:1] == ("lvrename",) and command[-2] == self._lv.name:
                self._lv = LvPath(f"{self._lv.group}/{command[-1]}")
        elif command[:3] == ("mdadm", "--stop", path_of(self._context.target)):
            self._stopped = True


def _written(context: PlanContext, step: Step) -> Iterator[Command]:
    """Yield the checks of what *step* writes to besides the target."""
    command = step.command
    for word in command:
        if isinstance(word, PvPath) and command[0] in ("lvcreate", "lvconvert"):
            yield from _pv(context, word)
    if command[0] == "mdadm" and ({"--create", "--add"} & {*command}):
        onto = map(context.topology.__getitem__, context.onto)
        yield from (_empty(device) for device in onto if path_of(device) in command)
    if command[:2] == ERASING:
        yield from (_member(path, array_uuid(context)) for path in command[2:])
    if step.fills is not None and not context.is_lvm:
        yield words("planned array", step.fills[0], new_array_uuid(context))
    elif step.fills is not None:
        yield words("planned empty", step.fills[0], Number(step.fills[1]))


def _pv(context: PlanContext, path: PvPath) -> Iterator[Command]:
    """Yield the checks of a PV: its VG and its bytes, and its UUID where that is known."""
    pv = next(known for known in context.group.pvs if known.path == path)
    if pv.device not in context.topology:
        raise PlanRefused(f"the size of {path} is not known: its device is missing")
    group = lv_identity(context, LvPath(f"{context.group.name}/{detach_layers(context).name}"))[0]
    yield words("planned pv", path, group, size_of(context.topology[pv.device]))
    if uuid := context.pv_uuids.get(path):
        yield words("planned pv-uuid", path, Uuid(uuid))


def _member(path: Word, uuid: Uuid) -> Command:
    return words("planned member", path, uuid)


def _empty(device: Device) -> Command:
    return words("planned empty", path_of(device), size_of(device))


# Where LVM has the hyphens of a UUID.
_PARTS = ((0, 6), (6, 10), (10, 14), (14, 18), (18, 22), (22, 26), (26, 32))


def array_uuid(context: PlanContext) -> Uuid:
    """Return the UUID of the target, as mdadm prints it; refused if it is not known."""
    digits = context.target.uuid.replace(":", "").replace("-", "").lower()
    if not digits:
        raise PlanRefused(
            f"the UUID of {context.target.title} is not known: the input has neither md/uuid nor "
            "udev's MD_UUID"
        )
    return _of_array(digits)


def new_array_uuid(context: PlanContext) -> Uuid:
    """Return the UUID that a plan gives a new array, so that its guard knows that array again."""
    onto = (context.topology[name] for name in context.onto)
    parts = (array_uuid(context), *(f"{device.name} {device.size}" for device in onto))
    return _of_array(hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32])


def _of_array(digits: str) -> Uuid:
    return Uuid(":".join(digits[start : start + 8] for start in range(0, len(digits), 8)))


def lv_identity(context: PlanContext, lv: LvPath) -> tuple[Word, ...]:
    """Return the UUIDs of the VG and of *lv*, and its bytes; refused if they are not known."""
    volume = context.group.volumes.get(lv.name)
    both = next((uuids for d in context.topology if d.label == lv and (uuids := lvm_uuids(d))), ())
    if not both or volume is None:
        raise PlanRefused(f"the UUID of {lv} is not known: the input lacks its device-mapper uuid")
    return (*both, Number(volume.extents * context.group.extent))


def lvm_uuids(device: Device) -> tuple[Uuid, ...]:
    """
    Return the UUIDs of the VG and the LV in the dm uuid of *device*; () if it has none.

    >>> from stackmap.model.device import Kind
    >>> lvm_uuids(Device("dm-0", Kind.VOLUME, "", uuid="LVM-" + "v" * 32 + "l" * 32))[0]
    'vvvvvv-vvvv-vvvv-vvvv-vvvv-vvvv-vvvvvv'
    """
    both = device.uuid.removeprefix("LVM-")[:64]
    if len(both) < 64 or both == device.uuid[:64] or not both.isalnum():
        return ()
    halves = both[:32], both[32:]
    return tuple(Uuid("-".join(half[start:end] for start, end in _PARTS)) for half in halves)


def size_of(device: Device) -> Number:
    """Return the bytes of *device*; refused if they are not known."""
    if device.size is None:
        raise PlanRefused(f"the size of {device.title} is not known")
    return Number(device.size)
