"""Which device of a stack has the layout that is to change: the first from the top that spreads or copies."""

from __future__ import annotations

from stackmap.errors import PlanRefused
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Topology

CARRIES = frozenset({Role.DATA, Role.ORIGIN})
LAID_OUT = frozenset({Kind.VOLUME, Kind.MEMBER, Kind.ARRAY})


def target(topology: Topology, names: list[str]) -> Device:
    """
    Return the device below one of *names* whose layout a plan would change.

    That is the first with a level, going down where the data is; where there
    is none, the lowest LV. Refused where the names, or the ways down, differ.
    """
    tops = [name for name in names if topology[name].kind is not Kind.MEMBER] or names
    if len(tops) != 1:
        titles = ", ".join(sorted(topology[name].title for name in tops))
        raise PlanRefused(f"a plan is for one volume or array, not for {len(tops)}: {titles}")
    device = topology[tops[0]]
    lowest: Device | None = None
    while True:
        if device.kind in LAID_OUT:
            lowest = device
            if device.layout is not None and device.layout.level != "linear":
                return device
        below = dict.fromkeys(e.below for e in topology.below(device.name) if e.role in CARRIES)
        if len(below) > 1 and any(topology[name].layout for name in below):
            raise PlanRefused(
                f"{device.title} stands on several arrays or volumes: name one of them"
            )
        if len(below) != 1:
            break
        device = topology[next(iter(below))]
    if lowest is None:
        raise PlanRefused(f"{topology[tops[0]].title} is neither on an LV nor on an md array")
    return lowest
