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
from stackmap.model.passthrough import is_passthrough
from stackmap.model.topology import Edge, Topology


class Sending:
    """
    What each device sent, over one interval.

    How much of what arrived at a device several tables may share is worked out
    once: each of them asks.
    """

    def __init__(self, topology: Topology, loads: Mapping[str, Load]) -> None:
        self._topology = topology
        self._loads = loads
        self._room: dict[tuple[str, str], Amount] = {}

    def sent(self, edge: Edge, direction: str) -> Portion | None:
        """
        Return what the device above *edge* sent down it, by its own counters.

        None where it makes requests of its own. Where it spans several devices,
        an estimate with its range for each, exact for all of them together.
        """
        whole = self._all_sent(edge.above, direction)
        return None if whole is None else self._part(edge, direction, whole, whole)

    def sent_of(self, edge: Edge, direction: str, portion: Portion, unknown: str = "") -> Portion:
        """
        Return what went down *edge* of *portion*, some of what the device above did.

        *unknown*: why the portion is not known, "" if it is.
        """
        mine = self._forwarded(edge.above, portion, unknown)
        if not divides(self._topology, edge):
            return self._part(edge, direction, mine, mine)
        whole = self._all_sent(edge.above, direction)
        return self._part(edge, direction, mine, mine if whole is None else whole)

    def _part(self, edge: Edge, direction: str, portion: Portion, whole: Portion) -> Portion:
        """Return what of *portion*, some of the *whole* that was sent, went down *edge*."""
        return down(self._topology, edge, portion, whole, partial(self._rooms, edge, direction))

    def _all_sent(self, name: str, direction: str) -> Portion | None:
        """Return all that *name* sent; None where it makes requests of its own, or nothing tells."""
        if not is_passthrough(self._topology[name]):
            return None
        if name in self._loads:
            return self._forwarded(name, portion_of(flow_of(self._loads[name], direction)))
        total = NOTHING
        for upper in self._topology.above(name):
            portion = self.sent(upper, direction)
            if portion is None:
                return None
            total = total + portion
        if not self._topology.above(name):
            return None
        return self._forwarded(name, replace(total, ios=None, wait=None))

    def _forwarded(self, name: str, portion: Portion, unknown: str = "") -> Portion:
        """
        Return *portion* as *name* passes it on: each completion is a request of its own.

        A partition is the exception: it shares its disk's queue, and the kernel
        counts one and the same merge for both (KERNEL 1.1). Of a device that is
        not among the counters, what arrived is known to be passed on; *unknown*
        says why it is not.
        """
        uncounted = portion.ios is None and not unknown
        merged_below = self._topology[name].kind is Kind.PARTITION or uncounted
        return portion if merged_below else replace(portion, arrivals=portion.ios)

    def _rooms(self, edge: Edge, direction: str) -> dict[str, Amount]:
        """Return, by way of the device above *edge*, what arrived there and no other is known to have sent."""
        return {way: self._room_at(way, direction) for way in ways(self._topology, edge)}

    def _room_at(self, way: str, direction: str) -> Amount:
        key = (way, direction)
        if key not in self._room:
            self._room[key] = self._worked_out(way, direction)
        return self._room[key]

    def _worked_out(self, way: str, direction: str) -> Amount:
        if way not in self._loads or not self._topology[way].counted:
            return Amount()
        arrived = portion_of(flow_of(self._loads[way], direction))
        room = Amount(arrived.arrivals, arrived.bytes)
        for edge in self._topology.above(way):
            if divides(self._topology, edge) or is_idle(self._loads.get(edge.above)):
                continue
            portion = self.sent(edge, direction)
            if portion is not None:
                room = Amount(
                    _beyond(room.arrivals, portion.arrivals), _beyond(room.bytes, portion.bytes)
                )
        return room


def is_idle(load: Load | None) -> bool:
    """Whether a device is known to have done nothing."""
    return load is not None and load.idle


def _beyond(arrived: float | None, others: float | None) -> float | None:
    """Return what *others* left of what *arrived*; what they sent and nothing tells may be any part."""
    return arrived if arrived is None or others is None else max(0.0, arrived - others)
