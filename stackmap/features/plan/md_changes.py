"""
The in-place layout changes of ``mdadm --grow``, in the order in which a plan makes them.

Sources: mdadm(8) and mdadm's Grow.c. A change of the level keeps the number of data chunks.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.errors import PlanRefused
from stackmap.model.layout_request import MIN_MEMBERS, LayoutRequest
from stackmap.model.raid import Layout, layout

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
# The rotation of parity that leaves a raid0 when the last member goes. --level=0 alone reshapes to
# it and then drops the member, but mdadm 4.2 may miss the end of the reshape and wait forever
# (Grow.c, progress_reshape; fixed in 2024; every second run in the lab). So it is a change of its own.
PARITY_LAST = "n"
# The chunk of a raid5 made from a raid1. md accepts a smaller one (raid5.c, raid5_takeover_raid1),
# but mdadm 4.2 asks for this one and fails half-way (Grow.c).
RAID1_TO_RAID5_CHUNK = 65536


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
    found = layout(level, members, chunk, None, variant)
    if found is None:
        raise PlanRefused(f"{level} with {members} members is not supported")
    return found


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
