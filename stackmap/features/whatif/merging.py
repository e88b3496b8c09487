"""
How many requests the disks complete of those the members send: from no merging to what was measured.

*Fragments* are the requests completed per request that md received and split: 1 where its pages
merge again and no two requests do, less where requests merge, more where pages stay separate.
"""

from __future__ import annotations

from typing import NamedTuple

from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.member_requests import MemberRequests
from stackmap.features.whatif.pattern import Pattern
from stackmap.features.whatif.quantities import Band, Stream
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.ledger.parity import SKEW
from stackmap.model.load import ratio
from stackmap.model.raid import Layout

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


class Fragments(NamedTuple):
    """Those of reads, of parity reads and of writes; 1 if not known."""

    read: float
    caused: float
    write: float


def fragments(measured: Measured, now: MemberRequests, context: VolumeContext) -> Fragments:
    """
    Return the fragments on the present layout.

    Parity reads are next to the writes, so if there are none now, they will merge as writes do.
    """
    flushes = now.flushes if context.flushes_counted else 0.0
    read = _fragments(measured.disks_read, now.read_whole + now.caused_whole, 0.0)
    write = _fragments(measured.disks_write, now.write_whole, flushes)
    return Fragments(read, read if now.caused_whole else write, write)


def _fragments(done: Stream | None, whole: float, flushes: float) -> float:
    found = None if done is None else ratio(max(0.0, done.requests - flushes), whole)
    return 1.0 if found is None else found


class Merging(NamedTuple):
    """How requests of the load ``whole`` merge at the disks of ``layout``, by the present ``fragments``."""

    layout: Layout
    context: VolumeContext
    whole: Measured
    pattern: Pattern
    fragments: Fragments

    def read(self, sent: MemberRequests) -> Band:
        """Return the reads that the disks complete; the volume's own are never in pages."""
        now = self.fragments.read
        low, high = (now * each for each in READS)
        own = Band(low, now, max(now, min(1.0, high))).scaled(sent.read_whole).widened(SKEW)
        return own + self._made(sent.caused_whole, self.fragments.caused, sent)

    def written(self, sent: MemberRequests) -> Band:
        """Return the writes that the disks complete."""
        return self._made(sent.write_whole, self.fragments.write, sent)

    def _made(self, whole: float, now: float, sent: MemberRequests) -> Band:
        """Return the completed requests of *whole* ones that writes cause, by their fragments *now*."""
        if not self.layout.parity:
            found = self._plugged(now, from_parity=self._parity > 0)
        elif self._parity:
            found = self._again(now, sent.pages)
        else:
            found = self._batched(now, sent.pages)
        return found.scaled(whole).widened(self._skew)

    @property
    def _parity(self) -> int:
        return 0 if self.context.present is None else self.context.present.parity

    @property
    def _skew(self) -> float:
        """The share by which writes may be miscounted: layers are read one after another, so one may be missing."""
        count = self.whole.write.requests * (self.whole.seconds or 0.0)
        return SKEW + (1 / count if count else 0.0)

    def _again(self, now: float, pages: float) -> Band:
        """
        Return the fragments from parity to parity: pages of several requests in flight come in any order.

        With more parity, batches are larger.
        """
        apart, merged = ONE_PAGE, MERGED * (1 - now)
        if pages > 1:
            apart = PAGES + MIXED * (1 - 1 / self.whole.queue) * (1 - 1 / pages)
        least = now * min(1 / (1 + apart), 1 - merged)
        if now >= MERGES:  # requests do not merge, and only a stream's may
            least = max(least, min(now, self._in_batches))
        elif self.layout.parity > self._parity:
            least = min(least, self._in_batches)
        most = now * (1 + max(apart, merged))
        return Band(least, now, max(now, min(pages, most)))

    @property
    def _in_batches(self) -> float:
        """The fragments if all that may be a stream merges in batches of what is in flight."""
        stream = max(map(self.pattern.requests_in_sequence, self.pattern.hypotheses))
        return 1 - stream * (1 - min(BATCHED, 1 / self.whole.depth))

    def _plugged(self, now: float, *, from_parity: bool) -> Band:
        """
        Return the fragments without parity: only what arrives together merges.

        From parity: small writes that merge now may have met in a batch of md's.
        """
        together, joined = min(1.0, now), self.pattern.joined
        apart = min(1.0, max(now, 1 - joined))
        if not from_parity or joined:
            return Band(together, together, apart)
        if now <= MET:
            return Band(LEAST * together, TOGETHER * together, apart)
        return Band(together, apart, apart)

    def _batched(self, now: float, pages: float) -> Band:
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
        most = now / LEAST if now <= MET else max(now, min(pages, now * (1 + strays)))
        return Band(now * self._in_batches, now * likely, most)
