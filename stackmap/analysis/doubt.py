"""
Why arrivals at a layer differ from what was sent to it, where they do.

Suspicions, in the order of what the counters can show: requests in flight when
the counters were read; requests cut in pieces, which carry no more bytes;
somebody else's, which do; a device whose accounting is off.
"""

from __future__ import annotations

from stackmap.analysis.share import Amount
from stackmap.model.load import ratio

TOLERANCE = 0.01

IN_FLIGHT = "requests in flight when the counters were read explain the difference"
PIECES = (
    "more requests arrived than were sent, and no more bytes: they are cut in pieces on the way"
)
OTHERS = "more arrived than was sent: somebody else reads or writes there"
LESS = "less arrived than was sent: a device's accounting is off, or it counts at submission"


def closes(arrived: float | None, sent: float | None, of: float | None = None) -> bool:
    """
    Whether the two agree, or nothing is known.

    *of*: all that arrived, where these are some of it: a few more are no matter.
    """
    base = sent if of is None else of
    return arrived is None or sent is None or not base or abs(arrived - sent) <= TOLERANCE * base


def closure_doubt(
    arrived: Amount,
    sent: Amount,
    of: float | None,
    in_flight: float | None,
    seconds: float | None,
) -> str:
    """
    Return what is suspected, "" where the two agree or nothing is known.

    *arrived* and *sent* a second, in one direction; *of*: what arrived in all;
    *in_flight*: requests under way at both ends, at the layer and above it: those
    may be counted on one side of the interval's edge and not on the other.
    """
    here, above = arrived.arrivals, sent.arrivals
    if closes(here, above, of) or here is None or above is None:
        return ""
    # One more: the counters of all devices are not read at one instant.
    edges = (in_flight + 1) / seconds if in_flight is not None and seconds else 0.0
    if abs(here - above) <= edges:
        return IN_FLIGHT
    if here < above:
        return LESS
    return PIECES if _no_more_bytes(arrived, sent, edges) else OTHERS


def _no_more_bytes(arrived: Amount, sent: Amount, edges: float) -> bool:
    """Whether no more bytes arrived than were sent, but for those of *edges* requests."""
    more, part = ratio(arrived.bytes, sent.bytes), ratio(edges, sent.arrivals)
    return more is not None and part is not None and more - 1 <= max(TOLERANCE, part)
