"""What a layout's bitmap adds: at its members' metadata devices, and at the disks."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from stackmap.features.whatif import bitmap as bits
from stackmap.features.whatif.bitmap import Bitmap, bitmap_of
from stackmap.features.whatif.bitmap_rate import count_range, page_writes, sharing
from stackmap.features.whatif.hypotheses import Hypothesis
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.pattern import Pattern
from stackmap.features.whatif.projection import Added, Region
from stackmap.features.whatif.quantities import Band, exact, spanned, spanning
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout

REGION_LVM, REGION_MD = 2 << 20, 64 << 20  # lvm.conf(5): raid_region_size; mdadm(8): --bitmap-chunk
MAX_REGION = 1 << 36  # bytes; a larger region is a whole disk
PAUSES_WITH_PARITY = 0.75  # of those without: writes take longer
MIN_SHARE = 0.10  # of the disks' requests: a smaller share is not reported


class Metadata(NamedTuple):
    """What is added at the members' metadata devices, and at the disks; None where nothing is, or it is not known."""

    members: Added | None = None
    disks: Added | None = None


def bitmap_on(layout: Layout, context: VolumeContext) -> Bitmap | None:
    """Return the bitmap of *layout*, with the present region size or the manager's default."""
    region = context.region or (REGION_LVM if context.lvm else REGION_MD)
    return bitmap_of(layout, region, context.size)


def metadata_on(
    bitmap: Bitmap | None,
    layout: Layout,
    measured: Measured,
    whole: Measured,
    context: VolumeContext,
    pattern: Pattern,
) -> Metadata:
    """
    Return what *bitmap* adds under the load *measured*, one interval of the window *whole*.

    The low end: all writes in flight share a page's write, and without parity bits may stay set, while the
    daemon sleeps. The high end: none share. Both within chance over the window.
    """
    if bitmap is None:
        return Metadata()
    writes = measured.write.requests
    scale = writes / whole.write.requests if whole.write.requests else 0.0
    together = sharing(whole, context, layout)

    def pages(each: Hypothesis, marks: Band) -> Band:
        late, prompt = (
            each.bits_set(measured.write.bytes, scale, bitmap, period)
            for period in (bits.daemon_period(layout), bits.PERIOD)
        )
        cases = (late, whole.max_depth), (late, together), (prompt, 1.0)
        found = (bits.grouped(sets, writes, depth, bitmap.pages) for sets, depth in cases)
        return Band(*map(bits.page_writes, found)) + marks.scaled(scale)

    marks = _superblock_writes(layout, whole, context, pattern)
    found = spanned(list(map(pages, pattern.hypotheses, marks)))
    least = 0.0 if bits.may_sleep(layout, pattern.burst_rate * scale) else found.low
    # Without a write too: bits of earlier ones may be left to clear.
    low, high = (count_range(end, whole.seconds) for end in (least, found.high))
    found = spanning((low[0], high[1]), found.likely)
    found = found.limited(_most_page_writes(bitmap, layout, whole, context, scale))
    written, sent = found.scaled(layout.members), context.requests_per_page
    carried = written.scaled(bitmap.page_bytes)
    return Metadata(
        members=Added(written.scaled(sent), carried),
        disks=Added(written.scaled(sent if context.flushes_counted else 1), carried),
    )


def _most_page_writes(
    bitmap: Bitmap, layout: Layout, whole: Measured, context: VolumeContext, scale: float
) -> float:
    """
    Return the page writes per second at each member, at most: what the disks write now, were it all the bitmap's.

    Copies and parity set bits in other ways, so one shows nothing of the other: infinite.
    """
    now, present = context.bitmap, context.present
    most = whole.most_page_writes
    if (
        now is None
        or present is None
        or most is None
        or (layout.parity > 0) != (present.parity > 0)
    ):
        return inf
    return most * scale * max(1.0, now.covers / bitmap.covers)


def _superblock_writes(
    layout: Layout, whole: Measured, context: VolumeContext, pattern: Pattern
) -> list[Band]:
    """
    Return how often per second superblocks are marked by each hypothesis.

    Marks are now what bits do not explain. How many pauses are long enough depends on how long writes take.
    """
    rate = pattern.burst_rate
    likely, most = (bits.superblock_writes(rate, end) for end in (rate, whole.write.requests))
    counted = page_writes(whole, context)
    bitmap = context.bitmap
    if bitmap is None or counted is None:
        return [Band(0.0, 0.0, most)] * len(pattern.hypotheses)
    present = context.present is not None and context.present.parity > 0
    factor = PAUSES_WITH_PARITY ** ((layout.parity > 0) - present)

    def marks(each: Hypothesis) -> Band:
        sets = each.bits_set(whole.write.bytes, 1.0, bitmap, bits.PERIOD)
        now = min(most, max(0.0, counted - bits.page_writes(sets)))
        return Band(now / 2, max(now / 2, min(likely, now * factor)), min(most, now * 2))

    return list(map(marks, pattern.hypotheses))


def present_metadata(measured: Measured, context: VolumeContext) -> Metadata:
    """Return the measured writes of the present bitmap."""
    if measured.metadata is None:
        return Metadata()
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
        disks = metadata_on(bitmap, layout, whole, whole, context, pattern).disks
        added = disks.requests.likely if disks else 0.0
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
