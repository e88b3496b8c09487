"""What a layout's bitmap adds: at its members' metadata devices, and at the disks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from stackmap.analysis.whatif import bitmap as bits
from stackmap.analysis.whatif.band import exactly, over
from stackmap.analysis.whatif.bitmap import Bitmap, bitmap_of
from stackmap.analysis.whatif.bitmap_rate import page_writes, within_chance
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.pattern import Pattern, sets_on
from stackmap.analysis.whatif.projection import Added, Region
from stackmap.analysis.whatif.volume_context import Stand
from stackmap.model.raid import Layout

REGION_LVM, REGION_MD = 2 << 20, 64 << 20  # lvm.conf(5): raid_region_size; mdadm(8): --bitmap-chunk
LARGEST = 1 << 36  # bytes of a region; beyond, a bit is a disk
WORTH = 0.10  # of the disks' requests: a bitmap that adds less is not worth a word


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is added at the members' metadata devices, and at the disks."""

    members: Added
    disks: Added


def bitmap_on(layout: Layout, place: Stand) -> Bitmap | None:
    """Return the bitmap that *layout* would have: with the present region, or what its maker chooses."""
    region = place.region or (REGION_LVM if place.lvm else REGION_MD)
    return bitmap_of(layout, region, place.size)


def metadata_on(
    bitmap: Bitmap, layout: Layout, found: Measured, whole: Measured, place: Stand, pattern: Pattern
) -> Metadata:
    """
    Return what *bitmap* adds under the load *found*, an interval of the window that is *whole*.

    The ends: within chance, for a window as long; at least as if the daemon were late and all that
    were under way at once shared a page's write, and at most each by itself, with the marks of
    superblocks that pauses between writes leave.
    """
    scale = found.write.requests / whole.write.requests if whole.write.requests else 0.0
    pause = whole.pause(place)
    touches = pattern.touches * scale

    def written(sets: float, depth: float) -> float:
        both = bits.together(sets, touches, depth, bitmap.pages)
        return bits.page_writes(bits.shared(both, pause))

    ways = [
        sets_on(pattern, found.write.bytes, scale, bitmap, every) for every in bits.passes(layout)
    ]
    every_way = list(chain(*ways))
    marks = _marks(layout, whole, place, pattern) * scale
    least = min(written(sets, whole.deepest) for sets in every_way)
    most = max(written(sets, 1.0) for sets in every_way) + marks
    ends = within_chance(least, whole.seconds)[0], within_chance(most, whole.seconds)[1]
    likely = written(ways[0][0], whole.sharing(layout))
    each = over(ends if found.write.requests else (), likely).scaled(layout.members)
    sent = place.writes_of_a_page
    carried = each.scaled(bitmap.page_bytes)
    return Metadata(
        members=Added(each.scaled(sent), carried),
        disks=Added(each.scaled(sent if place.flushes_counted else 1), carried),
    )


def _marks(layout: Layout, whole: Measured, place: Stand, pattern: Pattern) -> float:
    """
    Return how often superblocks may be marked a second, at most: as now, which is what bits do not explain.

    With parity writes take longest and leave the fewest pauses; without, there
    may be as many as between writes at random instants.
    """
    now, counted = 0.0, page_writes(whole, place)
    if place.bitmap is not None and counted is not None:
        sets = sets_on(pattern, whole.write.bytes, 1.0, place.bitmap, bits.PASS)[0]
        now = max(0.0, counted - bits.page_writes(sets))
    return now if layout.parity else max(now, bits.marks(pattern.groups))


def present_metadata(found: Measured, place: Stand) -> Metadata | None:
    """Return what was measured of the present one; None where nothing tells it from other writes."""
    if found.metadata is None:
        return None
    sent, carried = exactly(found.metadata.requests), exactly(found.metadata.bytes)
    done = sent if place.flushes_counted else sent.scaled(1 / place.writes_of_a_page)
    return Metadata(Added(sent, carried), Added(done, carried))


def regions(
    layout: Layout, whole: Measured, place: Stand, pattern: Pattern, data: float
) -> Iterator[Region]:
    """
    Yield what bitmaps would add to *data*, the disks' other requests: the one it would have, the
    smallest that adds less than ``WORTH``, and none where that can be. Nothing where the first adds
    as little.
    """
    first = bitmap_on(layout, place)
    bitmap = first
    while bitmap is not None and bitmap.region <= LARGEST:
        added = metadata_on(bitmap, layout, whole, whole, place, pattern).disks.requests.likely
        share = added / (added + data) if added + data else 0.0
        if share <= WORTH and bitmap is first:
            return
        if bitmap is first or share <= WORTH:
            yield Region(bitmap.region, added, share)
        if share <= WORTH:
            break
        bitmap = bitmap_of(layout, bitmap.region * 2, place.size)
    if first is not None and not place.lvm:  # LVM's RAID always keeps one
        yield Region(None, 0.0, 0.0)
