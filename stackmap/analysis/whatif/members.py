"""
What the members took of a volume's load, and what tells its empty flushes there.

Sub-LVs and an array's members serve one volume, so all they did is its. A disk
or a crypt mapping below a linear or striped volume may serve others too: then
the volume's part is what its own counters say was sent there, and no member
tells its flushes from writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackmap.analysis.attribution import together
from stackmap.analysis.flushes import flushes_sent
from stackmap.analysis.sending import is_idle
from stackmap.analysis.share import Portion, Share, flow_of
from stackmap.analysis.whatif.bitmap import Bitmap
from stackmap.analysis.whatif.quantities import Stream
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.load import Flow, Load, sum_flows
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology

ON_ONE_DEVICE = "on one device nothing tells them from writes"
ON_COPIES = "where every member is a copy, nothing tells them from writes"
UNSEEN = "its members are not among the figures"


@dataclass(frozen=True, slots=True)
class Members:
    """
    What data members took of the volume's load, a second, None where nothing says.

    ``write`` has the flushes, not the bitmap. ``extra``: writes at each member that carry no data:
    flushes, and pages of md's own bitmap. ``flushes``: None where ``flushes_reason`` says why.
    ``metadata``: what the bitmap was written, wherever that is.
    """

    read: Stream | None
    write: Stream | None
    extra: float | None
    flushes: float | None
    flushes_reason: str
    metadata: Stream | None


def members_of(
    topology: Topology,
    loads: Mapping[str, Load],
    context: VolumeContext,
    owned: Mapping[str, Share],
) -> Members:
    """Return what *loads*, corrected, say of them; *owned*: what is the volume's of each device below it."""
    metadata = _all_of(loads, context.metadata, "write")
    used = users_of(topology, loads, context.others)
    if used:
        part = together(topology, [owned[name] for name in context.members])
        why = f"{used} its members, too"
        return Members(_stream(part.read), _stream(part.write), None, None, why, metadata)
    read, write = (_all_of(loads, context.members, way) for way in ("read", "write"))
    flushes_reason = _flushes_reason(context, write)
    if flushes_reason:
        return Members(read, write, None, None, flushes_reason, metadata)
    extra = _extra(context, loads)
    if context.device.facts.get("consistency") != "bitmap" or not context.bitmap or write is None:
        return Members(read, write, extra, extra, "", metadata)
    flushes, metadata = _apart(context, context.bitmap, loads, extra)
    return Members(read, write + metadata.scaled(-1), extra, flushes, "", metadata)


def users_of(topology: Topology, loads: Mapping[str, Load], names: Iterable[str]) -> str:
    """
    Return which of *names* used what they stand on, as in "w and 2 more used"; "" where all were idle.

    Where none is known to have, those of which nothing tells "may have used" it.
    """
    known: list[str] = []
    open_: list[str] = []
    for name in names:
        load = loads.get(name)
        if load is not None and (load.total.ios or load.total.bytes):
            known.append(name)
        elif not (topology[name].counted and is_idle(load)):
            open_.append(name)
    found = known or open_
    if not found:
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{topology[found[0]].title}{more} {'used' if known else 'may have used'}"


def sum_of(loads: Mapping[str, Load], names: Iterable[str], direction: str) -> Flow:
    """Return what the devices *names* did together."""
    return sum_flows(flow_of(loads.get(name, Load()), direction) for name in names)


def _all_of(loads: Mapping[str, Load], names: tuple[str, ...], direction: str) -> Stream | None:
    """Return what arrived at all of *names*; None where there are none."""
    return _stream(sum_of(loads, names, direction)) if names else None


def _stream(sent: Flow | Portion) -> Stream | None:
    """Return what was sent there, before merging."""
    if sent.arrivals is None or sent.bytes is None:
        return None
    return Stream(sent.arrivals, sent.bytes)


def _flushes_reason(context: VolumeContext, write: Stream | None) -> str:
    """Return why nothing tells flushes from writes; "" where members do."""
    if context.present is None:
        return ON_ONE_DEVICE
    # md counts none of its own, so what its members have beyond the copies was flushes.
    if context.counts_flushes and _all_copies(context.present):
        return ON_COPIES
    return UNSEEN if write is None else ""


def _all_copies(layout: Layout) -> bool:
    return not layout.parity and layout.copies >= layout.members


def _extra(context: VolumeContext, loads: Mapping[str, Load]) -> float:
    if context.present is None:
        return 0.0
    own = loads.get(context.device.name, Load()).write
    members = [loads.get(name, Load()).write for name in context.members]
    return flushes_sent(context.present, own, members, counted=context.counts_flushes)


def _apart(
    context: VolumeContext, bitmap: Bitmap, loads: Mapping[str, Load], extra: float
) -> tuple[float, Stream]:
    """
    Return the flushes, and what md's own bitmap was written, of *extra* writes at each member.

    A write of a page asks its disk for two flushes, a flush for one; so of f
    that the disks did, f - extra were of pages. Where they do not tell, all is
    the bitmap's. On parity levels, *extra* has a page as the part that is no data.
    """
    part = 1 - bitmap.page_bytes / PAGE if context.present and context.present.parity else 1.0
    most = extra / part if part else 0.0
    done = sum_of(loads, context.disks, "flush").ios
    pages = most if done is None else (done / max(1, len(context.disks)) - extra) / (2 - part)
    pages = min(most, max(0.0, pages))
    written = pages * len(context.members)
    return max(0.0, extra - pages * part), Stream(written, written * bitmap.page_bytes)
