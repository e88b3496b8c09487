"""Rules on settings of queues and caches, on metadata and on request sizes: each on a case of its own."""

from __future__ import annotations

import pytest

from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.interval import Interval
from stackmap.model.load import Flow
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.rules.context import Context
from stackmap.rules.table import findings
from tests.drawn import DISKS, did, disk, moved, passing, raid_volume, topology

TURNING = Device("sdz", Kind.DISK, "8:1", merges=True, rotational=True)


def found(parts, loads):
    """The names of the rules that find something, with the device."""
    context = Context(topology(*parts), Interval(loads, seconds=10.0))
    return {(each.rule.name, each.device) for each in findings(context)}


def alone(load, **queue):
    """The findings on one spinning disk with these queue settings."""
    return {
        name for name, _ in found([([TURNING._replace(queue=Queue(**queue))], [])], {"sdz": load})
    }


@pytest.mark.parametrize(
    ("rate", "ms", "expected"), [(53, 11, True), (53, 1.3, False), (19, 11, False)]
)
def test_flushes_that_take_much_of_the_time(rate, ms, expected):
    """53 per second at 11 ms take 58 % of the time; fast or rare flushes are not reported."""
    load = moved(write=did(97, 4096))._replace(flush=Flow(ios=rate, wait=rate * ms))

    assert ("flush-bound" in alone(load)) == expected


@pytest.mark.parametrize(("chosen", "queue", "expected"), [
    ("[none] mq-deadline", 7.0, True), ("none [mq-deadline]", 7.0, False), ("[none]", 1.3, False),
])  # fmt: skip
def test_a_queue_that_nobody_sorts(chosen, queue, expected):
    """A spinning disk, 7 requests in flight, and no scheduler."""
    load = moved(did(101, 4096), aqu=queue)

    assert ("no-scheduler" in alone(load, scheduler=chosen)) == expected


@pytest.mark.parametrize(("queue", "expected"), [(61.0, True), (31.0, False)])
def test_a_queue_that_is_full(queue, expected):
    """A queue of 64 requests."""
    assert ("queue-full" in alone(moved(did(997, 4096), aqu=queue), nr_requests=64)) == expected


@pytest.mark.parametrize(("cache", "expected"), [("write through", True), ("write back", False)])
def test_a_write_cache_that_is_off(cache, expected):
    """Each write waits 11 ms for the medium."""
    assert (
        "write-through" in alone(moved(write=did(29, 4096, wait=29 * 11)), write_cache=cache)
    ) == expected


@pytest.mark.parametrize(("ahead", "expected"), [(128, True), (4096, False)])
def test_a_read_ahead_of_less_than_a_stripe(ahead, expected):
    """Reads of 128 KiB on stripes of 192 KiB."""
    array = Device(
        "md0", Kind.ARRAY, "9:0", layout=layout("raid5", 4, 65536), queue=Queue(read_ahead_kb=ahead)
    )

    assert (
        ("read-ahead", "md0") in found([([array], [])], {"md0": moved(did(101, 131072))})
    ) == expected


@pytest.mark.parametrize(("rows", "expected"), [("256", True), ("4096", False)])
def test_the_least_stripe_cache_under_partial_stripes(rows, expected):
    """Single pages: 2 reads and 2 writes each. A large cache is not reported."""
    array = Device(
        "md0", Kind.ARRAY, "9:0", layout=layout("raid5", 4, 65536), state="active",
        facts={"stripe cache": rows},
    )  # fmt: skip
    parts = ([array], [Edge("md0", name, Role.DATA) for name in DISKS])
    loads = {"md0": moved(write=did(400, 4096))} | {
        name: moved(did(200, 4096), did(200, 4096)) for name in DISKS
    }

    reported = found([parts], loads)
    assert ("partial-stripe", "md0") in reported
    assert (("stripe-cache", "md0") in reported) == expected


def test_a_snapshot_that_copies_out():
    """13 writes of 4 KiB to the origin, 13 chunks of 64 KiB to the snapshot."""
    devices = [
        passing("lv", target="snapshot-origin"),
        passing("snap", Kind.SNAPSHOT, target="snapshot"),
        passing("real"),
        passing("cow"),
    ]
    edges = [
        Edge("lv", "real", Role.DATA),
        Edge("snap", "real", Role.ORIGIN),
        Edge("snap", "cow", Role.COW),
    ]
    loads = {
        "lv": moved(write=did(13, 4096)),
        "snap": moved(),
        "cow": moved(write=did(13, 65536)),
    }

    assert ("snapshot-copies", "snap") in found([(devices, edges)], loads)


@pytest.mark.parametrize(("more", "expected"), [(3, True), (1.3, False)])
def test_a_member_that_gets_more_than_its_siblings(more, expected):
    """A striped layout spreads evenly: three times the load on one member is no chance."""
    parts = ([Device("md0", Kind.ARRAY, "9:0", layout=layout("raid0", 4, 65536))],
             [Edge("md0", name, Role.DATA) for name in DISKS])  # fmt: skip
    loads = {name: moved(did(101, 4096)) for name in DISKS} | {"md0": moved(did(404, 4096))}
    loads["sdc"] = moved(did(101 * more, 4096))

    assert (("unequal-load", "sdc") in found([parts], loads)) == expected


@pytest.mark.parametrize(
    ("level", "variant", "expected"),
    [
        ("raid4", "", False), ("raid5", "ls", True), ("raid5", "n", False), ("raid5", "0", False),
        ("raid6", "zr", True), ("raid6", "ls_6", False), ("raid6", "n_6", False),
    ],
)  # fmt: skip
def test_a_parity_disk_gets_the_parity_of_all_writes(level, variant, expected):
    """Only where parity rotates is three times the load on one member no chance."""
    geometry = layout(level, 4, 65536, variant=variant)
    parts = ([Device("md0", Kind.ARRAY, "9:0", layout=geometry)],
             [Edge("md0", name, Role.DATA) for name in DISKS])  # fmt: skip
    loads = {name: moved(did(202, 4096), did(202, 4096)) for name in DISKS}
    loads |= {"md0": moved(write=did(404, 4096)), "sdd": moved(did(606, 4096), did(606, 4096))}

    assert (("unequal-load", "sdd") in found([parts], loads)) == expected


def test_what_others_send_to_a_disk_is_not_the_arrays():
    """A second volume on sdc explains its load."""
    beside = ([passing("other")], [Edge("other", "sdc", Role.DATA)])
    loads = {name: moved(write=did(101, 4096)) for name in DISKS}
    loads["sdc"] = moved(write=did(303, 4096))

    assert "unequal-load" not in {
        n for n, _ in found([raid_volume("vm", "raid10", 8), beside], loads)
    }


@pytest.mark.parametrize(
    ("done", "merges", "size", "name"),
    [
        (25, 76, 131072, "merged"),
        (50, 1500, 4096, None),
        (76, 2090, 174080, None),
        (3232, 0, 4096, "not-merged"),
        (101, 0, 131072, None),
    ],
)
def test_large_requests_that_were_cut(done, merges, size, name):
    """
    Requests of 128 KiB merge into larger ones, reach the disk as 4 KiB, or were never split.

    Pieces of 4 KiB that merged are as many as the requests, and smaller: nothing was gained.
    On a RAID5 in the lab, 28 pieces merged into one, but 36.9 requests became 28.
    """
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    loads = {
        "lv": moved(write=did(101, 131072)),
        "sda": moved(write=did(done, size, merges=merges)),
    }
    expected = {n for n, _ in found([parts], loads)} & {"merged", "not-merged"}

    assert expected == ({name} if name else set())


def test_a_machine_without_load_has_no_findings():
    """Without loads there is no finding."""
    assert findings(Context(Topology([disk("sda")]), Interval({}))) == []
