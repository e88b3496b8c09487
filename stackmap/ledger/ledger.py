"""
The ledger: all traffic of one interval, from the tops down to the disks.

Traffic is what one device sent to another. A row of the ledger is the traffic
down one edge that belongs to one owner, in one direction and for one cause.
Per-layer figures, blame, accounting and the cost of parity and metadata are
sums over it, so two commands cannot show different figures. A part is worked
out when it is first needed: one stack of a thousand costs one stack.

Accounting compares what arrived at a device with what the devices above sent there.
Where the two differ, the counters suggest a cause, tried in this order:
requests in flight when the counters were read; requests split on the way,
which carry no more bytes; LVM's label scans; another source of I/O; empty
flushes, which md does not count; a device whose accounting is off.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from stackmap.ledger.amounts import NOTHING, Amount, Share, Traffic, join_divisions
from stackmap.ledger.causes import Cause
from stackmap.ledger.corrections import LABEL_SCAN
from stackmap.ledger.layers import counted_tops
from stackmap.ledger.ownership import is_pool, of_top, shares, together
from stackmap.ledger.rows import Row, StackRows, directions_of
from stackmap.ledger.sent import Sent, targets_of
from stackmap.model.health import NO_LIVES, Life
from stackmap.model.load import DIRECTIONS, Flow, Load, is_shared_idle, ratio, sum_flows, total_of
from stackmap.model.topology import Topology, computed_once, forget

TOLERANCE = 0.01  # of what was sent, or of all arrivals

IN_FLIGHT = "{requests} in flight when the counters were read explain the difference"
SPLIT = "more {requests} arrived than were sent, but no more bytes, so they are split on the way"
SCANS = "more reads arrived than were sent, 128 KiB each: LVM scans its labels there"
OTHERS = "more {requests} arrived than were sent: something else reads or writes there"
FLUSHES = (
    "fewer {requests} arrived than were sent, with no fewer bytes: device-mapper counts empty "
    "flushes, md does not"
)
COPIES = (
    "more {requests} arrived than were sent, but no more bytes: device-mapper counts an empty flush "
    "once and sends it to each device"
)
COPIES_OR_SPLIT = (
    "more {requests} arrived than were sent, but no more bytes: copies of empty flushes, which "
    "device-mapper counts once, or pieces of requests that the disks split"
)
LESS = "fewer {requests} arrived than were sent: a device's accounting is off, or it counts at submission"
REQUESTS = {"read": "reads", "write": "writes", "total": "requests"}


class Account(NamedTuple):
    """
    What arrived at some devices, and what was sent to them.

    ``divisions``: the devices above that divided their traffic, with all they
    divided it over; what they sent is an estimate unless all these are included.
    ``copies``: of flushes, which the devices above did not count.
    """

    arrived: Amount
    sent: Amount
    divisions: Mapping[str, frozenset[str]] = MappingProxyType({})
    copies: Traffic = NOTHING

    @property
    def ratio(self) -> float | None:
        """Arrivals per request sent."""
        return ratio(self.arrived.arrivals, self.sent.arrivals)


ZERO = Amount(0.0, 0.0)
UNKNOWN = Account(Amount(), Amount())


def mismatches(accounts: Mapping[str, Account]) -> tuple[str, ...]:
    """Return the directions that do not balance: "read", "write" or both; "total" where only that does not."""
    everything = accounts["total"].arrived.arrivals
    unbalanced = tuple(d for d in ("read", "write") if not balances(accounts[d], everything))
    return unbalanced or (() if balances(accounts["total"]) else ("total",))


def balances(account: Account, base: float | None = None) -> bool:
    """
    Whether arrivals equal what was sent, or one is unknown.

    *base*: arrivals in all directions; a difference that is small beside them does not count.
    """
    arrived, sent = account.arrived.arrivals, account.sent.arrivals
    base = sent if base is None else base
    if arrived is None or sent is None or not base:
        return True
    return abs(arrived - sent) <= TOLERANCE * base


def diagnosis(
    account: Account,
    direction: str,
    in_flight: float | None,
    seconds: float | None,
    *,
    flushes: bool = True,
) -> str:
    """
    Return the likely cause where *account* does not balance; "" where it is unknown.

    *in_flight*: requests in flight at both ends of the interval, at the layer
    and above it: those may be counted above and not yet below, or the reverse.
    *flushes*: whether the devices count empty flushes.
    """
    arrived, sent = account.arrived.arrivals, account.sent.arrivals
    if arrived is None or sent is None:
        return ""
    # One more: the counters of all devices are not read at one instant.
    skew = (in_flight + 1) / seconds if in_flight is not None and seconds else 0.0
    if abs(arrived - sent) <= skew:
        why = IN_FLIGHT
    elif arrived < sent:
        whole = _no_more_bytes(account.sent, account.arrived, skew)
        why = FLUSHES if whole and direction != "read" and not flushes else LESS
    elif not _no_more_bytes(account.arrived, account.sent, skew):
        why = SCANS if direction == "read" and _is_scan(account) else OTHERS
    elif account.copies.arrivals:
        why = COPIES if account.copies.bounds[0].arrivals else COPIES_OR_SPLIT
    else:
        why = SPLIT
    return why.format(requests=REQUESTS[direction])


def _is_scan(account: Account) -> bool:
    """Whether what arrived beyond what was sent is read as LVM reads labels."""
    more = account.arrived.beyond(account.sent)
    size = ratio(more.bytes, more.arrivals)
    return size is not None and abs(size - LABEL_SCAN) <= TOLERANCE * LABEL_SCAN


def _no_more_bytes(here: Amount, there: Amount, skew: float) -> bool:
    """Whether *here* has no more bytes than *there*, but for those of *skew* requests."""
    more, part = ratio(here.bytes, there.bytes), ratio(skew, there.arrivals)
    return more is not None and part is not None and more - 1 <= max(TOLERANCE, part)


class Ledger:
    """
    The traffic of one interval.

    *loads*: per second, as ``corrections`` returns them. *seconds*: length of
    the interval, None if unknown. *lives*: what may still be written to disks, by kernel name.
    """

    def __init__(
        self,
        topology: Topology,
        loads: Mapping[str, Load],
        seconds: float | None = None,
        lives: Mapping[str, Life] = NO_LIVES,
    ) -> None:
        self.topology = topology
        self.lives = lives
        self.loads = loads
        self.seconds = seconds
        self.sent = Sent(topology, self.loads, seconds)

    @cached_property
    def tops(self) -> list[str]:
        """The highest devices with counters, in tree order."""
        return counted_tops(self.topology, self.loads)

    @cached_property
    def busy_tops(self) -> list[str]:
        """Those of ``tops`` that did something, or whose load is unknown."""
        return [top for top in self.tops if not self.load(top).idle]

    def load(self, name: str) -> Load:
        """Return the load of *name*, all owners; unknown if it has no counters."""
        return self.sent.load(name)

    def flow(self, names: Iterable[str], direction: str) -> Flow:
        """Return the load of the devices *names* together in one direction, or "flush", all owners."""
        return sum_flows(self.load(name).flow(direction) for name in names)

    def flows(self, names: Sequence[str]) -> dict[str, Flow]:
        """Return the load of the devices *names* together, by direction, all owners."""
        return {direction: self.flow(names, direction) for direction in DIRECTIONS}

    @computed_once
    def shares(self, top: str) -> Mapping[str, Share]:
        """Return the share of *top* at each device of its stack, metadata devices included."""
        owned = shares(self.sent, top)
        return {**owned, top: of_top(self.sent, self.topology[top], owned[top])}

    def forget(self, top: str) -> None:
        """Free what is known of the stack of *top*; it is worked out again if it is needed."""
        forget(self, top)

    def share(self, top: str, names: Iterable[str]) -> Share:
        """Return the share of *top* at the devices *names* together, which are of its stack."""
        owned = self.shares(top)
        return together(self.sent, [owned[name] for name in names])

    def account(self, names: Iterable[str], direction: str) -> Account:
        """
        Return the account of the devices *names* together.

        ``UNKNOWN`` if a device above makes requests of its own: they have no counter. Also
        ``UNKNOWN`` if a device above uses devices outside *names* too: its requests to *names*
        are then estimated from the arrivals, so they cannot confirm them. The same holds for a device
        with an unknown target, and for a partition that has the figures of its disk.
        """
        accounts = [self._account_of(name, direction) for name in names]
        arrived = sum((account.arrived for account in accounts), start=ZERO)
        sent = sum((account.sent for account in accounts), start=ZERO)
        included = set(names)
        divisions = join_divisions(account.divisions for account in accounts)
        partial = any(not targets <= included for targets in divisions.values())
        if partial or None in (arrived.arrivals, sent.arrivals):
            return UNKNOWN
        copies = sum((account.copies for account in accounts), start=NOTHING)
        return Account(arrived, sent, copies=copies)

    @computed_once
    def _account_of(self, name: str, direction: str) -> Account:
        """Return the account of one device: the stack of every volume on a disk needs the disk's."""
        flow = self.load(name).flow(direction)
        edges = self.topology.above(name)
        total = ZERO if edges else Amount()
        copies, divisions = NOTHING, {}
        for edge in edges:
            sent = self.sent.down(edge, direction)
            if sent is None or edge.above in self.sent.unknown_targets:
                return UNKNOWN
            above, here = self.loads.get(edge.above), self.loads.get(name)
            if above is here and not is_shared_idle(here):
                return UNKNOWN  # a partition that the text did not print: not two counters
            if self.sent.copies(edge.above, direction).arrivals:
                copies += self.sent.copies_down(edge, direction)
            total += Amount(sent.arrivals, sent.bytes)
            if sent.is_range:
                divisions[edge.above] = targets_of(self.topology, edge)
        arrivals = flow.arrivals
        if self.sent.cuts_requests(name, direction):
            arrivals = total.arrivals  # the pieces of a request are one
        if copies.arrivals:
            total += copies.amount.times(-1)
        return Account(Amount(arrivals, flow.bytes), total, divisions, copies)

    @computed_once
    def in_flight(self, names: tuple[str, ...]) -> float | None:
        """Return the requests in flight at both ends of the interval, at *names* and just above them."""
        above = (edge.above for name in names for edge in self.topology.above(name))
        loads = map(self.load, dict.fromkeys((*names, *above)))
        return total_of(
            load.in_flight_at_ends
            if load.in_flight_at_ends is not None or load.aqu is None
            else 2 * load.aqu
            for load in loads
        )

    def rows(self, top: str) -> list[Row]:
        """Return the rows of the stack of *top*, from the top down."""
        return self._stack_rows(top).rows

    def disk_traffic_by_cause(self, top: str) -> Mapping[tuple[Cause, str], Traffic]:
        """Return the completions of the disks for *top*, by cause and direction; unknown where a part is."""
        if self.topology.below(top) or is_pool(self.topology[top]):
            return self._stack_rows(top).completed()
        share = self.shares(top)[top]
        return {(Cause.DATA, d): share.part(d) for d in directions_of(share)}

    def written_to_disks(self, top: str) -> Mapping[str, Mapping[Cause, Traffic]]:
        """Return the writes to each disk for *top*, by cause."""
        return self._stack_rows(top).written_to_disks()

    def has_estimated_causes(self, top: str) -> bool:
        """Whether no counter tells one cause from another, so that the traffic of each is an estimate."""
        return self._stack_rows(top).estimated

    @computed_once
    def _stack_rows(self, top: str) -> StackRows:
        return StackRows(self.sent, top, self.shares(top))
