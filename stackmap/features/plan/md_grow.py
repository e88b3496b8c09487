"""
``mdadm --grow``: another level, more members or another chunk for an array, in place and online.

``changes`` has the layouts on the way, in the order in which a plan makes them; a change of the level keeps the number of
data chunks. On a path through raid0 the array has no redundancy between two steps, and each of these steps says so.

Sources: mdadm(8) and mdadm's Grow.c. Every change was tested with mdadm 4.2 on Linux 6.1 under a
busy ext4 (tests/lab/scenarios/plan-md.sh).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from stackmap.errors import PlanRefused
from stackmap.features.plan import plan
from stackmap.features.plan.md_new_array import (
    PARITY_LAST,
    RESERVED,
    ROTATIONS,
    require_unused,
    show_config,
    unknown_contents,
    waiting,
)
from stackmap.features.plan.users import enlarged
from stackmap.model.command_line import Command, words
from stackmap.model.device import Device, Kind, Role
from stackmap.model.layout_request import MIN_MEMBERS, LayoutRequest
from stackmap.model.operand import AbsolutePath, BlockDevicePath, Fixed, Number, Word, assigned
from stackmap.model.raid import LOCKLESS, Layout, layout

TESTED_POLICIES = frozenset({"", "resync", "bitmap", "none", "unknown"})
# The levels on the path between two, both included.
PATHS: dict[tuple[str, str], tuple[str, ...]] = {
    (path[0], path[-1]): path
    for path in (
        ("raid5", "raid6"),
        ("raid6", "raid5"),
        ("raid5", "raid0"),
        ("raid0", "raid5"),
        ("raid0", "raid10"),
        ("raid10", "raid0"),
        ("raid5", "raid0", "raid10"),
        ("raid10", "raid0", "raid5"),
        ("raid1", "raid5"),
    )
}
PAIR = 2  # members of a raid1 that can become a raid5, and copies of a raid10 that was tested
GROWABLE = frozenset({"raid1", "raid5", "raid6", "raid10"})
CHUNK_CHANGEABLE = frozenset({"raid5", "raid6"})
# The chunk of a raid5 made from a raid1. md accepts a smaller one (raid5.c, raid5_takeover_raid1),
# but mdadm 4.2 asks for this one and fails half-way (Grow.c).
RAID1_TO_RAID5_CHUNK = 65536
BACKUP = "/var/tmp"  # noqa: S108 - the reshape's backup must survive a reboot
UNPROTECTED = "NO REDUNDANCY: until the next sync ends, one disk failure loses the array"
RESTRIPE = (
    "reads and writes every stripe; after a crash it continues, with the backup file if mdadm asks "
    "for it (mdadm --assemble --backup-file)"
)
NOT_IN_PLACE = "not possible in place; use a new array and a copy or pvmove"
DISKS_DROPPED = (
    "not possible without the dropped disks; erase their superblocks, then plan the way to {level} "
    "with them as --onto"
)
WITH_DISKS = "this also removes the disks that the step before added"

# Levels whose stripes mdadm rewrites with a backup; raid10 moves by its data offset instead.
RESTRIPED = frozenset({"raid0", "raid4", "raid5", "raid6"})


def grow(context: plan.PlanContext) -> plan.Plan:
    """Return the plan; refused if mdadm cannot do it, or not with these disks."""
    present = _present_layout(context)
    made = list(_changes_with_disks(context, present))
    if not made:
        raise PlanRefused("nothing would change")
    path = plan.path_of(context.target)
    result = made[-1].after
    steps = [step for change in made for step in _steps(path, change, present, result)]
    if result.level != "raid0" and any(change.before.level == "raid0" for change in made):
        steps.append(
            plan.Step(
                words("mdadm --grow", path, *words("--bitmap=internal")),
                "adds a write-intent bitmap, so that a crash does not cause a full sync",
                undo=(words("mdadm --grow", path, *words("--bitmap=none")),),
            )
        )
    names = ", ".join(name for change in made for name in change.added)
    checked = ["no sync is running"]
    checked += [f"nothing uses {names}; they are large enough and share no disk"] if names else []
    steps += context.mark_unprotected([show_config(path)], result)
    larger = enlarged(context) if result.data > present.data else ()
    unchecked = (*unknown_contents(context), *larger, plan.GEOMETRY)
    return plan.Plan(tuple(steps), result, tuple(checked), unchecked)


def _present_layout(context: plan.PlanContext) -> Layout:
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
    if facts.get("bitmap") == LOCKLESS:
        raise PlanRefused("it has a lockless bitmap, with which no reshape was tested")
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


def _changes_with_disks(context: plan.PlanContext, present: Layout) -> "Iterator[Change]":
    """Yield each change, with the disks it adds to the array."""
    fresh, now = list(_new_disks(context)), present
    target = context.target.name
    members = frozenset(edge.below for edge in context.topology.below(target))
    for after in changes(present, context.request, context.component_sizes.get(target)):
        count = max(0, after.members - now.members)
        if len(fresh) < count:
            raise PlanRefused(
                f"needs {count} more disks and has {len(fresh)}: name unused ones with --onto"
            )
        taken, fresh = fresh[:count], fresh[count:]
        yield Change(now, after, tuple(plan.path_of(d) for d in taken if d.name not in members))
        now = after


def _new_disks(context: plan.PlanContext) -> Iterator[Device]:
    """Yield the disks that may be added: the array's spares, then those of --onto."""
    topology, target = context.topology, context.target
    data = [e.below for e in topology.below(target.name) if e.role is Role.DATA]
    taken = {disk for name in data for disk in plan.disks(topology, name)}
    present = target.layout.level if target.layout else ""
    # A raid10 that becomes a raid0 uses all of each disk (raid0.c, create_strip_zones).
    whole = present == "raid10" != context.request.level
    component = None if whole else context.component_sizes.get(target.name)
    sizes = [size for name in data if (size := topology[name].size) is not None]
    enough = [min(sizes)] if sizes else []
    enough += [component + RESERVED] if component else []
    spares = [e.below for e in topology.below(target.name) if e.role is Role.SPARE]
    for name in (*spares, *context.onto):
        device = topology[name]
        if name not in spares:
            require_unused(context, device)
        is_large_enough = bool(enough) and (device.size or 0) >= min(enough)
        if not is_large_enough or plan.disks(topology, name) & taken:
            raise PlanRefused(f"{device.title} is too small, or on the same disk as a member")
        taken |= plan.disks(topology, name)
        yield device


def _steps(
    path: BlockDevicePath, change: "Change", present: Layout, result: Layout
) -> list[plan.Step]:
    """
    Return the --grow, before it the step that adds spares, and after it the wait.

    *present* and *result*: the first and the last layout of the plan.
    """
    grow = plan.Step(
        grow_command(path, change),
        f"{change.does}, in the background",
        risks(change, passing="raid0" not in (present.level, result.level)),
        *undo(path, change),
    )
    steps = [grow, waiting(path, change.after, reshaped=True)]
    if (
        change.added and change.before.level != "raid0"
    ):  # a raid0 takes its new disks with the --grow
        names = ", ".join(change.added)
        spares = plan.Step(
            words("mdadm", path, *words("--add", *change.added)),
            f"adds {names} as spares",
            f"erases {names}",
            (words("mdadm", path, *words("--remove", *change.added)),),
        )
        steps.insert(0, spares)
    return (
        plan.unprotected(steps)
        if present.survivable_failures and change.lacks_redundancy
        else steps
    )


def changes(now: Layout, request: LayoutRequest, component: int | None) -> Iterator[Layout]:
    """
    Yield each layout between *now* and *request*: first the level, then members, then the chunk.

    *component*: bytes that md uses of each member, None if not known.
    """
    if now.variant not in ("", "ls", "near") or (now.level == "raid10" and now.copies != PAIR):
        raise PlanRefused(f"layout {now.variant} with {now.copies} copies was not tested")
    for change in (_levels, _members, _chunk):
        for after in change(now, request, component):
            yield after
            now = after
    if request.variant not in (None, now.variant) or request.copies not in (None, now.copies):
        raise PlanRefused(f"mdadm gives {now} with the layout {now.variant or 'default'}, no other")


def _levels(now: Layout, request: LayoutRequest, component: int | None) -> Iterator[Layout]:
    if request.level == now.level:
        return
    path = PATHS.get((now.level, request.level))
    if path is None:
        raise PlanRefused(f"mdadm has no tested path from {now.level} to {request.level}")
    if now.level == "raid1" and now.members != PAIR:
        raise PlanRefused("md converts only a raid1 of two members to raid5")
    if now.level == "raid10" and now.members % now.copies:
        raise PlanRefused(f"md cannot convert a raid10 of {now.members} members: not whole pairs")
    chunk = now.chunk
    if now.level == "raid1":
        chunk = RAID1_TO_RAID5_CHUNK
        _require_divides(chunk, component)
    for level in path[1:]:
        if now.level == "raid5" and level == "raid0":
            now = now._replace(variant=PARITY_LAST)
            yield now
        now = _taken_over(now, level, chunk)
        yield now


def _require_divides(chunk: int, component: int | None) -> None:
    if component is None or component % chunk:
        used = "the size" if component is None else f"the {component} bytes"
        raise PlanRefused(
            f"chunks of {chunk // 1024} KiB do not divide {used} that md uses per member"
        )


def _taken_over(now: Layout, level: str, chunk: int | None) -> Layout:
    """Return the layout that md gives *now* with another level."""
    data = now.data
    members = {"raid0": data, "raid5": data + 1, "raid6": data + 2, "raid10": data * 2}[level]
    variant = {"raid5": "ls", "raid6": "ls", "raid10": "near"}.get(level, "")
    taken_over = layout(level, members, chunk, None, variant)
    if taken_over is None:
        raise PlanRefused(f"{level} with {members} members is not supported")
    return taken_over


def _members(now: Layout, request: LayoutRequest, _: int | None) -> Iterator[Layout]:
    if now.level == "raid1":
        count = request.members or request.copies or now.members
    else:
        count = request.members or max(now.members, MIN_MEMBERS[now.level][False])
    if count == now.members:
        return
    if now.level not in GROWABLE or count < now.members:
        raise PlanRefused(f"{now.level} from {now.members} to {count} members was not tested")
    after = layout(now.level, count, now.chunk, None, now.variant)
    yield now if after is None else after


def _chunk(now: Layout, request: LayoutRequest, component: int | None) -> Iterator[Layout]:
    if request.chunk is None or request.chunk == now.chunk:
        return
    if now.level not in CHUNK_CHANGEABLE:
        raise PlanRefused(f"mdadm changes the chunk only of raid5 and raid6, not of {now.level}")
    _require_divides(request.chunk, component)
    yield now._replace(chunk=request.chunk)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of layout, with the paths of the disks ``added`` for it."""

    before: Layout
    after: Layout
    added: tuple[BlockDevicePath, ...] = ()

    @property
    def restripes(self) -> bool:
        """Whether it rewrites every stripe."""
        drops_parity = self.before.variant == PARITY_LAST and self.after.level == "raid0"
        return {self.before.level, self.after.level} <= RESTRIPED and not drops_parity

    @property
    def does(self) -> str:
        """What it does, as a sentence without a subject."""
        if self.before.level == self.after.level and self.after.variant == PARITY_LAST:
            return f"moves the parity of {self.after} to the last member"
        return f"converts {self.before} to {self.after}"

    @property
    def lacks_redundancy(self) -> bool:
        """Whether it starts from, or ends with, a raid0."""
        return "raid0" in (self.before.level, self.after.level)


def grow_command(path: BlockDevicePath, change: Change) -> Command:
    """
    Return the command.

    >>> from stackmap.model.raid import layout
    >>> change = Change(layout("raid1", 2), layout("raid5", 2, 65536))
    >>> " ".join(grow_command(BlockDevicePath("/dev/md0"), change))
    'mdadm --grow /dev/md0 --level=5'
    """
    before, after = change.before, change.after
    command: list[Word] = [*words("mdadm --grow", path)]
    if after.level != before.level:
        command.append(assigned("--level=", Number(after.level.removeprefix("raid"))))
    if after.level != "raid0" and after.members != before.members:
        command.append(assigned("--raid-devices=", Number(after.members)))
    if after.level == before.level and after.variant != before.variant:
        command.append(assigned("--layout=", Fixed(ROTATIONS[after.variant])))
    if after.level == before.level and after.chunk != before.chunk:
        command.append(assigned("--chunk=", Number((after.chunk or 0) // 1024)))
    if change.added and before.level == "raid0":  # a raid0 has no spares
        command += words("--add", *change.added)
    if change.restripes:
        name = f"{path.rpartition('/')[2]}-{after.level}-{after.members}"
        command.append(assigned("--backup-file=", AbsolutePath(f"{BACKUP}/{name}.mdadm")))
    return tuple(command)


def risks(change: Change, *, passing: bool) -> str:
    """Return the risk; *passing*: a raid0 is only an intermediate layout."""
    if passing and change.lacks_redundancy:
        return UNPROTECTED
    if not change.restripes:
        return plan.REQUESTED if change.after.level == "raid0" else plan.SYNC_LOAD
    if change.after.level == "raid0":
        return f"{RESTRIPE}; {plan.REQUESTED}"
    fewer = change.after.parity < change.before.parity
    return f"{RESTRIPE}; {plan.FEWER_FAILURES}" if fewer else RESTRIPE


def undo(path: BlockDevicePath, change: Change) -> tuple[tuple[Command, ...], str]:
    """Return the commands back, () for none, and a remark."""
    before, after = change.before, change.after
    if after.level == "raid0":
        return (), DISKS_DROPPED.format(level=before.level)
    added = after.members - before.members
    back = grow_command(path, Change(after, before))
    # Which of an array's own spares md took is not known.
    if before.level == after.level == "raid1" and len(change.added) == added:
        fail = words("mdadm", path, *words("--fail", *change.added))
        off = (*fail, *words("--remove", *change.added))
        return (off, back), WITH_DISKS
    if before.level == after.level and added:
        return (), NOT_IN_PLACE
    return (back,), plan.AFTER_SYNC
