"""
``mdadm --grow``: another level, more members or another chunk for the array that is there, while it is used.

From mdadm(8); ``md_changes`` says what of it was tried. Where the path goes through raid0, nothing is redundant between two
steps, and that is said of each of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from stackmap.analysis.plan.ground import Ground, path_of
from stackmap.analysis.plan.md_changes import PATHS, changes
from stackmap.analysis.plan.md_new import KEPT, noted, unused, waiting
from stackmap.analysis.plan.placement import disks
from stackmap.analysis.plan.step import GEOMETRY, Plan, Step, printable
from stackmap.errors import PlanRefused
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

KNOWN_POLICIES = frozenset({"", "resync", "bitmap", "none", "unknown"})
BACKUP = "/var/tmp"  # noqa: S108 - a place that stays over a restart, which the reshape needs
BARE = "NO REDUNDANCY: until the next sync is done, one disk that dies takes the array with it"


@dataclass(frozen=True, slots=True)
class _Change:
    """One --grow: from one layout to the next, with the disks that are added for it."""

    before: Layout
    after: Layout
    added: tuple[Device, ...]


def grow(ground: Ground) -> Plan:
    """Return the plan; refused where mdadm cannot, or not with these disks."""
    present = _required(ground)
    made = list(_changes(ground, present))
    if not made:
        raise PlanRefused("nothing of it would change")
    path = path_of(ground.target)
    ends = {made[0].before.level, made[-1].after.level}
    there = frozenset(edge.below for edge in ground.topology.below(ground.target.name))
    steps: list[Step] = []
    for change in made:
        bare = "raid0" not in ends and "raid0" in (change.before.level, change.after.level)
        steps += [
            replace(step, redundant=not bare) for step in _steps(path, change, there, bare=bare)
        ]
    result = made[-1].after
    if result.level == "raid10" and made[0].before.level != "raid10":
        steps.append(_bitmap(path))
    added = [device for change in made for device in change.added]
    names = ", ".join(path_of(device) for device in added)
    checked = (f"nothing uses {names}, large enough and on disks of their own",) if added else ()
    checked = ("no sync is under way", *checked)
    return Plan(printable((*steps, noted(path))), result, checked, (GEOMETRY,))


def _required(ground: Ground) -> Layout:
    """Return the present layout; refused where --grow is not tried with what it has."""
    device = ground.target
    if device.kind is not Kind.ARRAY or device.layout is None:
        raise PlanRefused("it is no md array with a level")
    facts = device.facts
    if not facts.get("metadata", "").startswith("1."):
        raise PlanRefused(
            f"its metadata is {facts.get('metadata', 'not known')}, and only 1.x is tried"
        )
    if facts.get("consistency", "") not in KNOWN_POLICIES:
        raise PlanRefused(f"it has a {facts['consistency']}, which has to come off first")
    if any(use.who == "/" or use.who.startswith("/var") for name in ground.topology.stands_on(device.name)
           for use in ground.topology[name].uses):  # fmt: skip
        raise PlanRefused(f"{BACKUP} may be on it, where the reshape keeps its backup")
    return device.layout


def _changes(ground: Ground, present: Layout) -> Iterator[_Change]:
    """Yield each change, with the disks that it takes."""
    fresh, now = list(_fresh(ground)), present
    for after in changes(present, ground.wanted):
        grown = max(0, after.members - now.members)
        yield _Change(now, after, _take(fresh, grown))
        now = after


def _fresh(ground: Ground) -> Iterator[Device]:
    """Yield the disks that may be added: the array's own spares, then those named."""
    topology, target = ground.topology, ground.target
    carriers = [e.below for e in topology.below(target.name) if e.role is Role.DATA]
    taken = {disk for name in carriers for disk in disks(topology, name)}
    least = ground.components.get(target.name)
    spares = [e.below for e in topology.below(target.name) if e.role is Role.SPARE]
    for name in (*spares, *ground.onto):
        device = topology[name]
        if name not in spares:
            unused(ground, device)
        if not _large_enough(device, least, carriers, topology) or disks(topology, name) & taken:
            raise PlanRefused(f"{device.title} is too small, or on a disk that has a member")
        taken |= disks(topology, name)
        yield device


def _large_enough(
    device: Device, least: int | None, carriers: list[str], topology: Topology
) -> bool:
    """Whether it is as large as a member is, or holds what md uses of one and its head."""
    size = device.size or 0
    members = [topology[name].size for name in carriers]
    smallest = min((each for each in members if each is not None), default=None)
    if smallest is not None and size >= smallest:
        return True
    return bool(least) and size >= (least or 0) + KEPT


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


def _steps(path: str, change: _Change, there: frozenset[str], *, bare: bool) -> list[Step]:
    """Return the --grow that makes a change, what must be before it, and the wait after it."""
    before, after = change.before, change.after
    # A spare is in the array already.
    names = tuple(path_of(device) for device in change.added if device.name not in there)
    number = after.level.removeprefix("raid")
    words = ["mdadm", "--grow", path]
    moves = "raid10" not in (before.level, after.level) and after.level != "raid1"
    if after.level != before.level:
        words.append(f"--level={number}")
    if after.level != "raid0" and after.members != before.members:
        words.append(f"--raid-devices={after.members}")
    if after.chunk != before.chunk:
        words.append(f"--chunk={(after.chunk or 0) // 1024}")
    first: list[Step] = []
    if names and before.level == "raid0":
        words += ["--add", *names]
    elif names:
        first = [_spares(path, names)]
    if moves:
        words.append(f"--backup-file={BACKUP}/{_plain(path)}-{after.level}-{after.members}.mdadm")
    risks = "its sync takes I/O of all who use these disks"
    if moves:
        risks = (
            "every stripe is read and written; after a crash it goes on, with the backup file if that "
            "is asked for (mdadm --assemble --backup-file)"
        )
    step = Step(
        tuple(words),
        f"makes it {after} from {before}, in the background",
        BARE if bare else risks,
        _undo(path, before, after),
    )
    return [*first, step, waiting(path, after)]


def _plain(path: str) -> str:
    return path.rpartition("/")[2]


def _undo(path: str, before: Layout, after: Layout) -> str:
    if (after.level, before.level) in PATHS:
        level = before.level.removeprefix("raid")
        return f"once it is in sync, mdadm --grow {shlex.quote(path)} --level={level} and so on: stackmap plan"
    return "none in place: a new array, and a copy or pvmove"


def _spares(path: str, names: tuple[str, ...]) -> Step:
    return Step(
        ("mdadm", path, "--add", *names),
        f"adds {', '.join(names)} as spares",
        f"whatever is on {', '.join(names)} is lost",
        f"mdadm {shlex.quote(path)} --remove {' '.join(names)}",
    )


def _bitmap(path: str) -> Step:
    return Step(
        ("mdadm", "--grow", path, "--bitmap=internal"),
        "gives it a write-intent bitmap, so that a crash does not cost a whole sync",
        undo=f"mdadm --grow {shlex.quote(path)} --bitmap=none",
    )
