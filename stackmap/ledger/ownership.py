"""
Which part of a device's traffic belongs to one stack, where several share it.

A device that only one top can reach belongs to that top. On a shared device,
each device above sent what its own counters say, if it passes requests on one
by one (``model.dm_targets``): arrivals and bytes are exact. Completions after
merging are divided in proportion to arrivals, an estimate. Where a device
above makes requests of its own for several tops (two volumes on one array),
the answer is None with the reason.

A thin pool counts the requests of its volumes together with its own zeroing and copying;
its metadata has a device of its own. No counter divides these by volume. Reads
of blocks that were never written end in the volume. What a volume sent itself
bounds its part:

    writes      at least its own, at most all that the others did not send
    reads       the same, but copies read chunks too, for volumes that write: as much
                as was written beyond the volumes' own writes; the estimate of what was
                read beyond their reads follows bytes written
    metadata    anything from nothing to all; the estimate follows bytes written
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stackmap.ledger import bcache
from stackmap.ledger.amounts import (
    NOTHING,
    UNKNOWN,
    Amount,
    Share,
    Traffic,
    all_of,
    join_divisions,
    share_of_all,
    sum_shares,
)
from stackmap.ledger.layers import carriers
from stackmap.ledger.member_writes import has_bitmap, share_with_bitmap
from stackmap.ledger.sent import TOLERANCE, Sent, divides, is_all
from stackmap.model.device import Device, Kind, Role
from stackmap.model.dm_targets import POOL, is_passthrough
from stackmap.model.load import DIRECTIONS, Flow, Load, plus, ratio, sum_loads
from stackmap.model.raid import PAGE
from stackmap.model.reason import Reason
from stackmap.model.topology import Edge, Topology, computed_once
from stackmap.model.units import KIB


@dataclass(frozen=True)
class Ownership:
    """What belongs to one top. ``shares``: those of the devices above the one being worked out."""

    sent: Sent
    top: str
    data: frozenset[str]
    shares: dict[str, Share] = field(default_factory=dict)
    above: Mapping[str, Sequence[Edge]] = field(default_factory=dict)  # within the stack

    @property
    def topology(self) -> Topology:
        """The devices."""
        return self.sent.topology

    def share(self, name: str) -> Share:
        """Return the share of the top at *name*."""
        if name != self.top and self.sent.only_from_passthrough(name):
            return self._from_above(name, self.senders(name))
        device, load = self.topology[name], self.sent.loads.get(name)
        if load is None:
            return Share(
                reason=Reason("no-counters", f"{device.title}: no counters in this interval")
            )
        if name == self.top:
            return share_of_all(load)
        if not self._alone(name):
            return self._indivisible(name, load)
        above = (edge.above for edge in self.topology.above(name))
        array = next((user for user in above if has_bitmap(self.topology[user])), "")
        if not array:
            return share_of_all(load)
        return share_with_bitmap(self.topology, self.sent.loads, array, name)

    def _indivisible(self, name: str, load: Load) -> Share:
        """Return the share of a device below one that makes requests for several tops."""
        edge, *others = self.topology.above(name)
        reason = self.sent.indivisible(name)
        if is_pool(self.topology[name]):
            asked = sum_loads([self.sent.load(upper) for upper in self.sent.busy_above(name)])
            mine = sum_shares([self.shares[sender.above] for sender in self.above[name]])
            return part_of_pool(load, asked, mine, reason)
        if others or not is_pool(self.topology[edge.above]):
            return Share(reason=reason, undivided=True)
        pool, mine = self.sent.load(edge.above), self.shares[edge.above]
        if mine.reason:
            return Share(reason=mine.reason, undivided=True)
        if edge.role is Role.METADATA:
            weight = ratio(mine.write.bytes, pool.write.bytes)
            return _sum_of({d: _weighted(load.flow(d), weight) for d in DIRECTIONS})
        return _sum_of(
            {d: _in_proportion(load.flow(d), pool.flow(d), mine.part(d)) for d in DIRECTIONS}
        )

    def senders(self, name: str) -> list[Edge]:
        """Return the edges from this stack to *name*; those of metadata devices only where it joins them with the data."""
        edges = self.above.get(name, ())
        if name not in self.data or joins(self.topology, name):
            return list(edges)
        return [edge for edge in edges if edge.above in self.data]

    @computed_once
    def _alone(self, name: str) -> bool:
        """Whether all I/O at *name* came through the top: no other device leads there, or it was idle."""
        return all(
            above == self.top or (bool(self.topology.above(above)) and self._alone(above))
            for above in self.sent.busy_above(name)
        )

    def _from_above(self, name: str, edges: list[Edge]) -> Share:
        """Return the share that *edges*, from devices that pass requests on, brought to *name*."""
        reasons = {edge.above: self.shares[edge.above].reason for edge in edges}
        reason = next(filter(None, reasons.values()), "")
        divided = any(self.shares[edge.above].divided for edge in edges)
        divided |= self.sent.is_estimate(name)
        load = self.sent.load(name)
        parts: dict[str, Traffic] = {}
        for direction in DIRECTIONS:
            arrived = sum(
                (self.down(edge, direction, reasons[edge.above]) for edge in edges), start=NOTHING
            )
            whole = load.flow(direction)
            both = parts["read"] + parts["write"] if direction == "total" else UNKNOWN
            if both.arrivals is not None and any(
                self.sent.copies(edge.above, "write").arrivals for edge in edges
            ):  # copies are of writes alone
                arrived = arrived._replace(arrivals=both.arrivals, low=both.low, high=both.high)
            if not arrived.arrivals or not self.sent.splits_requests(name, direction):
                part, in_proportion = completed(arrived, whole)
                divided |= in_proportion
                if in_proportion and both.ios is not None:  # the sum of the divided directions
                    part = part._replace(ios=both.ios, wait=both.wait)
            elif both.ios is not None:
                part = both
            elif is_all(arrived, whole):
                part = arrived._replace(ios=whole.ios, wait=whole.wait)
            else:
                part = arrived._replace(ios=None, wait=None)
                reason = reason or Reason(
                    "split",
                    f"{self.topology[name].title} splits requests of several volumes: "
                    "its counters do not show whose pieces they were",
                )
            parts[direction] = part
        return Share(parts, divided, reason, divisions=self._divisions(name, edges))

    def down(self, edge: Edge, direction: str, unknown: str) -> Traffic:
        """Return the part of the traffic down *edge* that belongs to the top."""
        mine = self.shares[edge.above].part(direction)
        return self.sent.part_down(edge, direction, mine, unknown)

    def _divisions(self, name: str, edges: list[Edge]) -> dict[str, frozenset[str]]:
        """Return the devices above that divide their traffic, with the targets that led to *name*."""
        inherited = [self.shares[edge.above].divisions for edge in edges]
        own = [
            {edge.above: _covered(name, self.shares[edge.above])}
            for edge in edges
            if divides(self.topology, edge)
        ]
        return self._without_most_complete(join_divisions([*inherited, *own]))

    def _without_most_complete(
        self, divisions: dict[str, frozenset[str]]
    ) -> dict[str, frozenset[str]]:
        """Return *divisions* with one of the complete ones: they stay complete in every sum."""
        complete = [
            name for name, covered in divisions.items() if covered >= self.sent.targets(name)
        ]
        for name in complete[1:]:
            del divisions[name]
        return divisions


def shares(sent: Sent, top: str) -> Mapping[str, Share]:
    """Return the share of *top* at each device of its stack, metadata devices included."""
    stack = sent.topology.with_all_below(top)
    above = sent.topology.edges_above(stack)
    owned = Ownership(sent, top, carriers(sent.topology, top), above=above)
    for name in stack:
        owned.shares[name] = owned.share(name)
    return owned.shares


def of_top(sent: Sent, device: Device, share: Share) -> Share:
    """Return the *share* of a top; its writes are a range where the kernel may have counted others than were sent."""
    if device.kind is Kind.BCACHE and device.name in sent.loads:
        # No counter tells what bypassed its cache from what was written back.
        back = bcache.most_written_back(sent.topology, device, sent.loads)
        more = NOTHING._replace(low=Amount(0.0, 0.0), high=Amount(0.0, back))
        return share._replace(
            parts={
                d: part + more if back and d in ("write", "total") else part
                for d, part in share.parts.items()
            }
        )
    return _with_pieces(device, share)


def _with_pieces(device: Device, share: Share) -> Share:
    """
    Return the *share* of a top; its writes are a range where *device* may have counted pieces of them.

    Since about Linux 7.1 md cuts writes to RAID4/5/6 at full stripes before it counts them. A write that begins at
    any page is cut at ``(size - page) / boundary`` of these on average, one of a stream no more often. Nothing
    above such an array counts what was sent.
    """
    boundary, write = device.queue.boundary, share.write
    is_cut = device.layout is not None and device.layout.parity > 0
    if not is_cut or boundary is None or boundary <= PAGE:
        return share
    if write.arrivals is None or not write.bytes:
        return share
    largest = (device.queue.max_sectors_kb or 0) * KIB
    fewest = ratio(write.bytes, largest) or 0.0
    most = max(0.0, write.bytes - write.arrivals * PAGE) / (boundary - PAGE)
    cuts = min(most, max(0.0, write.arrivals - fewest))
    parts = {
        direction: part._replace(
            low=Amount(plus(part.arrivals, -cuts), part.bytes), high=part.amount
        )
        for direction, part in share.parts.items()
        if direction in ("write", "total")
    }
    return share._replace(parts={**share.parts, **parts})


def together(sent: Sent, several: list[Share]) -> Share:
    """Return *several* devices' shares as one; exact where they cover every target of a divided device."""
    if len(several) == 1 and not several[0].divisions:
        return several[0]._replace(undivided=False) if several[0].undivided else several[0]
    total = sum_shares(several)
    complete = all(covered >= sent.targets(above) for above, covered in total.divisions.items())
    if not total.divisions or not complete:
        return total
    parts = {d: _whole(sent, total.divisions, d, part) for d, part in total.parts.items()}
    return total._replace(parts=parts)


def _whole(sent: Sent, divided: Iterable[str], direction: str, part: Traffic) -> Traffic:
    """Return *part*, which covers every target of *divided*: exact, but for copies of flushes."""
    exact, senders = part.as_exact(), [a for a in divided if sent.copies(a, direction).arrivals]
    if all(len(sent.busy_above(above)) < 2 for above in senders):
        return exact.with_range_of(sent.copies(above, direction) for above in senders)
    low, high = part.bounds
    return exact._replace(
        low=Amount(low.arrivals, exact.bytes), high=Amount(high.arrivals, exact.bytes)
    )


def completed(arrived: Traffic, whole: Flow) -> tuple[Traffic, bool]:
    """Return *arrived* with its completions at a device that did *whole*, and whether they are an estimate."""
    if arrived.arrivals == 0:
        return arrived._replace(ios=0.0, wait=0.0), False
    part = ratio(arrived.arrivals, whole.arrivals)
    if part is None or whole.ios is None:
        return arrived._replace(ios=None, wait=None), False
    # More sent than arrived comes from counters read at different instants.
    part = min(part, 1.0)
    wait = None if whole.wait is None else whole.wait * part
    divided = part < 1 - TOLERANCE and bool(whole.merges)
    return arrived._replace(ios=whole.ios * part, wait=wait), divided


def _covered(name: str, share: Share) -> frozenset[str]:
    """Return *name*; nothing where *share* is a range that no sum over targets makes exact."""
    is_range = any(part.low is not None for part in share.parts.values())
    return frozenset() if is_range and not share.divisions else frozenset({name})


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


@computed_once
def joins(topology: Topology, name: str) -> bool:
    """Whether a device at or below *name* makes requests of its own: below it, data and metadata look the same."""
    below = topology.below(name)
    own = bool(below) and not is_passthrough(topology[name])
    return own or any(joins(topology, edge.below) for edge in below)


def part_of_pool(pool: Load, asked: Load, mine: Share, reason: str) -> Share:
    """
    Return the share of one volume in the I/O of its thin *pool*.

    *asked*: the I/O of all volumes, *mine*: that of this one. *reason*: that counters do not
    tell, given where even the bounds are unknown.
    """
    writes = ratio(mine.write.bytes, asked.write.bytes)
    copies = Copies(_beyond(pool.write, asked.write), _beyond(pool.read, asked.read), writes or 0.0)
    parts: dict[str, Traffic] = {}
    for direction in DIRECTIONS:
        whole, sent, own = pool.flow(direction), asked.flow(direction), mine.part(direction)
        if None in (own.bytes, own.arrivals, sent.bytes, whole.bytes, whole.arrivals):
            return Share(reason=reason, undivided=True)
        parts[direction] = (
            _bounded(whole, sent, own, copies if direction == "read" else Copies())
            if sent.bytes
            else _weighted(whole, writes)
        )
    return _sum_of(parts)


def _sum_of(parts: Mapping[str, Traffic]) -> Share:
    """Return *parts* as the share of one of several volumes."""
    total = parts["read"] + parts["write"]
    return Share({**parts, "total": total}, divided=True, undivided=True)


def _weighted(whole: Flow, weight: float | None) -> Traffic:
    """Return *weight* of *whole* as an estimate between nothing and all; all of it where nothing weighs."""
    high = Amount(whole.arrivals, whole.bytes)
    part = all_of(whole).times(1.0 if weight is None else weight)
    return part._replace(low=Amount(0.0, 0.0), high=high)


def _in_proportion(whole: Flow, pool: Flow, mine: Traffic) -> Traffic:
    """Return the part of *whole*, below a pool that did *pool*, in proportion to *mine* of the pool."""
    factor = ratio(whole.arrivals, pool.arrivals)
    if factor is None:
        return all_of(whole)
    low, high = (
        bound and bound._replace(arrivals=(bound.arrivals or 0.0) * factor)
        for bound in (mine.low, mine.high)
    )
    part = ratio(mine.arrivals, pool.arrivals) or 0.0
    return all_of(whole).times(part)._replace(bytes=mine.bytes, low=low, high=high)


def _beyond(below: Flow, above: Flow) -> Amount:
    return Amount(below.arrivals, below.bytes).beyond(Amount(above.arrivals, above.bytes))


def _bounded(whole: Flow, asked: Flow, own: Traffic, copies: Copies) -> Traffic:
    """Return the part of *whole* in proportion to *own* of all that was *asked*, with its bounds."""
    requests, moved = (
        _between(
            [getattr(x, figure) or 0.0 for x in (whole, asked, own, *copies[:2])], copies.weight
        )
        for figure in Amount._fields
    )
    likely, low, high = map(Amount, requests, moved)
    completed = all_of(whole).times(ratio(likely.arrivals, whole.arrivals) or 0.0)
    return completed._replace(arrivals=likely.arrivals, bytes=likely.bytes, low=low, high=high)


def _between(figures: Sequence[float], weight: float) -> tuple[float, float, float]:
    """Return the estimate and its bounds from all traffic, what all and one asked for, copies at most, and unasked reads."""
    all_here, every, mine, most, beyond = figures
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
