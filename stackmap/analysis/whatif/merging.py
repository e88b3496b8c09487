"""
How many requests the disks complete of those the members send: from no merging to what was measured.

*Fragments* are the requests completed per request that md received and split: 1 where its pages
merge again and no two requests do, less where requests merge, more where pages stay separate.
"""

from __future__ import annotations

from typing import NamedTuple

from stackmap.analysis.parity import SKEW
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.member_requests import MemberRequests
from stackmap.analysis.whatif.pattern import Pattern
from stackmap.analysis.whatif.quantities import Band, Stream
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.load import ratio
from stackmap.model.raid import Layout

# How far fragments of parity layouts differ, from lab loads: by these factors, and by these parts of what merges.
FACTORS, PARTS = (0.94, 1.13), (0.6, 0.4)
# Fragments of a stream of small requests, of which md takes several at a time: of those in flight together, likely,
# and of those that arrive one by one, at least.
BATCHED, ONE_BY_ONE = 0.5, 0.5
LARGE = (
    0.9  # of the chunk: requests of this mean size are pieces of larger ones, which arrive together
)


class Fragments(NamedTuple):
    """Those of reads, of parity reads and of writes; None if not known."""

    read: float | None
    caused: float | None
    write: float | None


def fragments(measured: Measured, now: MemberRequests, context: VolumeContext) -> Fragments:
    """
    Return the fragments on the present layout.

    Parity reads are next to the writes, so if there are none now, they will merge as writes do.
    """
    flushes = now.flushes if context.flushes_counted else 0.0
    read = _fragments(measured.disks_read, now.read_whole + now.caused_whole, 0.0)
    write = _fragments(measured.disks_write, now.write_whole, flushes)
    return Fragments(read, read if now.caused_whole else write, write)


def _fragments(done: Stream | None, whole: float, flushes: float) -> float | None:
    return None if done is None else ratio(max(0.0, done.requests - flushes), whole)


class Merging(NamedTuple):
    """How requests of the load ``whole`` merge at the disks of ``layout``, by the present ``fragments``."""

    layout: Layout
    context: VolumeContext
    whole: Measured
    pattern: Pattern
    fragments: Fragments

    def read(self, sent: MemberRequests) -> Band:
        """Return the reads that the disks complete."""
        own = self._band(sent.read_whole, self.fragments.read)
        return own + self._band(sent.caused_whole, self.fragments.caused, self._separate(sent))

    def written(self, sent: MemberRequests) -> Band:
        """Return the writes that the disks complete."""
        fragments = self.fragments.write
        return self._band(sent.write_whole, fragments, self._separate(sent))

    def _separate(self, sent: MemberRequests) -> float:
        """
        Return the most fragments if nothing measured shows how pages merge.

        A page merges with the last one sent to its disk (block/blk-merge.c, blk_attempt_plug_merge). That is
        its neighbour if md handles one request after another. If md handles pages of all requests in
        flight in any order, it is the more rarely its neighbour, the more there are.
        """
        return 1 + (sent.pages - 1) * (1 - 1 / self.whole.queue)

    def _band(self, whole: float, measured: float | None, separate: float = 1.0) -> Band:
        """Return the completed requests of *whole* ones; *separate*: the most fragments of each."""
        now = 1.0 if measured is None else measured
        present = self.context.present
        if present is None or not present.parity:
            found = self._batched(now, separate) if self.layout.parity else self._plugged(now)
        elif self.layout.parity:
            found = Band(
                now * min(FACTORS[0], 1 - PARTS[0] * (1 - now)),
                now + self._more_parity(present) * (1 - now),
                max(now * FACTORS[1], now + PARTS[1] * (1 - now)),
            )
        else:
            found = self._plugged(now)
        return found.scaled(whole).widened(SKEW)

    def _more_parity(self, present: Layout) -> float:
        """Return by which part of what merges now fewer or more do: more parity makes larger batches."""
        more = self.layout.parity - present.parity
        return 0.0 if not more else (-0.15 if more > 0 else 0.1)

    def _plugged(self, now: float) -> Band:
        """
        Return the fragments without parity: only what arrives together merges.

        From parity: of small requests, those that merge now may have met in a batch of md's.
        """
        apart = min(1.0, max(now, 1 - self.pattern.joined))
        together = min(1.0, now)
        present, chunk = self.context.present, self.context.split_size
        met = present is not None and present.parity > 0 and not self.pattern.joined
        small = chunk is None or self.whole.write.size < LARGE * chunk
        return Band(together, apart if met and small else together, apart)

    def _batched(self, now: float, separate: float) -> Band:
        """Return the fragments with parity, from those without: md takes several requests of a stream at a time."""
        depth, pattern = self.whole.depth, self.pattern
        stream = max(map(pattern.requests_in_sequence, pattern.hypotheses))
        most = 1 - stream * (1 - min(ONE_BY_ONE, 1 / depth))
        likely = 1 - pattern.requests_in_sequence(pattern.likely) * (1 - max(BATCHED, 1 / depth))
        return Band(now * min(0.8, most), now * likely, now * max(1.2, separate))
