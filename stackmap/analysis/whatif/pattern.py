"""
How the measured writes lie: how much arrives at once, how much follows on what was written before, and
over how much of the volume the rest is spread.

No counter says so. What tells of it: rows of parity that hold more than one page, reads for parity that
the stripe cache spared, how much larger requests are at the disks than at the volume, a journal's commits,
and how often the bitmap's bits are set. What these leave open is carried through as hypotheses, the likely one first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import sqrt

from stackmap.analysis.parity import SKEW
from stackmap.analysis.whatif import bitmap as bits
from stackmap.analysis.whatif.bitmap import Bitmap
from stackmap.analysis.whatif.bitmap_rate import BitSets, sets_of
from stackmap.analysis.whatif.journal import Journal, journal_of
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.stripe_cost import Cost, run_of, scattered, sequential
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout

MIN_SPARED = (
    0.05  # pages read a page written: less than this between cold and cached rows tells nothing
)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """
    One way the writes may lie: the share of bytes that is ``sequential``, and of how many bytes of
    the volume the others are spread over, ``span``; None where nothing bounds it. ``part``: the share
    of the others that may set a bit; the rest goes where one just did.
    """

    sequential: float
    span: float | None
    part: float = 1.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """
    ``run``: bytes of a write that arrive at once. ``run_rate``: runs a second. ``rows``: what a page
    written cost on the present parity layout, None on others. ``journal``: a file system's, None if
    nothing tells of one. ``burst_rate``: at how many instants a second writes arrive, at least: those that
    are under way at once, and those that a commit waits for, may have come together. ``evidence``: what
    told, in words.
    """

    run: float
    run_rate: float
    burst_rate: float
    rows: Cost | None
    journal: Journal | None
    hypotheses: tuple[Hypothesis, ...]
    evidence: tuple[str, ...]

    @property
    def likely(self) -> Hypothesis:
        """The hypothesis with most evidence."""
        return self.hypotheses[0]

    @property
    def joined(self) -> float:
        """The share of the writes that is one with another at the disks, whatever the layout."""
        return 0.0 if self.journal is None else self.journal.joined


def pattern_of(found: Measured, context: VolumeContext) -> Pattern:
    """Return how the writes of *found*, the average of a window, lie."""
    layout, rows = context.present, _rows(found, context)
    run, why = _run(found, context, rows)
    by_rows = None if rows is None or layout is None else _by_rows(layout, rows, run)
    journal = journal_of(found, layout, by_rows)
    if journal is not None and not why:
        run = journal.run
    least = run if layout is None or layout.stripe is None else min(run, layout.stripe)
    # What arrives at once sets one bit: of full stripes, no more is known than that they are full.
    run_rate = found.write.bytes / least if least else 0.0
    burst_rate = (
        min(run_rate, journal.commits) if journal is not None else run_rate / found.max_depth
    )
    sets = sets_of(found, context, run_rate, burst_rate)
    shares, evidence = _sequential(found, by_rows, journal, run_rate, sets)
    hypotheses = tuple(
        dict.fromkeys(
            way
            for share, period in product(shares, bits.daemon_periods(layout))
            for way in _spreads(found, run_rate, share, sets, context.size, period)
        )
    )
    return Pattern(run, run_rate, burst_rate, rows, journal, hypotheses, (*why, *evidence))


def _rows(found: Measured, context: VolumeContext) -> Cost | None:
    """Return what a page written cost the present layout in rows; None where it has no parity, or unknown."""
    layout = context.present
    written, below, read = found.write.bytes, found.members_write, found.members_read
    if layout is None or not layout.parity or not written or below is None or read is None:
        return None
    if context.background_state:
        return None
    updates = (below.bytes / written - 1) / layout.parity
    updates = min(1.0, max(1 / layout.data, updates))
    reads = max(0.0, (read.bytes - found.read.bytes) / written)
    return Cost(reads, 1 + layout.parity * updates, updates)


def _run(found: Measured, context: VolumeContext, rows: Cost | None) -> tuple[float, list[str]]:
    """Return the bytes that arrive at once, and what told of more than a request."""
    size, layout = found.write.size, context.present
    if layout is None or layout.chunk is None:
        return size, []
    if rows is not None:
        run = run_of(layout.data, layout.parity, rows.updates) * layout.chunk
        if rows.updates < 1 - _skew(found, layout) and run > 1.05 * layout.chunk and run > size:
            return run, ["rows of parity that hold several pages"]
        return size, []
    done = found.disks_write
    if done is not None and done.size > 1.05 * min(size, layout.chunk):
        return max(size, done.size * layout.data), ["writes that merged at the disks"]
    return size, []


def _skew(found: Measured, layout: Layout) -> float:
    """
    Return by how much updates of rows a page may be miscounted: what is under way is not at members yet.

    A page that is lacks its data and its parity, which is told from both. Of
    figures that tell no seconds nothing is known of their ends.
    """
    if found.seconds is None:
        return SKEW
    counted = max(1.0, found.write.requests * found.seconds)
    return SKEW + (1 + 1 / layout.parity) * (2 * found.queue - 1) / counted


def _sequential(
    found: Measured,
    by_rows: float | None,
    journal: Journal | None,
    run_rate: float,
    sets: BitSets | None,
) -> tuple[list[float], list[str]]:
    """Return the share of the bytes that are sequential, the likely one first, and what told."""
    written = found.write.bytes
    if not written:
        return [0.0], []
    if by_rows is not None:
        return [by_rows], ["reads for parity that the stripe cache spared"]
    shares, evidence = ([0.0, 1.0], []) if sets is None else _by_bits(written, run_rate, sets)
    if journal is None:
        return shares, evidence
    return [journal.bytes / written, *shares], ["a journal's commits and what was sent with them"]


def _by_bits(written: float, run_rate: float, sets: BitSets) -> tuple[list[float], list[str]]:
    """Return the share by which is nearer, as a ratio: a stream, or writes all over the volume."""
    stream = written / sets.bitmap.covers
    everywhere = bits.random_sets(run_rate, sets.bitmap.regions or bits.MAX_REGIONS)
    if sets.counted <= stream <= sets.high or stream < sets.likely < sqrt(stream * everywhere):
        return [1.0], ["the bitmap's bits, set about as often as by a stream"]
    if sets.likely < stream:
        return [0.0, 1.0], ["the bitmap's bits, set less often than by a stream"]
    most = (everywhere - sets.likely) / (everywhere - stream) if everywhere > stream else 0.0
    if sets.low <= stream:
        most = 1.0  # all beside it may be marks
    return [0.0, min(1.0, max(0.0, most))], ["the bitmap's bits, set more often than by a stream"]


def _by_rows(layout: Layout, rows: Cost, run: float) -> float | None:
    """Return the share by the reads that were spared; None where a stream would have spared none."""
    chunks = run / (layout.chunk or run)
    cold = scattered(layout.data, layout.parity, chunks).reads
    cached = sequential(layout.data, layout.parity, chunks).reads
    if cold - cached < MIN_SPARED:
        return None
    return min(1.0, max(0.0, (cold - rows.reads) / (cold - cached)))


def _spreads(
    found: Measured,
    run_rate: float,
    share: float,
    sets: BitSets | None,
    size: int | None,
    period: float,
) -> Iterator[Hypothesis]:
    """Yield how the writes may be spread of which *share* is sequential, by each count of the bits."""
    scattered = (1 - share) * run_rate
    if sets is None or not scattered:
        yield Hypothesis(share, None if size is None else float(size))
        return
    regions, covers = sets.bitmap.regions, sets.bitmap.covers
    stream = share * found.write.bytes / covers
    evidence = [max(0.0, each - stream) for each in sets.ways]
    for left in evidence:
        yield Hypothesis(share, bits.regions_for(scattered, left, regions, period) * covers)
    # Chance alone is no reason to take writes for fewer.
    if regions is None or sets.likely - stream <= bits.random_sets(scattered, regions, period):
        return
    for left in evidence:
        part = bits.rate_for(left, regions, scattered, period) / scattered
        yield Hypothesis(share, regions * covers, part)


def sets_on(
    pattern: Pattern, written: float, scale: float, bitmap: Bitmap, period: float
) -> list[float]:
    """
    Return how often bits of *bitmap* would be set a second, by each hypothesis, with a pass *period* so often.

    *written*: bytes a second; *scale*: how many times the window's average the load is.
    """
    return [
        each.sequential * written / bitmap.covers
        + _scattered_sets(each, pattern.run_rate * scale, bitmap, period)
        for each in pattern.hypotheses
    ]


def _scattered_sets(way: Hypothesis, run_rate: float, bitmap: Bitmap, period: float) -> float:
    scattered = (1 - way.sequential) * way.part * run_rate
    if way.span is None:
        return scattered  # nothing bounds the regions: each write finds a clean one
    return bits.random_sets(scattered, max(1e-3, way.span / bitmap.covers), period)
