"""
``mdadm --grow``: another level, more members or another chunk for an array, in place and online.

Source: mdadm(8). Every change was tested with mdadm 4.2 on Linux 6.1 under a
busy ext4 (tests/lab/scenarios/plan-md.sh). On a path through raid0 the array
has no redundancy between two steps, and each of these steps says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.errors import PlanRefused
from stackmap.features.plan import md_array
from stackmap.features.plan.md_changes import changes
from stackmap.features.plan.mdadm_grow import BACKUP, Change, grow_command, risks, undo
from stackmap.features.plan.placement import disks
from stackmap.features.plan.plan_context import PlanContext, path_of
from stackmap.features.plan.step import GEOMETRY, Plan, Step, unprotected
from stackmap.features.plan.users import enlarged
from stackmap.model.command_line import words
from stackmap.model.device import Device, Kind, Role
from stackmap.model.operand import BlockDevicePath
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

TESTED_POLICIES = frozenset({"", "resync", "bitmap", "none", "unknown"})


def grow(context: PlanContext) -> Plan:
    """Return the plan; refused if mdadm cannot do it, or not with these disks."""
    present = _present_layout(context)
    made = list(_changes(context, present))
    if not made:
        raise PlanRefused("nothing would change")
    path = path_of(context.target)
    result = made[-1].after
    steps = [step for change in made for step in _steps(path, change, present, result)]
    if result.level != "raid0" and any(change.before.level == "raid0" for change in made):
        steps.append(_bitmap(path))
    names = ", ".join(name for change in made for name in change.added)
    checked = ["no sync is running"]
    checked += [f"nothing uses {names}; they are large enough and share no disk"] if names else []
    steps += context.mark_unprotected([md_array.show_config(path)], result)
    larger = enlarged(context) if result.data > present.data else ()
    unchecked = (*md_array.unknown_contents(context), *larger, GEOMETRY)
    return Plan(tuple(steps), result, tuple(checked), unchecked)


def _present_layout(context: PlanContext) -> Layout:
    """Return the present layout; refused if --grow was not tested with the array's features."""
    device, topology = context.target, context.topology
    if device.kind is not Kind.ARRAY or device.layout is None:
        raise PlanRefused("the target is not an md array with a level")
    facts = device.facts
    if not facts.get("metadata", "").startswith("1."):
        version = facts.get("metadata", "not known")
        raise PlanRefused(f"its metadata version is {version}; only 1.x was tested")
    if facts.get("consistency", "") not in TESTED_POLICIES:
        raise PlanRefused(f"it has a {facts['consistency']}: remove it first")
    users = {
        use.name for name in topology.with_all_above(device.name) for use in topology[name].uses
    }
    if any(who == "/" or who.startswith("/var") for who in users):
        raise PlanRefused(
            f"{BACKUP} may be on this array, and the reshape's backup file goes there"
        )
    if device.layout.level == "raid0":
        sizes = {topology[e.below].size for e in topology.below(device.name)}
        if len(sizes) != 1:  # md splits it into zones, and takes none of them over
            raise PlanRefused("md does not convert a raid0 with members of different sizes")
    return device.layout


def _changes(context: PlanContext, present: Layout) -> Iterator[Change]:
    """Yield each change, with the disks it adds to the array."""
    fresh, now = list(_new_disks(context)), present
    target = context.target.name
    members = frozenset(edge.below for edge in context.topology.below(target))
    for after in changes(present, context.request, context.component_sizes.get(target)):
        taken = _take(fresh, after.members - now.members)
        yield Change(now, after, tuple(path_of(d) for d in taken if d.name not in members))
        now = after


def _new_disks(context: PlanContext) -> Iterator[Device]:
    """Yield the disks that may be added: the array's spares, then those of --onto."""
    topology, target = context.topology, context.target
    data = [e.below for e in topology.below(target.name) if e.role is Role.DATA]
    taken = {disk for name in data for disk in disks(topology, name)}
    present = target.layout.level if target.layout else ""
    # A raid10 that becomes a raid0 uses all of each disk (raid0.c, create_strip_zones).
    whole = present == "raid10" != context.request.level
    least = None if whole else context.component_sizes.get(target.name)
    spares = [e.below for e in topology.below(target.name) if e.role is Role.SPARE]
    for name in (*spares, *context.onto):
        device = topology[name]
        if name not in spares:
            md_array.require_unused(context, device)
        if not _large_enough(device, least, data, topology) or disks(topology, name) & taken:
            raise PlanRefused(f"{device.title} is too small, or on the same disk as a member")
        taken |= disks(topology, name)
        yield device


def _large_enough(
    device: Device, least: int | None, members: list[str], topology: Topology
) -> bool:
    """Whether it is as large as the smallest member, or holds *least* and what mdadm reserves."""
    size = device.size or 0
    sizes = [each for name in members if (each := topology[name].size) is not None]
    if sizes and size >= min(sizes):
        return True
    return bool(least) and size >= (least or 0) + md_array.RESERVED


def _take(fresh: list[Device], count: int) -> tuple[Device, ...]:
    """Remove *count* disks from *fresh* and return them."""
    if count <= 0:
        return ()
    if len(fresh) < count:
        raise PlanRefused(
            f"needs {count} more disks and has {len(fresh)}: name unused ones with --onto"
        )
    chosen = tuple(fresh[:count])
    del fresh[:count]
    return chosen


def _steps(path: BlockDevicePath, change: Change, present: Layout, result: Layout) -> list[Step]:
    """
    Return the --grow, before it the step that adds spares, and after it the wait.

    *present* and *result*: the first and the last layout of the plan.
    """
    grow = Step(
        grow_command(path, change),
        f"{change.does}, in the background",
        risks(change, passing="raid0" not in (present.level, result.level)),
        *undo(path, change),
    )
    # A raid0 takes its new disks with the --grow.
    spared = change.added and change.before.level != "raid0"
    first = [_add_spares(path, change.added)] if spared else []
    steps = [*first, grow, md_array.waiting(path, change.after, reshaped=True)]
    return unprotected(steps) if present.survivable_failures and change.lacks_redundancy else steps


def _add_spares(path: BlockDevicePath, names: tuple[BlockDevicePath, ...]) -> Step:
    return Step(
        words("mdadm", path, *words("--add", *names)),
        f"adds {', '.join(names)} as spares",
        f"erases {', '.join(names)}",
        (words("mdadm", path, *words("--remove", *names)),),
    )


def _bitmap(path: BlockDevicePath) -> Step:
    return Step(
        words("mdadm --grow", path, *words("--bitmap=internal")),
        "adds a write-intent bitmap, so that a crash does not cause a full sync",
        undo=(words("mdadm --grow", path, *words("--bitmap=none")),),
    )
