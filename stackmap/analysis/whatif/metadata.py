"""What a layout's bitmap adds: at its members' metadata devices, and at the disks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from stackmap.analysis.whatif import bitmap as bits
from stackmap.analysis.whatif.bitmap import Bitmap, bitmap_of
from stackmap.analysis.whatif.bitmap_rate import count_range, page_writes
from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.pattern import Pattern, sets_on
from stackmap.analysis.whatif.projection import Added, Region
from stackmap.analysis.whatif.quantities import exact, spanning
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout

REGION_LVM, REGION_MD = 2 << 20, 64 << 20  # lvm.conf(5): raid_region_size; mdadm(8): --bitmap-chunk
LARGEST = 1 << 36  # bytes of a region; beyond, a bit is a disk
WORTH = 0.10  # of the disks' requests: a bitmap that adds less is not worth a word


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is added at the members' metadata devices, and at the disks."""

    members: Added
    disks: Added


def bitmap_on(layout: Layout, context: VolumeContext) -> Bitmap | None:
    """Return the bitmap that *layout* would have: with the present region, or what its maker chooses."""
    region = context.region or (REGION_LVM if context.lvm else REGION_MD)
    return bitmap_of(layout, region, context.size)


def metadata_on(
    bitmap: Bitmap,
    layout: Layout,
    found: Measured,
    whole: Measured,
    context: VolumeContext,
    pattern: Pattern,
) -> Metadata:
    """
    Return what *bitmap* adds under the load *found*, an interval of the window that is *whole*.

    The ends: within chance, for a window as long; at least as if the daemon were late and all that
    were under way at once shared a page's write, and at most each by itself, with the marks of
    superblocks that pauses between writes leave.
    """
    scale = found.write.requests / whole.write.requests if whole.write.requests else 0.0
    page_write_seconds = whole.page_write_seconds(context)
    run_rate = pattern.run_rate * scale

    def written(sets: float, depth: float) -> float:
        both = bits.together(sets, run_rate, depth, bitmap.pages)
        return bits.page_writes(bits.coalesced(both, page_write_seconds))

    ways = [
        sets_on(pattern, found.write.bytes, scale, bitmap, period)
        for period in bits.daemon_periods(layout)
    ]
    every_way = list(chain(*ways))
    superblock_writes = _marks(layout, whole, context, pattern) * scale
    least = min(written(sets, whole.max_depth) for sets in every_way)
    most = max(written(sets, 1.0) for sets in every_way) + superblock_writes
    ends = count_range(least, whole.seconds)[0], count_range(most, whole.seconds)[1]
    likely = written(ways[0][0], whole.writes_sharing_a_page(layout))
    each = spanning(ends if found.write.requests else (), likely).scaled(layout.members)
    sent = context.writes_of_a_page
    carried = each.scaled(bitmap.page_bytes)
    return Metadata(
        members=Added(each.scaled(sent), carried),
        disks=Added(each.scaled(sent if context.flushes_counted else 1), carried),
    )


def _marks(layout: Layout, whole: Measured, context: VolumeContext, pattern: Pattern) -> float:
    """
    Return how often superblocks may be marked a second, at most: as now, which is what bits do not explain.

    With parity writes take longest and leave the fewest pauses; without, there
    may be as many as between writes at random instants.
    """
    now, counted = 0.0, page_writes(whole, context)
    if context.bitmap is not None and counted is not None:
        sets = sets_on(pattern, whole.write.bytes, 1.0, context.bitmap, bits.PERIOD)[0]
        now = max(0.0, counted - bits.page_writes(sets))
    return now if layout.parity else max(now, bits.superblock_writes(pattern.burst_rate))


def present_metadata(found: Measured, context: VolumeContext) -> Metadata | None:
    """Return what was measured of the present one; None where nothing tells it from other writes."""
    if found.metadata is None:
        return None
    sent, carried = exact(found.metadata.requests), exact(found.metadata.bytes)
    done = sent if context.flushes_counted else sent.scaled(1 / context.writes_of_a_page)
    return Metadata(Added(sent, carried), Added(done, carried))


def regions(
    layout: Layout, whole: Measured, context: VolumeContext, pattern: Pattern, data: float
) -> Iterator[Region]:
    """
    Yield what bitmaps would add to *data*, the disks' other requests: the one it would have, the
    smallest that adds less than ``WORTH``, and none where that can be. Nothing where the first adds
    as little.
    """
    first = bitmap_on(layout, context)
    bitmap = first
    while bitmap is not None and bitmap.region <= LARGEST:
        added = metadata_on(bitmap, layout, whole, whole, context, pattern).disks.requests.likely
        share = added / (added + data) if added + data else 0.0
        if share <= WORTH and bitmap is first:
            return
        if bitmap is first or share <= WORTH:
            yield Region(bitmap.region, added, share)
        if share <= WORTH:
            break
        bitmap = bitmap_of(layout, bitmap.region * 2, context.size)
    if first is not None and not context.lvm:  # LVM's RAID always keeps one
        yield Region(None, 0.0, 0.0)
