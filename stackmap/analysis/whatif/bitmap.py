"""
The write-intent bitmap: how often its pages are written, by how the writes are spread.

Before the first write to a clean region md sets its bit on every member, and
waits. A daemon passes every D = 5 s: a region that was not written since the
pass before is taken for clean at the next, so its bit stays for one to two
passes after its last write. Of M regions that are written at random, r times a
second in all, each is written in a share 1 - e^-x of the passes, x = rD/M, and
its bit is set anew in those that follow one without a write:

    set(r, M) = M/D · (1 - e^-x) · e^-x

A stream of B bytes a second sets B/region bits. Of n writes that are under way
at once, those that set a bit of the same page share its write; of r writes a
second, and P pages:

    together(set) = r/n · P · (1 - (1 - set/(r·P))^n)

While a page is written, t seconds, bits that are set wait for the next time:

    written(set) = 1 / (t + e^(-set·t) / set)

What was cleared is written by
the daemon too, at a pass by which nothing else wrote the page: min(set, 1/D) ·
e^(-set·D) times a second (drivers/md/md-bitmap.c: startwrite, endwrite,
daemon_work and unplug; the lab measured it).

Beside the bitmap, md marks its superblocks clean after a pause in the writes,
and dirty before the next. How writes are spaced no counter says: at random
instants, r a second, they leave r · e^(-r·pause) such pauses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, log

from stackmap.model.raid import PAGE, Layout

PERIOD = 5.0  # seconds between the daemon's passes: md's default, which LVM leaves as it is
# It passes as md's thread is woken, and that sleeps as long. With parity each write wakes it; with copies none
# (raid10.c: raid10_unplug sends them on by itself): where something did in between, it sleeps as long anew.
# How often that is no counter tells, nor does it stay: one load, run twice, was late once. So neither end is likelier.
LATE_PERIOD = 1.5 * PERIOD
PAUSE = 0.3  # seconds: safe_mode_delay is 0.2, and the timer is rounded up to 0.2 … 0.4 (md.c: md_write_end)
HEAD = 256  # bytes before the bits (bitmap_super_t)
BLOCK = 512  # the last page is written up to a logical block
MAX_REGIONS = 1 << 40


@dataclass(frozen=True, slots=True)
class Bitmap:
    """
    A bitmap of one layout. ``region``: bytes of a member that a bit stands for,
    ``covers``: bytes of the volume; ``regions``: how many there are, None where
    the volume's size is not known.
    """

    region: int
    covers: float
    regions: float | None

    @property
    def pages(self) -> int:
        """How many pages it has."""
        return ceil((HEAD + (self.regions or 0) / 8) / PAGE)

    @property
    def page_bytes(self) -> float:
        """Bytes of one write of a page of it, at one member: the last page is only as long as its bits."""
        length = HEAD + ceil((self.regions or 0) / 8)
        return PAGE if length > PAGE else ceil(length / BLOCK) * BLOCK


def bitmap_of(layout: Layout, region: int, size: int | None) -> Bitmap | None:
    """Return the bitmap of *layout*; None for one that keeps none: nothing could be out of step."""
    if not layout.survivable_failures:
        return None
    # Parity levels count in their members' sectors, the others in the volume's (resync_max_sectors).
    covers = float(region * (layout.data if layout.parity else 1))
    return Bitmap(region, covers, None if size is None else max(1.0, size / covers))


def daemon_periods(layout: Layout | None) -> tuple[float, ...]:
    """Return the seconds between the daemon's passes on *layout*: the likely ones first, and the ends if it may be late."""
    if layout is not None and layout.parity:
        return (PERIOD,)
    return (PERIOD + LATE_PERIOD) / 2, PERIOD, LATE_PERIOD


def random_sets(rate: float, regions: float, period: float = PERIOD) -> float:
    """Return the bits set a second by *rate* writes at random over *regions*, with a pass *period* so often."""
    share = exp(-min(700.0, rate * period / regions))
    return regions / period * (1 - share) * share


def regions_for(rate: float, sets: float, most: float | None, period: float = PERIOD) -> float:
    """Return over how many regions *rate* writes at random set *sets* bits a second, *most* at most."""
    top = MAX_REGIONS if most is None else most
    return _solved(lambda regions: random_sets(rate, regions, period), sets, 1e-3, top)


def rate_for(sets: float, regions: float, most: float, period: float = PERIOD) -> float:
    """
    Return how many writes a second at random over *regions* set *sets* bits, *most* at most.

    The more there are, the more bits they find set: of two rates that set as many, the higher.
    """
    busiest = log(2) * regions / period  # sets the most
    if most <= busiest:
        return most
    return (
        most
        + busiest
        - _solved(
            lambda fewer: random_sets(most + busiest - fewer, regions, period),
            sets,
            busiest,
            most,
        )
    )


def page_writes(sets: float) -> float:
    """Return the writes of a page a second, clearing ones too, where *sets* bits are set."""
    return sets + min(sets, 1 / PERIOD) * exp(-min(700.0, sets * PERIOD))


def together(sets: float, writes: float, depth: float, pages: int) -> float:
    """Return the writes of pages a second where *depth* of *writes* a second are under way at once, which set *sets*."""
    if not writes:
        return sets
    burst_rate, each = writes / depth * pages, min(1.0, sets / writes / pages)
    return burst_rate * (1 - float((1 - each) ** depth))


def ungrouped(written: float, writes: float, depth: float, pages: int) -> float:
    """Return the bits set a second that ``together`` makes *written* of; at most, one by each of *writes*."""
    if not writes:
        return written
    burst_rate = writes / depth * pages
    if written >= burst_rate:
        return max(written, writes)
    return writes * pages * (1 - float((1 - written / burst_rate) ** (1 / depth)))


def coalesced(sets: float, seconds: float) -> float:
    """Return the writes of a page a second where each takes *seconds*, and bits set meanwhile share the next."""
    return 1 / (seconds + exp(-min(700.0, sets * seconds)) / sets) if sets else 0.0


def superblock_writes(rate: float) -> float:
    """Return how often superblocks are marked a second, clean and dirty, by writes at random instants."""
    return 2 * rate * exp(-rate * PAUSE)


def apart(written: float, seconds: float, most: float) -> float:
    """Return the bits set a second, *most* at most, that ``coalesced`` makes *written* of."""
    return _solved(lambda sets: coalesced(sets, seconds), written, written, max(written, most))


def sets_of(writes: float) -> float:
    """Return the bits set a second where the page is written *writes* times."""
    return _solved(page_writes, writes, 0.0, writes) if writes else 0.0


def _solved(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Return where *rising* comes nearest to *wanted* between *low* and *high*."""
    for _ in range(60):
        middle = (low + high) / 2 if high < 2 * low or not low else (low * high) ** 0.5
        if rising(middle) < wanted:
            low = middle
        else:
            high = middle
    return high
