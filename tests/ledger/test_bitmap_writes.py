"""Bitmap writes among an array's members: no more of them than what is left of what the array needs."""

import pytest

from stackmap.ledger.amounts import Amount, Traffic
from stackmap.ledger.member_writes import (
    _with_range,
    bitmap_write_size,
    max_bitmap_bytes,
    max_bitmap_writes,
    member_flushes,
)
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.load import IDLE
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from tests.drawn import DISKS, did, moved, stack_figures, topology

GIB = 1 << 30


def array(level, chunk="65536", **more):
    kept = {"consistency": "bitmap", "region": chunk}
    device = Device(
        "md0", Kind.ARRAY, "9:0", size=3 * GIB, state="active", facts=kept,
        layout=layout(level, 4, 65536), **more,
    )  # fmt: skip
    return [device], [Edge("md0", name, Role.DATA) for name in DISKS]


def members(flow):
    return {name: moved(write=flow) for name in DISKS}


def with_blocks(parts, block):
    """Return a topology of *parts* whose disks have logical blocks of *block* bytes."""
    bare = topology(parts)
    disks = [bare[name]._replace(queue=Queue(logical_block_size=block)) for name in DISKS]
    return Topology([*parts[0], *disks], parts[1], machine=bare.machine)


def test_a_mirror_needs_a_write_for_each_copy():
    """40 writes on 4 mirrors are 160; of 172 no more than 3 a member were marks."""
    seen = with_blocks(array("raid1"), 512)
    loads = {"md0": moved(write=did(40, 8192))} | members(did(43, (40 * 8192 + 3 * 4096) / 43))

    assert max_bitmap_writes(seen, loads, seen["md0"]) == 3
    written = stack_figures(seen, loads, "md0").layers[1].share.write
    assert [end.arrivals for end in written.bounds] == [160, 172]


def test_a_mirror_without_marks_is_no_estimate():
    """All that arrived was asked for."""
    seen = with_blocks(array("raid10"), 512)
    loads = {"md0": moved(write=did(40, 8192))} | members(did(20, 8192))

    assert not stack_figures(seen, loads, "md0").layers[1].share.estimated


def test_writes_of_parity_that_are_no_pages_are_marks():
    """20 pages a member and 7 marks of 2560 bytes: found by how much their bytes are short of pages."""
    seen = with_blocks(array("raid5"), 512)
    flow = did(27, (20 * 4096 + 7 * 2560) / 27)
    loads = {"md0": moved(write=did(40, 4096))} | members(flow)

    assert max_bitmap_writes(seen, loads, seen["md0"]) == pytest.approx(7)


@pytest.mark.parametrize(("chunk", "block", "size"), [
    ("67108864", 512, 512),  # 16 bits and the superblock
    ("65536", 512, 2560),  # 16384 bits: 2048 bytes and 256
    ("65536", 4096, 4096),
    ("4096", 512, 4096),  # several pages
    ("0", 512, 4096),  # md does not say
])  # fmt: skip
def test_a_mark_takes_no_more_than_its_bitmap(chunk, block, size):
    """Rounded up to what the disks write at least, up to a page."""
    seen = with_blocks(array("raid5", chunk), block)

    assert bitmap_write_size(seen, seen["md0"]) == size


@pytest.mark.parametrize(
    ("level", "state", "known"),
    [("raid1", "active", True), ("raid5", "active", False), ("raid1", "degraded", False)],
)
def test_flushes_are_known_of_whole_copies_alone(level, state, known):
    """A mark looks like a flush of an array with parity; of a degraded one, members lack writes."""
    (device,), edges = array(level, "67108864")
    seen = with_blocks(([device._replace(state=state)], edges), 512)
    # Of 7 empty writes a member, as many as there may be marks are not certain.
    loads = {"md0": moved(write=did(40, 8192))} | members(did(47, 40 * 8192 / 47))

    sent = member_flushes(seen, loads, seen["md0"])
    assert (sent > 0) == known
    assert member_flushes(seen, {}, seen["md0"]) == 0
    bare = seen["md0"]._replace(layout=None)
    assert member_flushes(seen, loads, bare) == 0


def test_a_degraded_mirror_promises_no_copies():
    """What it was sent went to fewer members: any write at one may have been a mark."""
    devices, edges = array("raid1")
    seen = with_blocks(([devices[0]._replace(state="degraded")], edges[:3]), 512)
    loads = {"md0": moved(write=did(40, 8192))} | members(did(43, 8192))

    assert max_bitmap_writes(seen, loads, seen["md0"]) == 43


def test_reads_have_no_marks():
    """An array that was only read is no estimate."""
    seen = with_blocks(array("raid5"), 512)
    loads = dict.fromkeys(DISKS, moved(did(11, 4096))) | {"md0": moved(did(44, 4096))}

    assert not stack_figures(seen, loads, "md0").layers[1].share.estimated
    assert not stack_figures(seen, dict.fromkeys(loads, IDLE), "md0").layers[1].share.estimated


def test_bytes_of_bitmap_writes_are_counted_at_each_member():
    """20 pages and 7 bitmap writes of 2560 bytes at each of 4 members; an array without a bitmap has none."""
    seen = with_blocks(array("raid5"), 512)
    flow = did(27, (20 * 4096 + 7 * 2560) / 27)
    loads = {"md0": moved(write=did(40, 4096))} | members(flow)
    bare = seen["md0"]._replace(facts={})

    assert max_bitmap_bytes(seen, loads, seen["md0"]) == pytest.approx(4 * 7 * 2560)
    assert max_bitmap_bytes(seen, loads, bare) == 0


def test_bits_that_fill_a_block_with_the_superblock_take_one_block():
    """256 bytes of superblock and 2048 bits are 512 bytes; one bit more takes another block."""
    seen = with_blocks(array("raid5"), 512)
    sizes = [seen["md0"]._replace(size=3 * bits * 65536) for bits in (2048, 2049)]

    assert [bitmap_write_size(seen, each) for each in sizes] == [512, 1024]


def test_a_range_reaches_down_by_the_writes_that_may_be_the_bitmaps():
    """29 writes with 11 of 512 bytes among them, at most: 18 to 29. Without any it is exact."""
    arrived = Traffic(29.0, 29.0, 29 * 4096.0, 1.0)
    found = _with_range(arrived, 11.0, 512)
    assert found.bounds == (Amount(18.0, 29 * 4096 - 11 * 512), Amount(29.0, 29 * 4096.0))
    assert _with_range(arrived, 31.0, 4096).bounds[0] == Amount(0.0, 0.0)
    assert _with_range(arrived, 0.0, 512) == arrived
    unknown = Traffic(None, None, 4096.0)
    assert _with_range(unknown, 11.0, 512) == unknown
    assert _with_range(arrived._replace(bytes=None), 11.0, 512).bounds[0] == Amount(18.0, None)
