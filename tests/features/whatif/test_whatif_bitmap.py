"""The bitmap's arithmetic, and the same by playing md's counters through, pass by pass."""

from __future__ import annotations

import random

import pytest

from stackmap.features.whatif import bitmap as bits
from stackmap.model.raid import layout

MIB = 1 << 20
WRITES = 20_000


def played(rate: float, regions: int) -> float:
    """
    Return the bits set a second by *rate* writes at random over *regions*, as md-bitmap.c counts.

    A region's counter: 0 clean, 2 written, 1 seen by a pass, and clean at the next.
    """
    dice = random.Random(37)
    counter = [0] * regions
    sets, now, next_pass, begin = 0, 0.0, bits.PERIOD, 0.0
    for number in range(WRITES):
        now += dice.expovariate(rate)
        while now >= next_pass:
            counter = [max(0, each - 1) for each in counter]
            next_pass += bits.PERIOD
        if number == WRITES // 4:
            sets, begin = 0, now
        region = dice.randrange(regions)
        sets += counter[region] == 0
        counter[region] = 2
    return sets / (now - begin)


@pytest.mark.parametrize(
    ("rate", "regions"), [(37, 101), (37, 1009), (5, 11), (211, 503), (2, 997)]
)
def test_bits_are_set_as_mds_counters_have_it(rate, regions):
    """Within 5 % of what 15,000 writes set."""
    assert bits.random_sets(rate, regions) == pytest.approx(played(rate, regions), rel=0.05)


def test_the_issues_own_run():
    """
    37 random writes a second wrote 75 times at the members of a RAID10 and 188 at its disks: 113 for
    the bitmap, two at each of four members for each time: some 14 times a second. So they were
    spread over some 290 regions, 580 MiB.
    """
    sets = bits.sets_from_page_writes(113 / 2 / 4)

    assert bits.regions_for(37, sets, None) == pytest.approx(290, rel=0.1)


@pytest.mark.parametrize("regions", [3.0, 47.0, 401.0, 5003.0])
def test_regions_are_told_from_what_they_set(regions):
    """The more regions, the more bits are set by as many writes."""
    sets = bits.random_sets(53, regions)

    assert bits.regions_for(53, sets, None) == pytest.approx(regions, rel=0.01)
    assert bits.regions_for(53, sets, regions / 2) == pytest.approx(regions / 2)


def test_a_late_pass_clears_less():
    """Twenty writes a second over 336 regions: 12.9 bits with a pass each 5 s, 11.5 each 6.25 s."""
    assert bits.random_sets(20, 336) == pytest.approx(12.9, rel=0.01)
    assert bits.random_sets(20, 336, bits.LATE_PERIOD) == pytest.approx(11.5, rel=0.01)


@pytest.mark.parametrize("sets", [0.0, 0.011, 0.17, 1.3, 29.0])
def test_what_is_set_is_told_from_what_is_written(sets):
    """Clearing writes, too, which vanish where bits are set all the time."""
    written = bits.page_writes(sets)

    assert sets <= written <= 2 * sets
    assert bits.sets_from_page_writes(written) == pytest.approx(sets, abs=1e-6)


def test_a_pause_marks_superblocks_twice_and_the_bitmaps_too():
    """Four page writes per pause: after each of two writes per second; of 30 at random instants, hardly any."""
    assert bits.superblock_writes(2.0, 2.0) == 8.0
    assert bits.superblock_writes(30.0, 30.0) < 0.02


@pytest.mark.parametrize(
    ("level", "rate", "sleeps"),
    [("raid10", 20.0, True), ("raid10", 2.0, False), ("raid5", 20.0, False)],
)
def test_the_daemon_may_sleep_where_nothing_wakes_it(level, rate, sleeps):
    """On copies a pause wakes it, which 20 writes per second leave less than once per period."""
    assert bits.may_sleep(layout(level, 4, 65536), rate) is sleeps


def test_bits_set_at_once_share_a_write_of_their_page():
    """
    One by one each is a write of its own. Of eight at once that are sure to set a bit, one; of two
    of which each does every other time, 1 - 1/4; where they are of several pages, more.
    """
    assert bits.grouped(13.0, 40.0, 1.0, 1) == pytest.approx(13.0)
    assert bits.grouped(40.0, 40.0, 8.0, 1) == pytest.approx(5.0)
    assert bits.grouped(20.0, 40.0, 2.0, 1) == pytest.approx(20 * 0.75)
    assert bits.grouped(20.0, 40.0, 2.0, 7) > 20 * 0.95


@pytest.mark.parametrize("pages", [1, 5])
@pytest.mark.parametrize("depth", [1.0, 2.7, 8.0])
@pytest.mark.parametrize("sets", [0.0, 0.3, 11.0])
def test_bits_are_told_from_what_they_share(sets, depth, pages):
    """Of 37 writes a second."""
    written = bits.grouped(sets, 37.0, depth, pages)

    assert bits.ungrouped(written, 37.0, depth, pages) == pytest.approx(sets, abs=1e-9)


@pytest.mark.parametrize(
    ("level", "members", "regions"), [("raid5", 4, 100), ("raid6", 5, 100), ("raid10", 4, 300), ("raid1", 2, 300)]
)  # fmt: skip
def test_a_bit_stands_for_a_region_of_a_member_where_there_is_parity(level, members, regions):
    """Of a volume of 600 MiB and regions of 2 MiB: parity levels count on the member."""
    found = bits.bitmap_of(layout(level, members, 65536), 2 * MIB, 600 * MIB)

    assert found.regions == regions


@pytest.mark.parametrize("level", ["raid0", "striped", "linear"])
def test_what_cannot_be_out_of_step_has_no_bitmap(level):
    """There is nothing to sync after a crash."""
    assert bits.bitmap_of(layout(level, 3, 65536), 2 * MIB, 600 * MIB) is None


@pytest.mark.parametrize(("regions", "size"), [(100, 512), (3000, 1024), (40_000, 4096)])
def test_the_last_page_is_as_long_as_its_bits(regions, size):
    """256 bytes and a bit a region, up to a block of 512; of several pages, a whole one."""
    found = bits.bitmap_of(layout("raid1", 2), MIB, regions * MIB)

    assert found.page_bytes == size


@pytest.mark.parametrize(
    ("sets", "written"), [(0.0, 0.0), (0.02, 0.02 + 0.02 * 0.9048374), (1.0, 1 + 0.2 * 0.0067379)]
)
def test_a_bit_that_is_cleared_takes_a_write_too(sets, written):
    """Each bit of a pass of 5 s without another is written again, cleared: at most one write per pass."""
    assert bits.page_writes(sets) == pytest.approx(written)
