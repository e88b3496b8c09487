"""
What each device sent to the devices below it.

The own counters of a device that passes requests on (``model.passthrough``) are
what it sent. A device without counters passes on what the devices above it
sent. A device that makes requests of its own (RAID, thin, cache) is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from stackmap.analysis.traffic.amounts import NOTHING, Amount, Traffic, all_of
from stackmap.analysis.traffic.division import divides, part_down, targets_of
from stackmap.model.device import Kind
from stackmap.model.load import Load
from stackmap.model.passthrough import is_passthrough
from stackmap.model.topology import Edge, Topology

ABSENT = Load()


class Sent:
    """
    What each device sent over one interval, edge by edge.

    What can have arrived at a device from tables that divide is kept: every
    volume on the device needs it.
    """

    def __init__(self, topology: Topology, loads: Mapping[str, Load]) -> None:
        self.topology = topology
        self.loads = loads
        self._limits: dict[tuple[str, str], Amount] = {}

    def load(self, name: str) -> Load:
        """Return what *name* did, for whomever; all unknown if it has no counters."""
        return self.loads.get(name, ABSENT)

    def down(self, edge: Edge, direction: str) -> Traffic | None:
        """
        Return all that the device above *edge* sent down it.

        None where the device makes requests of its own. Where it divides its
        traffic over several devices, an estimate with bounds.
        """
        whole = self._all_sent(edge.above, direction)
        return None if whole is None else self._part(edge, direction, whole, whole)

    def part_down(self, edge: Edge, direction: str, mine: Traffic, unknown: str = "") -> Traffic:
        """
        Return what of *mine*, some of the traffic at the device above, went down *edge*.

        *unknown*: why *mine* is unknown, "" if it is known.
        """
        passed = self._passed_on(edge.above, mine, unknown)
        whole = self._all_sent(edge.above, direction) if divides(self.topology, edge) else None
        return self._part(edge, direction, passed, passed if whole is None else whole)

    def _part(self, edge: Edge, direction: str, mine: Traffic, whole: Traffic) -> Traffic:
        limits = partial(self._limits_of, edge, direction)
        return part_down(self.topology, edge, mine, whole, limits)

    def _all_sent(self, name: str, direction: str) -> Traffic | None:
        """Return all that *name* sent; None where it makes requests of its own or no counter shows them."""
        if not is_passthrough(self.topology[name]):
            return None
        if name in self.loads:
            return self._passed_on(name, all_of(self.load(name).flow(direction)))
        if not self.topology.above(name):
            return None
        total = NOTHING
        for upper in self.topology.above(name):
            arrived = self.down(upper, direction)
            if arrived is None:
                return None
            total = total + arrived
        return self._passed_on(name, replace(total, ios=None, wait=None))

    def _passed_on(self, name: str, arrived: Traffic, unknown: str = "") -> Traffic:
        """
        Return *arrived* as *name* sends it on: each completion is a new request.

        The exception is a partition: it shares its disk's queue, and the kernel
        counts each merge for both. A device without counters sends on what
        arrived, unless that is *unknown*.
        """
        uncounted = arrived.ios is None and not unknown
        merged_below = self.topology[name].kind is Kind.PARTITION or uncounted
        return arrived if merged_below else replace(arrived, arrivals=arrived.ios)

    def _limits_of(self, edge: Edge, direction: str) -> dict[str, Amount]:
        """Return what each device below the one above *edge* can have received from it."""
        return {name: self._limit(name, direction) for name in targets_of(self.topology, edge)}

    def _limit(self, name: str, direction: str) -> Amount:
        """Return what arrived at *name* beyond what is known to come from tables that do not divide."""
        key = (name, direction)
        if key not in self._limits:
            self._limits[key] = self._unexplained(name, direction)
        return self._limits[key]

    def _unexplained(self, name: str, direction: str) -> Amount:
        if not self.topology[name].counted:
            return Amount()
        flow = self.load(name).flow(direction)
        left = Amount(flow.arrivals, flow.bytes)
        for edge in self.topology.above(name):
            if divides(self.topology, edge) or is_idle(self.loads.get(edge.above)):
                continue
            sent = self.down(edge, direction)
            if sent is not None:
                left = Amount(_less(left.arrivals, sent.arrivals), _less(left.bytes, sent.bytes))
        return left


def is_idle(load: Load | None) -> bool:
    """Whether a device is known to have done nothing."""
    return load is not None and load.idle


def _less(arrived: float | None, sent: float | None) -> float | None:
    """Return *arrived* less *sent*, at least 0; an unknown *sent* may be any part and takes nothing away."""
    return arrived if arrived is None or sent is None else max(0.0, arrived - sent)
