"""Rules on settings of queues and caches, on metadata and on request sizes: each on a case of its own."""

from __future__ import annotations

import pytest

from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.interval import Interval
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


@pytest.mark.parametrize(("chosen", "queue", "expected"), [
    ("[none] mq-deadline", 7.0, True), ("none [mq-deadline]", 7.0, False), ("[none]", 1.3, False),
])  # fmt: skip
def test_a_queue_that_nobody_sorts(chosen, queue, expected):
    """A spinning disk, 7 requests in flight, and no scheduler."""
    load = moved(did(101, 4096), aqu=queue)

    assert ("no-scheduler" in alone(load, scheduler=chosen)) == expected


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
