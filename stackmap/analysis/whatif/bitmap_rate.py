"""
How often bits of the present bitmap are set, by how often it is written.

Not all that is written there are bits: superblocks are marked, in the same place and often as large. How
often that may be, how the writes are spaced says (``bitmap.marks``), and that no counter tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from stackmap.analysis.whatif import bitmap as bits
from stackmap.analysis.whatif.bitmap import Bitmap
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.volume_context import VolumeContext

DEVIATIONS = 2.0  # standard deviations either way
OFFSET = 3 / 8  # Anscombe's


@dataclass(frozen=True, slots=True)
class BitSets:
    """
    How often bits of the present bitmap are set a second: by its ``likely`` count, and by the ends.

    ``counted``: the least, if all that was counted are bits; ``low``: if some are marks.
    """

    bitmap: Bitmap
    low: float
    counted: float
    likely: float
    high: float

    @property
    def ways(self) -> tuple[float, float, float]:
        """All three, the likely one first; of so few that there may be none, nothing speaks for less."""
        first, last = (self.likely, self.high) if self.counted else (self.high, self.likely)
        return first, self.low, last


def sets_of(
    found: Measured, context: VolumeContext, run_rate: float, burst_rate: float
) -> BitSets | None:
    """
    Return how often bits are set by *run_rate* a second; None where nothing tells.

    *burst_rate*: at how many instants a second they arrive, at least.
    """
    writes, bitmap = page_writes(found, context), context.bitmap
    if writes is None or bitmap is None:
        return None
    page_write_seconds = found.page_write_seconds(context)

    def evidence(written: float, depth: float) -> float:
        alone = bits.apart(bits.sets_of(written), page_write_seconds, max(written, run_rate))
        return bits.ungrouped(alone, run_rate, depth, bitmap.pages)

    least, most = count_range(writes, found.seconds)
    low, counted = (
        bits.sets_of(max(0.0, least - bits.superblock_writes(burst_rate))),
        bits.sets_of(least),
    )
    depth = found.writes_sharing_a_page(context.present)
    return BitSets(bitmap, low, counted, evidence(writes, depth), evidence(most, found.max_depth))


def page_writes(found: Measured, context: VolumeContext) -> float | None:
    """Return how often the bitmap's page is written at each member; None where nothing tells."""
    keepers = len(context.metadata) or len(context.members)
    if found.metadata is None or not keepers:
        return None
    return found.metadata.requests / context.writes_of_a_page / keepers


def count_range(rate: float, seconds: float | None) -> tuple[float, float]:
    """
    Return between which rates what was counted at *rate* a second may truly happen, two deviations either way.

    The root of a count has a deviation of a half, whatever the count (Anscombe).
    """
    span = seconds or 1.0
    root = sqrt(rate * span + OFFSET)
    low, high = max(0.0, root - DEVIATIONS / 2), root + DEVIATIONS / 2
    return max(0.0, low**2 - OFFSET) / span, (high**2 - OFFSET) / span
