"""What a layout's bitmap adds: at its members' metadata devices, and at the disks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

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
MAX_REGION = 1 << 36  # bytes; a larger region is a whole disk
MIN_SHARE = 0.10  # of the disks' requests: a smaller share is not reported


class Metadata(NamedTuple):
    """What is added at the members' metadata devices, and at the disks."""

    members: Added
    disks: Added


def bitmap_on(layout: Layout, context: VolumeContext) -> Bitmap | None:
    """Return the bitmap of *layout*, with the present region size or the manager's default."""
    region = context.region or (REGION_LVM if context.lvm else REGION_MD)
    return bitmap_of(layout, region, context.size)


def metadata_on(
    bitmap: Bitmap,
    layout: Layout,
    measured: Measured,
    whole: Measured,
    context: VolumeContext,
    pattern: Pattern,
) -> Metadata:
    """
    Return what *bitmap* adds under the load *measured*, one interval of the window *whole*.

    The low end: the daemon is late, and all writes in flight share a page's write. The high end:
    none share, and superblocks are marked in every pause. Both within chance over the window.
    """
    scale = measured.write.requests / whole.write.requests if whole.write.requests else 0.0
    seconds = whole.page_write_seconds(context)
    run_rate = pattern.run_rate * scale

    def written(sets: float, depth: float) -> float:
        shared = bits.grouped(sets, run_rate, depth, bitmap.pages)
        return bits.page_writes(bits.coalesced(shared, seconds))

    by_period = [
        sets_on(pattern, measured.write.bytes, scale, bitmap, period)
        for period in bits.daemon_periods(layout)
    ]
    every = list(chain(*by_period))
    superblocks = _superblock_writes(layout, whole, context, pattern) * scale
    least = min(written(sets, whole.max_depth) for sets in every)
    most = max(written(sets, 1.0) for sets in every) + superblocks
    ends = count_range(least, whole.seconds)[0], count_range(most, whole.seconds)[1]
    likely = written(by_period[0][0], whole.writes_sharing_a_page(layout))
    pages = spanning(ends if measured.write.requests else (), likely).scaled(layout.members)
    sent = context.requests_per_page
    carried = pages.scaled(bitmap.page_bytes)
    return Metadata(
        members=Added(pages.scaled(sent), carried),
        disks=Added(pages.scaled(sent if context.flushes_counted else 1), carried),
    )


def _superblock_writes(
    layout: Layout, whole: Measured, context: VolumeContext, pattern: Pattern
) -> float:
    """
    Return how often per second superblocks are marked, at most: now, that is what bits do not explain.

    With parity, writes take longest and leave the fewest pauses. Without, there may be as many pauses
    as between writes at random instants.
    """
    now, counted = 0.0, page_writes(whole, context)
    if context.bitmap is not None and counted is not None:
        sets = sets_on(pattern, whole.write.bytes, 1.0, context.bitmap, bits.PERIOD)[0]
        now = max(0.0, counted - bits.page_writes(sets))
    return now if layout.parity else max(now, bits.superblock_writes(pattern.burst_rate))


def present_metadata(measured: Measured, context: VolumeContext) -> Metadata | None:
    """Return the measured writes of the present bitmap; None if they are not known."""
    if measured.metadata is None:
        return None
    sent, carried = exact(measured.metadata.requests), exact(measured.metadata.bytes)
    done = sent if context.flushes_counted else sent.scaled(1 / context.requests_per_page)
    return Metadata(Added(sent, carried), Added(done, carried))


def regions(
    layout: Layout, whole: Measured, context: VolumeContext, pattern: Pattern, data: float
) -> Iterator[Region]:
    """
    Yield what bitmaps would add to *data*, the disks' other requests.

    First the default one, then the smallest region that adds less than ``MIN_SHARE``, then no bitmap
    where the manager allows that. Nothing if the default adds less already.
    """
    first = bitmap_on(layout, context)
    bitmap = first
    while bitmap is not None and bitmap.region <= MAX_REGION:
        added = metadata_on(bitmap, layout, whole, whole, context, pattern).disks.requests.likely
        share = added / (added + data) if added + data else 0.0
        if share <= MIN_SHARE and bitmap is first:
            return
        if bitmap is first or share <= MIN_SHARE:
            yield Region(bitmap.region, added, share)
        if share <= MIN_SHARE:
            break
        bitmap = bitmap_of(layout, bitmap.region * 2, context.size)
    if first is not None and not context.lvm:  # LVM's RAID always has a bitmap
        yield Region(None, 0.0, 0.0)
