"""
How the measured writes lie: how much arrives at once, how much follows on what was written before, and
over how much of the volume the rest is spread.

No counter says so. What tells of it: rows of parity that hold more than one page, reads for parity that
the stripe cache spared, how much larger requests are at the disks than at the volume, and how often the
bitmap's bits are set. What these leave open is carried through as hypotheses, the likely one first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import sqrt

from stackmap.analysis.whatif import bitmap as bits
from stackmap.analysis.whatif.bitmap import Bitmap
from stackmap.analysis.whatif.measured import Measured, Stand
from stackmap.analysis.whatif.rows import Cost, cold_reads, run_of, scattered, sequential
from stackmap.model.raid import PAGE, Layout

SURE = 2.0  # standard deviations either way
OFFSET = 3 / 8  # Anscombe's
SPARED = (
    0.05  # pages read a page written: less than this between cold and cached rows tells nothing
)

# Rows in md's stripe cache (KERNEL 2.4), or as many as four chunks have pages (raid5.c: raid5_run).
STRIPE_CACHE, STRIPES_OF_CHUNKS = 256, 4


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """
    One way the writes may lie: the share of bytes that is ``sequential``, and of how many bytes of
    the volume the others are spread over, ``span``; None where nothing bounds it.
    """

    sequential: float
    span: float | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """
    ``run``: bytes of a write that arrive at once. ``touches``: runs a second. ``rows``: what a page
    written cost on the present parity layout, None on others. ``told``: what told, in words.
    """

    run: float
    touches: float
    rows: Cost | None
    hypotheses: tuple[Hypothesis, ...]
    told: tuple[str, ...]

    @property
    def likely(self) -> Hypothesis:
        """The hypothesis with most evidence."""
        return self.hypotheses[0]


@dataclass(frozen=True, slots=True)
class Sets:
    """How often bits of the present bitmap are set a second: by its ``likely`` count, and by the ends."""

    bitmap: Bitmap
    low: float
    likely: float
    high: float


def pattern_of(found: Measured, place: Stand) -> Pattern:
    """Return how the writes of *found*, the average of a window, lie."""
    rows = _rows(found, place)
    run, why = _run(found, place, rows)
    layout = place.present
    least = run if layout is None or layout.stripe is None else min(run, layout.stripe)
    # What arrives at once sets one bit: of full stripes, no more is known than that they are full.
    touches = found.write.bytes / least if least else 0.0
    sets = _sets(found, place, touches)
    shares, told = _sequential(found, place, rows, run, touches, sets)
    spans = [
        Hypothesis(share, _span(found, touches, share, each, sets, place.size))
        for share, each in product(shares, [None] if sets is None else _ends(sets))
    ]
    return Pattern(run, touches, rows, tuple(dict.fromkeys(spans)), (*why, *told))


def _rows(found: Measured, place: Stand) -> Cost | None:
    """Return what a page written cost the present layout in rows; None where it has no parity, or unknown."""
    layout = place.present
    written, below, read = found.write.bytes, found.members_write, found.members_read
    if layout is None or not layout.parity or not written or below is None or read is None:
        return None
    if place.trouble:
        return None
    updates = (below.bytes / written - 1) / layout.parity
    updates = min(1.0, max(1 / layout.data, updates))
    reads = max(0.0, (read.bytes - found.read.bytes) / written)
    return Cost(reads, 1 + layout.parity * updates, updates)


def _run(found: Measured, place: Stand, rows: Cost | None) -> tuple[float, list[str]]:
    """Return the bytes that arrive at once, and what told of more than a request."""
    size, layout = found.write.size, place.present
    if layout is None or layout.chunk is None:
        return size, []
    if rows is not None:
        run = run_of(layout.data, layout.parity, rows.updates) * layout.chunk
        if run > 1.05 * layout.chunk and run > size:
            return run, ["rows of parity that hold several pages"]
        return size, []
    done = found.disks_write
    if done is not None and done.size > 1.05 * min(size, layout.chunk):
        return max(size, done.size * layout.data), ["writes that merged at the disks"]
    return size, []


def _sets(found: Measured, place: Stand, touches: float) -> Sets | None:
    """Return how often bits are set; None where nothing tells."""
    writes, bitmap = page_writes(found, place), place.bitmap
    if writes is None or bitmap is None:
        return None
    low, high = within_chance(writes, found.seconds)
    low, likely, high = map(bits.sets_of, (low, writes, high))
    pause = place.writes_of_a_page * (found.metadata_wait or 0.0) / 1000
    # At most, those in flight that set a bit did so together.
    together = high * (1 + (found.in_flight or 0.0) * high / touches) if touches else high
    most = max(high, min(together, touches))
    return Sets(bitmap, low, bits.apart(likely, pause, most), most)


def page_writes(found: Measured, place: Stand) -> float | None:
    """Return how often the bitmap's page is written at each member; None where nothing tells."""
    keepers = len(place.metadata) or len(place.members)
    if found.metadata is None or not keepers:
        return None
    return found.metadata.requests / place.writes_of_a_page / keepers


def within_chance(rate: float, seconds: float | None) -> tuple[float, float]:
    """
    Return between which rates what was counted at *rate* a second may truly happen, two deviations either way.

    The root of a count has a deviation of a half, whatever the count (Anscombe).
    """
    span = seconds or 1.0
    root = sqrt(rate * span + OFFSET)
    low, high = max(0.0, root - SURE / 2), root + SURE / 2
    return max(0.0, low**2 - OFFSET) / span, (high**2 - OFFSET) / span


def _ends(sets: Sets) -> Iterator[float]:
    # So few that there may be none at all: nothing speaks against writes all over the volume.
    first, last = (sets.likely, sets.high) if sets.low else (sets.high, sets.likely)
    yield from (first, sets.low, last)


def _sequential(
    found: Measured,
    place: Stand,
    rows: Cost | None,
    run: float,
    touches: float,
    sets: Sets | None,
) -> tuple[list[float], list[str]]:
    """Return the share of the bytes that are sequential, the likely one first, and what told."""
    if not found.write.bytes:
        return [0.0], []
    by_rows = None if rows is None or place.present is None else _by_rows(place.present, rows, run)
    if by_rows is not None:
        return [by_rows], ["reads for parity that the stripe cache spared"]
    if sets is None:
        return [0.0, 1.0], []
    return _by_bits(found.write.bytes, touches, sets)


def _by_bits(written: float, touches: float, sets: Sets) -> tuple[list[float], list[str]]:
    """Return the share by which is nearer, as a ratio: a stream, or writes all over the volume."""
    stream = written / sets.bitmap.covers
    everywhere = bits.scattered_sets(touches, sets.bitmap.regions or bits.MOST_REGIONS)
    if sets.low <= stream <= sets.high or stream < sets.likely < sqrt(stream * everywhere):
        return [1.0], ["the bitmap's bits, set about as often as by a stream"]
    if sets.likely < stream:
        return [0.0, 1.0], ["the bitmap's bits, set less often than by a stream"]
    most = (everywhere - sets.likely) / (everywhere - stream) if everywhere > stream else 0.0
    return [0.0, min(1.0, max(0.0, most))], ["the bitmap's bits, set more often than by a stream"]


def _by_rows(layout: Layout, rows: Cost, run: float) -> float | None:
    """Return the share by the reads that were spared; None where a stream would have spared none."""
    chunks = run / (layout.chunk or run)
    cold = scattered(layout.data, layout.parity, chunks).reads
    cached = sequential(layout.data, layout.parity, chunks).reads
    if cold - cached < SPARED:
        return None
    return min(1.0, max(0.0, (cold - rows.reads) / (cold - cached)))


def _span(
    found: Measured,
    touches: float,
    share: float,
    each: float | None,
    sets: Sets | None,
    size: int | None,
) -> float | None:
    """Return over how many bytes the scattered writes are spread, where bits are set *each* a second."""
    scattered_touches = (1 - share) * touches
    if each is None or sets is None or not scattered_touches:
        return None if size is None else float(size)
    left = each - share * found.write.bytes / sets.bitmap.covers
    return (
        bits.regions_of(scattered_touches, max(0.0, left), sets.bitmap.regions) * sets.bitmap.covers
    )


def sets_on(pattern: Pattern, written: float, scale: float, bitmap: Bitmap) -> list[float]:
    """
    Return how often bits of *bitmap* would be set a second, by each hypothesis.

    *written*: bytes a second; *scale*: how many times the window's average the load is.
    """
    return [
        each.sequential * written / bitmap.covers
        + _scattered_sets((1 - each.sequential) * pattern.touches * scale, each.span, bitmap)
        for each in pattern.hypotheses
    ]


def _scattered_sets(touches: float, span: float | None, bitmap: Bitmap) -> float:
    if span is None:
        return touches  # nothing bounds the regions: each write finds a clean one
    return bits.scattered_sets(touches, max(1e-3, span / bitmap.covers))


def row_costs(pattern: Pattern, place: Stand, layout: Layout) -> list[Cost]:
    """Return what a page written would cost *layout*, which has parity, by each hypothesis."""
    present, chunk = place.present, layout.chunk or pattern.run
    if pattern.rows is not None and present is not None and _alike(present, layout):
        return [_carried(pattern.rows, present, layout)]
    run = pattern.run / chunk
    apart = scattered(layout.data, layout.parity, run)
    passing = sequential(layout.data, layout.parity, run)
    return [
        apart.mixed(passing, each.sequential if _stays(each.sequential, chunk) else 0.0)
        for each in pattern.hypotheses
    ]


def _alike(present: Layout, layout: Layout) -> bool:
    """Whether the same pages share a row in both."""
    return (present.data, present.chunk) == (layout.data, layout.chunk)


def _carried(rows: Cost, present: Layout, layout: Layout) -> Cost:
    """Return what rows that were measured on *present* cost where they are the same but for parity."""
    pages = 1 / rows.updates
    before = cold_reads(present.data, present.parity, pages)
    reads = rows.reads * cold_reads(layout.data, layout.parity, pages) / before if before else 0.0
    return Cost(reads, 1 + layout.parity * rows.updates, rows.updates)


def _stays(share: float, chunk: float) -> bool:
    """Whether the stripe cache still has a row when a stream comes back to it, a chunk later."""
    pages = chunk / PAGE
    return pages <= max(STRIPE_CACHE, STRIPES_OF_CHUNKS * pages) * share
