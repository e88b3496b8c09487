"""How the writes of a volume are spread, by what the lab counted, and what it means for bytes where it is not known."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.features.whatif.bitmap import BitSets
from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.pattern import Evidence, pattern_of
from stackmap.features.whatif.quantities import Stream
from stackmap.features.whatif.volume_context import Bitmap, volume_context
from tests.drawn import raid_volume, topology
from tests.paths import ROOT

PAGE = 4096


def three_sizes(depth: float) -> Measured:
    """20 random writes of 4 KiB per second, 8 of 16 KiB and 2 of 256 KiB on RAID5 3+1, as counted on 6.1."""
    return Measured(
        read=Stream(0.0, 0.0),
        write=Stream(31.83, 731355.0),
        members_read=Stream(214.0, 214.0 * PAGE),
        members_write=Stream(309.6, 309.6 * PAGE),
        depth=depth,
        queue=depth,
        seconds=12.1,
    )


@pytest.mark.parametrize(("depth", "places"), [(1.5, 31.8), (8.0, 6.7)])
def test_rows_with_several_pages_are_runs_only_if_enough_writes_are_in_flight(depth, places):
    """
    Each run would be of 5 writes, and at most 2 were in flight: the large writes filled the rows.

    As runs, they set a third of the bits on RAID10 that the kernel set there: 5.5 disk
    requests per write were counted, and 3.0 projected.
    """
    volume = volume_context(topology(raid_volume("r", "raid5", 1)), "r")

    pattern = pattern_of(three_sizes(depth), volume)

    assert pattern.likely.random == pytest.approx(places, rel=0.05)


# Requests and bytes written per second on LVM RAID10 with a bitmap of 48 regions of 2 MiB: the bits that were set per
# second for sure, by the counts, likely and at most, as on 6.12 in 12 s; and whether the load was a stream.
SEEN = {
    "random 4 KiB": (38.9, 159225, 0.0, 0.0, 0.119, 0.119, False),
    "random 8 KiB with fsync": (15.0, 122520, 0.0, 0.014, 0.176, 0.629, False),
    "random 8 KiB and reads": (22.3, 182500, 0.001, 0.066, 0.387, 0.882, False),
    "random 64 KiB": (16.5, 1078850, 0.0, 0.194, 0.658, 1.24, False),
    "4 KiB with fsync, one at a time": (147.4, 603805, 0.0, 0.0, 0.321, 0.321, False),
    "random 16 KiB and reads": (25.4, 416620, 0.065, 0.101, 0.480, 1.0, False),
    "log and random 16 KiB": (29.9, 367623, 0.006, 0.014, 0.176, 0.629, False),
    "stream of 4 KiB": (150.2, 615127, 0.037, 0.037, 0.284, 0.759, True),
    "stream of 64 KiB": (41.0, 2684980, 0.734, 0.735, 1.329, 2.085, True),
}


@pytest.mark.parametrize("load", SEEN)
def test_few_bits_are_of_a_stream_only_if_a_stream_sets_as_many(load):
    """All regions of a small volume stay marked, so random writes set few bits, too."""
    requests, moved, low, counted, likely, high, is_stream = SEEN[load]
    sets = BitSets(Bitmap(2 << 20, float(2 << 20), 48.0), low, low, counted, likely, high)
    evidence = Evidence(Stream(requests, moved), None, None, None, None, None, sets)
    volume = volume_context(topology(raid_volume("r", "raid10", 0)), "r")

    first, *_ = evidence.hypotheses(volume)[0]

    assert first.sequential == is_stream


@pytest.mark.parametrize(("done", "run"), [(16, 20), (48, 128), (80, 160)])
def test_writes_that_merge_within_a_chunk_are_on_one_disk(done, run):
    """
    Runs of pages on RAID10 of two chunks of 64 KiB, in KiB: a run at a random place is cut at the end of a chunk.

    A run of 20 KiB is so in a quarter of all cases, and is 1.25 pieces of 16 KiB.
    """
    write = Stream(100.0, 100.0 * PAGE)
    counted = Measured(
        read=Stream(0.0, 0.0),
        write=write,
        disks_write=Stream(2 * write.bytes / (done << 10), 2 * write.bytes),
        seconds=12.0,
    )
    volume = volume_context(topology(raid_volume("r", "raid10", 0)), "r")

    assert pattern_of(counted, volume).run == pytest.approx(run << 10, rel=0.25)


@pytest.mark.parametrize(("reads", "again"), [(0.03, True), (0.67, False), (1.9, False)])
def test_pages_that_md_has_are_written_again(reads, again):
    """Parity reads per page written, as on 6.1 and 6.12: of 2 MiB again and again, of a stream, and at random."""
    counted = Measured(
        read=Stream(0.0, 0.0),
        write=Stream(60.0, 60.0 * PAGE),
        members_read=Stream(60.0 * reads, 60.0 * reads * PAGE),
        members_write=Stream(120.0, 120.0 * PAGE),
        seconds=12.0,
    )
    volume = volume_context(topology(raid_volume("r", "raid5", 1)), "r")

    assert pattern_of(counted, volume).is_rewritten == again


def test_bytes_without_a_completed_write_have_a_pattern():
    """A disk counts bytes of a request before the request completes."""
    volume = volume_context(topology(raid_volume("r", "raid5", 1)), "r")
    partly = three_sizes(8.0)._replace(write=Stream(0.0, 731355.0))

    assert pattern_of(partly, volume).likely.random == 0.0


VGHDD = ["--from", str(ROOT / "sample_topologies" / "vghdd")]


def run(*words: str) -> str:
    return CliRunner().invoke(stackmap, [*VGHDD, "whatif", *words], catch_exceptions=False).stdout


@pytest.mark.parametrize(
    ("layout", "full", "pages"), [("raid5", 4 / 3, 4.0), ("raid6:members=5", 5 / 3, 5.0)]
)
def test_small_writes_may_fill_stripes(layout, full, pages):
    """4 KiB writes to RAID10: on parity, full stripes cost least, pages one by one most (stackmap-kernel(7))."""
    told = json.loads(run("vm-disk1-r10", "--to", layout, "-J"))
    written = told["load"]["write"]["bytes"]
    members = told["projected"]["members"]
    moved = members["bytes_range"]

    assert moved["low"] == pytest.approx(full * written, rel=0.01)
    assert moved["low"] < moved["likely"] <= moved["high"]
    assert moved["likely"] == pytest.approx(members["bytes"])
    assert moved["high"] == pytest.approx(pages * written, rel=0.01)
    assert told["projected"]["disks"]["bytes_range"]["high"] >= moved["high"]


def test_the_headline_has_both_ends():
    """And a layout whose cost does not depend on it has one figure, and no range in JSON."""
    assert "costs 1.33 to 4.00 disk bytes instead of 2.00" in " ".join(
        run("vm-disk1-r10", "--to", "raid5").split()
    )
    told = json.loads(run("vm-disk1", "--to", "raid10", "-J"))
    assert "bytes_range" not in told["projected"]["members"]
