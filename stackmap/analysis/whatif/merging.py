"""
How many requests the disks complete of what members send: from where nothing merges to as it was measured.

*Fragments* are the requests the disks completed for each request that md was
sent and cut: 1 where its pages are one again and no two requests merged, less
where some did, more where pages stayed apart.
"""

from __future__ import annotations

from stackmap.analysis.whatif.band import Band
from stackmap.analysis.whatif.measured import Measured, Stand, Stream
from stackmap.analysis.whatif.traffic import Traffic
from stackmap.model.load import ratio
from stackmap.model.raid import Layout

# Of layouts without parity nothing tells how well md's pages will merge. In the lab, at depths of 1
# to 8 on 6.1 and 6.12, a request's pages reached a disk as 0.8 to 1.2 requests.
APART = Band(0.8, 1.0, 1.2)
SKEW = 0.02  # counters of several layers are not read at one instant (as in ``parity``)


def fragments(found: Measured, now: Traffic, place: Stand) -> tuple[float | None, float | None]:
    """Return the fragments of reads and of writes on the present layout; None where nothing tells."""
    flushed = now.flushes if place.flushes_counted else 0.0
    return (
        _fragments(found.disks_read, now.read_whole, 0.0),
        _fragments(found.disks_write, now.write_whole, flushed),
    )


def _fragments(done: Stream | None, whole: float, flushed: float) -> float | None:
    return None if done is None else ratio(max(0.0, done.requests - flushed), whole)


def at_disks(whole: float, measured: float | None, layout: Layout, present: Layout | None) -> Band:
    """Return the requests at the disks of *layout*, of which *whole* would be if no two merged."""
    if not layout.parity:
        low = 1.0 if measured is None else min(1.0, measured)
        band = Band(low, (low + 1) / 2, 1.0)
    elif measured is None or present is None or not present.parity:
        band = APART
    else:
        low, high = sorted((1.0, measured))
        band = Band(low, measured, high)
    return band.scaled(whole).widened(SKEW)
