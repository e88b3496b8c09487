"""A projection of drawn loads, worked out by hand; what a kernel makes of real ones is the lab's to say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackmap.errors import InputError, LayoutError
from stackmap.features.whatif import bitmap as bits
from stackmap.features.whatif.project import project
from stackmap.features.whatif.projection import DeviceLoad
from stackmap.features.whatif.quantities import exact
from stackmap.features.whatif.sentences import headline
from stackmap.features.whatif.volume_context import usable_bytes, volume_context
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.interval import Interval
from stackmap.model.layout_request import parse
from stackmap.model.load import Flow
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Machine, Topology
from tests.drawn import DISKS, did, disk, moved, raid_volume, topology

KIB = 1024
MIB = KIB * KIB
PAGE = 4096
SECONDS = 100.0


def machine(level, members=4, **more):
    """A volume of 600 MiB, regions of 2 MiB, its members and their disks."""
    part = raid_volume(
        "r", level, 1, members, size=600 * MIB, facts={"region": str(2 * MIB)}, **more
    )
    return topology(part)


def interval(volume, read, write, rmeta=0.0, disk_read=None, disk_write=None, members=4):
    """What the volume did; each member, each rmeta device, each disk the same."""
    flushing = did(rmeta, 256)
    loads = {"r": volume}
    for place in range(members):
        loads[f"r_rimage_{place}"] = moved(read, write)
        loads[f"r_rmeta_{place}"] = moved(write=flushing)
        above = (disk_write or write) + flushing
        loads[f"sd{'abcd'[place]}"] = moved(disk_read or read, above)
    return Interval(loads, time=1.0, seconds=SECONDS)


def projected(topology, intervals, wish):
    return project(
        topology, [intervals] if isinstance(intervals, Interval) else intervals, "r", parse(wish)
    )


# 53 reads of 8 KiB and 41 writes of 8 KiB at random on RAID5 of four: a write is two rows of a page,
# each reads 2 and writes 2; pages of a request merge at the disks, two and two.
RANDOM = interval(
    moved(did(53, 8 * KIB), did(41, 8 * KIB)),
    read=did(1, PAGE) + did(53 / 4, 8 * KIB) + did(41 * 2 * 2 / 4 - 1, PAGE),
    write=did(41 * 2 * 2 / 4, PAGE),
    rmeta=0.5,
    disk_read=did(53 / 4, 8 * KIB) + did(41 * 2 / 4, PAGE, merges=41 * 2 / 4),
    disk_write=did(41 * 2 / 4, PAGE, merges=41 * 2 / 4),
)  # fmt: skip


def test_raid10_takes_each_write_twice_and_each_read_once():
    """53 reads, 2 × 41 writes, of 8 KiB; where 53 + 164 reads and 164 writes were."""
    found = projected(machine("raid5"), RANDOM, "raid10")
    now, then = found.now.members, found.projected.members

    assert (now.read.likely, now.write.likely) == pytest.approx((53 + 164, 164))
    assert (then.read.likely, then.write.likely) == pytest.approx((53, 82))
    assert (then.read_bytes, then.write_bytes) == pytest.approx((53 * 8 * KIB, 82 * 8 * KIB))
    assert then.count == 4


def test_the_bitmap_is_written_more_where_a_bit_stands_for_less():
    """100 regions of 6 MiB were, 300 of 2 MiB will be: the same writes set more bits."""
    found = projected(machine("raid5"), RANDOM, "raid10")
    now, then = found.now.disks.metadata.requests, found.projected.disks.metadata.requests

    assert now.likely == pytest.approx(4 * 0.5)
    assert then.low == 0  # 41 writes per second leave no pause that wakes the daemon
    assert now.likely < then.likely < then.high
    assert 3 * now.likely < then.likely


@pytest.mark.parametrize("cache", ["write through", "write back"])
@pytest.mark.parametrize("wish", ["raid10", "raid1", "raid6:members=5"])
def test_a_page_of_the_bitmap_is_one_write_of_a_disk_without_a_cache(cache, wish):
    """A flush before it, which a disk with a cache counts too, has no bytes. A page is written as the 512 bytes of it that changed."""
    with_cache = machine("raid5")
    devices = [
        d._replace(queue=Queue(write_cache=cache)) if d.kind is Kind.DISK else d for d in with_cache
    ]
    tree = Topology(devices, with_cache.edges, machine=with_cache.machine)
    found = projected(tree, RANDOM, wish).projected
    members, disks = found.members.metadata, found.disks.metadata

    assert disks.bytes == members.bytes
    pages = disks.bytes.scaled(1 / 512)
    if cache == "write through":
        assert disks.requests.likely == pytest.approx(pages.likely)
        assert disks.requests.high == pytest.approx(pages.high)
    else:
        assert disks.requests == members.requests
        assert disks.requests.likely >= pages.likely


def test_without_requests_now_there_is_no_percentage():
    """Of none, no number of requests is so many percent."""
    idle = interval(moved(did(1e-9, 0), did(40, 4096)), read=did(0, 0), write=did(0, 0))
    found = projected(machine("raid5"), idle, "raid10")
    assert "previously 0" in headline(found)


def test_raid6_adds_a_page_of_parity_to_each_row():
    """Of five, as many hold data: a row of a page reads 2 and writes 3."""
    found = projected(machine("raid5"), RANDOM, "raid6:members=5").projected

    assert (found.members.read.likely, found.members.write.likely) == pytest.approx((53 + 164, 246))
    assert found.disks.data.likely == pytest.approx(53 + 82 + 123)
    assert found.disks.count == 5


def test_wider_rows_are_modified():
    """Of six, five hold data: old data and parity are fewer to read than four others. 2 and 2."""
    found = projected(machine("raid5"), RANDOM, "raid5:members=6").projected

    assert (found.members.read.likely, found.members.write.likely) == pytest.approx((53 + 164, 164))


@pytest.mark.parametrize("wish", ["raid10", "raid0", "raid5:chunk=128k", "raid6:members=5"])
def test_one_write_in_ten_seconds_may_have_been_miscounted_but_not_below_zero(wish):
    """Of one write, one may be missing."""
    did_one = interval(moved(write=did(0.1, 8 * KIB)), read=did(0.1, PAGE), write=did(0.1, PAGE))
    found = projected(machine("raid5"), replace(did_one, seconds=10.0), wish)
    lowest = found.projected.disks.write
    assert 0 <= lowest.low <= lowest.likely <= lowest.high
    assert "-0.0" not in headline(found)


@pytest.mark.parametrize("wish", ["raid5", "raid5:chunk=128k", "raid6:members=5"])
def test_so_few_writes_that_a_text_rounds_them_to_none_have_bytes(wish):
    """One page in 500 s is 0.00 writes/s and 0.01 KiB/s: on parity it is written, and parity with it."""
    few = interval(
        moved(did(1, PAGE), Flow(0.0, 0.0, 8.0, 0.0)), did(1 / 4, PAGE), Flow(0.0, 0.0, 4.0, 0.0)
    )
    found = projected(machine("raid10"), few, wish).projected.disks
    layout = parse(wish).resolve(machine("raid10")["r"].layout, lvm=True)
    carried = found.carried
    assert carried.low <= carried.likely <= carried.high
    assert carried.low >= PAGE + 8 * (1 + layout.parity / layout.data)


@pytest.mark.parametrize(
    ("wish", "writes"), [("raid0", 41), ("raid1", 82), ("raid1:copies=3", 123)]
)
def test_copies_are_written_so_often(wish, writes):
    """And what is not copied has no bitmap."""
    found = projected(machine("raid5"), RANDOM, wish).projected

    assert (found.members.read.likely, found.members.write.likely) == pytest.approx((53, writes))
    assert (found.disks.metadata is None) == (wish == "raid0")


def test_the_present_layout_is_what_was_measured():
    """The check of the model: members, bytes, and disks as they are."""
    found = projected(machine("raid5"), RANDOM, "raid5")

    assert found.is_check
    for now, then in (
        (found.now.members, found.projected.members),
        (found.now.disks, found.projected.disks),
    ):
        assert then.data.likely == pytest.approx(now.data.likely)
        assert then.carried.likely == pytest.approx(now.carried.likely)
        assert then.metadata.requests.likely == pytest.approx(
            now.metadata.requests.likely, rel=0.05
        )


def stream(level, **figures):
    """A stream of 16 KiB, 64 a second, which is a region of 2 MiB in two seconds."""
    return projected(machine(level), interval(moved(write=did(64, 16 * KIB)), **figures), "raid5")


def test_a_stream_on_raid10_is_told_by_its_bitmap():
    """Half a bit a second is set, as by a stream; so RAID5's cache will spare two of three reads."""
    found = stream("raid10", read=did(0, PAGE), write=did(32, 16 * KIB), rmeta=1.0)

    assert found.pattern.likely.sequential == 1.0
    assert found.projected.members.read.likely == pytest.approx(64 * 4 * 2 / 3)
    assert found.projected.members.write.likely == pytest.approx(64 * 4 * 2)


@pytest.mark.parametrize(
    ("count", "rmeta", "shares"), [(64, 1.0, {1.0}), (640, 10.0, {0.0, 1.0}), (2, 0.0, {0.0, 1.0})]
)
def test_few_bits_may_be_of_writes_everywhere_or_in_a_few_regions(count, rmeta, shares):
    """
    As many as of a stream: 64 writes per second anywhere set more, 640 keep all 300 regions dirty.

    Where none is set, two per second may be in one region that is never clean.
    """
    found = at_once(
        "raid10",
        1.0,
        "raid5",
        count=count,
        read=did(0, 1),
        write=did(count / 2, 16 * KIB),
        rmeta=rmeta,
    )

    assert {each.sequential for each in found.pattern.hypotheses} == shares


def test_writes_all_over_raid10_are_told_by_their_bitmap():
    """Fifteen bits a second are set: nobody streams so, and each page costs RAID5 two reads."""
    found = stream("raid10", read=did(0, PAGE), write=did(32, 16 * KIB), rmeta=30.0)

    assert found.pattern.likely.sequential == 0.0
    assert found.projected.members.read.likely == pytest.approx(64 * 4 * 2)


def test_bits_between_a_stream_and_random_writes_bound_the_sequential_share():
    """
    7 bits per second are set, of which a stream sets 0.5. So random writes
    on 300 regions set nearly as many; all others of 64 may be a stream.
    """
    found = stream("raid10", read=did(0, PAGE), write=did(32, 16 * KIB), rmeta=14.0)
    shares = sorted({each.sequential for each in found.pattern.hypotheses})
    fewest = (1 - shares[-1]) * 64

    assert shares[0] == 0.0
    assert 5.0 < bits.random_sets(fewest, 300) < 6.5


def test_few_writes_with_pauses_may_be_a_stream_or_anywhere():
    """Two a second, and two pages of the bitmap: bits, or marks of superblocks after each pause."""
    few = interval(moved(write=did(2, 16 * KIB)), did(0, 1), did(1, 16 * KIB), rmeta=4.0)
    shares = [w.sequential for w in projected(machine("raid10"), few, "raid5").pattern.hypotheses]

    assert (shares[0], max(shares)) == (0.0, 1.0)


def test_what_nothing_tells_is_a_range():
    """RAID0 has neither rows nor a bitmap: members between a stream and writes at random."""
    found = stream("raid0", read=did(0, PAGE), write=did(16, 16 * KIB))
    members = found.projected.members.data

    assert found.pattern.evidence == ()
    assert (members.low, members.high) == pytest.approx((64 * 4 * (2 + 2 / 3), 64 * 4 * 4))


def test_full_stripes_stay_full():
    """192 KiB at once, delivered as three chunks: 4 pages for 3, nothing read, on RAID6 of five 5 for 3."""
    full = interval(
        moved(write=did(30, 64 * KIB)),
        read=did(0, PAGE),
        write=did(10 * 16, PAGE),
        disk_write=did(10, PAGE, merges=150),
    )
    found = projected(machine("raid5"), full, "raid6:members=5").projected

    assert found.members.read.likely == 0
    assert found.members.write.likely == pytest.approx(10 * 16 * 5)
    assert found.disks.write.likely == pytest.approx(10 * 5)


def test_a_run_sets_bits_where_it_begins_and_as_it_goes_on():
    """Of 1 MiB, in 16 chunks, 384 rows for 1024 pages: four places per second if none is sequential, or 64."""
    full = interval(
        moved(write=did(64, 64 * KIB)), read=did(32, PAGE), write=did(352, PAGE), rmeta=2.0
    )
    anywhere = [
        each
        for each in projected(machine("raid5"), full, "raid10").pattern.hypotheses
        if not each.sequential
    ]

    assert {round(each.random) for each in anywhere} == {4, 64}
    assert {round(each.following, 2) for each in anywhere} == {0.94, 0.0}


def test_requests_that_are_under_way_at_the_end_are_no_full_rows():
    """Of 400 writes of a page, eight were not at the members yet, nor was their parity: 784 for 400."""
    found = at_once(
        "raid5", 8.0, "raid10", count=4, size=PAGE, read=did(1.96, PAGE), write=did(1.96, PAGE)
    )

    assert found.pattern.run == PAGE


def test_without_parity_the_daemon_may_pass_late_or_sleep():
    """Nothing wakes it when it should: likely every 6.25 s, every 5 s at best, or never."""
    sets = bits.random_sets(40, 100)
    now = {"read": did(80, PAGE), "write": did(80, PAGE), "rmeta": 2 * bits.page_writes(sets)}
    likely, punctual = (
        8 * bits.page_writes(bits.random_sets(40, 300, each)) for each in (6.25, 5.0)
    )
    found = at_once("raid5", 1.0, "raid10", **now).projected.disks.metadata.requests

    assert found.low == 0
    assert found.likely == pytest.approx(likely, rel=0.001)
    assert found.likely < punctual < found.high


def test_with_parity_each_write_wakes_the_daemon():
    """It passes every five seconds, and nothing is open: likely is what was counted on the layout there is."""
    sets = bits.random_sets(40, 100)
    now = {"read": did(80, PAGE), "write": did(80, PAGE), "rmeta": 2 * bits.page_writes(sets)}
    found = at_once("raid5", 1.0, "raid5", **now).projected.disks.metadata.requests

    assert found.likely == pytest.approx(8 * bits.page_writes(sets), rel=0.001)


def test_what_a_late_daemon_leaves_may_be_all_over_the_volume():
    """Nine bits per second on RAID10 are of some regions if it passes every 6.25 s, of all if it sleeps."""
    found = at_once("raid10", 1.0, "raid5", read=did(0, 1), write=did(20, 16 * KIB), rmeta=18.0)
    spans = [each.span for each in found.pattern.hypotheses if not each.sequential]
    sets = bits.sets_from_page_writes(9.0)

    assert spans[0] == pytest.approx(2 * MIB * bits.regions_for(40, sets, 300, 6.25))
    assert max(spans) == 600 * MIB


def test_a_flush_goes_to_each_member():
    """7 a second of a RAID5 of four are 7 writes at each; of a RAID10 of six, 42."""
    flushed = interval(
        moved(write=did(11, 8 * KIB) + did(7, 0)),
        read=did(11, PAGE),
        write=did(11, PAGE) + did(7, 0),
    )
    found = projected(machine("raid5"), flushed, "raid10:members=6")

    assert found.flushes == pytest.approx(7)
    assert found.write.requests == pytest.approx(11)
    assert found.projected.members.write.likely == pytest.approx(2 * 11 + 42)
    assert found.projected.disks.write.likely == pytest.approx(2 * 11 + 42)


def test_a_flush_is_told_from_two_copies():
    """18 writes, 7 of them flushes: 2 × 11 + 4 × 7 at the members of a RAID10."""
    flushed = interval(
        moved(write=did(11, 8 * KIB) + did(7, 0)),
        read=did(0, 1),
        write=did(5.5, 8 * KIB) + did(7, 0),
    )

    assert projected(machine("raid10"), flushed, "raid5").flushes == pytest.approx(7)


def md_array(done):
    """An md RAID5 with a bitmap on its members: 11 writes of 8 KiB; each disk flushed so often."""
    array = Device(
        "md0", Kind.ARRAY, "9:0", size=600 * MIB, layout=layout("raid5", 4, 65536), state="active",
        facts={"consistency": "bitmap", "region": str(2 * MIB)},
    )  # fmt: skip
    edges = [Edge("md0", name, Role.DATA) for name in DISKS]
    loads = {"md0": moved(write=did(11, 8 * KIB))}
    # Each disk: 11 pages of data and parity, 5 pages of the bitmap of 512 bytes, 7 flushes.
    wrote = did(11, PAGE) + did(5, 512) + did(7, 0)
    for name in DISKS:
        loads[name] = moved(did(11, PAGE), wrote)._replace(flush=Flow(ios=done))
    machine = Topology([array, *map(disk, DISKS)], edges, machine=Machine(kernel="6.1.0"))
    return project(machine, [Interval(loads, time=1.0, seconds=SECONDS)], "md0", parse("raid10"))


def test_mds_own_bitmap_is_told_from_flushes():
    """7 flushes are 7 at a disk, 5 pages are 10: 17; and of 16 + 7 writes, 11 carry data."""
    found = md_array(17.0)

    assert found.flushes == pytest.approx(7)
    assert found.now.members.write.likely == pytest.approx(4 * (11 + 7))
    assert found.now.disks.metadata.requests.likely == pytest.approx(4 * 5)
    assert found.now.disks.requests.likely == pytest.approx(4 * (11 + 11 + 5 + 7))


@pytest.mark.parametrize("done", [17.0, 12.0, None])
def test_on_mirrors_only_writes_with_bytes_are_the_bitmaps(done):
    """Each disk: 11 of 22 copies, 2 pages of the bitmap, 90 flushes; disks may join flushes, or not count them."""
    array = Device(
        "md0", Kind.ARRAY, "9:0", size=600 * MIB, layout=layout("raid10", 4, 65536), state="active",
        facts={"consistency": "bitmap", "region": str(2 * MIB)},
    )  # fmt: skip
    disks = [disk(name)._replace(queue=Queue(logical_block_size=512)) for name in DISKS]
    wrote = did(11, PAGE) + did(2, 512) + did(90, 0)
    loads = dict.fromkeys(DISKS, moved(write=wrote)._replace(flush=Flow(ios=done)))
    loads["md0"] = moved(write=did(22, PAGE))
    machine = Topology(
        [array, *disks],
        [Edge("md0", name, Role.DATA) for name in DISKS],
        machine=Machine(kernel="6.1.0"),
    )
    found = project(machine, [Interval(loads, time=1.0, seconds=SECONDS)], "md0", parse("raid5"))

    assert found.now.disks.metadata.requests.likely == pytest.approx(4 * 2)
    assert found.flushes == pytest.approx(90)


def test_where_disks_count_no_flushes_all_is_the_bitmaps():
    """Before Linux 5.5, and then nothing is known of flushes."""
    found = md_array(None)

    assert found.flushes == pytest.approx(0)
    assert found.now.disks.metadata is not None


def cut(size, wish, level="raid5"):
    """50 reads of *size* bytes; what the members of another layout take of them."""
    reads = interval(moved(read=did(50, size)), read=did(50 / 4, size), write=did(0, 1))
    return projected(machine(level), reads, wish).projected.members.read


@pytest.mark.parametrize(("chunk", "pieces"), [("16k", 2), ("64k", 1), ("128k", 1)])
def test_smaller_chunks_cut_requests(chunk, pieces):
    """32 KiB, which are one size and may well start at multiples of it."""
    assert cut(32 * KIB, f"raid10:chunk={chunk}").likely == pytest.approx(50 * pieces)


def test_a_mean_that_is_the_same_in_each_interval_is_of_one_size():
    """12 KiB thrice is one size; 8, 12 and 16 KiB are of a mix."""

    def large(*sizes):
        parts = [
            interval(moved(write=did(30, size * KIB)), did(0, 1), did(15, size * KIB))
            for size in sizes
        ]
        return projected(machine("raid10"), parts, "raid5").pattern.large

    assert large(12, 12, 12) is None
    assert [large(12), large(8, 12, 16)] == pytest.approx([8 / 60, 8 / 60])


def test_odd_sizes_may_cross_a_chunk():
    """20 KiB at random pages of chunks of 16 KiB: 1 + 16/16 pieces; at the least 20/16 of one."""
    found = cut(20 * KIB, "raid10:chunk=16k")

    assert (found.low, found.likely, found.high) == pytest.approx((50 * 20 / 16, 100, 100))


@pytest.mark.parametrize("mean", [15.6, 15.9, 16.0, 16.1, 16.5])
def test_a_mean_that_misses_a_power_of_two_by_little_is_of_that_size(mean):
    """A text rounds it, and a few requests are of another size: 16 KiB at multiples of 16 KiB are not cut."""
    found = cut(mean * KIB, "raid0:chunk=32k")

    assert found.likely == pytest.approx(50)
    assert (found.low, found.high) == pytest.approx((50, 50 * (1 + (mean - 4) / 32)))


def test_where_requests_start_is_open_even_of_one_size():
    """A file of pages of 16 KiB may begin at any page of the disk: each may cross a chunk."""
    found = cut(16 * KIB, "raid0:chunk=32k")

    assert (found.low, found.likely, found.high) == pytest.approx((50, 50, 50 * (1 + 12 / 32)))


@pytest.mark.parametrize("wish", ["raid10", "raid10:chunk=128k", "raid1"])
def test_what_was_cut_as_short_is_not_cut_again(wish):
    """Pieces were counted: no chunk as large cuts them anew, wherever they start."""
    found = cut(15.9 * KIB, wish)

    assert (found.low, found.likely, found.high) == pytest.approx((50, 50, 50))


def merged(wish, merges):
    """80 reads of 4 KiB, of which the disks of RAID5 merge so many into others."""
    reads = interval(
        moved(read=did(80, 4 * KIB)),
        read=did(20, 4 * KIB),
        write=did(0, 1),
        disk_read=did(20 - merges, 4 * KIB, merges=merges),
    )
    return projected(machine("raid5"), reads, wish).projected.disks.read


def test_what_merges_now_is_taken_to_merge():
    """Four into one at each disk: 20 of 80, within what the lab saw, and 2 %."""
    disks = merged("raid10", 15)

    assert (disks.low, disks.likely, disks.high) == pytest.approx(
        (20 * 0.94 * 0.98, 20, 20 * 1.37 * 1.02)
    )


def test_no_more_arrive_than_are_sent():
    """Without parity nothing is cut to pages: where nothing merges, that is the most."""
    assert merged("raid10", 0).high == pytest.approx(80 * 1.02)
    assert merged("raid6:members=5", 0).high == pytest.approx(80 * 1.02)


def test_bits_of_earlier_writes_may_be_cleared_while_nothing_is_written():
    """None in 100 seconds: at most (sqrt(3/8) + 1)² - 3/8 page writes are likely, of two requests on four members."""
    reads = interval(moved(did(80, 16 * KIB)), did(20, 16 * KIB), did(0, PAGE))
    found = projected(machine("raid5"), reads, "raid10").projected.disks.metadata.requests

    assert (found.low, found.likely) == (0, 0)
    assert found.high == pytest.approx(8 * ((0.375**0.5 + 1) ** 2 - 0.375) / 100)


# What jbd2 does with 7 files a second that are made durable: 8 KiB of the file, 3 pages of the journal at once,
# and a commit, a page that asks for a flush before it and for FUA: dm makes a flush and a write of it.
COMMITS = 7


def ext4(level, **figures):
    """The volume, and disks that flush once for each flush and once more for each copy of a write with FUA."""
    data = did(COMMITS, 8 * KIB) + did(4 * COMMITS, PAGE)
    flushes = {"done": 4 * COMMITS + 2 * COMMITS, **figures}.pop("done")
    rmeta = figures.get("rmeta", 0.0)
    if level == "raid10":
        # On each of four disks half of the writes; the three pages are one request there.
        sent, done = did(2.5 * COMMITS, 24 * KIB / 5), did(1.5 * COMMITS, 24 * KIB / 5, COMMITS)
        found = interval(moved(write=data + did(COMMITS, 0)), did(0, PAGE), sent + did(COMMITS, 0),
                         rmeta, disk_write=done + did(COMMITS, 0))  # fmt: skip
    else:
        # 2 of 6 pages at random, 4 in sequence: each writes parity, and reads 2, or 2/3 where it follows.
        read = did(COMMITS * (2 * 2 + 4 * 2 / 3) / 4, PAGE)
        wrote = did(3 * COMMITS, PAGE) + did(COMMITS, 0)
        found = interval(moved(write=data + did(COMMITS, 0)), read, wrote, rmeta)
    loads = {
        name: load._replace(flush=Flow(ios=(flushes + 4 * 1.5 * rmeta) / 4))
        if name in DISKS
        else load
        for name, load in found.loads.items()
    }
    return replace(found, loads=loads)


def test_a_journal_on_raid10_is_told_by_its_commits():
    """Of 24 KiB, 16 are the journal's, which follow each other: they read 2/3 of a page, the others 2."""
    found = projected(machine("raid10"), ext4("raid10"), "raid5")

    assert found.pattern.journal.commits == pytest.approx(COMMITS)
    assert found.pattern.likely.sequential == pytest.approx(16 / 24)
    assert found.pattern.run == pytest.approx(8 * KIB)
    assert found.projected.members.read.likely == pytest.approx(COMMITS * (4 * 2 / 3 + 2 * 2))
    assert found.projected.members.data.high >= COMMITS * (6 * 2 + 6 * 2 + 4)


def test_what_is_read_for_a_journal_merges_as_its_writes_do():
    """Its three pages are one write at a disk; so are, beside them, the three pages read for parity."""
    found = projected(machine("raid10"), ext4("raid10"), "raid5").projected.disks
    pages = COMMITS * (4 * 2 / 3 + 2 * 2)
    asked = pages * PAGE / (24 * KIB / 5)  # as large as the writes are

    assert found.read.likely == pytest.approx(asked * 3 / 5, rel=0.02)


@pytest.mark.parametrize("level", ["raid5", "raid10"])
def test_superblocks_are_marked_where_commits_leave_pauses(level):
    """One commit per second leaves a pause after each, and its marks may be all that was written beside the data."""
    slow = ext4(level, rmeta=2.0)
    loads = {name: load.scaled(1 / COMMITS) for name, load in slow.loads.items()}
    for place in range(4):
        loads[f"r_rmeta_{place}"] = slow.loads[f"r_rmeta_{place}"]
    found = projected(machine(level), replace(slow, loads=loads), "raid10")
    then = found.projected.disks.metadata.requests

    assert then.low < 4 * 1.0 < 4 * 2.0 < then.high


def test_flushes_of_the_bitmap_are_no_commits():
    """Three of a disk for a page of it: an empty flush that asks for FUA, and a page that does."""
    found = projected(machine("raid10"), ext4("raid10", rmeta=6.0), "raid5")

    assert found.pattern.journal.commits == pytest.approx(COMMITS)


def test_flushes_without_fua_are_no_commits():
    """A database that calls fsync on what it wrote in place: each flush of a disk was sent to it."""
    found = projected(machine("raid10"), ext4("raid10", done=4 * COMMITS), "raid5")

    assert found.pattern.journal is None
    assert found.pattern.likely.sequential == 0.0


def test_writes_that_all_ask_for_fua_are_no_journal():
    """O_DSYNC: a write with FUA, and a flush after it. Nothing says that they follow each other."""
    dsync = interval(
        moved(write=did(11, PAGE) + did(11, 0)), did(0, PAGE), did(5.5, PAGE) + did(11, 0)
    )
    flushed = Flow(ios=11 + 5.5)
    loads = {n: x._replace(flush=flushed) if n in DISKS else x for n, x in dsync.loads.items()}
    found = projected(machine("raid10"), replace(dsync, loads=loads), "raid5")

    assert found.pattern.journal is None


def test_what_jbd2_sends_at_once_is_one_request_on_any_layout():
    """On RAID5 the journal's three pages are one request at a disk; so on RAID10, at least and at most."""
    now = ext4("raid5")
    merged = did(1.5 * COMMITS, 8 * KIB) + did(
        COMMITS, 0
    )  # data, journal and commit, each with parity
    loads = {
        name: load._replace(write=merged) if name in DISKS else load
        for name, load in now.loads.items()
    }
    found = projected(machine("raid5"), replace(now, loads=loads), "raid10").projected.disks
    exact = 2 * 3 * COMMITS + 4 * COMMITS

    assert found.write.likely == pytest.approx(exact, rel=0.01)
    assert found.write.high < 1.05 * exact


def at_once(level, depth, wish, count=40, size=16 * KIB, **figures):
    """So many writes a second of 16 KiB, so many under way whenever any is."""
    volume = moved(write=did(count, size, wait=depth * 250.0), busy=0.25)
    return projected(machine(level), interval(volume, **figures), wish)


@pytest.mark.parametrize(("depth", "most"), [(1.0, 1.75), (2.0, 2.5), (4.0, 3.25)])
def test_pages_of_requests_that_are_under_way_at_once_may_stay_apart(depth, most):
    """
    Four pages: the first is a request; each other is, where another's page came between: 1 - 1/depth, or 1/4.

    And 2 %, and one of 4,000 writes, for layers read one after another.
    """
    found = at_once("raid10", depth, "raid5", read=did(0, 1), write=did(20, 16 * KIB), rmeta=20.0)

    assert found.projected.disks.write.high == pytest.approx(80 * most * (1.02 + 1 / 4000))


def test_what_copies_make_of_writes_at_once_is_said_to_be_open():
    """Of one at a time there is nothing to say."""
    page = {"read": did(80, PAGE), "write": did(80, PAGE), "rmeta": 2.4}
    said = {
        depth: any("concurrent writes share" in each for each in at_once("raid5", depth, "raid10", **page).unmodelled)
        for depth in (1.0, 8.0)
    }  # fmt: skip

    assert said == {1.0: False, 8.0: True}


@pytest.mark.parametrize(("depth", "shared"), [(10.0, False), (21.0, True)])
def test_what_is_under_way_between_two_flushes_is_under_one_plug(depth, shared):
    """Forty writes per flush write two pages of the bitmap per second: with copies no more if all are."""
    volume = moved(write=did(40, PAGE) + did(1, 0), busy=0.25)
    volume = volume._replace(write=volume.write._replace(wait=depth * 250.0))
    figures = {"read": did(20, PAGE), "write": did(20, PAGE) + did(1, 0), "rmeta": 4.0}
    found = projected(machine("raid5"), interval(volume, **figures), "raid10").projected
    pages = found.disks.metadata.requests.likely / 8

    assert (pages < 3.0) == shared


def test_parity_writes_the_bitmap_for_all_that_is_under_way():
    """Eight at once share a page's write on RAID5; one by one, as on RAID10, they set as many bits."""
    page = {"read": did(80, PAGE), "write": did(80, PAGE), "rmeta": 2.4}
    alone, eight = (at_once("raid5", depth, "raid10", **page) for depth in (1.0, 8.0))
    now, then = eight.now.disks.metadata.requests, eight.projected.disks.metadata.requests

    assert at_once("raid5", 8.0, "raid5", **page).projected.disks.metadata.requests.likely == (
        pytest.approx(now.likely, rel=0.1)
    )
    assert then.likely > alone.projected.disks.metadata.requests.likely
    assert then.low < 2 * now.likely


def test_a_doubled_volume_is_halved_first():
    """Where queue/iostats is 1, dm-raid counts twice: so does no projection."""
    twice = replace(RANDOM, loads={**RANDOM.loads, "r": RANDOM.loads["r"].scaled(2)})
    once = projected(machine("raid5"), RANDOM, "raid10")
    found = projected(machine("raid5", queue=Queue(iostats=True)), twice, "raid10")

    assert found.corrections == ("dm-raid-doubled: r",)
    assert found.projected.members.data.likely == pytest.approx(once.projected.members.data.likely)


def test_percentiles_are_those_of_the_intervals():
    """Of 20, 19 as they are and one three times as busy: the peak, and nothing of the middle."""
    busy = {name: load.scaled(3) for name, load in RANDOM.loads.items()}
    found = projected(machine("raid5"), [RANDOM] * 19 + [replace(RANDOM, loads=busy)], "raid10")
    volume, members = found.levels["volume"], found.levels["members_projected"]

    assert found.intervals == 20
    assert (volume.p50, volume.p95, volume.peak) == pytest.approx((94, 94, 282))
    assert (members.p50, members.p95, members.peak) == pytest.approx((135, 135, 405))


def test_an_average_of_several_counts_as_so_many():
    """Three quiet intervals as one, and one ten times as busy, of a text that tells no seconds: 13/4."""
    quiet = replace(RANDOM, seconds=None, count=3)
    loads = {name: load.scaled(10) for name, load in quiet.loads.items()}
    found = projected(machine("raid5"), [quiet, replace(quiet, loads=loads, count=1)], "raid10")
    volume = found.levels["volume"]

    assert found.intervals == 4
    assert found.read.requests == pytest.approx(53 * 13 / 4)
    assert (volume.p50, volume.p95, volume.peak) == pytest.approx((94, 940, 940))


@pytest.mark.parametrize(
    ("wish", "usable", "members"),
    [
        ("raid10", 400, 6),
        ("raid6:members=5", 600, 5),
        ("raid0", 800, 3),
        ("raid5:members=5", 800, 4),
        ("linear", 200, 3),
        ("linear:members=2", 400, 3),
    ],
)
def test_capacity_is_that_of_the_present_members(wish, usable, members):
    """600 MiB on three of four: 200 MiB each; a further one holds more, of linear too."""
    found = projected(machine("raid5"), RANDOM, wish)

    assert not found.needs_larger
    assert found.projected.usable == usable * MIB
    assert (found.need.member_bytes, found.need.members) == (200 * MIB, members)


@pytest.mark.parametrize(("wish", "members"), [("raid1", 2), ("raid1:copies=3", 3), ("mirror", 2)])
def test_copies_need_members_as_large_as_what_they_hold(wish, members):
    """Which these of 200 MiB are not, and more of them would not help: a copy is 600 MiB."""
    found = projected(machine("raid5"), RANDOM, wish)

    assert (found.need.members, found.need.member_bytes) == (members, 600 * MIB)
    assert found.projected.usable == 200 * MIB
    assert found.needs_larger


def test_ten_of_three_with_two_copies_holds_one_and_a_half():
    """Which md makes: 600 MiB take members of 400 MiB."""
    odd = layout("raid10", 3, 65536)

    assert (odd.data_members, odd.json_fields()["data"], str(odd)) == (1.5, 1.5, "raid10 1.5×2")
    context = volume_context(machine("raid10", members=3), "r")
    assert context._replace(present=odd).member_bytes == 400 * MIB
    assert usable_bytes(odd, 400 * MIB) == 600 * MIB


@pytest.mark.parametrize(
    ("level", "members", "copies", "data_members"),
    [("raid5", 4, None, 3), ("raid6", 5, None, 3), ("raid10", 6, 3, 2), ("raid1", 3, None, 1), ("raid0", 4, None, 4)],
)  # fmt: skip
def test_what_a_layout_holds_is_a_whole_number_where_it_can_be(
    level, members, copies, data_members
):
    """As JSON says it."""
    evidence = layout(level, members, 65536, copies).json_fields()["data"]

    assert (evidence, type(evidence)) == (data_members, int)


def test_a_region_that_would_pay_is_told():
    """The first is the present one; then one that adds less than a tenth. LVM always keeps one."""
    found = projected(machine("raid5"), RANDOM, "raid10").regions

    assert found[0].bytes == 2 * MIB
    assert found[0].share > 0.1 >= found[1].share
    assert found[1].bytes > 2 * MIB
    assert len(found) == 2


def test_a_volume_that_is_not_counted_has_no_projection():
    """A text may tell of the members alone."""
    loads = {name: load for name, load in RANDOM.loads.items() if name != "r"}
    with pytest.raises(InputError, match="lacks its requests or bytes"):
        projected(machine("raid5"), replace(RANDOM, loads=loads), "raid10")


def test_members_that_are_not_counted_leave_the_present_unknown():
    """The volume alone says what another layout takes: its reads, and its writes twice."""
    found = projected(machine("raid5"), replace(RANDOM, loads={"r": RANDOM.loads["r"]}), "raid10")

    assert found.now.members.data is None
    assert found.now.disks.requests is None
    assert found.projected.members.data.likely == pytest.approx(53 + 82)


def test_members_that_are_at_other_work_tell_nothing_of_the_writes():
    """A check reads all rows: none of them counts as load, and a note says so."""
    devices = machine("raid5")
    checked = type(devices)(
        [d._replace(state="check 12.5 %") if d.name == "r" else d for d in devices],
        devices.edges,
        machine=devices.machine,
    )
    found = projected(checked, RANDOM, "raid10")

    assert found.pattern.rows is None
    assert any("check 12.5 %" in sentence for sentence in found.unmodelled)


def test_a_layout_that_cannot_be_is_refused():
    """LVM makes RAID10 of whole sets."""
    with pytest.raises(LayoutError):
        projected(machine("raid5"), RANDOM, "raid10:members=5")


def test_a_load_of_reads_alone_has_no_cost_per_byte_written():
    """The first sentence has the requests; 53 reads of 8 KiB stay what they are."""
    reads = interval(moved(did(53, 8 * KIB)), read=did(53 / 4, 8 * KIB), write=did(0, 0))
    found = projected(machine("raid5"), reads, "raid10")

    assert found.costs is None
    assert headline(found) == "53.0 → 53.0 disk requests/s (0 %, range 48.8 to 54.2)."


def test_one_unknown_direction_makes_the_requests_unknown():
    """Reads and writes are added only if both are known."""
    known = DeviceLoad(1, read=exact(2.0), write=exact(3.0))

    assert known.data == exact(5.0)
    for name in ("read", "write"):
        assert replace(known, **{name: None}).data is None
