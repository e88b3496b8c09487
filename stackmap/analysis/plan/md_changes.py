"""
Which layouts ``mdadm --grow`` makes of which, one after the other.

From mdadm(8) and mdadm's Grow.c. Data stripes stay as many as they are when
the level changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stackmap.errors import PlanRefused
from stackmap.model.layout_request import MIN_MEMBERS, LayoutRequest
from stackmap.model.raid import Layout, layout

# The levels on the way from one to another, both ends included.
PATHS: dict[tuple[str, str], tuple[str, ...]] = {
    path[0 :: len(path) - 1]: path  # type: ignore[misc] # the first and the last of it
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
# Levels to which members can be added, and those whose chunk can change.
PAIR = 2  # members that a raid1 has to have to become a raid5
GROWABLE = frozenset({"raid1", "raid5", "raid6", "raid10"})
CHUNK_CHANGEABLE = frozenset({"raid5", "raid6"})
# The rotation of parity that leaves a raid0 when the last member goes. --level=0 alone reshapes to it and
# drops the member once that is done; but mdadm 4.2 may not see that it is, and wait for ever (progress_reshape
# in Grow.c, mended in 2024; every second time in the lab). So the reshape is a change of its own.
PARITY_LAST = "n"
# The chunk of a raid5 that was a raid1. md would take a smaller one where it must (raid5_takeover_raid1
# in raid5.c); mdadm 4.2 then asks for this one all the same, and fails half-way (Grow.c).
RAID1_TO_RAID5_CHUNK = 65536


def changes(now: Layout, request: LayoutRequest, component: int | None) -> Iterator[Layout]:
    """
    Yield each layout on the way from *now*: another level first, then members, then the chunk.

    *component*: the bytes that md uses of each member, None where it does not say.
    """
    if now.variant not in ("", "ls", "near") or (now.level == "raid10" and now.copies != PAIR):
        raise PlanRefused(f"it is laid out as {now.variant} with {now.copies} copies: not tried")
    for how in (_levels, _members, _chunk):
        for after in how(now, request, component):
            yield after
            now = after
    if request.variant not in (None, now.variant) or request.copies not in (None, now.copies):
        raise PlanRefused(f"mdadm would make it {now}, {now.variant or 'as usual'}, and no other")


def _levels(now: Layout, request: LayoutRequest, component: int | None) -> Iterator[Layout]:
    if request.level == now.level:
        return
    path = PATHS.get((now.level, request.level))
    if path is None:
        raise PlanRefused(f"mdadm has no tried path from {now.level} to {request.level}")
    if now.level == "raid1" and now.members != PAIR:
        raise PlanRefused("md makes raid5 of a raid1 of two members alone")
    if now.level == "raid10" and now.members % now.copies:
        raise PlanRefused(
            f"md takes no copies off a raid10 of {now.members} members: no whole pairs"
        )
    chunk = _first_chunk(component) if now.level == "raid1" else now.chunk
    for level in path[1:]:
        if now.level == "raid5" and level == "raid0":
            now = replace(now, variant=PARITY_LAST)
            yield now
        now = _taken_over(now, level, chunk)
        yield now


def _first_chunk(component: int | None) -> int:
    """Return the chunk of a raid1 that becomes a raid5; refused where it does not divide a member."""
    _require_divides(RAID1_TO_RAID5_CHUNK, component)
    return RAID1_TO_RAID5_CHUNK


def _require_divides(chunk: int, component: int | None) -> None:
    if component is None or component % chunk:
        used = "what md uses" if component is None else f"the {component} bytes that md uses"
        raise PlanRefused(f"chunks of {chunk // 1024} KiB do not divide {used} of each member")


def _taken_over(now: Layout, level: str, chunk: int | None) -> Layout:
    """Return *now* as another level, as md makes it."""
    data = now.data
    members = {"raid0": data, "raid5": data + 1, "raid6": data + 2, "raid10": data * 2}[level]
    variant = {"raid5": "ls", "raid6": "ls", "raid10": "near"}.get(level, "")
    found = layout(level, members, chunk, None, variant)
    if found is None:
        raise PlanRefused(f"{level} of {members} members is not known")
    return found


def _members(now: Layout, request: LayoutRequest, _: int | None) -> Iterator[Layout]:
    count = request.members or max(now.members, MIN_MEMBERS[now.level][False])
    if now.level == "raid1":
        count = request.members or request.copies or now.members
    if count == now.members:
        return
    if now.level not in GROWABLE or count < now.members:
        raise PlanRefused(f"{now.level} of {now.members} members made one of {count}: not tried")
    after = layout(now.level, count, now.chunk, None, now.variant)
    yield replace(now) if after is None else after


def _chunk(now: Layout, request: LayoutRequest, component: int | None) -> Iterator[Layout]:
    if request.chunk is None or request.chunk == now.chunk:
        return
    if now.level not in CHUNK_CHANGEABLE:
        raise PlanRefused(f"mdadm changes the chunk of raid5 and raid6 alone, not of {now.level}")
    _require_divides(request.chunk, component)
    yield replace(now, chunk=request.chunk)
