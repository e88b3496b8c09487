"""
The pattern of the measured writes: how much arrives at once, how much is sequential, and over how much of
the volume the rest is spread.

No counter shows it directly. Evidence is: rows of parity with more than one page, parity reads that the stripe
cache avoided, requests that are larger at the disks than at the volume, a journal's commits, and
how often bits of the bitmap are set. What these leave open becomes several hypotheses, the likely one first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import sqrt
from typing import NamedTuple

from stackmap.analysis.parity import SKEW
from stackmap.analysis.whatif import bitmap as bits
from stackmap.analysis.whatif.bitmap import Bitmap
from stackmap.analysis.whatif.bitmap_rate import BitSets, bit_sets
from stackmap.analysis.whatif.journal import Journal, journal_of
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.predicted_stripe_cost import Cost, run_of, scattered, sequential
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout

# Pages read per page written: a smaller difference between cold and cached rows shows nothing.
MIN_SPARED = 0.05
BY_BITMAP = "the bitmap's bits, set {} a stream would set them"


class Hypothesis(NamedTuple):
    """
    One possible pattern: the ``sequential`` share of bytes, and the bytes of the volume over which
    the others are spread, ``span``; None if unbounded. ``part``: the share of
    the others that may set a bit; the rest hits regions just written.
    """

    sequential: float
    span: float | None
    part: float = 1.0


class Pattern(NamedTuple):
    """
    ``run``: bytes that arrive at once. ``run_rate``: runs per second. ``burst_rate``: instants per
    second at which writes arrive, at least: those in flight together, and those before one commit, may
    have arrived together. ``rows``: the cost of a page written on the present parity layout, None on
    others. ``journal``: a file system's, None if nothing shows one. ``evidence``: noun phrases.
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
        """The share of writes that merge into another at the disks on any layout."""
        return 0.0 if self.journal is None else self.journal.joined


def pattern_of(measured: Measured, context: VolumeContext) -> Pattern:
    """Return the pattern of the writes of *measured*, the average of all intervals."""
    layout, rows = context.present, _rows(measured, context)
    run, run_evidence = _run(measured, context, rows)
    by_rows = None if rows is None or layout is None else _share_by_rows(layout, rows, run)
    journal = journal_of(measured, layout, by_rows)
    if journal is not None and not run_evidence:
        run = journal.run
    # What arrives at once sets one bit. Of full stripes only their fullness is known, not their number.
    least = run if layout is None or layout.stripe is None else min(run, layout.stripe)
    run_rate = measured.write.bytes / least if least else 0.0
    burst_rate = run_rate / measured.max_depth
    if journal is not None:
        burst_rate = min(run_rate, journal.commits)
    sets = bit_sets(measured, context, run_rate, burst_rate)
    shares, evidence = _sequential_shares(measured, by_rows, journal, run_rate, sets)
    hypotheses = tuple(
        dict.fromkeys(
            each
            for share, period in product(shares, bits.daemon_periods(layout))
            for each in _hypotheses(measured, run_rate, share, sets, context.size, period)
        )
    )
    return Pattern(run, run_rate, burst_rate, rows, journal, hypotheses, (*run_evidence, *evidence))


def _rows(measured: Measured, context: VolumeContext) -> Cost | None:
    """Return the measured cost of a page written on the present layout; None without parity, or if not known."""
    layout = context.present
    written, below, read = measured.write.bytes, measured.members_write, measured.members_read
    if layout is None or not layout.parity or not written or below is None or read is None:
        return None
    if context.background_state:
        return None
    updates = (below.bytes / written - 1) / layout.parity
    updates = min(1.0, max(1 / layout.data, updates))
    reads = max(0.0, (read.bytes - measured.read.bytes) / written)
    return Cost(reads, 1 + layout.parity * updates, updates)


def _run(measured: Measured, context: VolumeContext, rows: Cost | None) -> tuple[float, list[str]]:
    """Return the bytes that arrive at once, and the evidence if that is more than a request."""
    size, layout = measured.write.size, context.present
    if layout is None or layout.chunk is None:
        return size, []
    if rows is not None:
        run = run_of(layout.data, layout.parity, rows.updates) * layout.chunk
        if rows.updates < 1 - _skew(measured, layout) and run > max(1.05 * layout.chunk, size):
            return run, ["rows of parity with several pages"]
        return size, []
    done = measured.disks_write
    if done is not None and done.size > 1.05 * min(size, layout.chunk):
        return max(size, done.size * layout.data), ["writes that merged at the disks"]
    return size, []


def _skew(measured: Measured, layout: Layout) -> float:
    """
    Return by how much row updates per page may be miscounted: requests in flight are not at the members yet.

    A page in flight lacks its data and its parity, and both enter. Without seconds the ends are not known.
    """
    if measured.seconds is None:
        return SKEW
    counted = max(1.0, measured.write.requests * measured.seconds)
    return SKEW + (1 + 1 / layout.parity) * (2 * measured.queue - 1) / counted


def _sequential_shares(
    measured: Measured,
    by_rows: float | None,
    journal: Journal | None,
    run_rate: float,
    sets: BitSets | None,
) -> tuple[list[float], list[str]]:
    """Return the possible sequential shares of bytes, the likely one first, and the evidence."""
    written = measured.write.bytes
    if not written:
        return [0.0], []
    if by_rows is not None:
        return [by_rows], ["parity reads that the stripe cache avoided"]
    shares, evidence = (
        ([0.0, 1.0], []) if sets is None else _shares_by_bits(written, run_rate, sets)
    )
    if journal is None:
        return shares, evidence
    return [journal.bytes / written, *shares], ["a journal's commits and the writes sent with them"]


def _shares_by_bits(
    written: float, run_rate: float, sets: BitSets
) -> tuple[list[float], list[str]]:
    """Return the shares that fit the set bits better: those of a stream, or of writes all over the volume."""
    stream = written / sets.bitmap.covers
    everywhere = bits.random_sets(run_rate, sets.bitmap.regions or bits.MAX_REGIONS)
    if sets.counted <= stream <= sets.high or stream < sets.likely < sqrt(stream * everywhere):
        return [1.0], [BY_BITMAP.format("about as often as")]
    if sets.likely < stream:
        return [0.0, 1.0], [BY_BITMAP.format("less often than")]
    most = (everywhere - sets.likely) / (everywhere - stream) if everywhere > stream else 0.0
    if sets.low <= stream:
        most = 1.0  # all beyond the stream may be superblocks
    return [0.0, min(1.0, max(0.0, most))], [BY_BITMAP.format("more often than")]


def _share_by_rows(layout: Layout, rows: Cost, run: float) -> float | None:
    """Return the share by the reads that the cache avoided; None where a stream would avoid hardly any."""
    chunks = run / (layout.chunk or run)
    cold = scattered(layout.data, layout.parity, chunks).reads
    cached = sequential(layout.data, layout.parity, chunks).reads
    if cold - cached < MIN_SPARED:
        return None
    return min(1.0, max(0.0, (cold - rows.reads) / (cold - cached)))


def _hypotheses(
    measured: Measured,
    run_rate: float,
    share: float,
    sets: BitSets | None,
    size: int | None,
    period: float,
) -> Iterator[Hypothesis]:
    """Yield the hypotheses with a sequential *share*, one for each estimate of the set bits."""
    random = (1 - share) * run_rate
    if sets is None or not random:
        yield Hypothesis(share, None if size is None else float(size))
        return
    regions, covers = sets.bitmap.regions, sets.bitmap.covers
    stream = share * measured.write.bytes / covers
    estimates = [max(0.0, each - stream) for each in sets.estimates]
    for each in estimates:
        yield Hypothesis(share, bits.regions_for(random, each, regions, period) * covers)
    # A number within chance of the maximum does not show that fewer writes set bits.
    if regions is None or sets.likely - stream <= bits.random_sets(random, regions, period):
        return
    for each in estimates:
        part = bits.rate_for(each, regions, random, period) / random
        yield Hypothesis(share, regions * covers, part)


def sets_on(
    pattern: Pattern, written: float, scale: float, bitmap: Bitmap, period: float
) -> list[float]:
    """
    Return the bits of *bitmap* set per second by each hypothesis, if its daemon runs every *period*.

    *written*: bytes per second; *scale*: load as a multiple of the average.
    """
    return [
        each.sequential * written / bitmap.covers
        + _random_sets(each, pattern.run_rate * scale, bitmap, period)
        for each in pattern.hypotheses
    ]


def _random_sets(each: Hypothesis, run_rate: float, bitmap: Bitmap, period: float) -> float:
    random = (1 - each.sequential) * each.part * run_rate
    if each.span is None:
        return random  # regions are unbounded: each write finds a clean one
    return bits.random_sets(random, max(1e-3, each.span / bitmap.covers), period)
