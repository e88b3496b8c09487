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

from stackmap.analysis.bitmap_writes import keeps_marks, with_marks
from stackmap.analysis.layers import carriers
from stackmap.analysis.sending import Sending, is_idle
from stackmap.analysis.share import (
    DIRECTIONS,
    NOTHING,
    UNKNOWN,
    Portion,
    Share,
    all_of,
    flow_of,
    join_ways,
    sum_shares,
)
from stackmap.analysis.ways import divides
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.passthrough import is_passthrough
from stackmap.model.topology import Edge, Topology

OTHERS = 0.01  # a shared device of which others have less than this share counts as one's own


def shares(
    topology: Topology, loads: Mapping[str, Load], top: str, sending: Sending | None = None
) -> dict[str, Share]:
    """
    Return what belongs to *top* on each device of its stack, metadata devices too.

    *sending*: of the same interval, where several tops are asked for.
    """
    data = carriers(topology, top)
    known = sending or Sending(topology, loads)
    found: dict[str, Share] = {}
    for name in topology.with_all_below(top):
        found[name] = _share(topology, loads, known, name, found, data, top)
    return found


def _share(
    topology: Topology,
    loads: Mapping[str, Load],
    sending: Sending,
    name: str,
    found: Mapping[str, Share],
    data: frozenset[str],
    top: str,
) -> Share:
    senders = topology.above(name)
    if name != top and all(is_passthrough(topology[edge.above]) for edge in senders):
        # A metadata device's own traffic stays out of the data below it.
        ours = [e for e in senders if e.above in found and (e.above in data or name not in data)]
        return _sent_share(topology, loads, sending, name, ours, found)
    load = loads.get(name)
    if load is None:
        return Share(reason=f"{topology[name].title}: not among the counters")
    if not topology[name].counted:
        return Share(reason=f"{topology[name].title}: I/O passes it without touching its counters")
    if name == top:
        return all_of(load)
    if _only_ours(topology, loads, name, top):
        keeper = next((e.above for e in senders if keeps_marks(topology[e.above])), "")
        return with_marks(topology, loads, keeper, name) if keeper else all_of(load)
    return Share(reason=_undivided(topology, name), undivided=True)


def _only_ours(topology: Topology, loads: Mapping[str, Load], name: str, top: str) -> bool:
    """Whether all I/O of *name* came through *top*: nothing beside it leads there, or that was idle."""
    beside = (edge.above for edge in topology.above(name))
    return all(
        above == top
        or (topology[above].counted and is_idle(loads.get(above)))
        or (bool(topology.above(above)) and _only_ours(topology, loads, above, top))
        for above in beside
    )


def _sent_share(
    topology: Topology,
    loads: Mapping[str, Load],
    sending: Sending,
    name: str,
    ours: list[Edge],
    found: Mapping[str, Share],
) -> Share:
    """Return what *ours*, devices that pass requests on, sent to *name*."""
    why = {edge.above: found[edge.above].reason for edge in ours}
    reason = next(filter(None, why.values()), "")
    some = any(found[edge.above].divided for edge in ours)
    parts: dict[str, Portion] = {}
    for direction in DIRECTIONS:
        arrived = sum(
            (
                sending.sent_of(e, direction, found[e.above].part(direction), why[e.above])
                for e in ours
            ),
            start=NOTHING,
        )
        whole = flow_of(loads.get(name, Load()), direction)
        both = parts["read"] + parts["write"] if direction == "total" else UNKNOWN
        if not arrived.arrivals or not _cuts(topology, loads, sending, name, direction):
            parts[direction], divided = _completed(arrived, whole)
            some |= divided
            if divided and both.ios is not None:  # as each direction was divided, they add up
                parts[direction] = replace(parts[direction], ios=both.ios, wait=both.wait)
        elif both.ios is not None:
            parts[direction] = both
        elif _is_all(arrived, whole):
            parts[direction] = replace(arrived, ios=whole.ios, wait=whole.wait)
        else:
            parts[direction] = replace(arrived, ios=None, wait=None)
            reason = reason or _pieces(topology, name)
    return Share(parts, some, reason, ways=_ways(topology, name, ours, found))


def _ways(
    topology: Topology, name: str, ours: list[Edge], found: Mapping[str, Share]
) -> dict[str, frozenset[str]]:
    """Return which ways of which devices that have several led to *name*."""
    inherited = [found[edge.above].ways for edge in ours]
    own = [{e.above: _led(name, found[e.above])} for e in ours if divides(topology, e)]
    return join_ways([*inherited, *own])


def _led(name: str, share: Share) -> frozenset[str]:
    """Return *name*; nothing where the *share* above is a range for reasons that no sum takes away."""
    loose = any(part.least is not None for part in share.parts.values())
    return frozenset() if loose and not share.ways else frozenset({name})


def together(topology: Topology, parts: list[Share]) -> Share:
    """Return the shares of devices as one; exact where they are all ways that traffic was spread over."""
    total = sum_shares(parts)
    if not total.ways or not all(_complete(topology, *item) for item in total.ways.items()):
        return total
    return replace(total, parts={d: part.known() for d, part in total.parts.items()})


def _complete(topology: Topology, above: str, led: frozenset[str]) -> bool:
    return led >= {edge.below for edge in topology.below(above)}


def _cuts(
    topology: Topology, loads: Mapping[str, Load], sending: Sending, name: str, direction: str
) -> bool:
    """
    Whether *name* made several requests of one: it counted more than it was sent, and no more bytes.

    What is cut at a chunk or a segment's end is counted by the piece (KERNEL
    1.2). Where requests merge, counters cannot tell.
    """
    edges = topology.above(name)
    if topology[name].merges or not edges:
        return False
    portions = [sending.sent(edge, direction) for edge in edges]
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
