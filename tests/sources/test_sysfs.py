"""Attributes of /sys, as a capture may have them."""

import pytest

from stackmap.discover import discover
from stackmap.sources import dmsetup
from tests.machine import DrawnHost, block


@pytest.mark.parametrize("number", ["9" * 21, "9" * 400, "9" * 5000, "-" + "9" * 30, "٣"])
def test_a_number_that_no_kernel_has_is_unknown(number):
    """It would not fit a float; the attributes beside it are kept."""
    names = {"queue__nr_requests": number, "queue__max_sectors_kb": "1280"}
    host = DrawnHost(block("sda", "8:0", alignment_offset=number, **names))

    (disk,) = discover(host, geometry=True)

    assert disk.queue["max_sectors_kb"] == "1280"
    assert number not in disk.queue.values()


@pytest.mark.parametrize("number", ["9" * 20, "9" * 5000])
def test_a_segment_beyond_any_device_is_left_out(number):
    text = f"a: 0 8 linear 8:0 0\nb: {number} 8 linear 8:0 0\nc: 0 {number} linear 8:0 0\n"

    assert [*dmsetup.parse(text)] == ["a"]
