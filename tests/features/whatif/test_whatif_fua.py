"""Writes that ask for FUA, from the flushes of disks, in primes; ext4-fsync of the lab has the kernel's own."""

from __future__ import annotations

import pytest

from stackmap.features.whatif.measured import fua_writes
from stackmap.model.raid import layout


@pytest.mark.parametrize(
    ("level", "members", "each"), [("raid10", 4, 2), ("raid1", 3, 3), ("raid5", 4, 2), ("raid6", 5, 3), ("raid0", 2, 1)]
)  # fmt: skip
def test_a_disk_flushes_once_more_after_each_copy_and_each_page_of_parity(level, members, each):
    """13 writes with FUA, 47 flushes that were sent, and 3 for each of 7 pages of the bitmap."""
    done = 13 * each + 47 + 3 * 7

    assert fua_writes(layout(level, members), float(done), 47.0, 7.0) == pytest.approx(13)


def test_counters_of_several_layers_are_not_read_at_one_instant():
    """As few more as 2 % are nobody's."""
    assert fua_writes(layout("raid10", 4), 69.0, 47.0, 7.0) == 0.0


def test_a_disk_that_counts_no_flushes_tells_nothing():
    """Before Linux 5.5."""
    assert fua_writes(layout("raid10", 4), None, 47.0, 7.0) is None
