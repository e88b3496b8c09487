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
from stackmap.analysis.whatif.quantities import Band, Stream
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.load import ratio
from stackmap.model.raid import Layout

# Fragments of one load on another layout ÷ those on the present one, the least and the most of ten lab loads
# on RAID5, RAID6 and RAID10 of the same disks. Between two layouts without parity nothing was
# measured: as many merge as now, or none.
FRAGMENT_RATIOS = {
    # (the present layout has parity, the other has)
    (True, True): (0.94, 1.13),
    (True, False): (0.98, 1.37),
    (False, True): (0.8, 1.2),
    (False, False): (1.0, None),
}


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
    """
    How requests merge at the disks of ``layout``, by the ``fragments`` on the ``present`` one.

    ``joined``: the share of writes that merge into another on any layout.
    ``queue``: the volume's requests in flight.
    """

    layout: Layout
    present: Layout | None
    fragments: Fragments
    joined: float
    queue: float

    def read(self, sent: MemberRequests) -> Band:
        """Return the reads that the disks complete."""
        own = self._band(sent.read_whole, self.fragments.read)
        return own + self._band(sent.caused_whole, self.fragments.caused, self._separate(sent))

    def written(self, sent: MemberRequests) -> Band:
        """Return the writes that the disks complete."""
        fragments = self.fragments.write
        return self._band(sent.write_whole, fragments, self._separate(sent), self.joined)

    def _separate(self, sent: MemberRequests) -> float:
        """
        Return the most fragments if nothing measured shows how pages merge.

        A page merges with the last one sent to its disk (block/blk-merge.c, blk_attempt_plug_merge). That is
        its neighbour if md handles one request after another. If md handles pages of all requests in
        flight in any order, it is the more rarely its neighbour, the more there are.
        """
        return 1 + (sent.pages - 1) * (1 - 1 / self.queue)

    def _band(
        self, whole: float, measured: float | None, separate: float = 1.0, joined: float = 0.0
    ) -> Band:
        """Return the completed requests of *whole* ones; without parity nothing is split further."""
        before = self.present is not None and self.present.parity > 0
        now = 1.0 if measured is None else measured
        least, most = FRAGMENT_RATIOS[before, self.layout.parity > 0]
        likely, high = now, 1.0 if most is None else now * most
        if not self.layout.parity:
            likely, high = min(1.0, now), min(1.0, high, max(now, 1.0 - joined))
        elif not before:
            high = max(high, now * separate)
        return Band(min(likely, now * least), likely, high).scaled(whole).widened(SKEW)
