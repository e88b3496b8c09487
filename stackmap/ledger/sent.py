"""
What each device sent to the devices below it.

The own counters of a device that passes requests on (``model.dm_targets``) are
what it sent. A device without counters passes on what the devices above it
sent. A device that makes requests of its own (RAID, thin, cache) is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.ledger.amounts import NOTHING, UNKNOWN, Amount, Traffic, all_of
from stackmap.ledger.division import (
    NO_PART,
    UNKNOWN_PART,
    Division,
    Fan,
    Part,
    Parts,
    divides,
    division,
    fan_of,
    part_down,
    segment_share,
)
from stackmap.model.device import Kind, Role
from stackmap.model.dm_targets import passes_on
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.reason import Reason
from stackmap.model.topology import Edge, Topology, computed_once

ABSENT = Load()
TOLERANCE = 0.01  # a share of all that is smaller than this does not count
FEW = 4  # devices below: the part of each is kept; of more, only the sums that all parts depend on


class Sent:
    """
    What each device sent over one interval, edge by edge.

    What every volume on a shared device needs is worked out once: what can have arrived
    from tables that divide, how these divided it, and what is known of all devices above.
    """

    def __init__(self, topology: Topology, loads: Mapping[str, Load]) -> None:
        self.topology = topology
        self.loads = loads
        self._limits_begun: set[tuple[str, str]] = set()
        self._limits_in_circles: set[tuple[str, str]] = set()

    def load(self, name: str) -> Load:
        """Return what *name* did, for whomever; all unknown if it has no counters."""
        return self.loads.get(name, ABSENT)

    def down(self, edge: Edge, direction: str) -> Traffic | None:
        """
        Return all that the device above *edge* sent down it.

        None where the device makes requests of its own. Where it divides its
        traffic over several devices, an estimate with bounds.
        """
        whole = self._all_sent(edge, direction)
        return None if whole is None else self._part(edge, direction, whole, whole)

    def part_down(self, edge: Edge, direction: str, mine: Traffic, unknown: str = "") -> Traffic:
        """
        Return what of *mine*, some of the traffic at the device above, went down *edge*.

        *unknown*: why *mine* is unknown, "" if it is known.
        """
        passed = self._passed_on(edge.above, mine, unknown)
        whole = self._all_sent(edge, direction) if divides(self.topology, edge) else None
        return self._part(edge, direction, passed, whole)

    def only_from_passthrough(self, name: str) -> bool:
        """Whether all devices above *name* pass requests on to it one by one."""
        return _only_from_passthrough(self.topology, name)

    @computed_once
    def busy_above(self, name: str) -> tuple[str, ...]:
        """Return the devices above *name* that are not known to have been idle."""
        above = dict.fromkeys(edge.above for edge in self.topology.above(name))
        return tuple(n for n in above if not is_idle(self.loads.get(n)))

    @computed_once
    def targets(self, name: str) -> frozenset[str]:
        """Return the devices that *name* uses, in any role."""
        return frozenset(edge.below for edge in self.topology.below(name))

    @computed_once
    def indivisible(self, name: str) -> str:
        """Return why no counter shows the I/O of each volume on *name*."""
        above = sorted({self.topology[e.above].title for e in self.topology.above(name)})
        return Reason(
            "shared",
            f"{self.topology[name].title} serves several volumes through {', '.join(above)}: "
            "its counters do not show whose I/O it was",
        )

    @computed_once
    def splits_requests(self, name: str, direction: str) -> bool:
        """
        Whether *name* splits requests: it counted more than were sent to it, with no more bytes.

        Requests split at a chunk or at the end of a segment are counted by the
        piece. Where requests merge, counters cannot tell. Where a device above divides its
        traffic, as many as it can have sent here.
        """
        edges = self.topology.above(name)
        if self.topology[name].merges or not edges:
            return False
        sent = [self.down(edge, direction) for edge in edges]
        known = sum((each or UNKNOWN for each in sent), start=NOTHING)
        whole = self.load(name).flow(direction)
        if None in (known.arrivals, known.bytes, whole.ios, whole.bytes):
            return False
        _, most = known.bounds
        more = ratio(whole.ios, most.arrivals) or 0.0
        return more > 1 + TOLERANCE and is_all(known, whole)

    def _part(self, edge: Edge, direction: str, mine: Traffic, whole: Traffic | None) -> Traffic:
        """Return what of *mine*, some of the *whole* (None: all) that the device above sent, went down *edge*."""
        fan = fan_of(self.topology, edge.above, edge.role)
        segment = segment_share(fan, edge)
        if len(fan.targets) == 1:
            return mine.times(segment)
        if whole is not None and len(fan.lengths) <= FEW:
            parts = self._parts_of_all(edge, direction)
        else:
            parts = self._parts(edge, direction, whole or mine)
        return part_down(mine, whole or mine, parts, segment)

    @computed_once
    def _parts_of_all(self, edge: Edge, direction: str) -> Parts:
        whole = self._all_sent(edge, direction) or UNKNOWN
        return self._parts(edge, direction, whole)

    def _parts(self, edge: Edge, direction: str, whole: Traffic) -> Parts:
        """Return what of *whole*, all that the device above *edge* sent, went to the device below."""
        return Parts(
            *(
                self._part_of(edge, direction, figure, getattr(whole, figure))
                for figure in Parts._fields
            )
        )

    def _part_of(self, edge: Edge, direction: str, figure: str, total: float | None) -> Part:
        if not total:
            return UNKNOWN_PART if total is None else NO_PART
        fan = fan_of(self.topology, edge.above, edge.role)
        if len(fan.lengths) > FEW:
            found = self._division(edge.above, edge.role, direction, figure, total)
        else:
            found = self._divide(fan, direction, figure, total)
        limit = getattr(self._limit(edge.below, direction), figure)
        return found.part(fan.lengths[edge.below], limit)

    @computed_once
    def _division(
        self, above: str, role: Role, direction: str, figure: str, total: float
    ) -> Division:
        return self._divide(fan_of(self.topology, above, role), direction, figure, total)

    def _divide(self, fan: Fan, direction: str, figure: str, total: float) -> Division:
        """Return how *total* was divided over the devices of *fan*."""
        limits = {n: getattr(self._limit(n, direction), figure) for n in fan.lengths}
        return division(total, fan.lengths, limits)

    def _all_sent(self, edge: Edge, direction: str) -> Traffic | None:
        """Return all that the device above *edge* sent; None where it makes requests of its own or no counter shows them."""
        known = passes_on(self.topology, edge)
        return self._all_sent_by(edge.above, direction) if known else None

    @computed_once
    def _all_sent_by(self, name: str, direction: str) -> Traffic | None:
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
        return self._passed_on(name, total._replace(ios=None, wait=None))

    def _passed_on(self, name: str, arrived: Traffic, unknown: str = "") -> Traffic:
        """
        Return *arrived* as *name* sends it on: each completion is a new request.

        The exception is a partition: it shares its disk's queue, and the kernel
        counts each merge for both. A device without counters sends on what
        arrived, unless that is *unknown*.
        """
        uncounted = arrived.ios is None and not unknown
        merged_below = self.topology[name].kind is Kind.PARTITION or uncounted
        return arrived if merged_below else arrived._replace(arrivals=arrived.ios)

    @computed_once
    def _limit(self, name: str, direction: str) -> Amount:
        """Return what arrived at *name* beyond what is known to come from tables that do not divide."""
        flow = self.load(name).flow(direction)
        left = whole = Amount(flow.arrivals, flow.bytes)
        # What a device above without counters sent here may itself depend on this limit.
        asked = name, direction
        if asked in self._limits_begun:
            self._limits_in_circles.add(asked)
            return whole
        self._limits_begun.add(asked)
        for edge in self.topology.above(name):
            if divides(self.topology, edge) or is_idle(self.loads.get(edge.above)):
                continue
            sent = self.down(edge, direction)
            if sent is not None:
                left = Amount(_less(left.arrivals, sent.arrivals), _less(left.bytes, sent.bytes))
        self._limits_begun.remove(asked)
        return whole if asked in self._limits_in_circles else left


@computed_once
def _only_from_passthrough(topology: Topology, name: str) -> bool:
    # Kept with the topology: a disk has thousands of devices above, in each of many intervals.
    return all(passes_on(topology, edge) for edge in topology.above(name))


def is_all(arrived: Traffic, whole: Flow) -> bool:
    """Whether *arrived* has nearly all bytes of *whole*."""
    part = ratio(arrived.bytes, whole.bytes)
    return part is not None and part > 1 - TOLERANCE


def is_idle(load: Load | None) -> bool:
    """Whether a device is known to have done nothing."""
    return load is not None and load.idle


def _less(arrived: float | None, sent: float | None) -> float | None:
    """Return *arrived* less *sent*, at least 0; an unknown *sent* may be any part and takes nothing away."""
    return arrived if arrived is None or sent is None else max(0.0, arrived - sent)
