"""/proc/diskstats without a word of when: totals that are right against each other."""

from __future__ import annotations

import pytest

from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.text import intervals
from stackmap.text.diskstats_copies import NO_LENGTH, SINCE_BOOT

OLD = "   8       0 sda 2 3 5 7 11 13 17 19 0 23 29\n"
NEWER = " 253       2 dm-2 2 0 5 7 11 0 17 19 0 23 29 31 37 41 43 47 53\n"


def read(text: str) -> list[Interval]:
    return list(intervals([text.encode()], "text"))


def test_one_copy():
    """All since boot, as totals; the queue and the busy share need a length, so are unknown."""
    (interval,) = read("$ cat /proc/diskstats\n" + OLD)
    assert interval == Interval(
        {"sda": Load(Flow(2, 3, 5 * 512, 7), Flow(11, 13, 17 * 512, 19))},
        since_boot=True,
        notes=(SINCE_BOOT,),
    )


def test_two_copies():
    """What they differ by."""
    (interval,) = read(OLD + OLD.replace(" 2 3 5 7 ", " 7 8 10 12 "))
    assert interval.loads == {"sda": Load(Flow(5, 5, 5 * 512, 5), Flow(0, 0, 0, 0))}
    assert (interval.seconds, interval.notes) == (None, (NO_LENGTH,))


def test_discards_and_flushes():
    """Lines of 14, 18 and 20 fields may be mixed."""
    (interval,) = read(OLD + NEWER)
    assert interval.loads["dm-2"].flush == Flow(ios=47, wait=53)
    assert interval.loads["sda"].discard == Flow()


def test_cut():
    """A cut line is left out, and a note says so."""
    (interval,) = read(NEWER + OLD[:40])
    assert list(interval.loads) == ["dm-2"]
    assert interval.notes == (SINCE_BOOT, "1 lines were cut or damaged")


PARTITIONS = """\
   8    0 sda 100 10 2000 50 200 20 4000 100 0 80 150
   8    1 sda1 90 1900 180 3800
   8    0 sda 200 20 4000 100 400 40 8000 200 0 160 300
   8    1 sda1 190 3900 380 7800
"""


@pytest.mark.parametrize("timed", [False, True])
def test_partitions_of_old_kernels_have_requests_and_bytes(timed):
    """Before 2.6.25, a partition has 7 fields without times and merges; the disk's line has all."""
    copies = PARTITIONS.splitlines(keepends=True)
    stamps = ("TS 1.0 x\n", "TS 2.0 x\n") if timed else ("", "")
    text = "".join([stamps[0], *copies[:2], stamps[1], *copies[2:]])
    (interval,) = intervals([text.encode()], "text")
    disk, partition = interval.loads["sda"], interval.loads["sda1"]

    assert (100, 200) == (partition.read.ios, partition.write.ios)
    assert (2000 * 512, 4000 * 512) == (partition.read.bytes, partition.write.bytes)
    assert (None, None, None) == (partition.read.merges, partition.read.wait, partition.busy)
    assert (100, 10, 50) == (disk.read.ios, disk.read.merges, disk.read.wait)
