"""
``lvconvert``: another level for the LV that is there, in place and while it is used.

Where the path goes through raid0, nothing is redundant between two steps,
and that is said of each of them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from stackmap.analysis.plan.detach_layers import detach_layers
from stackmap.analysis.plan.lvconvert_paths import (
    NO_METADATA,
    STRIPED,
    Conversion,
    canonical,
    members,
    names,
    path,
)
from stackmap.analysis.plan.lvm_steps import waiting
from stackmap.analysis.plan.placement import metadata_extents, place, require_room
from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import GEOMETRY, REQUESTED, Plan, Step, printable, unprotected
from stackmap.errors import PlanRefused
from stackmap.model.device import Role
from stackmap.model.layout_request import DEFAULT_COPIES, MIN_MEMBERS
from stackmap.model.raid import Layout, layout
from stackmap.model.volume_group import PhysicalVolume

UNSYNCED = "R"  # lv_attr's first letter: made with --nosync, and never synced since
MIB = 1024**2
BARE = "NO REDUNDANCY: a disk that dies until the sync after this is done takes the volume with it"


def convert(context: PlanContext) -> Plan:
    """Return the plan; refused where lvconvert cannot, or not here."""
    if not context.is_lvm:
        raise PlanRefused("it is no LV")
    now, request = canonical(_segtype(context)), context.request
    require_synced(context)
    conversions = path(now, _goal(context))
    if not conversions:
        raise PlanRefused(f"lvconvert has no path from {now} to {_goal(context)}")
    data = context.target.layout.data if context.target.layout else 1
    _require_members(conversions, data)
    result = _result(context, conversions[-1], data)
    if request.members not in (None, result.members):
        raise PlanRefused(
            f"lvconvert keeps the {data} data stripes, which makes {result.members} members, not "
            f"{request.members}"
        )
    if request.chunk not in (None, result.chunk):
        raise PlanRefused("another chunk is not converted to in place")
    detached = detach_layers(context)
    if detached.hidden or detached.after:
        _require_takeovers(conversions)
    name = f"{context.group.name}/{detached.name}"
    added = _added(context, conversions, data)
    require_room(context, _reshape_room(context, conversions), "a reshape or a new bitmap")
    after = context.mark_unprotected(detached.after, result)
    steps = (*detached.before, *_steps(name, conversions, data, added), *after)
    unchecked = (*detached.unchecked, GEOMETRY)
    return Plan(printable(steps), result, _checked(context, added), unchecked)


def _require_members(conversions: tuple[Conversion, ...], data: int) -> None:
    """Refuse a type of fewer members than LVM makes it of: it adds stripes then, and the LV grows."""
    for conversion in conversions:
        level, count = conversion.after.partition("_")[0], members(conversion.after, data)
        if count < MIN_MEMBERS[level][True]:
            raise PlanRefused(
                f"with {data} data stripes {level} would have {count} members, and LVM makes it of "
                f"{MIN_MEMBERS[level][True]} or more"
            )


def _require_takeovers(conversions: tuple[Conversion, ...]) -> None:
    """
    Refuse a reshape of what is a part of something else, or is to be again.

    With lvm2 2.03.16 on Linux 6.1 one below a thin pool ended with "too small
    for target", the pool was left suspended, and all who used it hung; after
    one no cache is put on: "segment 1 invalid: reshape for cache segment"
    (tests/lab, plan-layers). LVM keeps the space that it reshaped with.
    """
    place = next(
        (number for number, conversion in enumerate(conversions) if conversion.reshape), None
    )
    if place is None:
        return
    level, _, variant = conversions[place].before.partition("_")
    other = f"; {level}:layout={variant} needs none" if place and variant else ""
    raise PlanRefused(
        f"to {conversions[place].after} lvconvert reshapes: below a pool that left it suspended, its users "
        f"hanging, and no cache could be put back after it{other}"
    )


def require_synced(context: PlanContext) -> None:
    """Refuse an LV that LVM takes as never synced: it adds no member to one, then or later."""
    if context.volume.attributes.startswith(UNSYNCED):
        raise PlanRefused(
            f"{context.target.label} was made with --nosync, and LVM adds no member to what was never "
            "in sync: unmount it and run lvchange --resync first"
        )


def _segtype(context: PlanContext) -> str:
    volume, present = context.volume, context.target.layout
    if not volume.segtype:
        raise PlanRefused(f"{context.target.label} is made of segments of several types")
    if volume.segtype in NO_METADATA and len(volume.segtypes) > 1:
        raise PlanRefused(f"{context.target.label} is made of {len(volume.segtypes)} segments")
    if present is not None and present.level == "raid10" and present.copies != DEFAULT_COPIES:
        raise PlanRefused(f"a raid10 of {present.copies} copies was not tried")
    return volume.segtype


def _goal(context: PlanContext) -> str:
    request = context.request
    if request.level == "raid10" and (
        request.variant or "near",
        request.copies or DEFAULT_COPIES,
    ) != (
        "near",
        DEFAULT_COPIES,
    ):
        raise PlanRefused("LVM makes raid10 of two copies, near")
    variant = f"_{request.variant}" if request.variant and request.level != "raid10" else ""
    return canonical(request.level + variant)


def _result(context: PlanContext, last: Conversion, data: int) -> Layout:
    level, _, variant = last.after.partition("_")
    chunk = context.target.layout.chunk if context.target.layout else None
    found = layout(level, members(last.after, data), chunk, variant=variant)
    if found is None:
        raise PlanRefused(f"{last.after} is no layout that is known here")
    return found


@dataclass
class _Images:
    """Which PVs hold the members, leg by leg: what is added lands beside them, what is dropped frees its PV."""

    context: PlanContext
    held: list[frozenset[str]]
    each: int
    freed: dict[str, int]

    def add(self, count: int) -> tuple[PhysicalVolume, ...]:
        """Find PVs for *count* more members."""
        by_path = {pv.path: pv.device for pv in self.context.group.pvs}
        avoiding = [by_path[path] for image in self.held for path in image if path in by_path]
        chosen = place(self.context, count, self.each, avoiding=avoiding, freed=self.freed)
        self.held += [frozenset({pv.path}) for pv in chosen]
        return chosen

    def drop(self, count: int, of: str) -> None:
        """Give up the members that a type has for redundancy: of RAID10 each second, else the last."""
        if of == "raid4":  # which one has its parity was not looked into
            return
        gone = self.held[1::2] if of == "raid10" else self.held[-count:]
        self.held = self.held[0::2] if of == "raid10" else self.held[:-count]
        for image in gone:
            self.freed |= dict.fromkeys(image, self.each)


def _added(
    context: PlanContext, conversions: tuple[Conversion, ...], data: int
) -> dict[int, tuple[PhysicalVolume, ...]]:
    """Return the PVs that members are added on, by the place of the leg that adds them."""
    group, volume = context.group, context.volume
    image = -(-volume.extents // data)
    each = image + metadata_extents(group, image, volume.region) + _reshape_extents(context)
    images = _Images(context, _held(context), each, {})
    found = {}
    for number, conversion in enumerate(conversions):
        more = members(conversion.after, data) - members(conversion.before, data)
        if more > 0:
            found[number] = images.add(more)
        elif more < 0:
            images.drop(-more, conversion.before)
    return found


def _held(context: PlanContext) -> list[frozenset[str]]:
    """Return the PVs of each member, in the order of the kernel's table; of a striped LV, each of its PVs."""
    below = context.topology.below(context.target.name)
    labels = [context.topology[e.below].label for e in below if e.role is Role.DATA]
    names = [label.partition("/")[2] for label in labels]
    volumes = context.group.volumes
    images = [frozenset(volumes[name].on) for name in names if name in volumes]
    return images or [frozenset({path}) for path in context.volume.on]


def _reshape_extents(context: PlanContext) -> int:
    """Return what a reshape takes of each member to write to what it has not read (raid_manip.c)."""
    chunk = context.target.layout.chunk if context.target.layout else 0
    return max(max(MIB, chunk or 0) // context.group.extent, 1)


def _reshape_room(context: PlanContext, conversions: tuple[Conversion, ...]) -> dict[str, int]:
    """Return the extents that legs take on the PVs that hold members now."""
    metadata = sum(
        conversion.before in NO_METADATA and conversion.after == "raid0_meta"
        for conversion in conversions
    )
    reshape = (
        _reshape_extents(context) if any(conversion.reshape for conversion in conversions) else 0
    )
    room: dict[str, int] = {}
    for image in _held(context):
        for pv in image:
            room[pv] = room.get(pv, 0) + metadata + reshape
    return {pv: extents for pv, extents in room.items() if extents}


def _steps(
    name: str,
    conversions: tuple[Conversion, ...],
    data: int,
    added: dict[int, tuple[PhysicalVolume, ...]],
) -> list[Step]:
    """Return each lvconvert, and after it the wait that proves it."""
    steps: list[Step] = []
    for number, conversion in enumerate(conversions):
        gone = [_conversion(name, conversion, conversions, data, added.get(number, ()))]
        if conversion.after not in STRIPED:
            gone.append(waiting(name, *names(conversion.after)))
        steps += unprotected(gone) if _lacks_redundancy(conversion, conversions) else gone
    return steps


def _lacks_redundancy(conversion: Conversion, conversions: tuple[Conversion, ...]) -> bool:
    """Whether a leg has no redundancy where the volume had some."""
    return conversions[0].before not in STRIPED and bool(
        {conversion.before, conversion.after} & STRIPED
    )


def _conversion(
    name: str,
    conversion: Conversion,
    conversions: tuple[Conversion, ...],
    data: int,
    pvs: tuple[PhysicalVolume, ...],
) -> Step:
    words = ("lvconvert", "--yes", "--type", conversion.after, name, *(pv.path for pv in pvs))
    size = members(conversion.after, data)
    return Step(
        words,
        f"makes it {conversion.after} of {size} members",
        _risks(conversion, conversions, adds=bool(pvs)),
        _back(name, conversion),
    )


def _back(name: str, conversion: Conversion) -> str:
    """Return what undoes a leg: its pair is not in the table where a plain type goes up by raid0_meta."""
    types = (back.after for back in path(conversion.after, conversion.before) or ())
    lines = (shlex.join(["lvconvert", "--yes", "--type", each, name]) for each in types)
    return f"{' && '.join(lines)}, once it is in sync"


def _risks(conversion: Conversion, conversions: tuple[Conversion, ...], *, adds: bool) -> str:
    if _lacks_redundancy(conversion, conversions):
        return REQUESTED if conversions[-1].after in STRIPED else BARE
    if conversion.reshape:
        return (
            "every stripe is read and written: much I/O, and it cannot be stopped half-way; the "
            "extents it takes stay taken, and no cache is put on the LV until they are freed: "
            "lvmraid(7)"
        )
    return (
        "its sync takes I/O of all who use these disks" if adds else "nothing beside what it drops"
    )


def _checked(context: PlanContext, added: dict[int, tuple[PhysicalVolume, ...]]) -> tuple[str, ...]:
    paths = ", ".join(pv.path for pvs in added.values() for pv in pvs)
    where = (f"room for a member on each of {paths}, on disks that hold none yet",) if paths else ()
    return (f"{context.target.label} is in sync and whole", *where)
