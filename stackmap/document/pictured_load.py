"""The load in words, for a picture of stacks: requests that devices completed, and those sent from one to another."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from stackmap.document.wording import number, short, size
from stackmap.ledger.amounts import NOTHING, Traffic, share_of_all
from stackmap.ledger.ledger import Ledger
from stackmap.model.topology import Edge

LETTERS = {"read": "r", "write": "w"}


class LineLoad(NamedTuple):
    """The load of a line: in words, "" without I/O, and in bytes per second, None if unknown."""

    words: str = ""
    bytes: float | None = None


class PicturedLoad:
    """The load of one interval, whose corrected counters are in *ledger*."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def at(self, names: Collection[str]) -> str:
        """Return the requests and the await of the devices *names* together; "" if they are idle or unknown."""
        flows = self._ledger.flows([*names])
        rates = _rates({direction: flow.ios for direction, flow in flows.items()})
        wait = flows["total"].await_ms
        return rates if wait is None or not rates else f"{rates}, {number(wait, 2)} ms"

    def between(self, edges: Collection[Edge]) -> LineLoad:
        """Return the requests and bytes sent along *edges* together, of all owners."""
        sums = {
            direction: sum((self._down(edge, direction) for edge in edges), start=NOTHING)
            for direction in (*LETTERS, "total")
        }
        rates = _rates({direction: traffic.arrivals for direction, traffic in sums.items()})
        if not rates:
            return LineLoad()
        moved = sums["total"].bytes
        mark = "~" if any(traffic.is_range for traffic in sums.values()) else ""
        amount = "" if moved is None else f" {size(moved)}/s"
        return LineLoad(f"{mark}{rates}{amount}", moved)

    def _down(self, edge: Edge, direction: str) -> Traffic:
        """
        Return the traffic sent along *edge*.

        A device that makes requests of its own sends what arrives below it, if nothing else is above that.
        """
        sent = self._ledger.sent.down(edge, direction)
        if sent is not None:
            return sent
        if len(self._ledger.topology.above(edge.below)) > 1:
            return Traffic()
        return share_of_all(self._ledger.load(edge.below)).part(direction)


def pictured(ledger: Ledger) -> PicturedLoad | None:
    """Return the load of *ledger* for a picture; None where no device did anything."""
    busy: Iterable[bool] = (not load.idle for load in ledger.loads.values())
    return PicturedLoad(ledger) if any(busy) else None


def _rates(rates: dict[str, float | None]) -> str:
    """
    Return reads and writes per second, those that are not 0; their sum where they are not separated.

    >>> _rates({"read": 146.6, "write": 143.2, "total": 289.8}), _rates({"read": 0.0, "write": 5.25, "total": 5.25})
    ('147 r/s 143 w/s', '5.25 w/s')
    >>> _rates({"read": None, "write": None, "total": 7.0}), _rates({"read": 0.0, "write": 0.0, "total": 0.0})
    ('7.00 requests/s', '')
    """
    known = {letter: rates[direction] for direction, letter in LETTERS.items()}
    if None in known.values():
        total = rates["total"]
        return f"{short(total)} requests/s" if total else ""
    return " ".join(f"{short(rate)} {letter}/s" for letter, rate in known.items() if rate)
