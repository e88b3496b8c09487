"""
A volume's requests on a layout: at its members, and at the disks after merging.

What the members get follows from the line of the level in ``RAID_LEVELS``. Copies write each request several
times; parity reads and writes rows page by page; both split at the chunk; a flush goes to every member.

How many of these the disks complete lies between no merging and what was measured. *Fragments* are the
requests completed per request that md received and split: 1 where its pages merge again and no two requests
do, less where requests merge, more where pages stay separate.
"""

from typing import Literal, NamedTuple

from stackmap.features.whatif.geometry import (
    CHUNKS_IN_CACHE,
    ROWS,
    Cost,
    cold_reads,
    scattered,
    sequential,
)
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.pattern import Pattern, is_one_size
from stackmap.features.whatif.quantities import Band, Stream, exact
from stackmap.features.whatif.volume_context import SINGLE_DEVICE, VolumeContext
from stackmap.ledger.parity import SKEW
from stackmap.model.load import ratio
from stackmap.model.raid import PAGE, Layout
from stackmap.model.units import SECTOR

RangeEnd = Literal["likely", "low", "high"]
# How far fragments differ between parity layouts: of pages that each are a request, of
# several (more with several requests in flight), and where some merge.
ONE_PAGE, PAGES, MIXED, MERGED = 0.06, 0.18, 2.0, 0.6
# From none to parity. Of a stream md takes several small requests at a time: so these fragments, if any merge.
BATCHED = 0.5
# Of the further pages of a request, at most STRAYS, how many stay separate although few requests are in flight.
STRAYS, STRAY = 15, 0.25
LIKELY_STRAYS, LIKELY_STRAY = 3, 0.05
READS = (0.94, 1.37)
# Of what arrives together, fragments without parity ÷ those with it, at least and likely: pages hinder merging.
LEAST, TOGETHER = 0.4, 0.6
MERGES = 0.95  # fragments: where fewer, some requests merge
MET = 0.3  # fragments: if small writes have fewer, they arrive together, and do not only meet in a batch of md's


class Costs(NamedTuple):
    """The cost of a page written: the mean over bytes, ``page``, and over requests, ``request``."""

    page: Cost
    request: Cost


class MemberRequests(NamedTuple):
    """
    Requests at the members, per second: ``read`` and ``write`` with data, ``flushes`` without.

    ``read_whole``, ``caused_whole``, ``write_whole``: requests at the disks for the volume's reads, for reads
    that parity causes, and for writes, if the pages of each request merge again and no two
    requests do. Without parity they equal the members'. ``pages``: md's pages per such request.
    """

    read: Stream
    write: Stream
    flushes: float
    read_whole: float
    caused_whole: float
    write_whole: float
    pages: float

    @property
    def written(self) -> float:
        """Writes as members count them, with flushes."""
        return self.write.requests + self.flushes


def pieces(stream: Stream, chunk: int | None, split_size: int | None) -> Band:
    """
    Return the requests of *stream* after a split at every *chunk*.

    *split_size*: where they were split before they were counted. No counter tells where requests
    start. At least, only those longer than a chunk are split: they start at multiples of their size. At
    most, they start at random pages: s bytes give 1 + (s - page) / chunk pieces on average. The
    first is likely below a chunk, and if nearly all have one size that is a power of two.
    """
    size = stream.size
    if not size or chunk is None or not may_split(chunk, split_size):
        return exact(stream.requests)
    least = max(1.0, size / chunk)
    most = max(least, 1 + max(0.0, size - (PAGE if size >= PAGE else SECTOR)) / chunk)
    likely = least if size < chunk or is_one_size(size) else most
    return Band(least, likely, most).scaled(stream.requests)


def may_split(chunk: int | None, split_size: int | None) -> bool:
    """Whether a *chunk* may split counted requests: not if they were split to this size before."""
    return chunk is not None and (split_size is None or split_size > chunk)


def member_requests(
    layout: Layout,
    measured: Measured,
    context: VolumeContext,
    pattern: Pattern,
    cost: Costs | None,
    end: RangeEnd = "likely",
) -> MemberRequests:
    """
    Return the measured load on *layout*.

    *cost*: of a page written, None without parity; *end*: of the number of pieces.
    """

    def split(stream: Stream) -> Stream:
        band = pieces(stream, layout.chunk, context.split_size)
        return Stream(float(getattr(band, end)), stream.bytes)

    read = split(measured.read)
    flushes = measured.known_flushes * layout.members
    size = measured.write.size
    if cost is None:
        write = split(measured.write).scaled(layout.copies)
        return MemberRequests(read, write, flushes, read.requests, 0.0, write.requests, 1.0)
    # A request below a page updates a whole page of a row. A text may round so few requests to 0, but not their bytes.
    carried = max(measured.write.bytes, measured.write.requests * PAGE)
    page, request = cost
    caused, written = carried * page.reads, carried * page.writes
    piece = max(PAGE, min(pattern.run, layout.chunk or pattern.run, max(size, PAGE)))
    return MemberRequests(
        read=read + Stream(caused / PAGE, caused),
        write=Stream(written / PAGE, written),
        flushes=flushes,
        read_whole=read.requests,
        caused_whole=carried * request.reads / piece,
        write_whole=carried * request.writes / piece,
        pages=piece / PAGE,
    )


def parity_costs(pattern: Pattern, context: VolumeContext, layout: Layout) -> list[Costs]:
    """Return the cost of a page written on *layout*, which has parity, by each hypothesis."""
    present, rows = context.present, pattern.rows
    if rows and present and (present.data, present.chunk) == (layout.data, layout.chunk):
        converted = _converted(rows, present, layout)
        return [Costs(converted, converted)]
    chunk = layout.chunk or pattern.run
    run = pattern.run / chunk
    random = scattered(layout.data, layout.parity, run)
    stream = sequential(layout.data, layout.parity, run)
    again = Cost(0.0, random.writes, random.updates)
    costs, others = [], []
    for hypothesis in pattern.hypotheses:
        # Whether a row is still in the stripe cache when a stream returns to it, a chunk later.
        pages = chunk / PAGE
        cached = pages <= max(ROWS, CHUNKS_IN_CACHE * pages) * hypothesis.sequential
        shares = hypothesis.sequential, pattern.requests_in_sequence(hypothesis)
        costs.append(Costs(*(random.mixed(stream, share if cached else 0.0) for share in shares)))
        # Small requests may be in sequence, too, and what is not at random may be pages that md still has.
        others.append(Costs(costs[-1].page, costs[-1].page))
        if hypothesis.sequential < 1:
            others.append(Costs(*(random.mixed(again, share) for share in shares)))
    return list(dict.fromkeys((*costs, *others)))


def _converted(rows: Cost, present: Layout, layout: Layout) -> Cost:
    """Return the cost of rows measured on *present* where only the number of parity pages differs."""
    pages = 1 / rows.updates
    before = cold_reads(present.data, present.parity, pages)
    reads = rows.reads * cold_reads(layout.data, layout.parity, pages) / before if before else 0.0
    return Cost(reads, 1 + layout.parity * rows.updates, rows.updates)


class Merging(NamedTuple):
    """
    How requests of the load ``whole`` merge at the disks of ``layout``, by the fragments on the present one.

    ``reads``, ``caused``, ``writes``: fragments of the volume's reads, of parity reads and of writes; 1 if not known.
    """

    layout: Layout
    context: VolumeContext
    whole: Measured
    pattern: Pattern
    reads: float
    caused: float
    writes: float

    @classmethod
    def of(
        cls,
        layout: Layout,
        context: VolumeContext,
        whole: Measured,
        pattern: Pattern,
        end: RangeEnd,
    ) -> "Merging":
        """Return the merging on *layout* if the present requests are split as at *end*."""
        rows = None if pattern.rows is None else Costs(pattern.rows, pattern.rows)
        now = member_requests(context.present or SINGLE_DEVICE, whole, context, pattern, rows, end)
        flushes = now.flushes if context.flushes_counted else 0.0
        read = _fragments(whole.disks_read, now.read_whole + now.caused_whole, 0.0)
        write = _fragments(whole.disks_write, now.write_whole, flushes)
        # Parity reads are next to the writes, so if there are none now, they will merge as writes do.
        caused = read if now.caused_whole else write
        return cls(layout, context, whole, pattern, read, caused, write)

    def read(self, sent: MemberRequests) -> Band:
        """Return the reads that the disks complete; the volume's own are never in pages."""
        now = self.reads
        low, high = (now * factor for factor in READS)
        own = Band(low, now, max(now, min(1.0, high))).scaled(sent.read_whole).widened(SKEW)
        return own + self._completed(sent.caused_whole, self.caused, sent)

    def written(self, sent: MemberRequests) -> Band:
        """Return the writes that the disks complete."""
        return self._completed(sent.write_whole, self.writes, sent)

    def _completed(self, whole: float, now: float, sent: MemberRequests) -> Band:
        """Return the completed requests of *whole* ones that writes cause, by their fragments *now*."""
        if not self.layout.parity:
            band = self._without_parity(now, from_parity=self._present.parity > 0)
        elif self._present.parity:
            band = self._parity_to_parity(now, sent.pages)
        else:
            band = self._to_parity(now, sent.pages)
        # Layers are read one after another, so one request may be missing.
        count = self.whole.write.requests * (self.whole.seconds or 0.0)
        return band.scaled(whole).widened(SKEW + (1 / count if count else 0.0))

    @property
    def _present(self) -> Layout:
        return self.context.present or SINGLE_DEVICE

    def _parity_to_parity(self, now: float, pages: float) -> Band:
        """
        Return the fragments from parity to parity: pages of several requests in flight come in any order.

        With more parity, batches are larger.
        """
        apart, merged = ONE_PAGE, MERGED * (1 - now)
        if pages > 1:
            apart = PAGES + MIXED * (1 - 1 / self.whole.queue) * (1 - 1 / pages)
        least = now * min(1 / (1 + apart), 1 - merged)
        # Pages that stay apart in one chunk may merge in another.
        if self.layout.chunk != self._present.chunk:
            least = min(least, self._in_batches)
        if now >= MERGES:  # requests do not merge, and only a stream's may
            least = max(least, min(now, self._in_batches))
        elif self.layout.parity != self._present.parity:
            least = min(least, self._in_batches)
        most = now * (1 + max(apart, merged))
        return Band(least, now, max(now, min(pages, most)))

    @property
    def _joined(self) -> float:
        """The fragments if all that arrives together merges on each disk."""
        size, run = self.whole.write.size, self.pattern.run
        return size / max(size, min(run, self.layout.chunk or run)) if size else 1.0

    @property
    def _in_batches(self) -> float:
        """The fragments if every possible stream merges, in batches as large as the queue."""
        stream = max(map(self.pattern.requests_in_sequence, self.pattern.hypotheses))
        return 1 - stream * (1 - min(BATCHED, 1 / self.whole.depth))

    def _without_parity(self, now: float, *, from_parity: bool) -> Band:
        """
        Return the fragments without parity: only what arrives together merges.

        From parity: small writes that merge now may have met in a batch of md's.
        """
        together, journal = min(1.0, now, self._joined), self.pattern.journal
        joined = 0.0 if journal is None else journal.joined
        apart = min(1.0, max(now, 1 - joined))
        if not from_parity or joined:
            return Band(together, together, apart)
        if now <= MET:
            return Band(LEAST * together, TOGETHER * together, apart)
        return Band(together, apart, apart)

    def _to_parity(self, now: float, pages: float) -> Band:
        """
        Return the fragments with parity, from those without.

        A page merges with the last one sent to its disk (block/blk-merge.c, blk_attempt_plug_merge). That is
        its neighbour if md handles one request after another. If md handles pages of all requests in
        flight in any order, it is the more rarely its neighbour, the more there are.
        """
        pattern, alone = self.pattern, 1 / self.whole.depth
        likely = 1 - pattern.requests_in_sequence(pattern.likely) * (1 - max(BATCHED, alone))
        likely *= 1 + LIKELY_STRAY * min(pages - 1, LIKELY_STRAYS)
        strays = max(STRAY * min(pages - 1, STRAYS), (pages - 1) * (1 - 1 / self.whole.queue))
        if now <= MET:  # on the disks; md's pages may hinder that
            most = max(now / LEAST, min(pages, 1 + strays))
        else:
            most = max(now, min(pages, now * (1 + strays)))
        return Band(now * self._in_batches, now * likely, most)


def _fragments(done: Stream | None, whole: float, flushes: float) -> float:
    completed = None if done is None else ratio(max(0.0, done.requests - flushes), whole)
    return 1.0 if completed is None else completed
