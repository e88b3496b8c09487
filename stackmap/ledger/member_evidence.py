"""
What the members of a RAID volume show about its own counters: empty flushes, and whether it counts twice.

An empty flush is a write of 0 sectors, at the volume and once at every data member, and
device-mapper has no counter of them. On parity levels a member's write carries
one page, so a write without one was a flush. On other levels, with c copies on
n members, d writes and e flushes are ``c d + n e`` writes of the members, and
``d + e`` of the volume; of a volume that is counted twice ``2 d + e``, for
flushes are counted once.

Whether a volume is counted twice must be judged where ``queue/iostats`` is unknown, as in a
text. No RAID level writes less to its members than its layout needs, nor reads less than was
read above.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.model.device import Device, Role
from stackmap.model.load import Flow, Load, ratio, sum_flows
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology

TOLERANCE = 0.1  # for requests in flight when the counters were read


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


def doubled(topology: Topology, device: Device, loads: Mapping[str, Load]) -> bool | None:
    """Return whether *device* was counted twice; None where its members do not tell."""
    below = [edge.below for edge in topology.below(device.name) if edge.role is Role.DATA]
    if device.state not in (None, "active") or not below or not loads.keys() >= set(below):
        return None
    load = loads[device.name]
    members = [loads[name] for name in below]
    if load.write.ios or load.write.bytes:
        return _by_writes(
            device, ratio(sum_flows(m.write for m in members).bytes, load.write.bytes)
        )
    read = ratio(sum_flows(m.read for m in members).bytes, load.read.bytes)
    return None if read is None else read < 1 - TOLERANCE


def _by_writes(device: Device, written: float | None) -> bool | None:
    """Judge by the bytes *written* below per byte above: fewest for full stripes, most for single pages."""
    layout = device.layout
    fewest = 1.0 if layout is None else layout.ideal_write
    if written is None:
        return None
    if written < fewest * (1 - TOLERANCE):
        return True
    if layout is None:
        return None
    most = 1 + layout.parity if layout.parity else layout.copies
    return False if written > most / 2 * (1 + TOLERANCE) else None
