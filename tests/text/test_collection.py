"""Copies of /proc/diskstats under their stamps."""

import pytest

from stackmap.text import diskstats_copies

LINE = "   8       0 sda 2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59"
OTHER = LINE.replace("sda", "sdb")


def test_a_collection_is_split_at_its_stamps():
    """Text before the first stamp is no sample."""
    lines = ["junk", "TS 7.5 2026-11-21 08:34:37", LINE, "", "TS 11.25 x", LINE]

    assert [(7.5, ("sda",), False), (11.25, ("sda",), True)] == [
        (sample.time, sample.names, last) for sample, last in diskstats_copies.samples(lines)
    ]


def test_a_sample_that_was_cut_is_left_out():
    """A collector was killed in the middle of a line: its last sample is incomplete."""
    whole = ["TS 1.0", LINE, OTHER, "TS 2.0", LINE, OTHER]
    for cut in ([LINE], [LINE, "   8      16 sdb 2 3"], []):
        intervals = list(diskstats_copies.read_timed([*whole, "TS 3.0", *cut]))

        assert len(intervals) == 1
        assert set(intervals[0].loads) == {"sda", "sdb"}
        assert intervals[0].events == ()
        assert (intervals[0].notes == (diskstats_copies.LAST_TRUNCATED,)) == bool(cut)


def test_a_device_that_went_is_not_a_cut():
    """If a later device is present, the sample is complete and the missing device went away."""
    intervals = list(diskstats_copies.read_timed(["TS 1.0", LINE, OTHER, "TS 2.0", OTHER]))

    assert intervals[0].events == ("sda went away",)


@pytest.mark.parametrize("time", ["nan", "inf", "-inf", "1e300", "-5", "x", "9" * 400])
def test_what_is_no_time_is_no_stamp(time):
    """Python would take some of these for numbers."""
    assert not diskstats_copies.STAMP.match(f"TS {time} 2026-11-21")


@pytest.mark.parametrize("second", ["2.0", "1.5"])
def test_a_clock_that_was_set_back_costs_one_interval(second):
    """Two samples with the same time have no rates; all others have."""
    later = LINE.replace(" 2 3 5 ", " 13 3 5 ")
    last = LINE.replace(" 2 3 5 ", " 31 3 5 ")
    lines = ["TS 1.0", LINE, "TS 2.0", later, f"TS {second}", later, "TS 4.0", last]

    first, after = diskstats_copies.read_timed(lines)

    assert (first.loads["sda"].read.ios, first.notes) == (11, ())
    assert after.loads["sda"].read.ios == 18 / (4 - float(second))
    assert after.notes == (diskstats_copies.CLOCK_SET_BACK,)


def test_a_sample_that_was_damaged_is_left_out():
    """The samples around it make one interval."""
    later = LINE.replace(" 2 3 5 ", " 13 3 5 ")
    for damage in ("   8 0 sda 2 3", LINE.replace(" 2 3 5 ", f" {'9' * 400} 3 5 ")):
        (found,) = diskstats_copies.read_timed(["TS 1.0", LINE, "TS 2.0", damage, "TS 3.0", later])

        assert (found.loads["sda"].read.ios, found.seconds) == (5.5, 2)
        assert found.notes == (diskstats_copies.DAMAGED,)


def test_devices_that_went_away_for_good_end_nothing():
    """The last devices in the list may be taken out: only in the last sample that is a cut."""
    lines = ["TS 1.0", LINE, OTHER, "TS 2.0", LINE, "TS 3.0", LINE]

    first, second = diskstats_copies.read_timed(lines)

    assert (first.events, second.events) == (("sdb went away",), ())
    assert set(second.loads) == {"sda"}
