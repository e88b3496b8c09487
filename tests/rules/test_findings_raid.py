"""Rules on md's thread, on requests too small for a stripe, and on what writes cost: each on a case of its own."""

from __future__ import annotations

import pytest

from stackmap.model.device import Device, Kind, Queue, RaidThread, Role, StatusReading
from stackmap.model.interval import Interval
from stackmap.model.raid import layout
from stackmap.model.topology import Edge
from stackmap.model.units import KIB
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.rules.rule import Severity
from stackmap.rules.table import findings
from tests.drawn import DISKS, did, moved, raid_volume, topology

IDLE_DISKS = {name: moved(did(100, 4 * KIB), did(100, 4 * KIB), aqu=0.2) for name in DISKS}


def array(level="raid5", members=4, chunk=64 * KIB, **more):
    """md0 on the first disks."""
    device = Device(
        "md0", Kind.ARRAY, "9:0", layout=layout(level, members, chunk), state="active", **more
    )
    return [device], [Edge("md0", name, Role.DATA) for name in DISKS[:members]]


def context(parts, loads, *, threads=(), usage=0.97, seconds=20.0):
    """*threads*: names; the last of them uses *usage* of a CPU, the others a tenth."""
    known = [RaidThread(40 + n, name) for n, name in enumerate(threads)]
    shares = [*[0.1] * (len(known) - 1), usage]
    readings = tuple(
        StatusReading(time, {}, dict(zip(known, [s * time for s in shares], strict=False)))
        for time in (100.0, 100.0 + seconds)
    )
    return Context(topology(*parts), Interval(loads, seconds=seconds, readings=readings))


def one(context, id_):
    of_rule = [each for each in findings(context) if each.rule.id == id_]
    assert len(of_rule) <= 1
    return of_rule[0] if of_rule else None


def figures(finding):
    return {name: each.value for name, each in finding.observed.evidence.items()}


# md's thread.


@pytest.mark.parametrize(
    ("usage", "queue", "disk_queue", "expected"),
    [
        (0.97, 30, 0.2, True),
        (0.89, 30, 0.2, False),
        (0.97, 3.9, 0.2, False),
        (0.97, 30, 1.1, False),
    ],
)
def test_an_array_that_waits_for_its_thread(usage, queue, disk_queue, expected):
    """A busy thread, a queue above it, and idle disks: without one of them, it is something else."""
    loads = IDLE_DISKS | {
        "md0": moved(write=did(400, 4 * KIB), aqu=queue),
        "sda": moved(did(100, 4 * KIB), aqu=disk_queue),
    }
    finding = one(context([array()], loads, threads=["md0_raid5"], usage=usage), "SM411")

    assert (finding is not None) == expected
    if finding:
        assert figures(finding) == pytest.approx({"cpu": 0.97, "queue": 30, "disk_queue": 0.2})
        assert finding.observed.words["thread"] == "md0_raid5 (process 40)"
        assert "group_thread_cnt" in finding.observed.words["remedy"]


@pytest.mark.parametrize("threads", [[], ["md1_raid5"], ["md0_raid6"], ["mdX_raid5"]])
def test_the_thread_of_another_array(threads):
    loads = IDLE_DISKS | {"md0": moved(write=did(400, 4 * KIB), aqu=30)}

    assert one(context([array()], loads, threads=threads), "SM411") is None


@pytest.mark.parametrize("number", [1, 3])
def test_the_threads_of_lvm_have_one_name(number):
    """Of several it is said that nothing shows which is the volume's; md's remedy does not exist there."""
    parts = raid_volume("vm", "raid5", 8)
    loads = IDLE_DISKS | {"vm": moved(write=did(400, 4 * KIB), aqu=30)}
    words = one(context([parts], loads, threads=["mdX_raid5"] * number), "SM411").observed.words

    assert ("one of 3 threads" in words["thread"]) == (number == 3)
    assert "group_thread_cnt" not in words["remedy"]


def test_a_queue_that_is_unknown_is_not_judged():
    """md before Linux 5.14 counts no time."""
    loads = IDLE_DISKS | {"md0": moved(write=did(400, 4 * KIB))}

    assert one(context([array()], loads, threads=["md0_raid5"]), "SM411") is None


# Requests and stripes.


def limited(chunk, kib, level="raid5", **more):
    return array(level, chunk=chunk * KIB, queue=Queue(max_sectors_kb=kib), **more)


@pytest.mark.parametrize(
    ("chunk", "kib", "severity"),
    [
        (512, 1536, None),  # exactly the stripe of 3 × 512 KiB
        (512, 1280, Severity.INFO),  # the kernel's default before 7.0
        (512, 256, Severity.WARNING),  # less than a chunk
    ],
)
def test_a_stripe_that_no_request_fills(chunk, kib, severity):
    found = [f for f in checks(Context(topology(limited(chunk, kib)))) if f.rule.id == "SM111"]

    assert [each.severity for each in found] == ([severity] if severity else [])
    if severity:
        assert figures(found[0]) == {"limit": kib * KIB, "stripe": 3 * chunk * KIB}


def test_the_narrowest_device_above_counts():
    """The array takes whole stripes, the volume on it 128 KiB: that is where to change it."""
    devices, edges = limited(64, 4096)
    volume = Device("lv", Kind.VOLUME, "254:1", target="linear", queue=Queue(max_sectors_kb=128))
    context_ = Context(topology(([*devices, volume], [*edges, Edge("lv", "md0", Role.DATA)])))
    (found,) = [f for f in checks(context_) if f.rule.id == "SM111"]

    assert (found.observed.words["limiting"], found.observed.words["wanted"]) == ("lv", "192")


def test_it_is_a_warning_where_large_writes_pay_for_it():
    """Writes of 128 KiB, as large as they may be, read 128 KiB for parity each; small ones would anyway."""
    cut = {"md0": moved(write=did(100, 128 * KIB))} | {
        name: moved(did(800, 4 * KIB), did(1600, 4 * KIB)) for name in DISKS
    }
    small = {"md0": moved(write=did(400, 4 * KIB))} | {
        name: moved(did(200, 4 * KIB), did(200, 4 * KIB)) for name in DISKS
    }

    assert one(context([limited(64, 128)], cut), "SM111").severity == Severity.WARNING
    assert one(context([limited(64, 128)], small), "SM111").severity == Severity.INFO


def test_lvm_cuts_requests_at_the_chunk_anyway():
    parts = raid_volume("vm", "raid5", 8, queue=Queue(max_sectors_kb=64))

    assert not [f for f in checks(Context(topology(parts))) if f.rule.id == "SM111"]


@pytest.mark.parametrize(("excess", "expected"), [(3, False), (12, True)])
def test_requests_that_complete_while_counters_are_read(excess, expected):
    """In the lab, a RAID1's member had 3 reads of 512 KiB more than the array over 6.1 s."""
    reads = {"md0": 7.35, "sda": 7.35 + excess / 6.1, "sdb": 0.0}
    loads = {name: moved(did(rate, 512 * KIB)) for name, rate in reads.items()}

    found = one(context([array("raid1", 2)], loads, seconds=6.1), "SM303")
    assert (found is not None) == expected


# What writes cost.


def test_partial_stripes_of_raid6():
    """RAID6 of 4: a page written is 1 read and 3 writes, 4 disk bytes per byte where 2 is ideal."""
    loads = {"md0": moved(write=did(400, 4 * KIB))} | {
        name: moved(did(100, 4 * KIB), did(300, 4 * KIB)) for name in DISKS
    }
    finding = one(context([array("raid6")], loads), "SM101")

    assert (figures(finding)["cost"], figures(finding)["ideal"]) == pytest.approx((4, 2))


@pytest.mark.parametrize(("merges", "expected"), [(15, 400), (0, None)])
def test_pages_that_the_disks_merge(merges, expected):
    """In the lab, 64 KiB writes became 386 pages per second at md's members, which served 28 requests."""
    pages = 50 * (1 + merges)  # read and written per member and second
    loads = {"md0": moved(write=did(2 * pages, 4 * KIB))} | {
        name: moved(did(50, 4 * KIB, 50 * merges), did(50, 4 * KIB, 50 * merges)) for name in DISKS
    }
    evidence = figures(one(context([array("raid5")], loads), "SM101"))

    assert evidence["member_rate"] == 8 * pages
    assert evidence.get("merged_rate") == expected


@pytest.mark.parametrize(("level", "ideal"), [("raid5", 4 / 3), ("raid6", 2)])
def test_a_cost_that_cannot_be_divided(level, ideal):
    """
    fsync and a bitmap: the members write more than one page per row explains.

    100 writes of 4 KiB make 20 reads and 360 writes: 3.8 bytes per byte.
    """
    loads = {"md0": moved(write=did(100, 4 * KIB))} | {
        name: moved(did(5, 4 * KIB), did(90, 4 * KIB)) for name in DISKS
    }
    finding = one(context([array(level, facts={"consistency": "bitmap"})], loads), "SM112")

    assert (figures(finding)["cost"], figures(finding)["ideal"]) == pytest.approx((3.8, ideal))
    assert "more was written to the members" in finding.observed.words["reason"]
    assert one(context([array(level)], loads), "SM101") is None


@pytest.mark.parametrize("state", ["degraded", "resync 4.0 %", "check 50.0 %"])
def test_other_work_is_no_cost_of_writes(state):
    devices, edges = array()
    broken = Device("md0", Kind.ARRAY, "9:0", layout=devices[0].layout, state=state)
    loads = {"md0": moved(write=did(100, 4 * KIB))} | {
        name: moved(did(5, 4 * KIB), did(90, 4 * KIB)) for name in DISKS
    }

    assert one(context([([broken], edges)], loads), "SM112") is None


def integrity(journal):
    """A mirror on two disks with checksums: each leg writes its data, and *journal* times as much for them."""
    legs = [
        Device(f"leg{n}", Kind.MEMBER, f"254:{n}", target="integrity", state="active")
        for n in (1, 2)
    ]
    data = [Device(f"iorig{n}", Kind.MEMBER, f"254:{n + 2}", target="linear") for n in (1, 2)]
    meta = [Device(f"imeta{n}", Kind.MEMBER, f"254:{n + 4}", target="linear") for n in (1, 2)]
    top = Device(
        "vm", Kind.VOLUME, "254:9", target="raid", layout=layout("raid1", 2, None), state="active"
    )
    edges = [
        edge
        for n, name in ((1, "sda"), (2, "sdb"))
        for edge in (
            Edge("vm", f"leg{n}", Role.DATA), Edge(f"leg{n}", f"iorig{n}", Role.DATA),
            Edge(f"leg{n}", f"imeta{n}", Role.METADATA), Edge(f"iorig{n}", name, Role.DATA),
            Edge(f"imeta{n}", name, Role.DATA),
        )
    ]  # fmt: skip
    written, kept = moved(write=did(100, 4 * KIB)), moved(write=did(100 * journal, 4 * KIB))
    loads = dict.fromkeys(("vm", "leg1", "leg2", "iorig1", "iorig2"), written)
    loads |= {"imeta1": kept, "imeta2": kept}
    loads |= dict.fromkeys(("sda", "sdb"), moved(write=did(100 * (1 + journal), 4 * KIB)))
    return ([top, *legs, *data, *meta], edges), loads


@pytest.mark.parametrize(("journal", "expected"), [(1.1, True), (0.9, False)])
def test_checksums_that_cost_more_than_data(journal, expected):
    """The disks write 800 KiB/s of data, and that times *journal* of checksums."""
    parts, loads = integrity(journal)
    finding = one(context([parts], loads), "SM515")

    assert (finding is not None) == expected
    if finding:
        assert figures(finding)["data"] == pytest.approx(200 * 4 * KIB)
        assert figures(finding)["metadata"] == pytest.approx(220 * 4 * KIB)
        assert "bitmap" in finding.observed.words["remedy"]
        assert not {f.device for f in findings(context([parts], loads)) if f.rule.id == "SM501"}


@pytest.mark.parametrize(
    ("facts", "shown"), [({}, "bitmap"), ({"bitmap": "llbitmap"}, "bitmap (llbitmap)")]
)
def test_the_lockless_bitmap(facts, shown):
    """Linux 6.18: its consistency policy is that of the other bitmap."""
    parts = array(facts={"consistency": "bitmap", **facts})
    (found,) = [f for f in checks(Context(topology(parts))) if f.rule.id == "SM913"]

    assert (found.severity, found.observed.words["policy"]) == (Severity.GOOD, shown)
