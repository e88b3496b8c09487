"""
How often bits of the present bitmap are set, derived from how often it is written.

Some of these writes mark superblocks, which md stores in the same place. How many depends on the
gaps between writes (``bitmap.superblock_writes``), which no counter shows.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from stackmap.features.whatif import bitmap as bits
from stackmap.features.whatif.bitmap import Bitmap
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout

DEVIATIONS = 2.0
OFFSET = 3 / 8  # of Anscombe's transform


class BitSets(NamedTuple):
    """
    Bits of the present bitmap set per second.

    ``counted``: the least if all counted writes set bits; ``low``: if some mark superblocks.
    ``likely`` is ``high`` where so few were counted that there may be none.
    """

    bitmap: Bitmap
    low: float
    counted: float
    likely: float
    high: float


def bit_sets(measured: Measured, context: VolumeContext, marks: float) -> BitSets | None:
    """
    Return how often writes set bits; None if the bitmap's writes are not known.

    *marks*: page writes per second that mark superblocks, at most.
    """
    writes, bitmap = page_writes(measured, context), context.bitmap
    if writes is None or bitmap is None:
        return None
    sent = measured.write.requests

    def sets(written: float, depth: float) -> float:
        return bits.ungrouped(bits.sets_from_page_writes(written), sent, depth, bitmap.pages)

    least, most = count_range(writes, measured.seconds)
    low = bits.sets_from_page_writes(max(0.0, least - marks))
    counted = bits.sets_from_page_writes(least)
    depth = sharing(measured, context, context.present)
    high = sets(most, measured.max_depth)
    return BitSets(bitmap, low, counted, sets(writes, depth) if counted else high, high)


def sharing(measured: Measured, context: VolumeContext, layout: Layout | None) -> float:
    """
    Return how many writes likely share one write of a bitmap page on *layout*.

    Parity levels collect the bits of a batch. With copies each submitter waits alone (raid1-10.c),
    but for what is under one plug. What the present bitmap shows is the most.
    """
    if layout is None or not (layout.parity or measured.plugged):
        return 1.0
    writes, bitmap = page_writes(measured, context), context.bitmap
    present = context.present is not None and (context.present.parity or measured.plugged)
    if not writes or bitmap is None or not present:
        return measured.depth
    most = measured.write.requests * bitmap.pages / bits.sets_from_page_writes(writes)
    return max(1.0, min(measured.depth, most))


def page_writes(measured: Measured, context: VolumeContext) -> float | None:
    """Return the writes of the bitmap's page per second at each member; None if not known."""
    devices = len(context.metadata) or len(context.members)
    if measured.metadata is None or not devices:
        return None
    return measured.metadata.requests / context.requests_per_page / devices


def count_range(rate: float, seconds: float | None) -> tuple[float, float]:
    """
    Return the range of the true rate behind a counted *rate* per second, two deviations each way.

    The root of a count has a deviation of a half, whatever the count (Anscombe).
    """
    span = seconds or 1.0
    root = sqrt(rate * span + OFFSET)
    low, high = max(0.0, root - DEVIATIONS / 2), root + DEVIATIONS / 2
    return max(0.0, low**2 - OFFSET) / span, (high**2 - OFFSET) / span
