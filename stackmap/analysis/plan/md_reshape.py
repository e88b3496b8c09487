"""
``mdadm --grow``: another level, more members or another chunk for the array that is there, while it is used.

From mdadm(8); every change was followed, with mdadm 4.2 on Linux 6.1 under an
ext4 in use (tests/lab/scenarios/plan-md.sh). Where the path goes through
raid0, nothing is redundant between two steps, and that is said of each.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from stackmap.analysis.plan.md_changes import changes
from stackmap.analysis.plan.md_new import (
    RESERVED,
    require_unused,
    show_config,
    unknown_contents,
    waiting,
)
from stackmap.analysis.plan.mdadm_grow import BACKUP, Change, back, risks, words
from stackmap.analysis.plan.placement import disks
from stackmap.analysis.plan.plan_context import PlanContext, path_of
from stackmap.analysis.plan.step import GEOMETRY, Plan, Step, printable, unprotected
from stackmap.errors import PlanRefused
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

KNOWN_POLICIES = frozenset({"", "resync", "bitmap", "none", "unknown"})


def grow(context: PlanContext) -> Plan:
    """Return the plan; refused where mdadm cannot, or not with these disks."""
    present = _required(context)
    create_array = list(_changes(context, present))
    if not create_array:
        raise PlanRefused("nothing of it would change")
    path = path_of(context.target)
    result = create_array[-1].after
    steps = [step for change in create_array for step in _steps(path, change, present, result)]
    if result.level != "raid0" and any(change.before.level == "raid0" for change in create_array):
        steps.append(_bitmap(path))
    names = ", ".join(name for change in create_array for name in change.added)
    checked = (f"nothing uses {names}, large enough and on disks of their own",) if names else ()
    checked = ("no sync is under way", *checked)
    steps += context.mark_unprotected([show_config(path)], result)
    return Plan(printable(tuple(steps)), result, checked, (*unknown_contents(context), GEOMETRY))


def _required(context: PlanContext) -> Layout:
    """Return the present layout; refused where --grow is not tried with what it has."""
    device = context.target
    if device.kind is not Kind.ARRAY or device.layout is None:
        raise PlanRefused("it is no md array with a level")
    facts = device.facts
    if not facts.get("metadata", "").startswith("1."):
        raise PlanRefused(
            f"its metadata is {facts.get('metadata', 'not known')}, and only 1.x is tried"
        )
    if facts.get("consistency", "") not in KNOWN_POLICIES:
        raise PlanRefused(f"it has a {facts['consistency']}, which has to come off first")
    if any(use.name == "/" or use.name.startswith("/var") for name in context.topology.with_all_above(device.name)
           for use in context.topology[name].uses):  # fmt: skip
        raise PlanRefused(f"{BACKUP} may be on it, where the reshape keeps its backup")
    if device.layout.level == "raid0":
        _require_one_zone(context)
    return device.layout


def _require_one_zone(context: PlanContext) -> None:
    """Refuse a raid0 of unequal members: md has it in zones, and takes none of them over."""
    topology = context.topology
    sizes = {topology[e.below].size for e in topology.below(context.target.name)}
    if len(sizes) != 1:
        raise PlanRefused("it is a raid0 of members of different sizes, which md does not convert")


def _changes(context: PlanContext, present: Layout) -> Iterator[Change]:
    """Yield each change, with the disks that it takes and that are not in the array yet."""
    fresh, now = list(_fresh(context)), present
    there = frozenset(edge.below for edge in context.topology.below(context.target.name))
    for after in changes(
        present, context.request, context.component_sizes.get(context.target.name)
    ):
        taken = _take(fresh, after.members - now.members)
        yield Change(now, after, tuple(path_of(d) for d in taken if d.name not in there))
        now = after


def _fresh(context: PlanContext) -> Iterator[Device]:
    """Yield the disks that may be added: the array's own spares, then those named."""
    topology, target = context.topology, context.target
    member_paths = [e.below for e in topology.below(target.name) if e.role is Role.DATA]
    taken = {disk for name in member_paths for disk in disks(topology, name)}
    present = target.layout.level if target.layout else ""
    # A raid10 that becomes a raid0 takes all of each disk (raid0.c, create_strip_zones).
    whole = present == "raid10" != context.request.level
    least = None if whole else context.component_sizes.get(target.name)
    spares = [e.below for e in topology.below(target.name) if e.role is Role.SPARE]
    for name in (*spares, *context.onto):
        device = topology[name]
        if name not in spares:
            require_unused(context, device)
        if (
            not _large_enough(device, least, member_paths, topology)
            or disks(topology, name) & taken
        ):
            raise PlanRefused(f"{device.title} is too small, or on a disk that has a member")
        taken |= disks(topology, name)
        yield device


def _large_enough(
    device: Device, least: int | None, member_paths: list[str], topology: Topology
) -> bool:
    """Whether it is as large as a member is, or holds what md uses of one and its head."""
    size = device.size or 0
    members = [topology[name].size for name in member_paths]
    smallest = min((each for each in members if each is not None), default=None)
    if smallest is not None and size >= smallest:
        return True
    return bool(least) and size >= (least or 0) + RESERVED


def _take(fresh: list[Device], count: int) -> tuple[Device, ...]:
    """Take *count* disks for the next change."""
    if count <= 0:
        return ()
    if len(fresh) < count:
        raise PlanRefused(
            f"{count} more disks are needed, and there are {len(fresh)}: name unused ones with --onto"
        )
    chosen = tuple(fresh[:count])
    del fresh[:count]
    return chosen


def _steps(path: str, change: Change, present: Layout, result: Layout) -> list[Step]:
    """
    Return the --grow that makes a change, what must be before it, and the wait after it.

    *present* and *result*: the layouts at the ends of the whole way.
    """
    step = Step(
        words(path, change),
        f"{change.does}, in the background",
        risks(change, passing="raid0" not in (present.level, result.level)),
        back(path, change),
    )
    # A raid0 takes its new disks with the change.
    spared = change.added and change.before.level != "raid0"
    first = [_spares(path, change.added)] if spared else []
    steps = [*first, step, waiting(path, change.after, reshaped=True)]
    return unprotected(steps) if present.survivable_failures and change.lacks_redundancy else steps


def _spares(path: str, names: tuple[str, ...]) -> Step:
    return Step(
        ("mdadm", path, "--add", *names),
        f"adds {', '.join(names)} as spares",
        f"whatever is on {', '.join(names)} is lost",
        shlex.join(["mdadm", path, "--remove", *names]),
    )


def _bitmap(path: str) -> Step:
    return Step(
        ("mdadm", "--grow", path, "--bitmap=internal"),
        "gives it a write-intent bitmap, so that a crash does not cost a whole sync",
        undo=f"mdadm --grow {shlex.quote(path)} --bitmap=none",
    )
