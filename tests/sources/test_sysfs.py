"""Attributes of /sys, as a capture may have them."""

import pytest

from stackmap.discover import discover
from stackmap.model.device import Queue
from stackmap.sources import dm
from tests.machine import DrawnHost, block


@pytest.mark.parametrize("number", ["9" * 21, "9" * 400, "9" * 5000, "-" + "9" * 30, "٣"])
def test_a_number_that_no_kernel_has_is_unknown(number):
    """It would not fit a float; the attributes beside it are kept."""
    names = {"queue__nr_requests": number, "queue__max_sectors_kb": "1280"}
    host = DrawnHost(block("sda", "8:0", alignment_offset=number, **names))

    (disk,) = discover(host, geometry=True)

    assert disk.queue == Queue(iostats=True, max_sectors_kb=1280)


def test_every_setting_of_a_queue_is_read():
    """A setting that no reader fills would be None for ever, and a rule on it could not fire."""
    texts = {
        "iostats": "1", "logical_block_size": "512", "physical_block_size": "4096",
        "minimum_io_size": "65536", "optimal_io_size": "196608", "rotational": "0",
        "scheduler": "[none] mq-deadline", "nr_requests": "61", "read_ahead_kb": "127",
        "write_cache": "write back", "max_sectors_kb": "1279", "alignment_offset": "-1",
        "wbt_lat_usec": "2003",
    }  # fmt: skip
    offset = texts["alignment_offset"]
    files = {f"queue__{name}": text for name, text in texts.items() if name != "alignment_offset"}

    (disk,) = discover(
        DrawnHost(block("sda", "8:0", alignment_offset=offset, device__queue_depth="31", **files)),
        geometry=True,
    )

    assert disk.queue == Queue(
        True, 512, 4096, 65536, 196608, False, "[none] mq-deadline", 61, 127, "write back", 1279, -1,
        throttling=2003, depth=31,
    )  # fmt: skip
    assert None not in disk.queue._replace(boundary=0)  # of an array


@pytest.mark.parametrize("number", ["9" * 20, "9" * 5000])
def test_a_segment_beyond_any_device_is_left_out(number):
    text = f"a: 0 8 linear 8:0 0\nb: {number} 8 linear 8:0 0\nc: 0 {number} linear 8:0 0\n"

    assert [*dm.parse_segments(text)] == ["a"]
