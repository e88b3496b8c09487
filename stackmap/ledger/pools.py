"""
Thin pools: the load they receive, and which part of their I/O belongs to one volume.

A bio of a thin volume goes straight to the pool's data device, past the pool's
own counters. So a pool's load is the sum of what was sent to it. Below, the
pool adds zeroing, copies and metadata, and no counter tells for which volume.
What a volume sent itself bounds its part:

    writes      at least its own, at most all that the others did not send
    reads       the same, but copies read chunks too, for volumes that write: as much
                as was written beyond the volumes' own writes; the estimate of what was
                read beyond their reads follows bytes written
    metadata    anything from nothing to all; the estimate follows bytes written
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.ledger.amounts import Amount, Share, Traffic, all_of
from stackmap.model.device import Device, Role
from stackmap.model.dm_targets import POOL
from stackmap.model.load import DIRECTIONS, Flow, Load, ratio, sum_loads
from stackmap.model.topology import Edge, Topology


def with_pools(topology: Topology, loads: Mapping[str, Load]) -> Mapping[str, Load]:
    """Return *loads* where a device whose counters do not move has what was sent to it, or none."""
    bypassed = [device for device in topology.devices.values() if not device.counted]
    if not bypassed:
        return loads
    found = dict(loads)
    for device in bypassed:
        found.pop(device.name, None)
        above = dict.fromkeys(edge.above for edge in topology.above(device.name))
        if device.target == POOL and above and found.keys() >= above.keys():
            found[device.name] = sum_loads([found[name] for name in above])
    return found


class Copies(NamedTuple):
    """
    What a pool read to copy chunks for its volumes.

    ``most``: the most it can be: what the pool wrote beyond its volumes' writes, zeroing included.
    ``beyond``: its reads that no volume asked for. ``weight``: the share of all writes that one
    volume made, 0…1; that volume gets this share of the copies.
    """

    most: Amount = Amount(0.0, 0.0)
    beyond: Amount = Amount(0.0, 0.0)
    weight: float = 0.0


def part_of_pool(below: Load, pool: Load, mine: Share, edge: Edge, reason: str) -> Share:
    """
    Return what of the I/O at a device *below* a thin pool belongs to one of its volumes.

    *mine*: what that volume sent to the *pool*. *reason*: that counters do not
    tell, given where even the bounds are unknown.
    """
    writes = ratio(mine.write.bytes, pool.write.bytes)
    copies = Copies(_beyond(below.write, pool.write), _beyond(below.read, pool.read), writes or 0.0)
    parts: dict[str, Traffic] = {}
    for direction in DIRECTIONS:
        whole, asked, own = below.flow(direction), pool.flow(direction), mine.part(direction)
        if None in (own.bytes, own.arrivals, asked.bytes, whole.bytes, whole.arrivals):
            return Share(reason=reason, undivided=True)
        if edge.role is Role.METADATA or not asked.bytes:
            part = _weighted(whole, 1.0 if writes is None else writes)
        else:
            part = _bounded(whole, asked, own, copies if direction == "read" else Copies())
        parts[direction] = part
    total = parts["read"] + parts["write"]
    return Share({**parts, "total": total}, divided=True, undivided=True)


def _weighted(whole: Flow, weight: float) -> Traffic:
    """Return *weight* of *whole* as an estimate between nothing and all."""
    high = Amount(whole.arrivals, whole.bytes)
    return all_of(whole).times(weight)._replace(low=Amount(0.0, 0.0), high=high)


def _beyond(below: Flow, above: Flow) -> Amount:
    return Amount(below.arrivals, below.bytes).beyond(Amount(above.arrivals, above.bytes))


def _bounded(whole: Flow, asked: Flow, own: Traffic, copies: Copies) -> Traffic:
    """Return the part of *whole* in proportion to *own* of all that was *asked*, with its bounds."""
    most, beyond, weight = copies
    requests, low_requests, high_requests = _between(
        whole.arrivals, asked.arrivals, own.arrivals, (most.arrivals, beyond.arrivals), weight
    )
    moved, low_moved, high_moved = _between(
        whole.bytes, asked.bytes, own.bytes, (most.bytes, beyond.bytes), weight
    )
    completed = all_of(whole).times(ratio(requests, whole.arrivals) or 0.0)
    return completed._replace(
        arrivals=requests,
        bytes=moved,
        low=Amount(low_requests, low_moved),
        high=Amount(high_requests, high_moved),
    )


def _between(
    whole: float | None,
    asked: float | None,
    own: float | None,
    copied: tuple[float | None, float | None],
    weight: float,
) -> tuple[float, float, float]:
    """Return the estimate and its bounds; *copied*: at most, and beyond what was *asked*."""
    all_here, every, mine, most, beyond = (each or 0.0 for each in (whole, asked, own, *copied))
    if not mine and not weight:
        return 0.0, 0.0, 0.0
    seen = min(most, beyond)
    rest = all_here - (every - mine)
    low = max(0.0, min(mine, rest) - most)
    high = min(all_here, max(mine, rest) + (most if weight else 0.0))
    likely = (all_here - seen) * (mine / every if every else 0.0) + seen * weight
    return min(max(likely, low), high), low, high


def is_pool(device: Device) -> bool:
    """Whether *device* is a thin pool that makes requests of its own."""
    return device.target == POOL
