"""Copies of /proc/diskstats under their stamps."""

from stackmap.sources.diskstats import Sample
from stackmap.sources.statistics import collection

LINE = "   8       0 sda 2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59"
OTHER = LINE.replace("sda", "sdb")


def test_a_collection_is_split_at_its_stamps():
    """Text before the first stamp is no sample."""
    lines = ["junk", "TS 7.5 2026-11-21 08:34:37", LINE, "", "TS 11.25 x", LINE]

    assert [Sample(7.5, (LINE,)), Sample(11.25, (LINE,))] == list(collection.samples(lines))


def test_a_sample_that_was_cut_is_left_out():
    """A collector is killed in the middle of a line: its last sample says nothing of the rest."""
    whole = ["TS 1.0", LINE, OTHER, "TS 2.0", LINE, OTHER]
    for cut in ([LINE], [LINE, "   8      16 sdb 2 3"], []):
        intervals = list(collection.read([*whole, "TS 3.0", *cut]))

        assert len(intervals) == 1
        assert set(intervals[0].loads) == {"sda", "sdb"}
        assert intervals[0].events == ()
        assert (intervals[0].notes == (collection.CUT,)) == bool(cut)


def test_a_device_that_went_is_not_a_cut():
    """Where a later device is still there, the one before it is gone."""
    intervals = list(collection.read(["TS 1.0", LINE, OTHER, "TS 2.0", OTHER]))

    assert intervals[0].events == ("sda went away",)
