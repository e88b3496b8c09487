"""
What each device sent to the devices below it.

The own counters of a device that passes requests on (``model.dm_targets``) are
what it sent. A device without counters passes on what the devices above it
sent. A device that makes requests of its own (RAID, thin, cache) is unknown. Counters may tell, as an
estimate, that one with an unknown target passes requests on, too (``unknown_targets``).

No counter tells how a device that maps onto several devices divides its traffic among them. The
estimate follows the lengths of the segments, within bounds: a device below cannot have received more
than arrived there beyond what others sent, nor less than the other devices had no room for. The
bounds meet where the devices below have no other user. The estimates sum to the whole.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from stackmap.ledger.amounts import NOTHING, UNKNOWN, Amount, Traffic, all_of
from stackmap.ledger.flush_copies import flush_copies
from stackmap.ledger.unknown_targets import unknown_targets
from stackmap.model.device import Kind, Role
from stackmap.model.dm_targets import passes_on
from stackmap.model.load import UNKNOWN_LOAD, Flow, Load, plus, ratio
from stackmap.model.reason import Reason
from stackmap.model.topology import Edge, Topology, computed_once


class Part(NamedTuple):
    """A part of a whole with its bounds; None if unknown."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


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

    def part(self, length: float, limit: float | None) -> tuple[float, float, float]:
        """Return the part of a device with this share of the *length*, which received *limit* at most, and its bounds."""
        least, most = _bounds(self.total, self.everywhere, _most(self.total, limit))
        value = min(max(self.total * length, least), most)
        slack = _slack(value, self.left, least, most)
        value += self.left * (slack / self.free if self.free > 0 else length)
        return value, least, most


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
    edges = [edge for edge in topology.below(above) if edge.role is role]
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


def targets_of(topology: Topology, edge: Edge) -> frozenset[str]:
    """Return the devices that the device above *edge* maps onto in the role of this edge."""
    return fan_of(topology, edge.above, edge.role).targets


def divides(topology: Topology, edge: Edge) -> bool:
    """Whether the device above *edge* divides its traffic over several devices."""
    return len(targets_of(topology, edge)) > 1


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
    free = sum([_slack(amount, left, *ends) for amount, ends in zip(value, bounds, strict=True)])
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


def segment_share(fan: Fan, edge: Edge) -> float:
    """Return the share of *edge* among the segments on its device below: 1 where it is the only one."""
    count, total = fan.segments[edge.below]
    if count == 1:
        return 1.0
    return (edge.length or 0) / total if total else 1 / count


TOLERANCE = 0.01  # a share of all that is smaller than this does not count


class Sent:
    """
    What each device sent over one interval, edge by edge.

    What every volume on a shared device needs is worked out once: what can have arrived
    from tables that divide, how these divided it, and what is known of all devices above.

    ``unknown_targets``: what counters tell of those devices over the *seconds*.
    """

    def __init__(
        self, topology: Topology, loads: Mapping[str, Load], seconds: float | None = None
    ) -> None:
        self.topology = topology
        self.loads = loads
        self.unknown_targets = unknown_targets(topology, loads, seconds)
        self._limits_begun: set[tuple[str, str]] = set()
        self._limits_in_circles: set[tuple[str, str]] = set()

    def load(self, name: str) -> Load:
        """Return the load of *name*, all owners; unknown if it has no counters."""
        return self.loads.get(name, UNKNOWN_LOAD)

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
        Return the part of *mine* that went down *edge*; *mine* is some of the traffic at the device above.

        *unknown*: why *mine* is unknown, "" if it is known.
        """
        passed = self._passed_on(edge.above, direction, mine, unknown)
        whole = self._all_sent(edge, direction) if divides(self.topology, edge) else None
        return self._part(edge, direction, passed, whole)

    def passes_on(self, edge: Edge) -> bool:
        """Whether the device above *edge* passes its requests on down it, by its target or by its counters."""
        return passes_on(self.topology, edge) or self._seems_to_pass_on(edge.above)

    def only_from_passthrough(self, name: str) -> bool:
        """Whether all devices above *name* pass requests on to it one by one."""
        return _only_from_passthrough(self.topology, name) or (
            bool(self.unknown_targets) and all(map(self.passes_on, self.topology.above(name)))
        )

    @computed_once
    def is_estimate(self, name: str) -> bool:
        """Whether *name* is below a device with an unknown target that passes requests on by its counters."""
        above = {edge.above for edge in self.topology.above(name)} if self.unknown_targets else ()
        return any(self._seems_to_pass_on(upper) or self.is_estimate(upper) for upper in above)

    def _seems_to_pass_on(self, name: str) -> bool:
        return name in self.unknown_targets and self.unknown_targets[name].passes_on

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
        known = sum((traffic or UNKNOWN for traffic in sent), start=NOTHING)
        whole = self.load(name).flow(direction)
        if None in (known.arrivals, known.bytes, whole.ios, whole.bytes):
            return False
        _, most = known.bounds
        more = ratio(whole.ios, most.arrivals) or 0.0
        return more > 1 + TOLERANCE and is_all(known, whole)

    def cuts_requests(self, name: str, direction: str) -> bool:
        """
        Whether the array *name* counted pieces of requests, as many as cuts at the boundary of its queue can make.

        A request has at most two pieces more than full ones.
        """
        boundary = self.topology[name].queue.boundary
        if not boundary or not self.splits_requests(name, direction):
            return False
        sent = [self.down(edge, direction) or UNKNOWN for edge in self.topology.above(name)]
        whole = sum(sent, start=NOTHING)
        pieces = self.load(name).flow(direction).ios
        if pieces is None or whole.arrivals is None or whole.bytes is None:
            return False
        return pieces <= whole.bytes / boundary + 2 * whole.arrivals

    def _part(self, edge: Edge, direction: str, mine: Traffic, whole: Traffic | None) -> Traffic:
        """Return the part of *mine* that went down *edge*; the device above sent the *whole*, None: no more than *mine*."""
        fan = fan_of(self.topology, edge.above, edge.role)
        segment = segment_share(fan, edge)
        if len(fan.targets) == 1:
            return mine.times(segment)
        figures = zip(
            Amount._fields, (whole or mine).amount, mine.amount, *mine.bounds, strict=True
        )
        requests, moved = (self._overlap(edge, fan, direction, *figure) for figure in figures)
        factor = ratio(requests.value, mine.arrivals) or 0.0
        part = Traffic(
            requests.value,
            None if mine.ios is None else mine.ios * factor,
            moved.value,
            None if mine.wait is None else mine.wait * factor,
            low=Amount(requests.low, moved.low),
            high=Amount(requests.high, moved.high),
        )
        return part.times(segment)

    def _overlap(
        self,
        edge: Edge,
        fan: Fan,
        direction: str,
        figure: str,
        total: float | None,
        own: float | None,
        *bounds: float | None,
    ) -> Part:
        """
        Return the part of *own* that went down *edge*, with bounds where no counter tells.

        *own*: some of the *total* that the device above sent; *bounds*: the least and the most of it.
        """
        if total is None or own is None:
            return Part()
        if not total:
            return Part(0.0, 0.0, 0.0)
        limit = getattr(self._limit(edge.below, direction), figure)
        divided = self._division(edge.above, edge.role, direction, figure, total)
        value, low, high = divided.part(fan.lengths[edge.below], limit)
        least, most = (own if bound is None else bound for bound in bounds)
        return Part(value * own / total, max(0.0, low - (total - least)), min(most, high))

    @computed_once
    def _division(
        self, above: str, role: Role, direction: str, figure: str, total: float
    ) -> Division:
        fan = fan_of(self.topology, above, role)
        limits = {n: getattr(self._limit(n, direction), figure) for n in fan.lengths}
        return division(total, fan.lengths, limits)

    def _all_sent(self, edge: Edge, direction: str) -> Traffic | None:
        """Return all that the device above *edge* sent; None where it makes requests of its own or no counter shows them."""
        return self._all_sent_by(edge.above, direction) if self.passes_on(edge) else None

    @computed_once
    def _all_sent_by(self, name: str, direction: str) -> Traffic | None:
        if name in self.loads:
            return self._passed_on(name, direction, all_of(self.load(name).flow(direction)))
        if not self.topology.above(name):
            return None
        total = NOTHING
        for upper in self.topology.above(name):
            arrived = self.down(upper, direction)
            if arrived is None:
                return None
            total = total + arrived
        return self._passed_on(name, direction, total._replace(ios=None, wait=None))

    def copies_down(self, edge: Edge, direction: str) -> Traffic:
        """Return the part of ``copies`` that went down *edge*, in proportion to all that did."""
        copies, sent = self.copies(edge.above, direction), self.down(edge, direction)
        whole = plus(copies.arrivals, self.load(edge.above).flow(direction).ios)
        return copies.times(ratio(sent.arrivals if sent else None, whole) or 0.0)

    def copies(self, name: str, direction: str) -> Traffic:
        """Return the empty flushes that *name* sent beside the requests that it counted."""
        written = direction in ("write", "total")
        return self._flush_copies.get(name, NOTHING) if written else NOTHING

    @cached_property
    def _flush_copies(self) -> Mapping[str, Traffic]:
        return flush_copies(self.topology, self.loads)

    def _passed_on(self, name: str, direction: str, arrived: Traffic, unknown: str = "") -> Traffic:
        """
        Return *arrived* as *name* sends it on: each completion is a new request, and a flush may be several.

        The exception is a partition: it shares its disk's queue, and the kernel
        counts each merge for both. A device without counters sends on what
        arrived, unless that is *unknown*.
        """
        uncounted = arrived.ios is None and not unknown
        merged_below = self.topology[name].kind is Kind.PARTITION or uncounted
        if merged_below:
            return arrived
        passed = arrived._replace(arrivals=arrived.ios)
        copies = self.copies(name, direction)
        part = ratio(arrived.ios, self.load(name).flow(direction).ios)
        if not part or not copies.arrivals:
            return passed
        mine = copies.times(part)
        if len(self.busy_above(name)) > 1:  # no counter tells whose flushes they were
            mine = mine._replace(low=Amount(0.0, 0.0), high=copies.bounds[1])
        return passed + mine

    @computed_once
    def _limit(self, name: str, direction: str) -> Amount:
        """Return the arrivals at *name* that no table is known to have sent without dividing."""
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
