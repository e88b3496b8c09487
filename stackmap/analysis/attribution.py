"""
What of a device's I/O belongs to one stack, where several share it.

A device that only one top can reach belongs to that top, whole. On a shared
one, what each device above sent is told by that device's own counters, if it
passes requests on one by one (``model.targets``): so arrivals and bytes are
exact. Completions after merging cannot be told apart; they are divided in
proportion to arrivals, and that is an estimate. Where a device above makes
requests of its own for several tops (two volumes on one array), nothing says
how to divide, and the answer is None with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stackmap.analysis.layers import carriers
from stackmap.analysis.share import (
    DIRECTIONS,
    NOTHING,
    UNKNOWN,
    Portion,
    Share,
    all_of,
    flow_of,
    portion_of,
)
from stackmap.model.device import Kind
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.targets import passes
from stackmap.model.topology import Edge, Topology

OTHERS = 0.01  # a shared device of which others have less than this share counts as one's own


def shares(topology: Topology, loads: Mapping[str, Load], top: str) -> dict[str, Share]:
    """Return what belongs to *top* on each device of its stack, metadata devices too."""
    data = carriers(topology, top)
    found: dict[str, Share] = {}
    for name in topology.stack(top):
        found[name] = _share(topology, loads, name, found, data, top)
    return found


def sent(topology: Topology, loads: Mapping[str, Load], edge: Edge, direction: str) -> float | None:
    """Return how many requests the device above *edge* sent down it; see ``sent_portion``."""
    portion = sent_portion(topology, loads, edge, direction)
    return None if portion is None else portion.arrivals


def sent_portion(
    topology: Topology, loads: Mapping[str, Load], edge: Edge, direction: str
) -> Portion | None:
    """
    Return what the device above *edge* sent down it, by its own counters.

    None where it makes requests of its own. Where it spans several devices,
    its traffic is divided by the length of its segments, an estimate for each
    device, exact for all of them together.
    """
    if not passes(topology[edge.above]):
        return None
    if edge.above not in loads:
        return _handed_on(topology, loads, edge, direction)
    return _forwarded(topology, edge, portion_of(flow_of(loads[edge.above], direction)))


def _handed_on(
    topology: Topology, loads: Mapping[str, Load], edge: Edge, direction: str
) -> Portion | None:
    """Return what a passing device that is not among the counters was sent, and so sent on."""
    total = NOTHING
    for upper in topology.above(edge.above):
        portion = sent_portion(topology, loads, upper, direction)
        if portion is None:
            return None
        total = total + portion
    if not topology.above(edge.above):
        return None
    return _forwarded(topology, edge, replace(total, ios=None, wait=None))


def _share(
    topology: Topology,
    loads: Mapping[str, Load],
    name: str,
    found: Mapping[str, Share],
    data: frozenset[str],
    top: str,
) -> Share:
    senders = topology.above(name)
    if name != top and all(passes(topology[edge.above]) for edge in senders):
        # A metadata device's own traffic stays out of the data below it.
        ours = [e for e in senders if e.above in found and (e.above in data or name not in data)]
        return _sent_share(topology, loads, name, ours, found)
    load = loads.get(name)
    if load is None:
        return Share(reason=f"{topology[name].title}: not among the counters")
    if not topology[name].counted:
        return Share(reason=f"{topology[name].title}: I/O passes it without touching its counters")
    if name == top:
        return all_of(load)
    if _only_ours(topology, loads, name, top):
        mixed = any(_keeps_books_there(topology, edge) for edge in senders)
        return replace(all_of(load), estimated=mixed)
    return Share(reason=_undivided(topology, name), undivided=True)


def _keeps_books_there(topology: Topology, edge: Edge) -> bool:
    """
    Whether the array above *edge* writes its own bitmap, too, to what is below.

    An internal bitmap has no device of its own; in the lab it was 0.5 to 1.9 %
    of the members' writes, and no counter tells it apart. LVM's has: rmeta.
    """
    return topology[edge.above].facts.get("consistency") == "bitmap"


def _only_ours(topology: Topology, loads: Mapping[str, Load], name: str, top: str) -> bool:
    """Whether all I/O of *name* came through *top*: nothing beside it leads there, or that was idle."""
    beside = (edge.above for edge in topology.above(name))
    return all(
        above == top
        or (topology[above].counted and _idle(loads.get(above)))
        or (bool(topology.above(above)) and _only_ours(topology, loads, above, top))
        for above in beside
    )


def _idle(load: Load | None) -> bool:
    return load is not None and load.idle


def _sent_share(
    topology: Topology,
    loads: Mapping[str, Load],
    name: str,
    ours: list[Edge],
    found: Mapping[str, Share],
) -> Share:
    """Return what *ours*, devices that pass requests on, sent to *name*."""
    reason = next((found[e.above].reason for e in ours if found[e.above].reason), "")
    estimated = any(found[edge.above].estimated for edge in ours)
    parts: dict[str, Portion] = {}
    for direction in DIRECTIONS:
        arrived = sum(
            (
                _forwarded(topology, e, found[e.above].part(direction), found[e.above].reason)
                for e in ours
            ),
            start=NOTHING,
        )
        whole = flow_of(loads.get(name, Load()), direction)
        both = parts["read"] + parts["write"] if direction == "total" else UNKNOWN
        if not arrived.arrivals or not _cuts(topology, loads, name, direction):
            parts[direction], divided = _completed(arrived, whole)
            estimated |= divided
        elif both.ios is not None:
            parts[direction] = both
        elif _is_all(arrived, whole):
            parts[direction] = replace(arrived, ios=whole.ios, wait=whole.wait)
        else:
            parts[direction] = replace(arrived, ios=None, wait=None)
            reason = reason or _pieces(topology, name)
    return Share(parts, estimated=estimated, reason=reason)


def _cuts(topology: Topology, loads: Mapping[str, Load], name: str, direction: str) -> bool:
    """
    Whether *name* made several requests of one: it counted more than it was sent, and no more bytes.

    What is cut at a chunk or a segment's end is counted by the piece (KERNEL
    1.2). Where requests merge, counters cannot tell.
    """
    edges = topology.above(name)
    if topology[name].merges or not edges:
        return False
    portions = [sent_portion(topology, loads, edge, direction) for edge in edges]
    known = sum((portion or UNKNOWN for portion in portions), start=NOTHING)
    whole = flow_of(loads.get(name, Load()), direction)
    if None in (known.arrivals, known.bytes, whole.ios, whole.bytes):
        return False
    more = ratio(whole.ios, known.arrivals) or 0.0
    return more > 1 + OTHERS and _is_all(known, whole)


def _is_all(arrived: Portion, whole: Flow) -> bool:
    """Whether *arrived* has the bytes of *whole*, but for a few."""
    part = ratio(arrived.bytes, whole.bytes)
    return part is not None and part > 1 - OTHERS


def _completed(arrived: Portion, whole: Flow) -> tuple[Portion, bool]:
    """Return *arrived* with its completions on a device that did *whole*, and whether divided."""
    if arrived.arrivals == 0:
        return replace(arrived, ios=0.0, wait=0.0), False
    part = ratio(arrived.arrivals, whole.arrivals)
    if part is None or whole.ios is None:
        return replace(arrived, ios=None, wait=None), False
    # More sent than arrived is skew at the window's edges, not more completions.
    part = min(part, 1.0)
    wait = None if whole.wait is None else whole.wait * part
    divided = part < 1 - OTHERS and bool(whole.merges)
    return replace(arrived, ios=whole.ios * part, wait=wait), divided


def _forwarded(topology: Topology, edge: Edge, portion: Portion, unknown: str = "") -> Portion:
    """
    Return what a passing device sends down *edge*: each completion is a request of its own.

    A partition is the exception: it shares its disk's queue, and the kernel
    counts one and the same merge for both (KERNEL 1.1). Of a device that is
    not among the counters, what arrived is known to be passed on; *unknown*
    says why it is not.
    """
    uncounted = portion.ios is None and not unknown
    merged_below = topology[edge.above].kind is Kind.PARTITION or uncounted
    arrivals = portion.arrivals if merged_below else portion.ios
    return replace(portion, arrivals=arrivals).scaled(_part(topology, edge))


def divides(topology: Topology, edge: Edge) -> bool:
    """Whether the device above *edge* spreads its traffic over several ways down, by length."""
    ways = {other.below for other in topology.below(edge.above) if other.role is edge.role}
    return len(ways) > 1


def _part(topology: Topology, edge: Edge) -> float:
    """Return the part of the traffic of the device above that goes down *edge*, by length."""
    beside = [other for other in topology.below(edge.above) if other.role is edge.role]
    if len(beside) < 2:
        return 1.0
    lengths = [other.length for other in beside]
    if None in lengths or not sum(filter(None, lengths)):
        return 1 / len(beside)
    return (edge.length or 0) / sum(filter(None, lengths))


def _undivided(topology: Topology, name: str) -> str:
    above = [topology[edge.above].title for edge in topology.above(name)]
    return (
        f"{topology[name].title} serves several volumes through {', '.join(sorted(set(above)))}: "
        "its counters do not say whose I/O it was"
    )


def _pieces(topology: Topology, name: str) -> str:
    return (
        f"{topology[name].title} cuts requests of several volumes: "
        "its counters do not say whose pieces they were"
    )
