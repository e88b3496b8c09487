"""
The ledger: all traffic of one interval, from the tops down to the disks.

Traffic is what one device sent to another. A row of the ledger is the traffic
down one edge that belongs to one owner, in one direction and for one cause.
Per-layer figures, blame, accounting and the cost of parity and metadata are
sums over it, so two commands cannot show different figures. A part is worked
out when it is first needed: one stack of a thousand costs one stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from stackmap.ledger.accounting import Account, Accounting
from stackmap.ledger.amounts import Share, Traffic
from stackmap.ledger.by_cause import StackRows
from stackmap.ledger.layers import counted_tops
from stackmap.ledger.ownership import shares, together
from stackmap.ledger.pools import with_pools
from stackmap.ledger.rows import Cause, Row
from stackmap.ledger.sent import Sent
from stackmap.model.load import DIRECTIONS, Flow, Load, sum_flows, total_of
from stackmap.model.topology import Topology, computed_once, forget


class Ledger:
    """
    The traffic of one interval.

    *loads*: per second, as ``corrections`` returns them. *seconds*: length of
    the interval, None if unknown.
    """

    def __init__(
        self, topology: Topology, loads: Mapping[str, Load], seconds: float | None = None
    ) -> None:
        self.topology = topology
        self.loads = with_pools(topology, loads)
        self.seconds = seconds
        self.sent = Sent(topology, self.loads)
        self._accounting = Accounting(self.sent)

    @cached_property
    def tops(self) -> list[str]:
        """The highest devices with counters, in tree order."""
        return counted_tops(self.topology, self.loads)

    @cached_property
    def busy_tops(self) -> list[str]:
        """Those of ``tops`` that did something, or whose load is unknown."""
        return [top for top in self.tops if not self.load(top).idle]

    def load(self, name: str) -> Load:
        """Return what *name* did, for whomever; all unknown if it has no counters."""
        return self.sent.load(name)

    def flow(self, names: Iterable[str], direction: str) -> Flow:
        """Return what the devices *names* did together in one direction, or "flush", for whomever."""
        return sum_flows(self.load(name).flow(direction) for name in names)

    def flows(self, names: Sequence[str]) -> dict[str, Flow]:
        """Return what the devices *names* did together, by direction, for whomever."""
        return {direction: self.flow(names, direction) for direction in DIRECTIONS}

    @computed_once
    def shares(self, top: str) -> Mapping[str, Share]:
        """Return what belongs to *top* at each device of its stack, metadata devices included."""
        return shares(self.sent, top)

    def forget(self, top: str) -> None:
        """Free what is known of the stack of *top*; it is worked out again if it is needed."""
        forget(self, top)

    def share(self, top: str, names: Iterable[str]) -> Share:
        """Return what belongs to *top* at the devices *names* together, which are of its stack."""
        owned = self.shares(top)
        return together(self.sent, [owned[name] for name in names])

    def account(self, names: Iterable[str], direction: str) -> Account:
        """Return what arrived at *names* and what was sent to them."""
        return self._accounting.account(names, direction)

    @computed_once
    def in_flight(self, names: tuple[str, ...]) -> float | None:
        """Return the requests in flight at both ends of the interval, at *names* and just above them."""
        above = (edge.above for name in names for edge in self.topology.above(name))
        loads = map(self.load, dict.fromkeys((*names, *above)))
        return total_of(
            each.in_flight_at_ends
            if each.in_flight_at_ends is not None or each.aqu is None
            else 2 * each.aqu
            for each in loads
        )

    def rows(self, top: str) -> list[Row]:
        """Return the rows of the stack of *top*, from the top down."""
        return StackRows(self.sent, top, self.shares(top)).rows

    @computed_once
    def disk_traffic_by_cause(self, top: str) -> Mapping[tuple[Cause, str], Traffic]:
        """Return what the disks completed for *top*, by cause and direction; unknown where a part is."""
        return StackRows(self.sent, top, self.shares(top)).completed()
