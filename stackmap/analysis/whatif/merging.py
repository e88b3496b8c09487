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

# The fragments of one load on another layout, for those on the present one, at least and at most: in the
# lab, ten loads on RAID5, RAID6 and RAID10 of the same disks. With parity on neither nothing was measured:
# there as few merge as now, or none.
CARRIED = {
    # (the present layout has parity, the other has)
    (True, True): (0.94, 1.13),
    (True, False): (0.98, 1.37),
    (False, True): (0.8, 1.2),
    (False, False): (1.0, None),
}
SKEW = 0.02  # counters of several layers are not read at one instant (as in ``parity``)


Fragments = tuple[float | None, float | None]  # of reads, of writes; None where nothing tells


def fragments(found: Measured, now: Traffic, place: Stand) -> Fragments:
    """Return the fragments on the present layout."""
    flushed = now.flushes if place.flushes_counted else 0.0
    return (
        _fragments(found.disks_read, now.read_whole, 0.0),
        _fragments(found.disks_write, now.write_whole, flushed),
    )


def _fragments(done: Stream | None, whole: float, flushed: float) -> float | None:
    return None if done is None else ratio(max(0.0, done.requests - flushed), whole)


def at_disks(whole: float, measured: float | None, layout: Layout, present: Layout | None) -> Band:
    """
    Return the requests at the disks of *layout*, of which *whole* would be if no two merged.

    Without parity nothing is cut to pages, and that is the most there can be.
    """
    before = present is not None and present.parity > 0
    here = 1.0 if measured is None else measured
    least, most = CARRIED[before, layout.parity > 0]
    likely, high = here, 1.0 if most is None else here * most
    if not layout.parity:
        likely, high = min(1.0, here), min(1.0, high)
    return Band(min(likely, here * least), likely, high).scaled(whole).widened(SKEW)
