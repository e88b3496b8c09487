"""
How many empty flushes a RAID volume was sent, told by its members.

Each is a write of 0 sectors, at the volume and once at every data member, and
no counter of device-mapper has them apart. On parity levels a member's write
carries one page, so what carries none was a flush. On the others, with c
copies on n members, d writes and e flushes make ``2 d + e`` of a volume that is
counted twice (flushes are not: KERNEL 1.4) and ``c d + n e`` of its members.
"""

from __future__ import annotations

from stackmap.model.load import Flow
from stackmap.model.raid import PAGE, Layout


def empty_flushes(layout: Layout, volume: Flow, members: list[Flow]) -> float:
    """
    Return the empty flushes a second in the writes of a *volume* that is counted twice.

    0 where the counters do not tell.
    """
    counted = volume.ios
    requests = [member.ios for member in members if member.ios is not None]
    if counted is None or not members or len(requests) < len(members):
        return 0.0
    if layout.parity:
        pages = [(member.bytes or 0.0) / PAGE for member in members]
        found = min(ios - carried for ios, carried in zip(requests, pages, strict=True))
    else:
        found = (2 * sum(requests) - layout.copies * counted) / (2 * len(members) - layout.copies)
    return min(counted, max(0.0, found))


def flushes_sent(
    layout: Layout, volume: Flow, members: list[Flow], *, counted: bool = True
) -> float:
    """
    Return the empty flushes a second that a *volume* was sent, whose own counters are right.

    *counted*: whether they are among its writes, as a volume's are and md's own
    are not. 0 where the counters do not tell: where every member is a copy,
    a flush and a write look alike.
    """
    written = volume.ios
    requests = [member.arrivals for member in members]
    if written is None or not members or None in requests:
        return 0.0
    sent = [each or 0.0 for each in requests]
    if layout.parity:
        pages = [(member.bytes or 0.0) / PAGE for member in members]
        found = min(ios - carried for ios, carried in zip(sent, pages, strict=True))
    else:
        alike = layout.copies if counted else 0
        apart = len(members) - alike
        found = (sum(sent) - layout.copies * written) / apart if apart else 0.0
    return min(written if counted else found, max(0.0, found))
