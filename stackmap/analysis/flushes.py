"""
How many empty flushes a RAID volume was sent, judged by its members.

Each is a write of 0 sectors, at the volume and once at every data member, and
device-mapper has no counter of them. On parity levels a member's write carries
one page, so a write without one was a flush. On other levels, with c copies on
n members, d writes and e flushes are ``c d + n e`` writes of the members, and
``d + e`` of the volume; of a volume that is counted twice ``2 d + e``, for
flushes are counted once.
"""

from __future__ import annotations

from stackmap.model.load import Flow
from stackmap.model.raid import PAGE, Layout


def empty_flushes(layout: Layout, volume: Flow, members: list[Flow]) -> float:
    """Return the empty flushes per second among the writes of a *volume* that is counted twice; 0 if unknown."""
    sent = [member.ios for member in members if member.ios is not None]
    if volume.ios is None or not members or len(sent) < len(members):
        return 0.0
    if layout.parity:
        found = _without_page(sent, members)
    else:
        found = (2 * sum(sent) - layout.copies * volume.ios) / (2 * len(sent) - layout.copies)
    return min(volume.ios, max(0.0, found))


def flushes_sent(
    layout: Layout, volume: Flow, members: list[Flow], *, counted: bool = True
) -> float:
    """
    Return the empty flushes per second sent to a *volume* whose own counters are right.

    *counted*: whether they are among its writes, as a volume's are and md's own
    are not. 0 where the counters do not tell: where every member is a copy, a
    flush looks like a write.
    """
    sent = [member.arrivals for member in members if member.arrivals is not None]
    if volume.ios is None or not members or len(sent) < len(members):
        return 0.0
    if layout.parity:
        found = _without_page(sent, members)
    else:
        more = len(members) - (layout.copies if counted else 0)
        found = (sum(sent) - layout.copies * volume.ios) / more if more else 0.0
    return min(volume.ios if counted else found, max(0.0, found))


def _without_page(sent: list[float], members: list[Flow]) -> float:
    """Return how many of the writes *sent* to each member carried no page, at the member with the fewest."""
    pairs = zip(sent, members, strict=True)
    return min(requests - (member.bytes or 0.0) / PAGE for requests, member in pairs)
