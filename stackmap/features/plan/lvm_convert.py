"""
``lvconvert --type``: another level for an LV, in place and online, on the safest path through LVM's conversions.

A *takeover* gives the same stripes another level, and adds or drops members. A *reshape* moves every stripe, for
another rotation of parity. Both keep the number of data stripes. On a path through raid0 the LV has no redundancy
between two steps, and each of these steps says so.

Source: lvmraid(7). tests/lab/convert_all.py ran every pair with lvm2 2.03.16 on Linux 6.1 and compared the content.
"""

import heapq
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from stackmap.errors import PlanRefused
from stackmap.features.plan import lvm_steps as lvm
from stackmap.features.plan import plan
from stackmap.model.command_line import Command, words
from stackmap.model.device import Role
from stackmap.model.layout_request import DEFAULT_COPIES, MIN_MEMBERS
from stackmap.model.operand import Keyword, LvPath, PvPath
from stackmap.model.raid import layout

UNSYNCED = "R"  # lv_attr's first letter: created with --nosync and never synced
MIB = 1024**2
UNPROTECTED = "NO REDUNDANCY: until the sync after this step, one disk failure loses the volume"
RESHAPE = (
    "reads and writes every stripe and cannot be stopped half-way; keeps the extents it takes, and "
    "the LV takes no cache until they are freed: lvmraid(7)"
)
STRIPED = frozenset({"striped", "raid0", "raid0_meta"})
NO_METADATA = ("striped", "raid0")
PARITY = ("raid4", "raid5_n", "raid6_n_6", "raid10")
ROTATIONS = ("ls", "n")  # LVM's default rotation of parity, and the one that becomes striped
RAID5 = frozenset({"raid5_ls", "raid5_n"})
RAID6 = frozenset({"raid6_zr", "raid6_ls_6", "raid6_n_6"})

# lvs' names for the same type (lvmraid(7)).
ALIASES = {"raid5": "raid5_ls", "raid6": "raid6_zr", "raid10_near": "raid10"}

# Striped types gain members only through raid0_meta. A conversion that adds members names the new
# PVs, and LVM would put the metadata of the present members there too. Without PVs, as for
# raid0_meta, LVM keeps metadata next to its data (raid_manip.c, _alloc_rmeta_devs_for_rimage_devs).
TAKEOVERS: frozenset[tuple[str, str]] = frozenset(
    {("raid0_meta", b) for b in PARITY}
    | {(a, b) for a in PARITY for b in STRIPED}
    | {(a, b) for a in NO_METADATA for b in STRIPED if a != b}
    | {("raid0_meta", b) for b in NO_METADATA}
    | {("raid4", "raid5_n"), ("raid5_n", "raid4")}
    | {(f"raid5_{r}", f"raid6_{r}_6") for r in ROTATIONS}
    | {(f"raid6_{r}_6", f"raid5_{r}") for r in ROTATIONS}
)
RESHAPES: frozenset[tuple[str, str]] = frozenset(
    {(a, b) for family in (RAID5, RAID6) for a in family for b in family if a != b}
)

# A reshape reads and writes everything twice; any amount of I/O is better than no redundancy.
TAKEOVER_COST, RESHAPE_COST, STRIPED_COST = 1, 10, 1000


@dataclass(frozen=True, slots=True)
class Conversion:
    """One lvconvert between segment types; ``reshape``: it moves every stripe."""

    before: str
    after: str
    reshape: bool


Path = tuple[Conversion, ...]


def convert(context: plan.PlanContext) -> plan.Plan:
    """Return the plan; refused if lvconvert has no path, or an obstacle is on it."""
    now, goal = canonical(_segtype(context)), _goal(context)
    require_synced(context)
    conversions = path(now, goal)
    if not conversions:
        raise PlanRefused(f"lvconvert has no path from {now} to {goal}")
    data = context.target.layout.data if context.target.layout else 1
    _require_members(conversions, data)
    last, chunk = conversions[-1].after, context.target.layout and context.target.layout.chunk
    level, _, variant = last.partition("_")
    result = layout(level, members(last, data), chunk, variant=variant)
    if result is None:
        raise PlanRefused(f"{last} is not a supported layout")
    request = context.request
    if request.members not in (None, result.members):
        raise PlanRefused(
            f"lvconvert keeps the {data} data stripes, which gives {result.members} members, not "
            f"{request.members}"
        )
    if request.chunk not in (None, result.chunk):
        raise PlanRefused("an in-place conversion keeps the chunk size")
    layers = lvm.detach_layers(context)
    if layers.hidden or layers.after:
        _require_takeovers(conversions)
    name = LvPath(f"{context.group.name}/{layers.name}")
    converting, paths = _steps(context, name, conversions, data)
    lvm.require_room(context, _extra_room(context, conversions), "a reshape or a new bitmap")
    after = context.mark_unprotected(layers.after, result)
    checked = [f"{context.target.label} is in sync and complete"]
    if paths:
        checked.append(
            f"room for a member on each of {', '.join(paths)}, on disks without a member"
        )
    steps = (*layers.before, *converting, *after)
    return plan.Plan(steps, result, tuple(checked), (*layers.unchecked, plan.GEOMETRY))


def _require_members(conversions: Path, data: int) -> None:
    """Refuse a type with fewer members than LVM's minimum: LVM would add stripes and grow the LV."""
    for conversion in conversions:
        level, count = conversion.after.partition("_")[0], members(conversion.after, data)
        if count < MIN_MEMBERS[level][True]:
            raise PlanRefused(
                f"{level} with {data} data stripes would have {count} members; LVM needs "
                f"{MIN_MEMBERS[level][True]} or more"
            )


def _require_takeovers(conversions: Path) -> None:
    """
    Refuse a reshape of an LV that is, or will be again, part of another.

    With lvm2 2.03.16 on Linux 6.1, a reshape below a thin pool failed with "too
    small for target" and left the pool suspended, so its users hung. LVM
    attaches no cache after one: "segment 1 invalid: reshape for cache segment".
    LVM keeps the extents of the reshape (tests/lab, plan-layers).
    """
    number = next((n for n, conversion in enumerate(conversions) if conversion.reshape), None)
    if number is None:
        return
    level, _, variant = conversions[number].before.partition("_")
    other = f"; {level}:layout={variant} needs none" if number and variant else ""
    raise PlanRefused(
        f"conversion to {conversions[number].after} is a reshape, which leaves a pool above suspended "
        f"and prevents attaching a cache afterwards{other}"
    )


def require_synced(context: plan.PlanContext) -> None:
    """Refuse an LV created with --nosync: LVM never adds members to it."""
    if context.volume.attributes.startswith(UNSYNCED):
        raise PlanRefused(
            f"{context.target.label} was created with --nosync, and LVM adds no members to it: "
            "unmount it and run `lvchange --resync` first"
        )


def _segtype(context: plan.PlanContext) -> str:
    volume, present = context.volume, context.target.layout
    if not volume.segtype:
        raise PlanRefused(f"{context.target.label} has segments of several types")
    if volume.segtype in NO_METADATA and len(volume.segtypes) > 1:
        raise PlanRefused(f"{context.target.label} has {len(volume.segtypes)} segments")
    if present is not None and present.level == "raid10" and present.copies != DEFAULT_COPIES:
        raise PlanRefused(f"raid10 with {present.copies} copies was not tested")
    return volume.segtype


def _goal(context: plan.PlanContext) -> str:
    """Return the segment type that is requested."""
    request = context.request
    if request.level != "raid10":
        return canonical(f"{request.level}_{request.variant}" if request.variant else request.level)
    if (request.variant or "near", request.copies or DEFAULT_COPIES) != ("near", DEFAULT_COPIES):
        raise PlanRefused("LVM makes raid10 only with two copies and the layout near")
    return canonical(request.level)


@dataclass
class _Members:
    """The PVs of each member while conversions add and drop members; ``freed``: extents by PV."""

    context: plan.PlanContext
    data: int
    held: list[frozenset[str]]
    freed: dict[str, int] = field(default_factory=dict)

    def follow(self, conversion: Conversion) -> tuple[PvPath, ...]:
        """Return the PVs of the members that *conversion* adds."""
        group, volume = self.context.group, self.context.volume
        image = -(-volume.extents // self.data)
        metadata = lvm.metadata_extents(group, image, volume.region)
        per_member = image + metadata + _reshape_extents(self.context)
        before = conversion.before
        more = members(conversion.after, self.data) - members(before, self.data)
        if more > 0:
            devices = {pv.path: pv.device for pv in group.pvs}
            present = [devices[path] for image in self.held for path in image if path in devices]
            chosen = lvm.place(self.context, more, per_member, avoiding=present, freed=self.freed)
            self.held += [frozenset({pv.path}) for pv in chosen]
            return tuple(PvPath(pv.path) for pv in chosen)
        # Which member of a raid4 has its parity is not known here. Every second one of a raid10 is redundant.
        if more < 0 and before != "raid4":
            gone = self.held[1::2] if before == "raid10" else self.held[more:]
            self.held = self.held[0::2] if before == "raid10" else self.held[:more]
            self.freed |= {path: per_member for image in gone for path in image}
        return ()


def _held(context: plan.PlanContext) -> list[frozenset[str]]:
    """Return the PVs of each member, in the kernel's order; of a striped LV, each of its PVs."""
    below = context.topology.below(context.target.name)
    labels = [context.topology[e.below].label for e in below if e.role is Role.DATA]
    names = [label.partition("/")[2] for label in labels]
    volumes = context.group.volumes
    images = [frozenset(volumes[name].on) for name in names if name in volumes]
    return images or [frozenset({path}) for path in context.volume.on]


def _reshape_extents(context: plan.PlanContext) -> int:
    """Return the extents per member that a reshape needs for out-of-place writes (raid_manip.c)."""
    chunk = context.target.layout.chunk if context.target.layout else 0
    return max(max(MIB, chunk or 0) // context.group.extent, 1)


def _extra_room(context: plan.PlanContext, conversions: Path) -> dict[str, int]:
    """Return the extents that conversions allocate on the present members' PVs."""
    extents = sum(c.before in NO_METADATA and c.after == "raid0_meta" for c in conversions)
    if any(conversion.reshape for conversion in conversions):
        extents += _reshape_extents(context)
    held = Counter(path for image in _held(context) for path in image)
    return {path: extents * images for path, images in held.items()} if extents else {}


def _steps(
    context: plan.PlanContext, name: LvPath, conversions: Path, data: int
) -> tuple[list[plan.Step], list[PvPath]]:
    """Return the lvconvert of each conversion, followed by the wait for its sync, and the PVs they add."""
    steps: list[plan.Step] = []
    added: list[PvPath] = []
    images = _Members(context, data, _held(context))
    for conversion in conversions:
        paths = images.follow(conversion)
        back = (
            path(conversion.after, conversion.before) or ()
        )  # a striped type needs raid0_meta in between
        pair = [
            plan.Step(
                (*_converting(conversion.after, name), *paths),
                f"converts it to {conversion.after} with {members(conversion.after, data)} members",
                _risks(conversion, conversions, adds=bool(paths)),
                tuple(_converting(step_back.after, name) for step_back in back),
                plan.AFTER_SYNC,
            )
        ]
        if conversion.after not in STRIPED:
            pair.append(lvm.waiting(name, *names(conversion.after)))
        steps += plan.unprotected(pair) if _lacks_redundancy(conversion, conversions) else pair
        added += paths
    return steps, added


def _lacks_redundancy(conversion: Conversion, conversions: Path) -> bool:
    """Whether a conversion from or to a striped type is part of a path from a redundant one."""
    striped = {conversion.before, conversion.after} & STRIPED
    return conversions[0].before not in STRIPED and bool(striped)


def _converting(segtype: str, name: LvPath) -> Command:
    return words("lvconvert --yes --type", Keyword(segtype), *words("--", name))


def _risks(conversion: Conversion, conversions: Path, *, adds: bool) -> str:
    if _lacks_redundancy(conversion, conversions):
        return plan.REQUESTED if conversions[-1].after in STRIPED else UNPROTECTED
    if conversion.reshape:
        return RESHAPE
    return plan.SYNC_LOAD if adds else "none beyond the redundancy that it drops"


def canonical(segtype: str) -> str:
    """
    Return the one name used here of a type with aliases.

    >>> canonical("raid5"), canonical("raid6_nr")
    ('raid5_ls', 'raid6_nr')
    """
    return ALIASES.get(segtype, segtype)


def names(segtype: str) -> tuple[str, ...]:
    """
    Return all names that lvs may print for a type.

    >>> names("raid6_zr")
    ('raid6_zr', 'raid6')
    """
    return (segtype, *(alias for alias, same in ALIASES.items() if same == segtype))


def members(segtype: str, data: int) -> int:
    """
    Return the members of a type with *data* stripes.

    >>> members("raid6_zr", 3), members("raid10", 2), members("striped", 4)
    (5, 4, 4)
    """
    level = segtype.partition("_")[0]
    parity = {"raid4": 1, "raid5": 1, "raid6": 2}.get(level, 0)
    return data * 2 if level == "raid10" else data + parity


def path(before: str, after: str) -> tuple[Conversion, ...] | None:
    """
    Return the conversions between two types, the safest path first, then the least I/O; None if none.

    >>> [conversion.after for conversion in path("raid5_ls", "raid6_zr")]
    ['raid6_ls_6', 'raid6_zr']
    >>> [conversion.after for conversion in path("raid5_ls", "raid10")]
    ['raid5_n', 'raid0_meta', 'raid10']
    """
    order = count()  # keeps the heap from comparing paths
    heap: list[tuple[int, int, str, tuple[Conversion, ...]]] = [(0, next(order), before, ())]
    seen: set[str] = set()
    while heap:
        cost, _, segtype, conversions = heapq.heappop(heap)
        if segtype == after:
            return conversions
        if segtype in seen:
            continue
        seen.add(segtype)
        onward = [Conversion(a, b, reshape=False) for a, b in TAKEOVERS if a == segtype]
        onward += [Conversion(a, b, reshape=True) for a, b in RESHAPES if a == segtype]
        for conversion in sorted(onward, key=lambda step: step.after):
            more = RESHAPE_COST if conversion.reshape else TAKEOVER_COST
            more += STRIPED_COST if conversion.after in STRIPED and conversion.after != after else 0
            heapq.heappush(
                heap, (cost + more, next(order), conversion.after, (*conversions, conversion))
            )
    return None
