"""
What each device sent down to those below it.

A device that passes requests on one by one (``model.targets``) is told by its
own counters; one that is not among them by those of what stands on it. One
that makes requests of its own is told by nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from stackmap.analysis.share import NOTHING, Amount, Portion, flow_of, portion_of
from stackmap.analysis.ways import divides, down, ways
from stackmap.model.device import Kind
from stackmap.model.load import Load
from stackmap.model.targets import passes
from stackmap.model.topology import Edge, Topology


def sent(
    topology: Topology, loads: Mapping[str, Load], edge: Edge, direction: str
) -> Portion | None:
    """
    Return what the device above *edge* sent down it, by its own counters.

    None where it makes requests of its own. Where it spans several devices,
    an estimate with its range for each, exact for all of them together.
    """
    whole = _all_sent(topology, loads, edge.above, direction)
    return None if whole is None else part_sent(topology, loads, edge, direction, whole, whole)


def sent_of(
    topology: Topology,
    loads: Mapping[str, Load],
    edge: Edge,
    direction: str,
    portion: Portion,
    unknown: str = "",
) -> Portion:
    """
    Return what went down *edge* of *portion*, some of what the device above did.

    *unknown*: why the portion is not known, "" if it is.
    """
    mine = _forwarded(topology, edge.above, portion, unknown)
    if not divides(topology, edge):
        return mine
    whole = _all_sent(topology, loads, edge.above, direction)
    return part_sent(topology, loads, edge, direction, mine, mine if whole is None else whole)


def part_sent(
    topology: Topology,
    loads: Mapping[str, Load],
    edge: Edge,
    direction: str,
    portion: Portion,
    whole: Portion,
) -> Portion:
    """Return what of *portion*, some of the *whole* that was sent, went down *edge*."""
    return down(topology, edge, portion, whole, partial(_rooms, topology, loads, edge, direction))


def is_idle(load: Load | None) -> bool:
    """Whether a device is known to have done nothing."""
    return load is not None and load.idle


def _all_sent(
    topology: Topology, loads: Mapping[str, Load], name: str, direction: str
) -> Portion | None:
    """Return all that *name* sent; None where it makes requests of its own, or nothing tells."""
    if not passes(topology[name]):
        return None
    if name in loads:
        return _forwarded(topology, name, portion_of(flow_of(loads[name], direction)))
    total = NOTHING
    for upper in topology.above(name):
        portion = sent(topology, loads, upper, direction)
        if portion is None:
            return None
        total = total + portion
    if not topology.above(name):
        return None
    return _forwarded(topology, name, replace(total, ios=None, wait=None))


def _forwarded(topology: Topology, name: str, portion: Portion, unknown: str = "") -> Portion:
    """
    Return *portion* as *name* passes it on: each completion is a request of its own.

    A partition is the exception: it shares its disk's queue, and the kernel
    counts one and the same merge for both (KERNEL 1.1). Of a device that is
    not among the counters, what arrived is known to be passed on; *unknown*
    says why it is not.
    """
    uncounted = portion.ios is None and not unknown
    merged_below = topology[name].kind is Kind.PARTITION or uncounted
    return portion if merged_below else replace(portion, arrivals=portion.ios)


def _rooms(
    topology: Topology, loads: Mapping[str, Load], edge: Edge, direction: str
) -> dict[str, Amount]:
    """Return, by way of the device above *edge*, what arrived there and others did not send."""
    return {way: _room(topology, loads, edge.above, way, direction) for way in ways(topology, edge)}


def _room(
    topology: Topology, loads: Mapping[str, Load], above: str, way: str, direction: str
) -> Amount:
    if way not in loads or not topology[way].counted:
        return Amount()
    arrived = portion_of(flow_of(loads[way], direction))
    room = Amount(arrived.arrivals, arrived.bytes)
    for other in topology.above(way):
        if other.above == above or divides(topology, other) or is_idle(loads.get(other.above)):
            continue
        portion = sent(topology, loads, other, direction)
        if portion is not None:
            room = Amount(
                _beyond(room.arrivals, portion.arrivals), _beyond(room.bytes, portion.bytes)
            )
    return room


def _beyond(arrived: float | None, others: float | None) -> float | None:
    """Return what *others* left of what *arrived*; what they sent and nothing tells may be any part."""
    return arrived if arrived is None or others is None else max(0.0, arrived - others)
