"""What recorded streams do not contain: partitions, parts of requests, lost events, missing members, multipath."""

from __future__ import annotations

import pytest

from stackmap.features.trace.events.follow import Follower
from stackmap.features.trace.events.member_layout import DATA, PARITY, UNKNOWN, data_members, places
from stackmap.features.trace.events.request import Totals
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.sources.trace_text import BlockEvent, Step

CHUNK = 65536


class Stream:
    """Events one millisecond apart."""

    def __init__(self):
        self.events = []

    def add(self, step, number, sector, sectors, flags="W", source=None):
        time = len(self.events) / 1000
        event = BlockEvent(time, step, "fio", 1, number, flags, sector, sectors, source)
        self.events.append(event)
        return self

    def queue(self, number, sector, sectors=8, flags="W"):
        return self.add(Step.QUEUE, number, sector, sectors, flags)

    def remap(self, number, sector, source, sectors=8, flags="W"):
        return self.add(Step.REMAP, number, sector, sectors, flags, source)

    def served(self, number, sector, sectors=8, flags="W"):
        self.add(Step.ISSUE, number, sector, sectors, flags)
        return self.add(Step.COMPLETE, number, sector, sectors, flags)

    def done(self, number, sector, sectors=8, flags="W"):
        return self.add(Step.BIO_DONE, number, sector, sectors, flags)


def linear():
    return Topology(
        [Device("dm-0", Kind.VOLUME, "253:0", target="linear"), Device("sda", Kind.DISK, "8:0")],
        [Edge("dm-0", "sda", Role.DATA, 0)],
    )


def raid5(members=4, missing=0):
    """LVM's RAID5 on whole disks, some of them missing."""
    disks = [
        Device(f"sd{letter}", Kind.DISK, f"8:{16 * place}")
        for place, letter in enumerate("abcdef"[: members - missing])
    ]
    volume = Device(
        "dm-0",
        Kind.VOLUME,
        "253:0",
        target="raid",
        layout=layout("raid5", members, CHUNK, variant="ls"),
    )
    return Topology([volume, *disks], [Edge("dm-0", disk.name, Role.DATA, 0) for disk in disks])


def names(request):
    return [(below.name, below.sector) for below in request.caused()]


def test_two_writes_of_the_same_sectors_are_kept_apart():
    stream = Stream()
    for _ in range(2):
        stream.queue("253:0", 0).remap("8:0", 100, ("253:0", 0)).queue("8:0", 100)
    follower = Follower(linear())
    follower.feed(stream.events)
    assert [len(each.below) for each in follower.rest()] == [1, 1]


def test_a_request_that_completes_in_parts_is_done_with_the_last():
    stream = Stream().queue("253:0", 0).remap("8:0", 100, ("253:0", 0)).queue("8:0", 100)
    stream.add(Step.ISSUE, "8:0", 100, 8).add(Step.COMPLETE, "8:0", 100, 3)
    stream.add(Step.COMPLETE, "8:0", 103, 5).done("253:0", 0)
    follower = Follower(linear())
    [request] = follower.feed(stream.events)
    [below] = request.caused()
    assert below.done == pytest.approx(0.005)
    assert below.issued == pytest.approx(0.003)


def test_a_request_that_is_issued_again_counts_once():
    stream = Stream().queue("8:0", 100).add(Step.ISSUE, "8:0", 100, 8).served("8:0", 100)
    follower = Follower(linear())
    follower.feed(stream.events)
    assert len(follower.dispatched()) == 1


def test_zeroes_are_written_and_commands_to_the_disk_are_not_requests():
    """The kernel calls both N; only the first was queued."""
    stream = Stream().queue("8:0", 100, 8, "N").served("8:0", 100, 8, "N").served("8:0", 0, 1, "N")
    follower = Follower(linear())
    [request] = follower.feed(stream.events)
    assert (request.operation, request.done) == ("other", 0.002)
    assert len(follower.dispatched()) == 1


def test_a_completion_that_was_lost_leaves_the_request_incomplete():
    stream = Stream().queue("253:0", 0)
    follower = Follower(linear())
    assert follower.feed(stream.events) == []
    [request] = follower.rest()
    assert (request.seconds, request.done) == (None, None)


def test_a_request_is_not_complete_when_all_below_is():
    """RAID5 reads first; what it then writes may come with a later reading of events."""
    reads = Stream().queue("253:0", 128).queue("8:0", 0, 8, "R").served("8:0", 0, 8, "R")
    count = len(reads.events)
    reads.queue("8:16", 0).served("8:16", 0).done("253:0", 128)
    follower = Follower(raid5())
    assert follower.feed(reads.events[:count]) == []
    [request] = follower.feed(reads.events[count:])
    assert [below.operation for below in request.below] == ["read", "write"]
    assert request.seconds is not None


def test_requests_that_never_end_are_bounded(monkeypatch):
    """With lost events, completions never come: the oldest are let go."""
    monkeypatch.setattr("stackmap.features.trace.events.follow.MAX_WAITING", 3)
    stream = Stream()
    for place in range(5):
        stream.queue("253:0", 8 * place)
    follower = Follower(linear())
    assert [each.sector for each in follower.feed(stream.events)] == [0, 8]
    assert len(follower.rest()) == 3


def test_a_file_system_on_a_partition():
    topology = Topology(
        [Device("sda1", Kind.PARTITION, "8:1"), Device("sda", Kind.DISK, "8:0")],
        [Edge("sda1", "sda", Role.DATA, 2048 * 512)],
    )
    stream = Stream().remap("8:0", 2056, ("8:1", 8)).queue("8:0", 2056).served("8:0", 2056)
    [request] = Follower(topology).feed(stream.events)
    assert (request.name, request.sector, request.done) == ("sda1", 8, 0.003)
    assert names(request) == [("sda", 2056)]


def test_multipath_remaps_what_was_merged():
    topology = Topology(
        [
            Device("dm-0", Kind.MULTIPATH, "253:0", target="multipath"),
            Device("sda", Kind.DISK, "8:0"),
        ],
        [Edge("dm-0", "sda", Role.PATH, 0)],
    )
    stream = Stream().queue("253:0", 0).queue("253:0", 8).add(Step.ISSUE, "253:0", 0, 16)
    stream.add(Step.RQ_REMAP, "8:0", 0, 16, source=("253:0", 0)).served("8:0", 0, 16)
    stream.add(Step.COMPLETE, "253:0", 0, 16)
    follower = Follower(topology)
    follower.feed(stream.events)
    at_path = follower.dispatched()[-1]
    assert at_path.name == "sda"
    assert {root.sector for root in at_path.roots()} == {0, 8}


@pytest.mark.parametrize(("missing", "role"), [(0, PARITY), (1, UNKNOWN)])
def test_a_row_is_known_without_its_slot(missing, role):
    """In stripe 0 of 4 members the parity is on the last; with one missing, no slot is known."""
    topology = raid5(missing=missing)
    last = f"8:{16 * (3 - missing)}"
    stream = Stream().queue("253:0", 128).queue(last, 0).served(last, 0).done("253:0", 128)
    [request] = Follower(topology).feed(stream.events)
    assert [(below.role, below.how) for below in request.below] == [(role, "derived")]


def test_a_member_without_a_request_above_is_of_unknown_cause():
    """As in a resync."""
    follower = Follower(raid5())
    follower.feed(Stream().queue("8:0", 0, flags="R").served("8:0", 0, flags="R").events)
    totals = Totals()
    totals.add(follower.dispatched())
    assert (totals.sent, totals.unknown) == (1, 1)


def test_a_flush_of_a_member_is_not_metadata():
    """md sends it to sector 0, which is before the data of a member with a superblock."""
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid5", 3, CHUNK, variant="ls"))
    disks = [Device(f"sd{letter}", Kind.DISK, f"8:{16 * n}") for n, letter in enumerate("abc")]
    edges = [Edge("md0", disk.name, Role.DATA, 2048 * 512) for disk in disks]
    stream = Stream().queue("9:0", 0, 0, "FWS").queue("8:0", 0, 0, "FWS")
    stream.add(Step.COMPLETE, "8:0", 0, 0, "WS").done("9:0", 0, 0, "WS")
    [request] = Follower(Topology([array, *disks], edges)).feed(stream.events)
    assert [(below.name, below.operation, below.how) for below in request.below] == [
        ("sda", "flush", "derived")
    ]


def test_writes_of_one_row_share_its_parity():
    """Pages 0 and 1 of a row: the parity page is caused by both, each data page by one."""
    stream = Stream().queue("253:0", 0).queue("253:0", 128)
    for number in ("8:0", "8:16", "8:48"):
        stream.queue(number, 0).served(number, 0)
    stream.done("253:0", 0).done("253:0", 128)
    first, second = Follower(raid5()).feed(stream.events)
    assert [below.role for below in first.below] == [DATA, PARITY]
    assert [below.role for below in second.below] == [DATA, PARITY]
    assert first.below[1] is second.below[1]


@pytest.mark.parametrize("variant", ["la", "ra", "ls", "rs", "0", "n"])
@pytest.mark.parametrize("members", [3, 4, 7])
def test_every_byte_of_raid5_is_on_one_member(variant, members):
    whole(layout("raid5", members, CHUNK, variant=variant))


@pytest.mark.parametrize(
    "variant",
    [
        "la",
        "ra",
        "ls",
        "rs",
        "0",
        "n",
        "zr",
        "nr",
        "nc",
        "la_6",
        "ra_6",
        "ls_6",
        "rs_6",
        "0_6",
        "n_6",
    ],
)
@pytest.mark.parametrize("members", [4, 5, 7])
def test_every_byte_of_raid6_is_on_one_member(variant, members):
    whole(layout("raid6", members, CHUNK, variant=variant))


@pytest.mark.parametrize(
    ("variant", "stripes"),
    [
        ("ls", [[1, 2, 3], [0, 1, 2], [4, 0, 1]]),
        ("rs", [[2, 3, 4], [3, 4, 0], [4, 0, 1]]),
        ("zr", [[2, 3, 4], [0, 3, 4], [0, 1, 4]]),
        ("nr", [[0, 1, 2], [0, 1, 4], [0, 3, 4]]),
        ("nc", [[0, 1, 2], [4, 0, 1], [3, 4, 0]]),
        ("ra", [[2, 3, 4], [0, 3, 4], [0, 1, 4]]),
        ("la", [[1, 2, 3], [0, 1, 2], [0, 1, 4]]),
        ("0", [[2, 3, 4]] * 3),
    ],
)
def test_the_data_of_raid6_lie_as_md_computes_them(variant, stripes):
    """By hand from raid5_compute_sector() in the kernel's raid5.c, for five members."""
    shape = layout("raid6", 5, CHUNK, variant=variant)
    assert [data_members(shape, stripe) for stripe in range(3)] == stripes


def whole(shape):
    """Each stripe has all its data chunks in distinct slots, and their places are the array's, in order."""
    for stripe in range(3 * shape.members):
        assert len(set(data_members(shape, stripe))) == shape.data
    chunk = CHUNK // 512
    owned = sorted(
        held.own
        for slot in range(shape.members)
        for held in places(shape, None, slot, 0, 12 * chunk)
        if held.role == DATA
    )
    assert owned == [(at * chunk, (at + 1) * chunk) for at in range(12 * shape.data)]


@pytest.mark.parametrize(
    ("variant", "members", "copies"),
    [("near", 4, 2), ("near", 3, 2), ("far", 4, 2), ("offset", 4, 2), ("offset", 3, 2)],
)
def test_every_byte_of_raid10_is_on_as_many_members_as_copies(variant, members, copies):
    shape = layout("raid10", members, CHUNK, copies=copies, variant=variant)
    chunk, rows = CHUNK // 512, 12
    size = rows * members // copies * chunk
    held = [
        (place.own, slot)
        for slot in range(members)
        for place in places(shape, size, slot, 0, rows * chunk)
    ]
    for at in range(rows * members // copies):
        slots = [slot for own, slot in held if own == (at * chunk, (at + 1) * chunk)]
        assert len(slots) == len(set(slots)) == copies


def test_requests_whose_end_was_lost_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("stackmap.features.trace.events.request.MOST", 10)
    monkeypatch.setattr("stackmap.features.trace.events.follow.MAX_WAITING", 10)
    follower = Follower(linear(), ["dm-0"])
    stream = Stream()
    for place in range(100):
        stream.queue("8:0", place * 8).add(Step.ISSUE, "8:0", place * 8, 8)
    follower.feed(stream.events)
    assert [r.sector for r in follower._flying["sda"].over(0, 10**6)] == [*range(720, 800, 8)]
    assert len(follower._issued) == 10
    stream.events.clear()
    follower.feed(stream.add(Step.COMPLETE, "8:0", 792, 8).events)
    assert len(follower._flying["sda"].over(0, 10**6)) == 9
