"""The reader of the kernel's histograms, on what a kernel wrote."""

import pytest

from tests.lab import truth

HISTOGRAMS = """\
## block_bio_queue
# event histogram
#
# trigger info: hist:keys=dev,nr_sector,rwbs:vals=hitcount:sort=hitcount:size=2048 [active]
#

{ dev:    8388656, nr_sector:         56, rwbs: R                } hitcount:          3
{ dev:  266338312, nr_sector:         40, rwbs: WS               } hitcount:          5
{ dev:  266338312, nr_sector:          8, rwbs: FWFS             } hitcount:          7
{ dev:  266338312, nr_sector:          0, rwbs: FWS              } hitcount:         11

Totals:
    Hits: 26
    Entries: 4
    Dropped: 0
## block_rq_issue
{ dev:    8388656, nr_sector:        112, rwbs: RA               } hitcount:         13
## block_bio_remap
{ dev:    8388624, old_dev:  266338307, rwbs: WS                 } hitcount:         17  nr_sector:       1900
{ dev:    8388624, old_dev:  266338307, rwbs: WSM                } hitcount:         19  nr_sector:         23
## block_split
{ dev:  266338312, rwbs: WS                } hitcount:         29
"""


@pytest.fixture
def counted():
    return truth.parse(HISTOGRAMS)


def test_a_device_number_is_the_kernels_with_twenty_bits_of_minor(counted):
    assert counted.arrived("8:48", "R") == truth.Sent(3, 3 * 56 * 512)


def test_empty_flushes_carry_nothing_and_are_left_out(counted):
    """A write with a flush before it and one that is only a flush both begin with F."""
    assert counted.arrived("254:8", "W") == truth.Sent(5 + 7, (5 * 40 + 7 * 8) * 512)
    assert counted.sizes("254:8", "W") == {0: 11, 8 * 512: 7, 40 * 512: 5}


def test_requests_are_told_from_bios(counted):
    assert counted.issued("8:48", "R") == truth.Sent(13, 13 * 112 * 512)


def test_remaps_of_one_kind_add_up(counted):
    """Sync and metadata writes are writes."""
    assert counted.remaps == {("254:3", "8:16", "W"): truth.Sent(17 + 19, 1923 * 512)}


def test_what_a_driver_takes_are_the_pieces_and_the_empty_ones_too(counted):
    """A cut adds a piece, and no byte."""
    assert counted.taken("254:8", "W") == truth.Sent(5 + 7 + 11 + 29, (5 * 40 + 7 * 8) * 512)


def test_those_that_flush_first_and_carry_something_are_told(counted):
    """Device-mapper makes two of each: a flush, and the rest."""
    assert counted.flushing["254:8", "W"] == 7


def test_what_was_passed_on_is_told_by_both_ends(counted):
    assert counted.remapped("254:3", "8:16", "W").count == 17 + 19
    assert counted.remapped("8:16", "254:3", "W") == truth.Sent()


def test_a_histogram_that_was_full_is_no_truth():
    with pytest.raises(ValueError, match="full"):
        truth.parse(HISTOGRAMS.replace("Dropped: 0", "Dropped: 2"))


def test_a_histogram_of_one_kind_says_it_in_its_condition():
    """A histogram has no key that is a string, for from about Linux 6.16 such a key has an entry per request."""

    def histogram(condition, line):
        return (
            f"# trigger info: hist:keys=dev,nr_sector:size=8192 if {condition} [active]\n{line}\n"
        )

    text = "## block_bio_queue\n" + "".join(
        histogram(condition, f"{{ dev:    8388656, nr_sector:         8 }} hitcount: {count}")
        for count, condition in (
            (3, 'rwbs ~ "R*" && !(rwbs ~ "?*M")'),
            (5, 'rwbs ~ "W*" && !(rwbs ~ "WZ*" || rwbs ~ "FWZ*") && !(rwbs ~ "?*M")'),
            (7, 'rwbs ~ "FW*" && rwbs ~ "?*M"'),
            (11, '(rwbs ~ "N*" || (rwbs ~ "WZ*" || rwbs ~ "FWZ*")) && !(rwbs ~ "?*M")'),
        )
    )
    text += "## block_bio_remap\n" + histogram(
        'rwbs ~ "W*" && !(rwbs ~ "WZ*" || rwbs ~ "FWZ*")',
        "{ dev: 8388624, old_dev: 266338307 } hitcount: 13  nr_sector: 19",
    )
    text += "## block_split\n" + histogram('rwbs ~ "R*"', "{ dev: 8388656 } hitcount: 17")

    counted = truth.parse(text)

    assert [counted.arrived("8:48", kind).count for kind in "RWND"] == [3, 12, 11, 0]
    assert (counted.flushing["8:48", "W"], counted.metadata["8:48", "W"]) == (7, 7)
    assert counted.remapped("254:3", "8:16", "W") == truth.Sent(13, 19 * 512)
    assert counted.splits["8:48", "R"] == 17
