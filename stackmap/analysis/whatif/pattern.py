"""
The pattern of the measured writes: how much arrives at once, how much is sequential, and over how much of
the volume the rest is spread.

No counter shows it directly. Evidence is: rows of parity with more than one page, parity reads that the stripe
cache avoided, requests that are larger at the disks than at the volume, a journal's commits, and
how often bits of the bitmap are set. What these leave open becomes several hypotheses, the likely one first.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import NamedTuple

from stackmap.analysis.parity import SKEW
from stackmap.analysis.whatif import bitmap as bits
from stackmap.analysis.whatif.bitmap import Bitmap
from stackmap.analysis.whatif.bitmap_rate import BitSets, bit_sets
from stackmap.analysis.whatif.journal import Journal, journal_of
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.predicted_stripe_cost import Cost, run_of, scattered, sequential
from stackmap.analysis.whatif.quantities import Stream
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.raid import PAGE, Layout

# Pages read per page written: a smaller difference between cold and cached rows shows nothing.
MIN_SPARED = 0.05
# How far a mean size may be off a power of two: rounding in a text, or one request in thirty of another size.
SIZE_TOLERANCE = 1 / 30
LARGE = 128 << 10  # bytes: of mixed sizes, the larger ones where nothing splits them
MIN_REGIONS = 32  # of fewer, a stream and random writes set about as many bits
BY_BITMAP = "the bitmap's bits, set {} a stream would set them"


class Hypothesis(NamedTuple):
    """
    One possible pattern: the ``sequential`` share of bytes, at how many places per second the others begin,
    ``random``, and the bytes of the volume that these are spread over, ``span``; None if unbounded.
    ``following``: the share of bytes that follow others, in a stream or in a run.
    """

    sequential: float
    random: float
    span: float | None
    following: float


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
        large = large_share(written.size, (layout.chunk if layout else None) or LARGE)
    elif not run_evidence:
        run = journal.run
    burst_rate = measured.bursts if journal is None else min(written.requests, journal.commits)
    sets = bit_sets(measured, context, bits.superblock_writes(burst_rate))
    shares, evidence = _sequential_shares(written, by_rows, journal, large, sets)
    runs = written.bytes / run if run_evidence and journal is None else None
    hypotheses = dict.fromkeys(
        each
        for share in shares
        for random in _random_rates(written, runs, share, journal, large, sets)
        for each in _hypotheses(written, runs, context, share, random, sets)
    )
    evidence = [*run_evidence, *evidence]
    return Pattern(run, burst_rate, large, rows, journal, tuple(hypotheses), tuple(evidence))


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


def _random_rates(
    written: Stream,
    runs: float | None,
    share: float,
    journal: Journal | None,
    large: float | None,
    sets: BitSets | None,
) -> list[float]:
    """
    Return at how many places per second writes may begin if a *share* of bytes is sequential: likely, and at most.

    Requests, or *runs* of them per second; but no fewer than set a bit.
    """
    writes = written.requests
    if share == 1:
        return [0.0]
    if journal is not None and share:
        return [writes - journal.requests]
    if runs is not None:
        least = 0.0 if sets is None else sets.low - share * written.bytes / sets.bitmap.covers
        return [min(writes, max(least, runs)) * (1 - share), writes * (1 - share)]
    if large is None:
        return [(1 - share) * writes]
    return [(1 - min(share, large)) * writes, writes]


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
    write: Stream,
    by_rows: float | None,
    journal: Journal | None,
    large: float | None,
    sets: BitSets | None,
) -> tuple[list[float], list[str]]:
    """Return the possible sequential shares of bytes, the likely one first, and the evidence."""
    written = write.bytes
    if not written:
        return [0.0], []
    if by_rows is not None:
        return [by_rows], ["parity reads that the stripe cache avoided"]
    shares: list[float] = [0.0, 1.0]
    evidence: list[str] = []
    if sets is not None and (sets.bitmap.regions or bits.MAX_REGIONS) >= MIN_REGIONS:
        shares, evidence = _shares_by_bits(write, large, sets)
    if journal is None:
        return shares, evidence
    return [journal.bytes / written, *shares], ["a journal's commits and the writes sent with them"]


def _shares_by_bits(
    write: Stream, large: float | None, sets: BitSets
) -> tuple[list[float], list[str]]:
    """Return the shares that fit the set bits: those of a stream, or with enough writes all over the volume."""
    writes, written = write.requests, write.bytes
    stream = written / sets.bitmap.covers
    regions = sets.bitmap.regions or bits.MAX_REGIONS
    if sets.counted <= stream <= sets.high:
        return [1.0], [BY_BITMAP.format("about as often as")]
    if sets.likely < stream:
        return [0.0, 1.0], [BY_BITMAP.format("less often than")]
    # The fewest random writes that set as many bits; the other bytes may be a stream.
    fewest = bits.least_rate_for(max(0.0, sets.low - stream), regions, writes)
    each = PAGE if large is not None else write.size
    most = max(0.0, 1 - fewest * each / written)
    likely = 0.0
    if large is not None and (1 - large) * writes >= fewest:
        likely = 1 - (1 - large) * writes * PAGE / written
    return list(dict.fromkeys((likely, 0.0, most))), [BY_BITMAP.format("more often than")]


def _share_by_rows(layout: Layout, rows: Cost, run: float) -> float | None:
    """Return the share by the reads that the cache avoided; None where a stream would avoid hardly any."""
    chunks = run / (layout.chunk or run)
    cold = scattered(layout.data, layout.parity, chunks).reads
    cached = sequential(layout.data, layout.parity, chunks).reads
    if cold - cached < MIN_SPARED:
        return None
    return min(1.0, max(0.0, (cold - rows.reads) / (cold - cached)))


def _hypotheses(
    written: Stream,
    runs: float | None,
    context: VolumeContext,
    share: float,
    random: float,
    sets: BitSets | None,
) -> Iterator[Hypothesis]:
    """Yield the hypotheses with a sequential *share* and *random* writes, one for each estimate of the set bits."""
    whole = None if context.size is None else float(context.size)
    following = share if runs is None else 1 - random / written.requests
    if sets is None or not random:
        yield Hypothesis(share, random, whole, following)
        return
    regions, covers = sets.bitmap.regions, sets.bitmap.covers
    period = bits.daemon_period(context.present)
    stream = following * written.bytes / covers
    estimates = [max(0.0, each - stream) for each in sets.estimates]
    for each in estimates:
        span = bits.regions_for(random, each, regions, period) * covers
        yield Hypothesis(share, random, span, following)
    if context.present is not None and not context.present.parity:
        yield Hypothesis(
            share, random, whole, following
        )  # the daemon may sleep, so few sets show nothing


def sets_on(
    pattern: Pattern, written: float, scale: float, bitmap: Bitmap, period: float
) -> list[float]:
    """
    Return the bits of *bitmap* set per second by each hypothesis, if its daemon runs every *period*.

    *written*: bytes per second; *scale*: load as a multiple of the average.
    """
    return [
        each.following * written / bitmap.covers
        + _random_sets(each.random * scale, each.span, bitmap, period)
        for each in pattern.hypotheses
    ]


def _random_sets(random: float, span: float | None, bitmap: Bitmap, period: float) -> float:
    if span is None:
        return random  # regions are unbounded: each write finds a clean one
    return bits.random_sets(random, max(1e-3, span / bitmap.covers), period)
