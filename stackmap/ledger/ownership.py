"""
Which part of a device's traffic belongs to one stack, where several share it.

A device that only one top can reach belongs to that top. On a shared device,
each device above sent what its own counters say, if it passes requests on one
by one (``model.dm_targets``): arrivals and bytes are exact. Completions after
merging are divided in proportion to arrivals, an estimate. Where a device
above makes requests of its own for several tops (two volumes on one array),
the answer is None with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stackmap.ledger.amounts import (
    NOTHING,
    UNKNOWN,
    Share,
    Traffic,
    join_divisions,
    share_of_all,
    sum_shares,
)
from stackmap.ledger.bitmap_writes import has_bitmap, share_with_bitmap
from stackmap.ledger.division import divides
from stackmap.ledger.layers import carriers
from stackmap.ledger.pools import is_pool, part_of_pool
from stackmap.ledger.sent import TOLERANCE, Sent, is_all
from stackmap.model.load import DIRECTIONS, Flow, Load, ratio
from stackmap.model.reason import Reason
from stackmap.model.topology import Edge, Topology, computed_once


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
        """Return what belongs to the top at *name*."""
        if name != self.top and self.sent.only_from_passthrough(name):
            return self._from_above(name, self.senders(name))
        device, load = self.topology[name], self.sent.loads.get(name)
        if load is None:
            return Share(
                reason=Reason("no-counters", f"{device.title}: no counters in this interval")
                if device.counted
                else Reason(
                    "uncounted", f"{device.title}: I/O passes it without touching its counters"
                )
            )
        if name == self.top:
            return share_of_all(load)
        if not self._alone(name):
            return self._indivisible(name, load)
        above = (edge.above for edge in self.topology.above(name))
        array = next((each for each in above if has_bitmap(self.topology[each])), "")
        if not array:
            return share_of_all(load)
        return share_with_bitmap(self.topology, self.sent.loads, array, name)

    def _indivisible(self, name: str, load: Load) -> Share:
        """Return the share of a device below one that makes requests for several tops."""
        edge, *others = self.topology.above(name)
        reason = self.sent.indivisible(name)
        if others or not is_pool(self.topology[edge.above]):
            return Share(reason=reason, undivided=True)
        pool = self.sent.load(edge.above)
        return part_of_pool(load, pool, self.shares[edge.above], edge, reason)

    def senders(self, name: str) -> list[Edge]:
        """Return the edges from this stack to *name*; a metadata device's traffic is not part of the data below it."""
        return [
            edge
            for edge in self.above.get(name, ())
            if edge.above in self.data or name not in self.data
        ]

    @computed_once
    def _alone(self, name: str) -> bool:
        """Whether all I/O at *name* came through the top: no other device leads there, or it was idle."""
        return all(
            above == self.top or (bool(self.topology.above(above)) and self._alone(above))
            for above in self.sent.busy_above(name)
        )

    def _from_above(self, name: str, edges: list[Edge]) -> Share:
        """Return what *edges*, from devices that pass requests on, brought to *name*."""
        reasons = {edge.above: self.shares[edge.above].reason for edge in edges}
        reason = next(filter(None, reasons.values()), "")
        divided = any(self.shares[edge.above].divided for edge in edges)
        load = self.sent.load(name)
        parts: dict[str, Traffic] = {}
        for direction in DIRECTIONS:
            arrived = sum(
                (self.down(edge, direction, reasons[edge.above]) for edge in edges), start=NOTHING
            )
            whole = load.flow(direction)
            both = parts["read"] + parts["write"] if direction == "total" else UNKNOWN
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
        """Return what belongs to the top of the traffic down *edge*."""
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
    """Return what belongs to *top* at each device of its stack, metadata devices included."""
    stack = sent.topology.with_all_below(top)
    above = sent.topology.edges_above(stack)
    owned = Ownership(sent, top, carriers(sent.topology, top), above=above)
    for name in stack:
        owned.shares[name] = owned.share(name)
    return owned.shares


def together(sent: Sent, several: list[Share]) -> Share:
    """Return *several* devices' shares as one; exact where they cover every target of a divided device."""
    total = sum_shares(several)
    complete = all(covered >= sent.targets(above) for above, covered in total.divisions.items())
    if not total.divisions or not complete:
        return total
    return total._replace(parts={d: part.as_exact() for d, part in total.parts.items()})


def completed(arrived: Traffic, whole: Flow) -> tuple[Traffic, bool]:
    """Return *arrived* with its completions at a device that did *whole*, and whether these are an estimate."""
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
