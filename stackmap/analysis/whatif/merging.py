"""
How many requests the disks complete of what members send: from where nothing merges to as it was measured.

*Fragments* are the requests the disks completed for each request that md was
sent and cut: 1 where its pages are one again and no two requests merged, less
where some did, more where pages stayed apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.analysis.parity import SKEW
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.member_requests import MemberRequests
from stackmap.analysis.whatif.quantities import Band, Stream
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.load import ratio
from stackmap.model.raid import Layout

# The fragments of one load on another layout, for those on the present one, at least and at most: in the
# lab, ten loads on RAID5, RAID6 and RAID10 of the same disks. With parity on neither nothing was measured:
# there as few merge as now, or none.
FRAGMENT_RATIOS = {
    # (the present layout has parity, the other has)
    (True, True): (0.94, 1.13),
    (True, False): (0.98, 1.37),
    (False, True): (0.8, 1.2),
    (False, False): (1.0, None),
}


@dataclass(frozen=True, slots=True)
class Fragments:
    """Those of reads, of what is read for parity, and of writes; None where nothing tells."""

    read: float | None
    caused: float | None
    write: float | None


def fragments(found: Measured, now: MemberRequests, context: VolumeContext) -> Fragments:
    """
    Return the fragments on the present layout.

    What is read for parity lies beside what is written, so where nothing is
    read for it now, it will merge as writes do.
    """
    known_flushes = now.flushes if context.flushes_counted else 0.0
    read = _fragments(found.disks_read, now.read_whole + now.caused_whole, 0.0)
    write = _fragments(found.disks_write, now.write_whole, known_flushes)
    return Fragments(read, read if now.caused_whole else write, write)


def _fragments(done: Stream | None, whole: float, known_flushes: float) -> float | None:
    return None if done is None else ratio(max(0.0, done.requests - known_flushes), whole)


@dataclass(frozen=True, slots=True)
class Merging:
    """
    How requests merge at the disks of ``layout``, by the ``fragments`` on the ``present`` one.

    ``joined``: the share of writes that is one with another on any layout, as
    it is now. ``queue``: how many of the volume's requests are under way at once.
    """

    layout: Layout
    present: Layout | None
    fragments: Fragments
    joined: float
    queue: float

    def read(self, way: MemberRequests) -> Band:
        """Return what the disks do of *way*'s reads."""
        own = self._band(way.read_whole, self.fragments.read)
        return own + self._band(way.caused_whole, self.fragments.caused, self._apart(way))

    def written(self, way: MemberRequests) -> Band:
        """Return what they do of its writes."""
        return self._band(way.write_whole, self.fragments.write, self._apart(way), self.joined)

    def _apart(self, way: MemberRequests) -> float:
        """
        Return the fragments at most, where nothing measured says how pages merge.

        A page merges with the last one that was sent to its disk (block/blk-merge.c:
        blk_attempt_plug_merge). That is its neighbour where md takes requests one
        after another; where it takes pages of all that are under way in any order,
        it is as often as they are few.
        """
        return 1 + (way.pages - 1) * (1 - 1 / self.queue)

    def _band(
        self, whole: float, measured: float | None, apart: float = 1.0, joined: float = 0.0
    ) -> Band:
        """Return what the disks do of *whole* requests; without parity nothing is cut, and that is the most."""
        before = self.present is not None and self.present.parity > 0
        here = 1.0 if measured is None else measured
        least, most = FRAGMENT_RATIOS[before, self.layout.parity > 0]
        likely, high = here, 1.0 if most is None else here * most
        if not self.layout.parity:
            likely, high = min(1.0, here), min(1.0, high, max(here, 1.0 - joined))
        elif not before:
            high = max(high, here * apart)
        return Band(min(likely, here * least), likely, high).scaled(whole).widened(SKEW)
