"""
Why arrivals at a layer differ from what was sent to it, where they do.

Suspicions, in the order of what the counters can show: requests in flight when
the counters were read; senders that nobody counts; I/O that comes from
elsewhere, or was cut up on the way.
"""

from __future__ import annotations

TOLERANCE = 0.01


def closes(arrived: float | None, sent: float | None) -> bool:
    """Whether the two agree, or nothing is known."""
    return not arrived or not sent or abs(arrived / sent - 1) <= TOLERANCE


def closure_doubt(
    arrived: float | None, sent: float | None, in_flight: float | None, seconds: float | None
) -> str:
    """
    Return what is suspected, "" where the two agree or nothing is known.

    *arrived* and *sent* a second; *in_flight*: requests under way on average
    at the layer and above it: those may be counted on one side of the
    interval's edge and not on the other.
    """
    if closes(arrived, sent) or arrived is None or sent is None:
        return ""
    missed = abs(arrived - sent) * (seconds or 0.0)
    if in_flight is not None and seconds and missed <= 2 * in_flight + 1:
        return "requests in flight when the counters were read explain the difference"
    if arrived > sent:
        return "more arrived than was sent: somebody else reads or writes there, or requests are cut up"
    return "less arrived than was sent: a device's accounting is off, or it counts at submission"
