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

from stackmap.analysis.layers import counted_tops
from stackmap.analysis.traffic.accounting import Account, Accounting
from stackmap.analysis.traffic.amounts import Share, Traffic
from stackmap.analysis.traffic.by_cause import StackRows
from stackmap.analysis.traffic.ownership import shares, together
from stackmap.analysis.traffic.pools import with_pools
from stackmap.analysis.traffic.rows import Cause, Row
from stackmap.analysis.traffic.sent import Sent
from stackmap.model.load import DIRECTIONS, Flow, Load, plus, sum_flows
from stackmap.model.topology import Topology


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
        self._in_flight: dict[frozenset[str], float | None] = {}
        self._shares: dict[str, Mapping[str, Share]] = {}
        self._by_cause: dict[str, Mapping[tuple[Cause, str], Traffic]] = {}

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

    def shares(self, top: str) -> Mapping[str, Share]:
        """Return what belongs to *top* at each device of its stack, metadata devices included."""
        if top not in self._shares:
            self._shares[top] = shares(self.sent, top)
        return self._shares[top]

    def share(self, top: str, names: Iterable[str]) -> Share:
        """Return what belongs to *top* at the devices *names* together, which are of its stack."""
        owned = self.shares(top)
        return together(self.topology, [owned[name] for name in names])

    def account(self, names: Iterable[str], direction: str) -> Account:
        """Return what arrived at *names* and what was sent to them."""
        return self._accounting.account(names, direction)

    def in_flight(self, names: Sequence[str]) -> float | None:
        """Return the requests in flight at both ends of the interval, at *names* and just above them."""
        key = frozenset(names)
        if key not in self._in_flight:
            above = (edge.above for name in names for edge in self.topology.above(name))
            found: float | None = 0.0
            for name in dict.fromkeys((*names, *above)):
                load = self.load(name)
                on_average = None if load.aqu is None else 2 * load.aqu
                counted = load.in_flight_at_ends
                found = plus(found, on_average if counted is None else counted)
            self._in_flight[key] = found
        return self._in_flight[key]

    def rows(self, top: str) -> list[Row]:
        """Return the rows of the stack of *top*, from the top down."""
        return StackRows(self.sent, top, self.shares(top)).rows

    def disk_traffic_by_cause(self, top: str) -> Mapping[tuple[Cause, str], Traffic]:
        """Return what the disks completed for *top*, by cause and direction; unknown where a part is."""
        if top not in self._by_cause:
            self._by_cause[top] = StackRows(self.sent, top, self.shares(top)).completed()
        return self._by_cause[top]
