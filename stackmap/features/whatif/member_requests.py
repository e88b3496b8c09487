"""
A volume's requests on a layout: at its members, and at the disks if no two requests merge.

It follows from the line of the level in ``RAID_LEVELS``. Copies write each request several times; parity
reads and writes rows page by page; both split at the chunk; a flush goes to every member.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.pattern import Pattern, is_one_size
from stackmap.features.whatif.predicted_stripe_cost import Cost, cold_reads, scattered, sequential
from stackmap.features.whatif.quantities import NO_REQUESTS, Band, Stream, exact
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.model.raid import PAGE, Layout
from stackmap.model.units import SECTOR

# Rows in md's stripe cache: 256, or the pages of four chunks if that is more (raid5.c, raid5_run).
STRIPE_CACHE, CHUNKS_IN_CACHE = 256, 4

End = Literal["likely", "low", "high"]


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


def split_ends(layout: Layout, context: VolumeContext) -> tuple[End, ...]:
    """Return the ends of ``pieces`` that differ for *layout*, the likely one first."""
    return ("likely", "low", "high") if may_split(layout.chunk, context.split_size) else ("likely",)


def member_requests(
    layout: Layout,
    measured: Measured,
    context: VolumeContext,
    pattern: Pattern,
    cost: Costs | None,
    end: End = "likely",
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
    # A request below a page updates a whole page of a row.
    carried = measured.write.requests * max(size, PAGE) if measured.write.requests else 0.0
    page, request = cost
    caused, written = _in_pages(carried * page.reads), _in_pages(carried * page.writes)
    piece = max(PAGE, min(pattern.run, layout.chunk or pattern.run, max(size, PAGE)))
    return MemberRequests(
        read=read + caused,
        write=written,
        flushes=flushes,
        read_whole=read.requests,
        caused_whole=carried * request.reads / piece,
        write_whole=carried * request.writes / piece,
        pages=piece / PAGE,
    )


def _in_pages(carried: float) -> Stream:
    return Stream(carried / PAGE, carried) if carried else NO_REQUESTS


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
    found = []
    for each in pattern.hypotheses:
        cached = _stays_cached(each.sequential, chunk)
        shares = each.sequential, pattern.requests_in_sequence(each)
        found.append(Costs(*(random.mixed(stream, share if cached else 0.0) for share in shares)))
    return list(dict.fromkeys(found))


def _converted(rows: Cost, present: Layout, layout: Layout) -> Cost:
    """Return the cost of rows measured on *present* where only the number of parity pages differs."""
    pages = 1 / rows.updates
    before = cold_reads(present.data, present.parity, pages)
    reads = rows.reads * cold_reads(layout.data, layout.parity, pages) / before if before else 0.0
    return Cost(reads, 1 + layout.parity * rows.updates, rows.updates)


def _stays_cached(share: float, chunk: float) -> bool:
    """Whether a row is still in the stripe cache when a stream returns to it, a chunk later."""
    pages = chunk / PAGE
    return pages <= max(STRIPE_CACHE, CHUNKS_IN_CACHE * pages) * share
