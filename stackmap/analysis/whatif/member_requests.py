"""
What a layout makes of a volume's requests: at its members, and at their disks if nothing of several merges.

The algebra over a line of ``RAID_LEVELS``: copies write each request so often,
parity writes and reads rows page by page; both cut at the chunk; a flush goes
to every member.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Literal

from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.pattern import Pattern
from stackmap.analysis.whatif.quantities import NO_REQUESTS, Band, Stream, exact
from stackmap.analysis.whatif.stripe_cost import Cost
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.raid import PAGE, Layout

SECTOR = 512
# By so much of a power of two a mean may miss it: a text rounds it, and one request in thirty may be of another size.
ODD = 1 / 30

End = Literal["likely", "low", "high"]


@dataclass(frozen=True, slots=True)
class MemberRequests:
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


def pieces(stream: Stream, chunk: int | None, cuts: int | None) -> Band:
    """
    Return how many requests *stream* becomes where each is cut at every *chunk*.

    *cuts*: where they were cut already before they were counted. No counter
    tells where they start. At the least each is cut only where it is longer
    than a chunk: it starts at a multiple of its size. At the most they start at
    random pages, where a request of s bytes has 1 + (s - page) / chunk pieces,
    on average. Nearly all of one size that is a power of two are taken for the first.
    """
    size = stream.size
    if not size or chunk is None or not may_cut(chunk, cuts):
        return exact(stream.requests)
    least = max(1.0, size / chunk)
    most = max(least, 1 + max(0.0, size - (PAGE if size >= PAGE else SECTOR)) / chunk)
    whole = 2 ** round(log2(size))
    likely = least if abs(size / whole - 1) <= ODD else most
    return Band(least, likely, most).scaled(stream.requests)


def may_cut(chunk: int | None, cuts: int | None) -> bool:
    """Whether a *chunk* may cut what was counted: not where that had been cut as short (at *cuts*)."""
    return chunk is not None and (cuts is None or cuts > chunk)


def cut_ends(layout: Layout, context: VolumeContext) -> tuple[End, ...]:
    """Return which ends of what chunks may cut there are, the likely one first."""
    return ("likely", "low", "high") if may_cut(layout.chunk, context.cuts) else ("likely",)


def member_requests(
    layout: Layout,
    found: Measured,
    context: VolumeContext,
    pattern: Pattern,
    cost: Cost | None,
    end: End = "likely",
) -> MemberRequests:
    """
    Return what *layout* makes of *found*.

    *cost* is that of a page written, where it has parity; *end*: of how often
    its chunks cut requests.
    """

    def cut(stream: Stream) -> Stream:
        band = pieces(stream, layout.chunk, context.cuts)
        return Stream(float(getattr(band, end)), stream.bytes)

    read = cut(found.read)
    flushes = found.known_flushes * layout.members
    if cost is None:
        write = cut(found.write).scaled(layout.copies)
        return MemberRequests(read, write, flushes, read.requests, 0.0, write.requests, 1.0)
    # Less than a page is a row of its own all the same.
    carried = found.write.requests * max(found.write.size, PAGE) if found.write.requests else 0.0
    caused, written = _in_pages(carried * cost.reads), _in_pages(carried * cost.writes)
    piece = max(PAGE, min(pattern.run, layout.chunk or pattern.run, max(found.write.size, PAGE)))
    return MemberRequests(
        read + caused,
        written,
        flushes,
        read.requests,
        caused.bytes / piece,
        written.bytes / piece,
        piece / PAGE,
    )


def _in_pages(carried: float) -> Stream:
    return Stream(carried / PAGE, carried) if carried else NO_REQUESTS
