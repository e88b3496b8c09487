"""
The pattern of the measured writes: how much arrives at once, how much is sequential, and over how much of
the volume the rest is spread.

No counter shows it directly. Evidence is: rows of parity with more than one page, parity reads that the stripe
cache avoided, requests that are larger at the disks than at the volume, a journal's commits, and
how often bits of the bitmap are set. What these leave open becomes several hypotheses, the likely one first.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from stackmap.features.whatif import bitmap as bits
from stackmap.features.whatif.bitmap_rate import bit_sets
from stackmap.features.whatif.hypotheses import Evidence, Hypothesis
from stackmap.features.whatif.journal import Journal, journal_of
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.predicted_stripe_cost import Cost, run_of, scattered, sequential
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.ledger.parity import SKEW
from stackmap.model.raid import PAGE, Layout

# Pages read per page written: a smaller difference between cold and cached rows shows nothing.
MIN_SPARED = 0.05
# How far a mean size may be off a power of two: rounding in a text, or one request in thirty of another size.
SIZE_TOLERANCE = 1 / 30
LARGE = 128 << 10  # bytes: of mixed sizes, the larger ones where nothing splits them


class Pattern(NamedTuple):
    """
    ``run``: bytes that arrive at once. ``burst_rate``: instants per second at which writes arrive, at
    least: those in flight together, and those before one commit, may have arrived together.
    ``large``: the share of writes that are large, None if all have one size. ``rows``: the cost of a
    page written on the present parity layout, None on others. ``journal``: a file system's, None if
    nothing shows one. ``evidence``: noun phrases.
    """

    run: float
    burst_rate: float
    large: float | None
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

    def requests_in_sequence(self, each: Hypothesis) -> float:
        """Return the share of writes, not of bytes, that are sequential: of mixed sizes the large ones are."""
        return each.sequential if self.large is None else min(each.sequential, self.large)


def pattern_of(measured: Measured, context: VolumeContext) -> Pattern:
    """Return the pattern of the writes of *measured*, the average of all intervals."""
    layout, rows, written = context.present, _rows(measured, context), measured.write
    run, run_evidence = _run(measured, context, rows)
    by_rows = None if rows is None or layout is None else _share_by_rows(layout, rows, run)
    journal = journal_of(measured, layout, by_rows)
    large = None
    if journal is None:
        if not measured.alike:
            large = large_share(written.size, (layout.chunk if layout else None) or LARGE)
    elif not run_evidence:
        run = journal.run
    burst_rate = measured.bursts if journal is None else min(written.requests, journal.commits)
    marks = bits.superblock_writes(burst_rate, written.requests)
    sets = bit_sets(measured, context, marks)
    # Larger requests of a mix fill rows, too, where fewer are in flight than would make a run.
    together = large is None or run <= written.size * measured.max_depth
    runs = written.bytes / run if run_evidence and journal is None and together else None
    evidence = Evidence(written, runs, by_rows, journal, large, sets)
    hypotheses, told = evidence.hypotheses(context)
    return Pattern(run, burst_rate, large, rows, journal, hypotheses, (*run_evidence, *told))


def large_share(size: float, largest: float) -> float | None:
    """
    Return which share of writes of the mean *size* is of *largest* bytes, if the others are of a page.

    None if all may have one size: the mean is a power of two, or a chunk and more.
    """
    if not PAGE < size < largest or is_one_size(size):
        return None
    return (size - PAGE) / (largest - PAGE)


def is_one_size(size: float) -> bool:
    """Whether requests of the mean *size* probably all have it: it is a power of two."""
    return abs(size / 2.0 ** round(log2(size)) - 1) <= SIZE_TOLERANCE


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


def _share_by_rows(layout: Layout, rows: Cost, run: float) -> float | None:
    """Return the share by the reads that the cache avoided; None where a stream would avoid hardly any."""
    chunks = run / (layout.chunk or run)
    cold = scattered(layout.data, layout.parity, chunks).reads
    cached = sequential(layout.data, layout.parity, chunks).reads
    if cold - cached < MIN_SPARED:
        return None
    return min(1.0, max(0.0, (cold - rows.reads) / (cold - cached)))
