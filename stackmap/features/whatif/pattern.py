"""
The patterns of a load that its counters allow, and the evidence for the likely one.

A basic ``iostat`` or ``sar -d`` has requests of reads and writes together, and mostly bytes of each. Every mix
of request sizes that fits is a load that was possible, the likely one first (``possible_loads``).

Of the writes, no counter shows how much arrives at once, how much is sequential, and over how much of the
volume the rest is spread. Evidence is: rows of parity with more than one page, parity reads that the stripe
cache avoided, requests that are larger at the disks than at the volume, a journal's commits, and how often
bits of the bitmap are set. Where they allow several patterns, each is a hypothesis, the likely one first.

A journal's commit is a write with PREFLUSH and FUA (jbd2: fs/jbd2/commit.c, journal_submit_commit_record;
XFS: fs/xfs/xfs_log.c, xlog_write_iclog). dm splits it into an empty flush and a write with FUA, so there are
at most as many commits as there are of either. jbd2 sends what precedes a commit at once and in sequence. So
the disks merge it into one request, on any layout.
"""

from collections.abc import Iterator
from math import log2
from typing import NamedTuple

from stackmap.errors import InputError
from stackmap.features.whatif import bitmap as bitmaps
from stackmap.features.whatif.geometry import Cost, run_of, scattered, sequential
from stackmap.features.whatif.measured import Measured, page_requests
from stackmap.features.whatif.quantities import Stream
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import SKEW
from stackmap.model.raid import PAGE, Layout
from stackmap.model.reason import Reason
from stackmap.model.units import SECTOR

# Pages read per page written: a smaller difference between cold and cached rows shows nothing.
MIN_SPARED = 0.05
# How far a mean size may be off a power of two: rounding in a text, or one request in thirty of another size.
SIZE_TOLERANCE = 1 / 30
LARGE = 128 << 10  # bytes: of mixed sizes, the larger ones where nothing splits them
# A stream sets at most this many times the bits that were surely set (recorded loads: 10).
SURE = 12
MIN_REGIONS = 32  # of fewer, a stream and random writes set about as many bits
TINY = 1e-9  # of a rate
SMALLEST, LARGEST = SECTOR, 1 << 20  # bytes per request, of reads and of writes
# Shares of writes among a load of which even bytes are not separate; the first is the likely one.
WRITTEN = (0.5, 0.0, 1.0)


def possible_loads(
    ledger: Ledger, context: VolumeContext, chunk: int | None
) -> tuple[Stream, list[Measured]]:
    """
    Return all requests of a volume whose reads and writes the input does not separate, and the loads they may be.

    The likely load is first: that of reads and writes of one mean size. *chunk*: of the layout to project.
    ``InputError`` if the volume's requests or bytes are unknown.
    """
    load = ledger.load(context.device.name)
    if load.total.ios is None or load.total.bytes is None:
        raise InputError(
            f"{context.device.title}: the input lacks its requests or bytes per second; use `iostat -dxy`"
        )
    total = Stream(load.total.ios, load.total.bytes)
    members = ledger.share(context.device.name, context.members)
    below: list[Stream | None] = [None, None]
    if context.present is not None and context.present.parity:
        # Below parity, bytes at the members are those of pages.
        moved = members.read.bytes, members.write.bytes
        below = [None if size is None else Stream(size / PAGE, size) for size in moved]
    return total, [
        Measured(
            read,
            write,
            members_read=below[0],
            members_write=below[1],
            per_page=page_requests(ledger, context),
            seconds=ledger.seconds,
        )
        for read, write in _possible_splits(total, load.read.bytes, load.write.bytes, chunk or PAGE)
    ]


def _possible_splits(
    total: Stream, read: float | None, written: float | None, chunk: int
) -> list[tuple[Stream, Stream]]:
    """
    Return reads and writes that *total* may be.

    The model bends at requests of a page and of a *chunk*, so these are among them.
    """
    if read is None or written is None:
        return [(total.scaled(1 - share), total.scaled(share)) for share in WRITTEN]
    likely = total.requests * written / (read + written) if read + written else 0.0
    # Of n requests, at least the reads' smallest number are no writes, and the other way round.
    low = max(written / LARGEST, total.requests - read / SMALLEST)
    high = min(written / SMALLEST, total.requests - read / LARGEST)
    bends = (written / PAGE, written / chunk, total.requests - read / chunk)
    counts = [likely, low, high, *(count for count in bends if low < count < high)]
    counts = [min(max(0.0, count), total.requests) for count in counts]
    return [(Stream(total.requests - n, read), Stream(n, written)) for n in counts]


class Pattern(NamedTuple):
    """
    ``run``: bytes that arrive at once. ``burst_rate``: instants per second at which writes arrive, at
    least: those in flight together, and those before one commit, may have arrived together.
    ``large``: the share of writes that are large, None if all have one size. ``rows``: the cost of a
    page written on the present parity layout, None on others. ``journal``: a file system's, None if
    nothing shows one. ``evidence``: noun phrases. ``is_rewritten``: pages are written again while md has them.
    """

    run: float
    burst_rate: float
    large: float | None
    rows: Cost | None
    journal: "Journal | None"
    hypotheses: tuple[bitmaps.Hypothesis, ...]
    evidence: tuple[Reason, ...]
    is_rewritten: bool = False

    @property
    def likely(self) -> bitmaps.Hypothesis:
        """The hypothesis with most evidence."""
        return self.hypotheses[0]

    def requests_in_sequence(self, pattern: bitmaps.Hypothesis) -> float:
        """Return the share of writes, not of bytes, that are sequential: of mixed sizes the large ones are."""
        if self.large is None:
            return pattern.sequential
        return min(pattern.sequential, self.large)


def pattern_of(measured: Measured, context: VolumeContext) -> Pattern:
    """Return the pattern of the writes of *measured*, the average of all intervals."""
    layout, rows, written = context.present, _rows(measured, context), measured.write
    run, run_evidence = _run(measured, context, rows)
    reads = RowReads.of(layout, rows, run) if layout and rows else None
    by_rows = reads and reads.sequential
    journal = journal_of(measured, layout, by_rows)
    large = None
    if journal is None:
        if not measured.alike:
            large = large_share(written.size, (layout.chunk if layout else None) or LARGE)
    elif not run_evidence:
        run = journal.run
    burst_rate = measured.bursts if journal is None else min(written.requests, journal.commits)
    sets = bitmaps.bit_sets(measured, context, burst_rate)
    # Larger requests of a mix fill rows, too, where fewer are in flight than would make a run.
    together = large is None or run <= written.size * measured.max_depth
    # Bytes without a request completed in part.
    several = run_evidence and journal is None and together and written.requests
    runs = written.bytes / run if several else None
    apart = reads.apart if reads and by_rows is not None and journal is None else None
    evidence = Evidence(written, runs, by_rows, apart, journal, large, sets)
    hypotheses, reasons = evidence.hypotheses(context)
    reasons = (*run_evidence, *reasons)
    again = bool(layout and rows and RowReads.of(layout, rows, run).are_again)
    return Pattern(run, burst_rate, large, rows, journal, hypotheses, reasons, again)


def large_share(size: float, largest: float) -> float | None:
    """
    Return the share of writes with *largest* bytes among those of the mean *size*, if all others have a page.

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


def _run(
    measured: Measured, context: VolumeContext, rows: Cost | None
) -> tuple[float, list[Reason]]:
    """Return the bytes that arrive at once, and the evidence if that is more than a request."""
    size, layout = measured.write.size, context.present
    if layout is None or layout.chunk is None:
        return size, []
    if rows is not None:
        run = run_of(layout.data, layout.parity, rows.updates) * layout.chunk
        if rows.updates < 1 - _skew(measured, layout) and run > max(1.05 * layout.chunk, size):
            return run, [Reason("parity-rows", "rows of parity with several pages")]
        return size, []
    done = measured.disks_write
    if done is not None and done.size > 1.05 * min(size, layout.chunk):
        run = done.size * layout.data
        if done.size < layout.chunk:
            # A run of such pieces is on one disk, or crosses from one to the next as often as chance has it.
            crossed = (1 - min(size, done.size) / layout.chunk) / (1 - done.size / layout.chunk)
            run = min(run, done.size * crossed)
        return max(size, run), [Reason("merged-writes", "writes that merged at the disks")]
    return size, []


def _skew(measured: Measured, layout: Layout) -> float:
    """
    Return the error of row updates per page: requests in flight are not at the members yet.

    A page in flight lacks its data and its parity, and both enter. Without seconds the ends are not known.
    """
    if measured.seconds is None:
        return SKEW
    counted = max(1.0, measured.write.requests * measured.seconds)
    return SKEW + (1 + 1 / layout.parity) * (2 * measured.queue - 1) / counted


class RowReads(NamedTuple):
    """Pages that parity reads per page written: ``measured``, and if runs are at ``random`` or follow as a ``stream``."""

    measured: float
    random: float
    stream: float

    @classmethod
    def of(cls, layout: Layout, rows: Cost, run: float) -> "RowReads":
        """Return those of *rows*, measured on *layout*, under runs of *run* bytes."""
        shape = layout.data, layout.parity, run / (layout.chunk or run)
        return cls(rows.reads, scattered(*shape).reads, sequential(*shape).reads)

    @property
    def sequential(self) -> float | None:
        """The share of a stream, by the reads that the cache avoided; None where a stream would avoid hardly any."""
        spared = self.random - self.stream
        if spared < MIN_SPARED:
            return None
        return min(1.0, max(0.0, (self.random - self.measured) / spared))

    @property
    def apart(self) -> float:
        """The share of pages whose rows md did not have, if all others were written again."""
        return min(1.0, self.measured / self.random)

    @property
    def are_again(self) -> bool:
        """Whether they are far fewer than below a stream, whose rows are new."""
        return self.stream > MIN_SPARED and self.measured < self.stream / 2


class Journal(NamedTuple):
    """
    ``commits``, ``requests``, ``bytes``: per second at the volume, commits among the requests.
    ``joined``: share of all the volume's writes that merge into another of the
    journal's at the disks. ``run``: bytes per write of everything else.
    """

    commits: float
    requests: float
    bytes: float
    joined: float
    run: float


def journal_of(
    measured: Measured, layout: Layout | None, sequential: float | None
) -> Journal | None:
    """
    Return the journal among the writes; None if there is none, or nothing shows it.

    *sequential*: the sequential share of bytes, known on parity levels. Elsewhere
    what merges at the disks is taken as sent before commits, equally much each time.
    """
    written, commits = measured.write, min(measured.fua_writes or 0.0, measured.known_flushes)
    # Where all writes have FUA they are O_DSYNC, not commits: something precedes a commit.
    if layout is None or not commits or written.requests < 2 * commits:
        return None
    page = min(PAGE, written.size)
    joined = _joined(measured, layout) if sequential is None else None
    if joined is not None:
        requests = commits + joined + min(joined, commits)
    elif sequential is not None:
        requests = sequential * written.bytes / page
    else:
        return None
    requests = min(requests, written.requests - commits)
    others = (written.bytes - requests * page) / (written.requests - requests)
    joined = max(0.0, requests - 2 * commits) / written.requests
    return Journal(commits, requests, requests * page, joined, max(page, others))


def _joined(measured: Measured, layout: Layout) -> float | None:
    """Return the volume's writes per second that merged at its disks; None where md's pages hide it."""
    if layout.parity or measured.disks_write is None:
        return None
    flushes = measured.known_flushes * layout.members
    done = max(0.0, measured.disks_write.requests - flushes) / layout.copies
    return max(0.0, measured.write.requests - done)


class Evidence(NamedTuple):
    """
    What is known of the writes ``write``. ``runs``: at how many places per second they begin, if several arrive
    together; ``by_rows``: the sequential share that parity reads show; ``apart``: the share at random if the
    others are not a stream but pages that are written again; ``large``: the share of
    writes that are large; ``sets``: of the bitmap. Each None if nothing shows it.
    """

    write: Stream
    runs: float | None
    by_rows: float | None
    apart: float | None
    journal: Journal | None
    large: float | None
    sets: bitmaps.BitSets | None

    def hypotheses(
        self, context: VolumeContext
    ) -> tuple[tuple[bitmaps.Hypothesis, ...], tuple[Reason, ...]]:
        """Return the hypotheses, the likely one first, and noun phrases for what they follow from."""
        shares, reasons = self._shares()
        possible = (
            hypothesis
            for share in shares
            for random in self._random_rates(share)
            for hypothesis in self._spread(context, share, random)
        )
        return tuple(dict.fromkeys(possible)), tuple(reasons)

    def _shares(self) -> tuple[list[float], list[Reason]]:
        """Return the possible sequential shares of bytes, the likely one first, and the evidence."""
        if not self.write.bytes:
            return [0.0], []
        if self.by_rows is not None:
            return [self.by_rows], [
                Reason("cached-reads", "parity reads that the stripe cache avoided")
            ]
        shares: list[float] = [0.0, 1.0]
        reasons: list[Reason] = []
        if self.sets is not None and (self.sets.bitmap.regions or MIN_REGIONS) >= MIN_REGIONS:
            shares, reasons = self._shares_by_bits(self.sets)
        if self.journal is None:
            return shares, reasons
        share = self.journal.bytes / self.write.bytes
        return [share, *shares], [
            Reason("journal", "a journal's commits and the writes sent with them")
        ]

    def _shares_by_bits(self, sets: bitmaps.BitSets) -> tuple[list[float], list[Reason]]:
        """Return the shares that fit the set bits: those of a stream, or with enough writes all over the volume."""
        stream = self.write.bytes / sets.bitmap.covers
        if sets.counted <= stream <= sets.high:
            if sets.low * SURE < stream:
                # All regions of a small volume stay marked, so random writes set few bits, too.
                return [0.0, 1.0], []
            everywhere = sets.everywhere(self.write.requests)
            # None at all are set in a few regions that are never clean, and few in all if there are many writes.
            if sets.counted and everywhere > sets.high:
                return [1.0], [_by_bitmap("about as often as")]
            if sets.counted and _log_off(everywhere, sets.likely) < _log_off(stream, sets.likely):
                return [0.0, 1.0], []
            return [1.0, 0.0], [_by_bitmap("about as often as")]
        if sets.likely < stream:
            return [0.0, 1.0], [_by_bitmap("less often than")]
        # Each random write sets a bit at most; the other bytes may be a stream.
        fewest = max(0.0, sets.least - stream)
        small = None if self.large is None else (1 - self.large) * self.write.requests
        most = 1 - fewest * (self.write.size if small is None else PAGE) / self.write.bytes
        likely = 0.0
        if small is not None and small >= fewest:
            likely = 1 - small * PAGE / self.write.bytes
        return list(dict.fromkeys((likely, 0.0, max(0.0, most)))), [_by_bitmap("more often than")]

    def _random_rates(self, share: float) -> list[float]:
        """Return at how many places per second writes may begin if a *share* of bytes is sequential, the likely one first."""
        rates = self._beside_stream(share)
        again = 0.0 if self.apart is None else self.apart * self.write.requests
        if again <= max(rates):
            return rates
        rates.append(again)
        sets = self.sets
        if sets is None or not sets.likely:
            return rates
        stream = share * self.write.bytes / sets.bitmap.covers
        return sorted(rates, key=lambda rate: _log_off(stream + sets.everywhere(rate), sets.likely))

    def _beside_stream(self, share: float) -> list[float]:
        """
        Return at how many places per second writes begin beside a stream with this *share* of bytes: likely, and at most.

        Requests, or runs of them; but no fewer than set a bit.
        """
        writes, sets = self.write.requests, self.sets
        if share == 1:
            return [0.0]
        if self.journal is not None and share:
            return [writes - self.journal.requests]
        if self.runs is not None:
            stream = 0.0 if sets is None else share * self.write.bytes / sets.bitmap.covers
            least = 0.0 if sets is None else sets.low - stream
            return [min(writes, max(least, self.runs)) * (1 - share), writes * (1 - share)]
        if self.large is None:
            return [(1 - share) * writes]
        return [(1 - min(share, self.large)) * writes, writes]

    def _spread(
        self, context: VolumeContext, share: float, random: float
    ) -> Iterator[bitmaps.Hypothesis]:
        """Yield a hypothesis for each estimate of the set bits."""
        whole, sets = None if context.size is None else float(context.size), self.sets
        following = share if self.runs is None else 1 - random / self.write.requests
        if sets is None or not random:
            yield bitmaps.Hypothesis(share, random, whole, following)
            return
        covers, period = sets.bitmap.covers, bitmaps.daemon_period(context.present)
        stream = following * self.write.bytes / covers
        for bits in (sets.likely, sets.low, sets.high):
            at_random = max(0.0, bits - stream)
            regions = bitmaps.regions_for(random, at_random, sets.bitmap.regions, period)
            yield bitmaps.Hypothesis(share, random, regions * covers, following)
        if context.present is not None and not context.present.parity:
            # The daemon may sleep, so few set bits show nothing.
            yield bitmaps.Hypothesis(share, random, whole, following)


def _log_off(rate: float, true: float) -> float:
    """Return the log of the factor between a *rate* and the *true* one; neither is 0 where bits were set."""
    return abs(log2(max(rate, TINY) / true))


def _by_bitmap(how_often: str) -> Reason:
    return Reason("bitmap", f"the bitmap's bits, set {how_often} a stream would set them")
