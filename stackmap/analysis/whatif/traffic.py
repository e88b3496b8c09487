"""
What a layout makes of a volume's requests: at its members, and at their disks if nothing of several merges.

The algebra over a line of ``RAID_LEVELS``: copies write each request so often,
parity writes and reads rows page by page; both cut at the chunk; a flush goes
to every member.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.pattern import Pattern
from stackmap.analysis.whatif.rows import Cost
from stackmap.analysis.whatif.stand import Stand
from stackmap.analysis.whatif.stream import NONE, Stream
from stackmap.model.raid import PAGE, Layout

SECTOR = 512


@dataclass(frozen=True, slots=True)
class Traffic:
    """
    What members take, a second: ``read`` and ``write`` that carry data, ``flushes``, which do not.

    ``read_whole``, ``caused_whole`` and ``write_whole``: the requests at the
    disks of what was to be read, of what is read for parity, and of writes,
    where all that md cut of one request, page by page, is one again there, and
    no two requests merge. On layouts that cut no pages they are those at the
    members. ``pages``: what one of these is cut into, 1 where none is.
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
        """Writes as members count them: flushes too."""
        return self.write.requests + self.flushes


def pieces(stream: Stream, chunk: int | None, cuts: int | None) -> Stream:
    """
    Return the requests that *stream* becomes where each is cut at every *chunk*.

    *cuts*: where they were cut already before they were counted. A mean that
    is a power of two is taken for requests of one size that start at multiples
    of it; any other for starts at random pages, where a request of s bytes
    has 1 + (s - page) / chunk pieces, on average.
    """
    size = stream.size
    if chunk is None or not size or (cuts is not None and cuts <= chunk):
        return stream
    whole = round(size)
    if whole & (whole - 1) == 0:
        each = max(1.0, size / chunk)
    else:
        each = 1 + max(0.0, size - (PAGE if size >= PAGE else SECTOR)) / chunk
    return replace(stream, requests=stream.requests * each)


def traffic(
    layout: Layout, found: Measured, place: Stand, pattern: Pattern, cost: Cost | None
) -> Traffic:
    """Return what *layout* makes of *found*; *cost* is that of a page written, where it has parity."""
    read = pieces(found.read, layout.chunk, place.cuts)
    flushes = found.flushed * layout.members
    if cost is None:
        write = pieces(found.write, layout.chunk, place.cuts).scaled(layout.copies)
        return Traffic(read, write, flushes, read.requests, 0.0, write.requests, 1.0)
    # Less than a page is a row of its own all the same.
    carried = found.write.requests * max(found.write.size, PAGE) if found.write.requests else 0.0
    caused, written = _in_pages(carried * cost.reads), _in_pages(carried * cost.writes)
    piece = max(PAGE, min(pattern.run, layout.chunk or pattern.run, max(found.write.size, PAGE)))
    return Traffic(
        read + caused,
        written,
        flushes,
        read.requests,
        caused.bytes / piece,
        written.bytes / piece,
        piece / PAGE,
    )


def _in_pages(carried: float) -> Stream:
    return Stream(carried / PAGE, carried) if carried else NONE
