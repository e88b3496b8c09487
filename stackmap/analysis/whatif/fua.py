"""
Writes that ask for FUA, told by the flushes of disks that have none of their own.

Such a disk - a write cache, no FUA, as most SCSI and SATA ones - flushes once more after each of them
(block/blk-flush.c). Beside these it does the flushes that it was sent, and three for a page of LVM's bitmap:
that asks for a flush before it and for FUA, and dm cuts it into an empty flush, which still asks for FUA, and
a page, which does (KERNEL 1.2): two and one.
"""

from __future__ import annotations

from stackmap.analysis.parity import SKEW
from stackmap.model.raid import Layout

FLUSHES_OF_A_PAGE = 3


def fua_writes(layout: Layout, done: float | None, sent: float, pages: float) -> float | None:
    """
    Return the writes a second that a volume of *layout* was sent and that ask for FUA.

    *done*: flushes of its disks, *sent*: those of its members, *pages*: those
    of the bitmap on all members; a second. None where disks count no flushes.
    """
    if done is None:
        return None
    known = sent + FLUSHES_OF_A_PAGE * pages
    if done <= known * (1 + SKEW):
        return 0.0
    return (done - known) / (1 + layout.parity if layout.parity else layout.copies)
