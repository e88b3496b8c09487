"""
The write-intent bitmap: how often its pages are written now, and on another layout.

md sets the bit of a clean region on every member before the first write to it. A daemon runs every
D = 5 s and clears the bits of regions without a new write since its previous run. stackmap-model(7)
has the formulas. Source: drivers/md/md-bitmap.c (startwrite, endwrite, daemon_work, unplug).

Some of the present bitmap's writes mark superblocks, which md stores in the same place. How many depends
on the gaps between writes (``superblock_writes``), which no counter shows.
"""

from collections.abc import Iterator
from math import exp, inf, sqrt
from typing import NamedTuple

from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.quantities import Band, exact, solve, spanned, spanning
from stackmap.features.whatif.volume_context import HEAD, Bitmap, VolumeContext, bitmap_of
from stackmap.model.raid import PAGE, Layout

REGION_LVM, REGION_MD = 2 << 20, 64 << 20  # lvm.conf(5): raid_region_size; mdadm(8): --bitmap-chunk
MAX_REGION = 1 << 36  # bytes; a larger region is a whole disk
MIN_SHARE = 0.10  # of the disks' requests: a smaller share is not reported
PAUSES_WITH_PARITY = 0.75  # of those without: writes take longer
DEVIATIONS = 2.0
OFFSET = 3 / 8  # of Anscombe's transform
PERIOD = 5.0  # seconds between runs of the daemon: md's default, which LVM keeps
CLEAN_AFTER = 2  # runs without a write until a region is clean
# The daemon runs when md's thread wakes up. On parity levels every write wakes it; on copies none does
# (raid10.c, raid10_unplug), and after other work it sleeps the whole period again: in one of two lab runs.
LATE_PERIOD = 1.25 * PERIOD
# Seconds: safe_mode_delay is 0.2, and the timer rounds up to 0.2 … 0.4 (md.c, md_write_end).
PAUSE, MAX_PAUSE = 0.3, 0.4
MARKS = 4  # page writes per pause: clean and dirty, and each time the bitmap's own superblock too (md_update_sb)
GROUPED = 0.75  # instants per write: where there are more, writes do not arrive in groups
MAX_REGIONS = 1 << 40


class BitmapLoad(NamedTuple):
    """The bitmap's own writes: requests and bytes per second."""

    requests: Band
    bytes: Band


class Region(NamedTuple):
    """What a bitmap with regions of ``bytes`` would add at the disks per second; None: no bitmap."""

    bytes: int | None
    requests: float
    share: float  # of all the disks' requests


class Hypothesis(NamedTuple):
    """
    One possible pattern: the ``sequential`` share of bytes, at how many places per second the others begin,
    ``random``, and the bytes of the volume that these are spread over, ``span``; None if unbounded.
    ``following``: the share of bytes that follow others, in a stream or in a run.
    """

    sequential: float
    random: float
    span: float | None
    following: float

    def bits_set(self, written: float, scale: float, bitmap: Bitmap, period: float) -> float:
        """
        Return the bits of *bitmap* set per second if its daemon runs every *period*.

        *written*: bytes per second; *scale*: load as a multiple of the average.
        """
        random = self.random * scale
        if self.span is not None:  # of unbounded regions, each write finds a clean one
            random = random_sets(random, max(1e-3, self.span / bitmap.covers), period)
        return self.following * written / bitmap.covers + random


def regions_of(offset: int, size: int, covers: float) -> range:
    """Return the regions of *covers* bytes that hold *size* bytes from *offset* on."""
    return range(int(offset / covers), int((offset + max(size, 1) - 1) / covers) + 1)


def page_of(region: int) -> int:
    """Return the page of the bitmap that has the bit of *region*."""
    return (HEAD * 8 + region) // (PAGE * 8)


def daemon_period(layout: Layout | None) -> float:
    """Return the likely seconds between the daemon's runs."""
    return PERIOD if layout is not None and layout.parity else LATE_PERIOD


def random_sets(rate: float, regions: float, period: float = PERIOD) -> float:
    """Return the bits set per second by *rate* random writes per second over *regions*."""
    share = exp(-min(700.0, rate * period / regions))
    return regions / period * (1 - share) * share


def regions_for(rate: float, sets: float, most: float | None, period: float = PERIOD) -> float:
    """Return the regions, at most *most*, over which *rate* random writes set *sets* bits per second."""
    top = MAX_REGIONS if most is None else most
    return solve(lambda regions: random_sets(rate, regions, period), sets, 1e-3, top)


def page_writes(sets: float) -> float:
    """Return the writes of a page per second, clearing ones too, at *sets* bits per second."""
    return sets + min(sets, 1 / PERIOD) * exp(-min(700.0, sets * PERIOD))


def sets_from_page_writes(writes: float) -> float:
    """Return the bits set per second where the page is written *writes* times per second."""
    return solve(page_writes, writes, 0.0, writes) if writes else 0.0


def grouped(sets: float, writes: float, depth: float, pages: int) -> float:
    """Return the page writes per second if *depth* of *writes* per second, which set *sets* bits, are in flight."""
    if not writes:
        return sets
    groups, share = writes / depth * pages, min(1.0, sets / writes / pages)
    return groups * (1 - float((1 - share) ** depth))


def ungrouped(written: float, writes: float, depth: float, pages: int) -> float:
    """Return the bits set per second for which ``grouped`` gives *written*; at most one per write."""
    if not writes:
        return written
    most = max(written, writes)
    return solve(lambda sets: grouped(sets, writes, depth, pages), written, 0.0, most)


def superblock_writes(least: float, most: float) -> float:
    """
    Return the page writes per second, at most, that mark superblocks under writes at *least* to *most* instants
    per second.

    At random instants rate · e^(-rate · PAUSE) pauses are long enough, evenly spaced all or none.
    """
    rate = max(least, min(most, 1 / MAX_PAUSE))
    return MARKS * (rate if rate <= 1 / MAX_PAUSE else _pauses(rate))


def may_sleep(layout: Layout, rate: float) -> bool:
    """Whether the daemon may sleep, so that bits stay set, under writes at *rate* random instants per second."""
    # On parity levels every write wakes it, elsewhere a pause does.
    return not layout.parity and _pauses(rate) < 1 / PERIOD < rate


def _pauses(rate: float) -> float:
    return rate * exp(-min(700.0, rate * PAUSE))


class BitSets(NamedTuple):
    """
    Bits of the present bitmap set per second.

    ``counted``: the least if all counted writes set bits; ``low``: if some mark superblocks.
    ``likely`` is ``high`` where so few were counted that there may be none. ``least``: if many mark superblocks.
    """

    bitmap: Bitmap
    least: float
    low: float
    counted: float
    likely: float
    high: float

    def everywhere(self, rate: float) -> float:
        """Return the bits that *rate* random writes per second set if they are all over the volume."""
        return random_sets(rate, self.bitmap.regions or MAX_REGIONS)


def bit_sets(measured: Measured, context: VolumeContext, burst_rate: float) -> BitSets | None:
    """
    Return the bits that writes set; None if the bitmap's writes are not known.

    *burst_rate*: instants per second at which writes arrive, at least.
    """
    writes, bitmap = counted_page_writes(measured, context), context.bitmap
    if writes is None or bitmap is None:
        return None
    sent = measured.write.requests
    marks = superblock_writes(burst_rate, sent)
    most_marks = max(marks, _marks_between_groups(measured, burst_rate))

    def sets(written: float, depth: float) -> float:
        return ungrouped(sets_from_page_writes(written), sent, depth, bitmap.pages)

    fewest, most = count_range(writes, measured.seconds)
    least, low = (sets_from_page_writes(max(0.0, fewest - some)) for some in (most_marks, marks))
    counted = sets_from_page_writes(fewest)
    depth = sharing(measured, context, context.present)
    high = sets(most, measured.max_depth)
    return BitSets(bitmap, least, low, counted, sets(writes, depth) if counted else high, high)


def _marks_between_groups(measured: Measured, burst_rate: float) -> float:
    """Return the page writes per second that mark superblocks, at most, where writes arrive in groups: 0 where they do not."""
    if burst_rate > GROUPED * measured.write.requests:
        return 0.0
    idle = 1.0 if measured.busy is None else max(0.0, 1 - measured.busy)
    return MARKS * min(burst_rate, idle / PAUSE, 1 / MAX_PAUSE)


def sharing(measured: Measured, context: VolumeContext, layout: Layout | None) -> float:
    """
    Return the likely number of writes that share one write of a bitmap page on *layout*.

    Parity levels collect the bits of a batch. With copies each submitter waits alone (raid1-10.c),
    except for writes under one plug. The present bitmap's writes give the upper limit.
    """
    if layout is None or not (layout.parity or measured.plugged):
        return 1.0
    writes, bitmap = counted_page_writes(measured, context), context.bitmap
    present = context.present is not None and (context.present.parity or measured.plugged)
    if not writes or bitmap is None or not present:
        return measured.depth
    most = measured.write.requests * bitmap.pages / sets_from_page_writes(writes)
    return max(1.0, min(measured.depth, most))


def counted_page_writes(measured: Measured, context: VolumeContext) -> float | None:
    """Return the writes of the bitmap's page per second at each member; None if not known."""
    if measured.metadata is None or not context.bitmap_devices:
        return None
    return measured.metadata.requests / measured.per_page / context.bitmap_devices


def count_range(rate: float, seconds: float | None) -> tuple[float, float]:
    """
    Return the range of the true rate behind a counted *rate* per second, two deviations each way.

    The root of any count has a deviation of a half (Anscombe).
    """
    span = seconds or 1.0
    root = sqrt(rate * span + OFFSET)
    low, high = max(0.0, root - DEVIATIONS / 2), root + DEVIATIONS / 2
    return max(0.0, low**2 - OFFSET) / span, (high**2 - OFFSET) / span


# The bitmap's writes at the members' metadata devices, and at the disks; None without a bitmap, or if not known.
AtMembersAndDisks = tuple[BitmapLoad | None, BitmapLoad | None]


def present_metadata(measured: Measured, context: VolumeContext) -> AtMembersAndDisks:
    """Return the measured writes of the present bitmap."""
    if measured.metadata is None:
        return None, None
    sent, carried = exact(measured.metadata.requests), exact(measured.metadata.bytes)
    done = sent if context.flushes_counted else sent.scaled(1 / measured.per_page)
    return BitmapLoad(sent, carried), BitmapLoad(done, carried)


def added_by(
    pages: Band, bitmap: Bitmap, per_page: int, context: VolumeContext
) -> AtMembersAndDisks:
    """Return the load of *pages* page writes of *bitmap* per second; *per_page*: requests at a member for each."""
    carried = pages.scaled(bitmap.page_bytes)
    done = per_page if context.flushes_counted else 1
    return BitmapLoad(pages.scaled(per_page), carried), BitmapLoad(pages.scaled(done), carried)


def default_bitmap(layout: Layout, context: VolumeContext) -> Bitmap | None:
    """Return the bitmap of *layout* with the present region size, or the manager's default; None without redundancy."""
    region = context.region or (REGION_LVM if context.lvm else REGION_MD)
    return bitmap_of(layout, region, context.size)


class BitmapModel(NamedTuple):
    """
    What bitmaps add on ``layout``, by the load ``whole`` of the window and the patterns its writes may have.

    ``burst_rate``: instants per second at which writes arrive, at least.
    """

    layout: Layout
    context: VolumeContext
    whole: Measured
    hypotheses: tuple[Hypothesis, ...]
    burst_rate: float

    def added(self, bitmap: Bitmap | None, load: Measured) -> AtMembersAndDisks:
        """
        Return the writes that *bitmap* adds to *load*, the load of one interval.

        The low end: all writes in flight share a page's write, and without parity bits may stay set, while
        the daemon sleeps. The high end: none share. Both within chance over the window.
        """
        if bitmap is None:
            return None, None
        whole, context = self.whole, self.context
        writes = load.write.requests
        scale = writes / whole.write.requests if whole.write.requests else 0.0
        together = sharing(whole, context, self.layout)

        def pages(pattern: Hypothesis, marks: Band) -> Band:
            late, prompt = (
                pattern.bits_set(load.write.bytes, scale, bitmap, period)
                for period in (daemon_period(self.layout), PERIOD)
            )
            cases = (late, whole.max_depth), (late, together), (prompt, 1.0)
            written = (grouped(sets, writes, depth, bitmap.pages) for sets, depth in cases)
            return Band(*map(page_writes, written)) + marks.scaled(scale)

        open_range = spanned(list(map(pages, self.hypotheses, self._superblock_writes())))
        least = 0.0 if may_sleep(self.layout, self.burst_rate * scale) else open_range.low
        # Without a write too: bits of earlier ones may be left to clear.
        low, high = (count_range(end, whole.seconds) for end in (least, open_range.high))
        by_chance = spanning((low[0], high[1]), open_range.likely)
        written = by_chance.limited(self._most_page_writes(bitmap, scale)).scaled(
            self.layout.members
        )
        return added_by(written, bitmap, whole.per_page, context)

    def regions(self, data: float) -> Iterator[Region]:
        """
        Yield what bitmaps would add to *data*, the disks' other requests.

        First the default one, then the smallest region that adds less than ``MIN_SHARE``, then no bitmap
        where the manager allows that. Nothing if the default adds less already.
        """
        first = bitmap = default_bitmap(self.layout, self.context)
        while bitmap is not None and bitmap.region <= MAX_REGION:
            _, disks = self.added(bitmap, self.whole)
            added = disks.requests.likely if disks else 0.0
            share = added / (added + data) if added + data else 0.0
            if share <= MIN_SHARE and bitmap is first:
                return
            if bitmap is first or share <= MIN_SHARE:
                yield Region(bitmap.region, added, share)
            if share <= MIN_SHARE:
                break
            bitmap = bitmap_of(self.layout, bitmap.region * 2, self.context.size)
        if first is not None and not self.context.lvm:  # LVM's RAID always has a bitmap
            yield Region(None, 0.0, 0.0)

    def _most_page_writes(self, bitmap: Bitmap, scale: float) -> float:
        """
        Return the page writes per second at each member, at most: what the disks write now, were it all the bitmap's.

        Copies and parity set bits in other ways, so one shows nothing of the other: infinite.
        """
        now, present, most = self.context.bitmap, self.context.present, self.whole.most_page_writes
        if now is None or present is None or most is None:
            return inf
        if (self.layout.parity > 0) != (present.parity > 0):
            return inf
        return most * scale * max(1.0, now.covers / bitmap.covers)

    def _superblock_writes(self) -> list[Band]:
        """
        Return how often per second superblocks are marked by each hypothesis.

        Marks are now what bits do not explain. How many pauses are long enough depends on how long writes take.
        """
        whole, context, bitmap = self.whole, self.context, self.context.bitmap
        likely, most = (
            superblock_writes(self.burst_rate, end)
            for end in (self.burst_rate, whole.write.requests)
        )
        counted = counted_page_writes(whole, context)
        if bitmap is None or counted is None:
            return [Band(0.0, 0.0, most)] * len(self.hypotheses)
        present = context.present is not None and context.present.parity > 0
        factor = PAUSES_WITH_PARITY ** ((self.layout.parity > 0) - present)

        def marks(pattern: Hypothesis) -> Band:
            sets = pattern.bits_set(whole.write.bytes, 1.0, bitmap, PERIOD)
            now = min(most, max(0.0, counted - page_writes(sets)))
            return Band(now / 2, max(now / 2, min(likely, now * factor)), min(most, now * 2))

        return list(map(marks, self.hypotheses))
