"""Writes that ask for FUA, from the flushes of disks, in primes; ext4-fsync of the lab has the kernel's own."""

from __future__ import annotations

import pytest

from stackmap.features.whatif.measured import fua_writes, page_requests
from stackmap.features.whatif.volume_context import volume_context
from stackmap.ledger.ledger import Ledger
from stackmap.model.raid import layout
from tests.drawn import did, moved, raid_volume, topology


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


@pytest.mark.parametrize(
    ("size", "kernel", "expected"),
    [
        (
            256,
            "7.3.4",
            2,
        ),  # an empty flush and the page, whatever the release: distributions backport
        (512, "6.12.0", 1),
        (None, "6.12.0", 2),
        (None, "7.3.4", 1),
        (None, "", 2),
    ],
)
def test_a_page_of_the_bitmap_is_one_request_or_two_by_the_mean_write(size, kernel, expected):
    """A bitmap of 150 regions is one sector. *size*: the mean write at the sub-LVs, None: there were none."""
    volume = raid_volume("lv", "raid5", 8, size=300 << 20, facts={"region": str(2 << 20)})
    host = topology(volume, kernel=kernel)
    wrote = {f"lv_rmeta_{n}": moved(write=did(7, size)) for n in range(4)} if size else {}

    assert page_requests(Ledger(host, wrote, 1.0), volume_context(host, "lv")) == expected


def test_a_page_in_one_request_costs_two_flushes():
    assert fua_writes(layout("raid10", 4), 47.0 + 2 * 7 + 2 * 13, 47.0, 7.0, 1) == pytest.approx(13)
