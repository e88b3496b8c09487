"""
How a device that maps onto several devices divides its traffic among them.

No counter tells. The estimate follows the lengths of the segments, within
bounds: a device below cannot have received more than arrived there beyond
what others sent, nor less than the other devices had no room for. The bounds
meet where the devices below have no other user. The estimates sum to the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from stackmap.ledger.amounts import Amount, Traffic
from stackmap.model.device import Role
from stackmap.model.load import ratio
from stackmap.model.topology import Edge, Topology, computed_once


class Part(NamedTuple):
    """A part of a whole with its bounds; None if unknown."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


UNKNOWN_PART = Part()
NO_PART = Part(0.0, 0.0, 0.0)  # of nothing


class Parts(NamedTuple):
    """What of all that a device sent went to one device below."""

    arrivals: Part
    bytes: Part


class Division(NamedTuple):
    """
    How a total is divided: the sums that the part of each device depends on.

    ``everywhere``: the most that all devices can have received. ``left``: what division by
    length leaves over, negative if it gives too much. ``free``: the room there is for it.
    """

    total: float
    everywhere: float
    left: float
    free: float

    def part(self, length: float, limit: float | None) -> Part:
        """Return the part of a device with this share of the *length*, which received *limit* at most."""
        least, most = _bounds(self.total, self.everywhere, _most(self.total, limit))
        value = min(max(self.total * length, least), most)
        slack = _slack(value, self.left, least, most)
        value += self.left * (slack / self.free if self.free > 0 else length)
        return Part(value, least, most)


class Fan(NamedTuple):
    """
    The devices that one device maps onto in one role.

    ``lengths``: the share of it on each; equal shares where lengths are unknown.
    ``segments``: per device below, how many segments lie there, and their bytes.
    """

    targets: frozenset[str]
    lengths: Mapping[str, float]
    segments: Mapping[str, tuple[int, int]]


@computed_once
def fan_of(topology: Topology, above: str, role: Role) -> Fan:
    """Return the devices that *above* maps onto in this role."""
    # Kept with the topology: a volume may have thousands of segments.
    return _fan([edge for edge in topology.below(above) if edge.role is role])


def targets_of(topology: Topology, edge: Edge) -> frozenset[str]:
    """Return the devices that the device above *edge* maps onto in the role of this edge."""
    return fan_of(topology, edge.above, edge.role).targets


def divides(topology: Topology, edge: Edge) -> bool:
    """Whether the device above *edge* divides its traffic over several devices."""
    return len(targets_of(topology, edge)) > 1


def part_down(mine: Traffic, whole: Traffic, parts: Parts, segment: float) -> Traffic:
    """
    Return what of *mine* went down an edge, with its bounds where no counter tells.

    *mine* is some or all of the *whole* that the device above sent, *parts* what of the whole went
    to the device below, *segment* the share of the edge among several on the same device.
    """
    low, high = mine.bounds

    def part(figure: str) -> Part:
        """Return the part of the requests ("arrivals") or of the bytes."""
        total, own = getattr(whole, figure), getattr(mine, figure)
        if total is None or own is None:
            return UNKNOWN_PART
        bounds = getattr(low, figure), getattr(high, figure)
        return _of_mine(getattr(parts, figure), total, own, bounds, segment)

    requests, moved = part("arrivals"), part("bytes")
    factor = ratio(requests.value, mine.arrivals) or 0.0
    return Traffic(
        requests.value,
        None if mine.ios is None else mine.ios * factor,
        moved.value,
        None if mine.wait is None else mine.wait * factor,
        low=Amount(requests.low, moved.low),
        high=Amount(requests.high, moved.high),
    )


def division(
    total: float, lengths: Mapping[str, float], limits: Mapping[str, float | None]
) -> Division:
    """Return how *total* is divided by length, as far as *limits* allow."""
    most = [_most(total, limit) for limit in limits.values()]
    everywhere = sum(most)
    bounds = [_bounds(total, everywhere, high) for high in most]
    value = [
        min(max(total * lengths[name], least), most)
        for name, (least, most) in zip(limits, bounds, strict=True)
    ]
    left = total - sum(value)
    free = sum([_slack(each, left, *ends) for each, ends in zip(value, bounds, strict=True)])
    return Division(total, everywhere, left, free)


def _most(total: float, limit: float | None) -> float:
    return total if limit is None else min(total, limit)


def _bounds(total: float, everywhere: float, high: float) -> tuple[float, float]:
    low = max(0.0, total - (everywhere - high))
    # Counters are not read at one instant: a little less may have arrived than was sent.
    return (low, high) if low <= high else (high, low)


def _slack(value: float, left: float, least: float, most: float) -> float:
    """Return how far *value* may move in the direction of what is *left*."""
    return most - value if left > 0 else value - least


def _of_mine(
    part: Part, total: float, mine: float, bounds: tuple[float | None, float | None], segment: float
) -> Part:
    """
    Return what of *mine*, some of *total*, is in *part* of the total.

    *bounds*: those of *mine*. *segment*: the share of this edge in its device.
    """
    least, most = (mine if bound is None else bound for bound in bounds)
    value, low, high = (figure or 0.0 for figure in part)
    return Part(
        value * mine / total * segment if total else 0.0,
        max(0.0, low - (total - least)) * segment,
        min(most, high) * segment,
    )


def _fan(edges: list[Edge]) -> Fan:
    known = all(edge.length is not None for edge in edges)
    lengths = dict.fromkeys((edge.below for edge in edges), 0.0)
    segments = dict.fromkeys(lengths, (0, 0))
    for edge in edges:
        lengths[edge.below] += (edge.length or 0) if known else 1.0
        count, size = segments[edge.below]
        segments[edge.below] = count + 1, size + (edge.length or 0)
    total = sum(lengths.values())
    shares = {n: length / total if total else 1 / len(lengths) for n, length in lengths.items()}
    return Fan(frozenset(lengths), shares, segments)


def segment_share(fan: Fan, edge: Edge) -> float:
    """Return the share of *edge* among the segments on its device below: 1 where it is the only one."""
    count, total = fan.segments[edge.below]
    if count == 1:
        return 1.0
    return (edge.length or 0) / total if total else 1 / count
