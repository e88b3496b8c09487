"""
The write-intent bitmap: how often its pages are written, depending on how writes are spread.

md sets the bit of a clean region on every member before the first write to it. A daemon runs every
D = 5 s and clears the bits of regions without a new write since its previous run. stackmap-whatif(8)
has the formulas. Source: drivers/md/md-bitmap.c (startwrite, endwrite, daemon_work, unplug).
"""

from __future__ import annotations

from math import ceil, exp
from typing import NamedTuple

from stackmap.features.whatif.quantities import solved
from stackmap.model.raid import PAGE, Layout

PERIOD = 5.0  # seconds between runs of the daemon: md's default, which LVM keeps
# The daemon runs when md's thread wakes up. On parity levels every write wakes it; on copies none does
# (raid10.c, raid10_unplug), and after other work it sleeps the whole period again: in one of two lab runs.
LATE_PERIOD = 1.25 * PERIOD
# Seconds: safe_mode_delay is 0.2, and the timer rounds up to 0.2 … 0.4 (md.c, md_write_end).
PAUSE, MAX_PAUSE = 0.3, 0.4
HEAD = 256  # bytes before the bits (bitmap_super_t)
BLOCK = 512  # the last page is written up to a logical block
MAX_REGIONS = 1 << 40


class Bitmap(NamedTuple):
    """
    The bitmap of one layout. ``region``: bytes of a member per bit; ``covers``: bytes of the
    volume per bit; ``regions``: their number, None if the volume's size is not known.
    """

    region: int
    covers: float
    regions: float | None

    @property
    def pages(self) -> int:
        """The number of its pages."""
        return ceil((HEAD + (self.regions or 0) / 8) / PAGE)

    @property
    def page_bytes(self) -> float:
        """Bytes per write of a page, at one member; a single page is only as long as its bits."""
        length = HEAD + ceil((self.regions or 0) / 8)
        return PAGE if length > PAGE else ceil(length / BLOCK) * BLOCK


def bitmap_of(layout: Layout, region: int, size: int | None) -> Bitmap | None:
    """Return the bitmap of *layout*; None without redundancy, for nothing can get out of sync."""
    if not layout.survivable_failures:
        return None
    # Parity levels count in sectors of a member, the others in the volume's (resync_max_sectors).
    covers = float(region * (layout.data if layout.parity else 1))
    return Bitmap(region, covers, None if size is None else max(1.0, size / covers))


def daemon_period(layout: Layout | None) -> float:
    """Return the likely seconds between the daemon's runs."""
    return PERIOD if layout is not None and layout.parity else LATE_PERIOD


def random_sets(rate: float, regions: float, period: float = PERIOD) -> float:
    """Return the bits set per second by *rate* random writes per second over *regions*."""
    share = exp(-min(700.0, rate * period / regions))
    return regions / period * (1 - share) * share


def regions_for(rate: float, sets: float, most: float | None, period: float = PERIOD) -> float:
    """Return the regions, at most *most*, over which *rate* random writes set *sets* bits per second."""
    top = MAX_REGIONS if most is None else most
    return solved(lambda regions: random_sets(rate, regions, period), sets, 1e-3, top)


def page_writes(sets: float) -> float:
    """Return the writes of a page per second, clearing ones too, at *sets* bits per second."""
    return sets + min(sets, 1 / PERIOD) * exp(-min(700.0, sets * PERIOD))


def sets_from_page_writes(writes: float) -> float:
    """Return the bits set per second where the page is written *writes* times per second."""
    return solved(page_writes, writes, 0.0, writes) if writes else 0.0


def grouped(sets: float, writes: float, depth: float, pages: int) -> float:
    """Return the page writes per second if *depth* of *writes* per second, which set *sets* bits, are in flight."""
    if not writes:
        return sets
    groups, each = writes / depth * pages, min(1.0, sets / writes / pages)
    return groups * (1 - float((1 - each) ** depth))


def ungrouped(written: float, writes: float, depth: float, pages: int) -> float:
    """Return the bits set per second for which ``grouped`` gives *written*; at most one per write."""
    if not writes:
        return written
    most = max(written, writes)
    return solved(lambda sets: grouped(sets, writes, depth, pages), written, 0.0, most)


def superblock_writes(least: float, most: float) -> float:
    """
    Return the page writes per second, at most, that mark superblocks under writes at *least* to *most* instants
    per second.

    Each pause costs four: clean and dirty, and each time the bitmap's own superblock too (md_update_sb). At
    random instants rate · e^(-rate · PAUSE) pauses are long enough, evenly spaced all or none.
    """
    rate = max(least, min(most, 1 / MAX_PAUSE))
    return 4 * (rate if rate <= 1 / MAX_PAUSE else _pauses(rate))


def may_sleep(layout: Layout, rate: float) -> bool:
    """Whether the daemon may sleep, so that bits stay set, under writes at *rate* random instants per second."""
    # On parity levels every write wakes it, elsewhere a pause does.
    return not layout.parity and _pauses(rate) < 1 / PERIOD < rate


def _pauses(rate: float) -> float:
    return rate * exp(-min(700.0, rate * PAUSE))
