"""
What the members did for a volume, and how many of it were empty flushes.

Sub-LVs and the members of an array serve one volume, so all their load is the
volume's. A disk or crypt mapping below a linear or striped volume may serve
others too. Then the volume's part is what its own counters say, and flushes
cannot be separated from writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackmap.features.whatif.bitmap import Bitmap
from stackmap.features.whatif.quantities import Stream
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.ledger.amounts import Traffic
from stackmap.ledger.bitmap_writes import has_bitmap
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.member_evidence import flushes_sent
from stackmap.ledger.sent import is_idle
from stackmap.model.load import IDLE, Flow, Load
from stackmap.model.raid import PAGE
from stackmap.model.topology import Topology

ON_ONE_DEVICE = "on one device they cannot be separated from writes"
ON_COPIES = "where every member is a copy, they cannot be separated from writes"
UNSEEN = "the input has no figures for its members"


class Members(NamedTuple):
    """
    The load of the data members that is the volume's, per second; None where not known.

    ``write`` includes flushes, but not the bitmap. ``extra``: writes per member
    without data: flushes, and pages of md's bitmap. ``flushes``: None where
    ``flushes_reason`` says why. ``metadata``: writes of the bitmap, on any device.
    """

    read: Stream | None
    write: Stream | None
    extra: float | None
    flushes: float | None
    flushes_reason: str
    metadata: Stream | None


def members_of(ledger: Ledger, context: VolumeContext, disk_flushes: float | None) -> Members:
    """Return the load of the volume's members; *disk_flushes*: those its disks counted."""
    metadata = _arrived(ledger, context.metadata, "write")
    users = users_of(ledger.topology, ledger.loads, context.others)
    if users:
        part = ledger.share(context.device.name, context.members)
        why = f"{users} its members too"
        return Members(stream_of(part.read), stream_of(part.write), None, None, why, metadata)
    read, write = (_arrived(ledger, context.members, way) for way in ("read", "write"))
    reason = _flushes_reason(context, write)
    if reason:
        return Members(read, write, None, None, reason, metadata)
    extra = _extra(ledger, context)
    bitmap = context.bitmap
    if not has_bitmap(context.device) or not bitmap or write is None:
        return Members(read, write, extra, extra, "", metadata)
    flushes, metadata = _separated(context, bitmap, disk_flushes, extra)
    return Members(read, write + metadata.scaled(-1), extra, flushes, "", metadata)


def users_of(topology: Topology, loads: Mapping[str, Load], names: Iterable[str]) -> str:
    """
    Return which of *names* used what is below them, as in "w and 2 more used"; "" if all were idle.

    If only devices without counters remain, "may have used".
    """
    known: list[str] = []
    unknown: list[str] = []
    for name in names:
        load = loads.get(name)
        if load is not None and load is not IDLE and ((total := load.total).ios or total.bytes):
            known.append(name)
        elif not (topology[name].counted and is_idle(load)):
            unknown.append(name)
    found = known or unknown
    if not found:
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{topology[found[0]].title}{more} {'used' if known else 'may have used'}"


def stream_of(sent: Flow | Traffic) -> Stream | None:
    """Return the requests that arrived, before merging."""
    if sent.arrivals is None or sent.bytes is None:
        return None
    return Stream(sent.arrivals, sent.bytes)


def _arrived(ledger: Ledger, names: tuple[str, ...], direction: str) -> Stream | None:
    return stream_of(ledger.flow(names, direction)) if names else None


def _flushes_reason(context: VolumeContext, write: Stream | None) -> str:
    """Return why flushes cannot be separated from writes; "" if the members tell them."""
    layout = context.present
    if layout is None:
        return ON_ONE_DEVICE
    # md's own writes hold no flushes, so on its copies all further requests are flushes.
    if context.counts_flushes and not layout.parity and layout.copies >= layout.members:
        return ON_COPIES
    return UNSEEN if write is None else ""


def _extra(ledger: Ledger, context: VolumeContext) -> float:
    if context.present is None:
        return 0.0
    own = ledger.load(context.device.name).write
    members = [ledger.load(name).write for name in context.members]
    return flushes_sent(context.present, own, members, counted=context.counts_flushes)


def _separated(
    context: VolumeContext, bitmap: Bitmap, disk_flushes: float | None, extra: float
) -> tuple[float, Stream]:
    """
    Return the flushes and the bitmap's writes among *extra* writes per member of an md array.

    A page of the bitmap costs its disk two flushes, a flush one. So of f flushes
    per disk, f - extra belong to pages. If disks count no flushes, all is the
    bitmap's. On parity levels *extra* holds only the part of a page without data.
    """
    part = 1 - bitmap.page_bytes / PAGE if context.present and context.present.parity else 1.0
    most = max(0.0, extra / part) if part else 0.0
    pages = most
    if disk_flushes is not None:
        pages = (disk_flushes / max(1, len(context.disks)) - extra) / (2 - part)
    pages = min(most, max(0.0, pages))
    written = pages * len(context.members)
    return max(0.0, extra - pages * part), Stream(written, written * bitmap.page_bytes)
