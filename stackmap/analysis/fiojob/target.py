"""Whether a device may be given to a job that overwrites it: only one that nobody has a use for."""

from __future__ import annotations

from stackmap.model.device import Kind
from stackmap.model.topology import Topology

USED = {
    "mount": "is mounted at {who}",
    "swap": "is swapped to",
    "vm": "is the disk of {who}",
    "pv": "is a physical volume of LVM",
    "md": "is a member of an md array",
}
HIDDEN = frozenset({Kind.MEMBER, Kind.THIN_POOL})


def in_use(topology: Topology, name: str) -> str:
    """Return who has a use for the device *name*, as a sentence without a subject; "" for nobody."""
    device = topology[name]
    for use in device.uses:
        return USED.get(use.how, "is used by {who} ({how})").format(who=use.who, how=use.how)
    above = [topology[edge.above].title for edge in topology.above(name)]
    if above:
        return f"is what {', '.join(sorted(set(above)))} stands on"
    if device.kind in HIDDEN:
        return f"is a {device.kind}, no volume of its own"
    return "is read-only" if device.read_only else ""


def is_source(topology: Topology, source: str, target: str) -> bool:
    """Whether the load of *source* was measured on what *target* is, or is made of."""
    stack = {*topology.stack(source), *topology.stands_on(source)}
    return target in stack
