"""
``lvconvert``: another level for the LV that is there, in place and while it is used.

Where the path goes through raid0, nothing is redundant between two steps,
and that is said of each of them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from stackmap.analysis.plan.detach_layers import wrapped
from stackmap.analysis.plan.lvconvert_paths import (
    PLAIN,
    STRIPED,
    Leg,
    canonical,
    members,
    names,
    path,
)
from stackmap.analysis.plan.lvm_steps import waiting
from stackmap.analysis.plan.placement import metadata_extents, place, require_room
from stackmap.analysis.plan.plan_context import Ground
from stackmap.analysis.plan.step import ASKED, GEOMETRY, Plan, Step, bare, printable
from stackmap.errors import PlanRefused
from stackmap.model.device import Role
from stackmap.model.layout_request import COPIES, LEAST
from stackmap.model.raid import Layout, layout
from stackmap.model.volume_group import PhysicalVolume

UNSYNCED = "R"  # lv_attr's first letter: made with --nosync, and never synced since
MIB = 1024**2
BARE = "NO REDUNDANCY: a disk that dies until the sync after this is done takes the volume with it"


def convert(ground: Ground) -> Plan:
    """Return the plan; refused where lvconvert cannot, or not here."""
    if not ground.is_lvm:
        raise PlanRefused("it is no LV")
    now, wanted = canonical(_segtype(ground)), ground.wanted
    require_synced(ground)
    legs = path(now, _goal(ground))
    if not legs:
        raise PlanRefused(f"lvconvert has no path from {now} to {_goal(ground)}")
    data = ground.target.layout.data if ground.target.layout else 1
    _require_members(legs, data)
    result = _result(ground, legs[-1], data)
    if wanted.members not in (None, result.members):
        raise PlanRefused(
            f"lvconvert keeps the {data} data stripes, which makes {result.members} members, not "
            f"{wanted.members}"
        )
    if wanted.chunk not in (None, result.chunk):
        raise PlanRefused("another chunk is not converted to in place")
    wrap = wrapped(ground)
    if wrap.hidden or wrap.after:
        _require_takeovers(legs)
    name = f"{ground.group.name}/{wrap.name}"
    added = _added(ground, legs, data)
    require_room(ground, _reshape_room(ground, legs), "a reshape or a new bitmap")
    after = ground.onward(wrap.after, result)
    steps = (*wrap.before, *_steps(name, legs, data, added), *after)
    unchecked = (*wrap.unchecked, GEOMETRY)
    return Plan(printable(steps), result, _checked(ground, added), unchecked)


def _require_members(legs: tuple[Leg, ...], data: int) -> None:
    """Refuse a type of fewer members than LVM makes it of: it adds stripes then, and the LV grows."""
    for leg in legs:
        level, count = leg.after.partition("_")[0], members(leg.after, data)
        if count < LEAST[level][True]:
            raise PlanRefused(
                f"with {data} data stripes {level} would have {count} members, and LVM makes it of "
                f"{LEAST[level][True]} or more"
            )


def _require_takeovers(legs: tuple[Leg, ...]) -> None:
    """
    Refuse a reshape of what is a part of something else, or is to be again.

    With lvm2 2.03.16 on Linux 6.1 one below a thin pool ended with "too small
    for target", the pool was left suspended, and all who used it hung; after
    one no cache is put on: "segment 1 invalid: reshape for cache segment"
    (tests/lab, plan-layers). LVM keeps the space that it reshaped with.
    """
    place = next((number for number, leg in enumerate(legs) if leg.reshape), None)
    if place is None:
        return
    level, _, variant = legs[place].before.partition("_")
    other = f"; {level}:layout={variant} needs none" if place and variant else ""
    raise PlanRefused(
        f"to {legs[place].after} lvconvert reshapes: below a pool that left it suspended, its users "
        f"hanging, and no cache could be put back after it{other}"
    )


def require_synced(ground: Ground) -> None:
    """Refuse an LV that LVM takes as never synced: it adds no member to one, then or later."""
    if ground.volume.attributes.startswith(UNSYNCED):
        raise PlanRefused(
            f"{ground.target.label} was made with --nosync, and LVM adds no member to what was never "
            "in sync: unmount it and run lvchange --resync first"
        )


def _segtype(ground: Ground) -> str:
    volume, present = ground.volume, ground.target.layout
    if not volume.segtype:
        raise PlanRefused(f"{ground.target.label} is made of segments of several types")
    if volume.segtype in PLAIN and len(volume.segtypes) > 1:
        raise PlanRefused(f"{ground.target.label} is made of {len(volume.segtypes)} segments")
    if present is not None and present.level == "raid10" and present.copies != COPIES:
        raise PlanRefused(f"a raid10 of {present.copies} copies was not tried")
    return volume.segtype


def _goal(ground: Ground) -> str:
    wanted = ground.wanted
    if wanted.level == "raid10" and (wanted.variant or "near", wanted.copies or COPIES) != (
        "near",
        COPIES,
    ):
        raise PlanRefused("LVM makes raid10 of two copies, near")
    variant = f"_{wanted.variant}" if wanted.variant and wanted.level != "raid10" else ""
    return canonical(wanted.level + variant)


def _result(ground: Ground, last: Leg, data: int) -> Layout:
    level, _, variant = last.after.partition("_")
    chunk = ground.target.layout.chunk if ground.target.layout else None
    found = layout(level, members(last.after, data), chunk, variant=variant)
    if found is None:
        raise PlanRefused(f"{last.after} is no layout that is known here")
    return found


@dataclass
class _Images:
    """Which PVs hold the members, leg by leg: what is added lands beside them, what is dropped frees its PV."""

    ground: Ground
    held: list[frozenset[str]]
    each: int
    freed: dict[str, int]

    def add(self, count: int) -> tuple[PhysicalVolume, ...]:
        """Find PVs for *count* more members."""
        by_path = {pv.path: pv.device for pv in self.ground.group.pvs}
        beside = [by_path[path] for image in self.held for path in image if path in by_path]
        chosen = place(self.ground, count, self.each, beside=beside, freed=self.freed)
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
    ground: Ground, legs: tuple[Leg, ...], data: int
) -> dict[int, tuple[PhysicalVolume, ...]]:
    """Return the PVs that members are added on, by the place of the leg that adds them."""
    group, volume = ground.group, ground.volume
    image = -(-volume.extents // data)
    each = image + metadata_extents(group, image, volume.region) + _reshape_extents(ground)
    images = _Images(ground, _held(ground), each, {})
    found = {}
    for place_of, leg in enumerate(legs):
        more = members(leg.after, data) - members(leg.before, data)
        if more > 0:
            found[place_of] = images.add(more)
        elif more < 0:
            images.drop(-more, leg.before)
    return found


def _held(ground: Ground) -> list[frozenset[str]]:
    """Return the PVs of each member, in the order of the kernel's table; of a striped LV, each of its PVs."""
    below = ground.topology.below(ground.target.name)
    labels = [ground.topology[e.below].label for e in below if e.role is Role.DATA]
    names = [label.partition("/")[2] for label in labels]
    volumes = ground.group.volumes
    images = [frozenset(volumes[name].on) for name in names if name in volumes]
    return images or [frozenset({path}) for path in ground.volume.on]


def _reshape_extents(ground: Ground) -> int:
    """Return what a reshape takes of each member to write to what it has not read (raid_manip.c)."""
    chunk = ground.target.layout.chunk if ground.target.layout else 0
    return max(max(MIB, chunk or 0) // ground.group.extent, 1)


def _reshape_room(ground: Ground, legs: tuple[Leg, ...]) -> dict[str, int]:
    """Return the extents that legs take on the PVs that hold members now."""
    metadata = sum(leg.before in PLAIN and leg.after == "raid0_meta" for leg in legs)
    reshape = _reshape_extents(ground) if any(leg.reshape for leg in legs) else 0
    room: dict[str, int] = {}
    for image in _held(ground):
        for pv in image:
            room[pv] = room.get(pv, 0) + metadata + reshape
    return {pv: extents for pv, extents in room.items() if extents}


def _steps(
    name: str,
    legs: tuple[Leg, ...],
    data: int,
    added: dict[int, tuple[PhysicalVolume, ...]],
) -> list[Step]:
    """Return each lvconvert, and after it the wait that proves it."""
    steps: list[Step] = []
    for place_of, leg in enumerate(legs):
        gone = [_conversion(name, leg, legs, data, added.get(place_of, ()))]
        if leg.after not in STRIPED:
            gone.append(waiting(name, *names(leg.after)))
        steps += bare(gone) if _is_bare(leg, legs) else gone
    return steps


def _is_bare(leg: Leg, legs: tuple[Leg, ...]) -> bool:
    """Whether a leg has no redundancy where the volume had some."""
    return legs[0].before not in STRIPED and bool({leg.before, leg.after} & STRIPED)


def _conversion(
    name: str, leg: Leg, legs: tuple[Leg, ...], data: int, pvs: tuple[PhysicalVolume, ...]
) -> Step:
    words = ("lvconvert", "--yes", "--type", leg.after, name, *(pv.path for pv in pvs))
    size = members(leg.after, data)
    return Step(
        words,
        f"makes it {leg.after} of {size} members",
        _risks(leg, legs, adds=bool(pvs)),
        _back(name, leg),
    )


def _back(name: str, leg: Leg) -> str:
    """Return what undoes a leg: its pair is not in the table where a plain type goes up by raid0_meta."""
    types = (back.after for back in path(leg.after, leg.before) or ())
    lines = (shlex.join(["lvconvert", "--yes", "--type", each, name]) for each in types)
    return f"{' && '.join(lines)}, once it is in sync"


def _risks(leg: Leg, legs: tuple[Leg, ...], *, adds: bool) -> str:
    if _is_bare(leg, legs):
        return ASKED if legs[-1].after in STRIPED else BARE
    if leg.reshape:
        return (
            "every stripe is read and written: much I/O, and it cannot be stopped half-way; the "
            "extents it takes stay taken, and no cache is put on the LV until they are freed: "
            "lvmraid(7)"
        )
    return (
        "its sync takes I/O of all who use these disks" if adds else "nothing beside what it drops"
    )


def _checked(ground: Ground, added: dict[int, tuple[PhysicalVolume, ...]]) -> tuple[str, ...]:
    paths = ", ".join(pv.path for pvs in added.values() for pv in pvs)
    where = (f"room for a member on each of {paths}, on disks that hold none yet",) if paths else ()
    return (f"{ground.target.label} is in sync and whole", *where)
