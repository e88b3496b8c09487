"""
Accounting: what arrived at each device beside what the devices above sent there.

Where the two differ, the counters suggest a cause, tried in this order:
requests in flight when the counters were read; requests split on the way,
which carry no more bytes; LVM's label scans; another source of I/O; empty
flushes, which md does not count; a device whose accounting is off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackmap.ledger.amounts import Amount, join_divisions
from stackmap.ledger.division import targets_of
from stackmap.ledger.sent import Sent
from stackmap.model.load import ratio
from stackmap.model.topology import computed_once

TOLERANCE = 0.01  # of what was sent, or of all arrivals

LABEL_SCAN = 128 * 1024  # bytes that LVM reads of a PV at a time when it looks for its label

IN_FLIGHT = "{requests} in flight when the counters were read explain the difference"
SPLIT = "more {requests} arrived than were sent, but no more bytes, so they are split on the way"
SCANS = "more reads arrived than were sent, 128 KiB each: LVM scans its labels there"
OTHERS = "more {requests} arrived than were sent: something else reads or writes there"
FLUSHES = (
    "fewer {requests} arrived than were sent, with no fewer bytes: device-mapper counts empty "
    "flushes, md does not"
)
LESS = "fewer {requests} arrived than were sent: a device's accounting is off, or it counts at submission"
REQUESTS = {"read": "reads", "write": "writes", "total": "requests"}


class Account(NamedTuple):
    """
    What arrived at some devices, and what was sent to them.

    ``divisions``: the devices above that divided their traffic, with all they
    divided it over; what they sent is an estimate unless all these are included.
    """

    arrived: Amount
    sent: Amount
    divisions: Mapping[str, frozenset[str]] = MappingProxyType({})

    @property
    def ratio(self) -> float | None:
        """Arrivals per request sent."""
        return ratio(self.arrived.arrivals, self.sent.arrivals)


ZERO = Amount(0.0, 0.0)
UNKNOWN = Account(Amount(), Amount())


class Accounting:
    """
    The accounts of all devices over one interval.

    Each is worked out once: the stack of every volume on a disk needs the disk's.
    """

    def __init__(self, sent: Sent) -> None:
        self._sent = sent

    def account(self, names: Iterable[str], direction: str) -> Account:
        """
        Return the account of the devices *names* together.

        ``UNKNOWN`` if a device above makes requests of its own: they have no counter. Also
        ``UNKNOWN`` if a device above uses devices outside *names* too: its requests to *names*
        are then estimated from the arrivals, so they cannot confirm them.
        """
        accounts = [self._of_device(name, direction) for name in names]
        arrived = sum((each.arrived for each in accounts), start=ZERO)
        sent = sum((each.sent for each in accounts), start=ZERO)
        included = set(names)
        divisions = join_divisions(each.divisions for each in accounts)
        partial = any(not targets <= included for targets in divisions.values())
        if partial or None in (arrived.arrivals, sent.arrivals):
            return UNKNOWN
        return Account(arrived, sent)

    @computed_once
    def _of_device(self, name: str, direction: str) -> Account:
        flow = self._sent.load(name).flow(direction)
        edges = self._sent.topology.above(name)
        total = ZERO if edges else Amount()
        divisions = {}
        for edge in edges:
            sent = self._sent.down(edge, direction)
            if sent is None:
                return UNKNOWN
            total += Amount(sent.arrivals, sent.bytes)
            if sent.is_range:
                divisions[edge.above] = targets_of(self._sent.topology, edge)
        return Account(Amount(flow.arrivals, flow.bytes), total, divisions)


def mismatches(accounts: Mapping[str, Account]) -> tuple[str, ...]:
    """Return those of "read" and "write" that do not balance; "total" where only that does not."""
    everything = accounts["total"].arrived.arrivals
    found = tuple(d for d in ("read", "write") if not balances(accounts[d], everything))
    return found or (() if balances(accounts["total"]) else ("total",))


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
    why = _why(account, direction, in_flight, seconds, flushes=flushes)
    return why.format(requests=REQUESTS[direction])


def _why(
    account: Account,
    direction: str,
    in_flight: float | None,
    seconds: float | None,
    *,
    flushes: bool,
) -> str:
    arrived, sent = account.arrived.arrivals, account.sent.arrivals
    if arrived is None or sent is None:
        return ""
    # One more: the counters of all devices are not read at one instant.
    skew = (in_flight + 1) / seconds if in_flight is not None and seconds else 0.0
    if abs(arrived - sent) <= skew:
        return IN_FLIGHT
    if arrived < sent:
        whole = _no_more_bytes(account.sent, account.arrived, skew)
        return FLUSHES if whole and direction != "read" and not flushes else LESS
    if _no_more_bytes(account.arrived, account.sent, skew):
        return SPLIT
    return SCANS if direction == "read" and _is_scan(account) else OTHERS


def _is_scan(account: Account) -> bool:
    """Whether what arrived beyond what was sent is read as LVM reads labels."""
    more = account.arrived.beyond(account.sent)
    each = ratio(more.bytes, more.arrivals)
    return each is not None and abs(each - LABEL_SCAN) <= TOLERANCE * LABEL_SCAN


def _no_more_bytes(here: Amount, there: Amount, skew: float) -> bool:
    """Whether *here* has no more bytes than *there*, but for those of *skew* requests."""
    more, part = ratio(here.bytes, there.bytes), ratio(skew, there.arrivals)
    return more is not None and part is not None and more - 1 <= max(TOLERANCE, part)
