"""Saturated peers, overload beside a slower peer, knees, and volumes that wait: nothing untrue, nothing twice."""

from __future__ import annotations

import pytest

from stackmap.document.rule_words import filled, words_of
from stackmap.model.device import Device, Kind, Queue, Role
from stackmap.model.interval import Interval
from stackmap.model.topology import NO_TOPOLOGY, Edge, Topology
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.rules.table import findings
from stackmap.rules.unjudged import unjudged
from tests.drawn import DISKS, did, disk, moved, raid_volume, topology

TREE = topology(raid_volume("vm", "raid10", 8))


def disks(awaits, rate=100.0, busy=None):
    """The four disks with an await in ms each; busy as one request after the other would keep them."""
    return {
        name: moved(
            write=did(rate, 4096, wait=rate * ms),
            aqu=rate * ms / 1000,
            busy=min(1.0, rate * ms / 1000) if busy is None else busy,
        )
        for name, ms in zip(DISKS, awaits, strict=True)
    }


def reported(parts, tree=TREE, **more):
    """Return (id, device, severity) of what is found in equal *parts* of a second."""
    series = tuple(Interval(part, seconds=1.0) for part in parts)
    whole = Interval(
        {
            name: parts[0][name] if len(parts) == 1 else _mean([p[name] for p in parts])
            for name in parts[0]
        },
        seconds=float(len(parts)),
    )
    context = Context(tree, whole, series if len(parts) > 1 else (), **more)
    return [(each.rule.id, each.device, str(each.severity)) for each in findings(context)]


def _context(parts, tree):
    """Intervals of a second; the whole is like the last."""
    series = tuple(Interval(each, seconds=1.0) for each in parts)
    return Context(tree, series[-1], series)


def _mean(loads):
    ios = sum(x.write.ios for x in loads) / len(loads)
    wait = sum(x.write.wait for x in loads) / len(loads)
    busy = sum(x.busy for x in loads) / len(loads)
    return moved(write=did(ios, 4096, wait=wait), aqu=wait / 1000, busy=busy)


def test_of_four_saturated_disks_none_is_slow():
    """All are busy all the time with a queue; the longest queue by a steady margin is a remark."""
    steady = [disks([40, 40, 40, 80], rate, busy=1.0) for rate in (100, 120, 110)]
    chance = [
        disks(a, 100 + n, busy=1.0)
        for n, a in enumerate(([40, 40, 40, 80], [40, 80, 40, 40], [80, 40, 40, 40]))
    ]

    assert [f for f in reported(steady) if f[0] == "SM202"] == [("SM202", "sdd", "info")]
    assert [f for f in reported(chance) if f[0] == "SM202"] == []


def test_a_slow_disk_leaves_its_peers_unsaturated():
    """The same awaits, but only sdd is busy all the time: it limits the others."""
    parts = [disks([4, 4, 4, 80], rate) for rate in (100, 120, 110)]

    assert ("SM202", "sdd", "warning") in reported(parts)


def test_a_disk_that_is_slow_only_with_a_queue_may_be_saturated():
    """
    Four disks, one of which has all of the queue for some seconds; before and after it is as fast as they.

    In the lab a queue of 32 requests stayed at one of four equal disks for 9 s, and at another for 11 s.
    """
    quiet = disks([1.5, 1.4, 1.6, 1.5], 32)
    loaded = disks([0.7, 0.6, 0.8, 16], 410)

    def severities(*parts):
        return {f[2] for f in reported(list(parts)) if f[0] == "SM202"}

    assert severities(quiet, loaded, loaded) == {"info"}
    assert severities(*[quiet] * 3, *[loaded] * 5) == {"info"}
    # What lasts, or is as slow without a queue, is a slow disk.
    assert severities(quiet, *[loaded] * 10) == {"warning"}
    assert severities(disks([1.5, 1.4, 1.6, 7.5], 32), loaded, loaded) == {"warning"}
    # Nothing is known about a short queue.
    assert severities(loaded, loaded) == {"warning"}


def test_a_write_mostly_member_is_not_slow():
    """A mirror of flash and a spinning disk that is read last is as it should be; a third flash disk is judged."""
    awaits = disks([0.1, 15, 0.1, 20])
    mirror = topology(raid_volume("vm", "raid1", 8, facts={"write mostly": "1 3"}))
    forgotten = topology(raid_volume("vm", "raid1", 8, facts={"write mostly": "1"}))

    assert [f for f in reported([awaits] * 3, mirror) if f[0] == "SM202"] == []
    assert ("SM202", "sdd", "warning") in reported([awaits] * 3, forgotten)


LIGHT_READS = (  # ms of four healthy disks at 14 random reads per second each
    [11.0, 14.8, 11.8, 13.5], [19.8, 26.1, 11.0, 14.3], [17.8, 29.3, 11.2, 8.8], [16.0, 18.8, 19.9, 13.3],
    [32.2, 54.0, 27.3, 28.2], [26.2, 78.0, 45.2, 45.4], [12.3, 19.0, 15.0, 10.1], [43.1, 29.9, 38.2, 25.6],
)  # fmt: skip


def test_chance_is_no_slow_disk():
    """In the lab, a healthy disk had 1.6 times the await of its peers over 112 requests; three times is slow."""
    parts = [disks(awaits, 14.0) for awaits in LIGHT_READS]
    slow = [disks([a, 2 * b, c, d], 14.0) for a, b, c, d in LIGHT_READS]

    assert ("SM202", "sdb", "info") in reported(parts)
    assert ("SM202", "sdb", "warning") in reported(slow)


@pytest.mark.parametrize(("requests", "expected"), [(8, True), (20, False)])
def test_a_member_whose_disk_serves_more_requests_is_not_slow(requests, expected):
    """Each sub-LV gets 40 pages per second; those of sdc merge less, and wait for more requests."""
    below = disks([10, 10, 40, 10], rate=8)
    below["sdc"] = disks([40] * 4, rate=requests)["sdc"]
    members = {
        f"vm_rimage_{place}": moved(write=did(40, 4096, wait=40 * ms), aqu=40 * ms / 1000, busy=0.5)
        for place, ms in enumerate([10, 10, 40, 10])
    }

    found = [each for each in reported([below | members] * 20) if each[0] == "SM202"]
    assert bool(found) == expected


def test_of_two_disks_that_are_as_slow_none_is_the_slow_member():
    """
    sda and sdd have 15 ms each, or one a fifth more than the other; a third more is slow.

    In the lab, a queue that moved between disks with a limit of 400 requests per second made 13.3 and 11 ms.
    """

    def told(*awaits):
        parts = [disks(awaits, rate) for rate in (300, 310)]
        return [f for f in reported(parts) if f[0] == "SM202"]

    assert told(15, 3, 5, 15.2) == [("SM202", "sdd", "info")]
    assert told(11.0, 2.3, 6.0, 13.3) == [("SM202", "sdd", "info")]
    assert told(11.0, 2.3, 6.0, 14.7) == [("SM202", "sdd", "warning")]


def findings_of(parts, tree=TREE, part=None):
    """Return the findings on *part* of equal parts of a second."""
    series = tuple(Interval(each, seconds=1.0) for each in parts)
    whole = Interval({n: _mean([p[n] for p in parts]) for n in parts[0]}, seconds=float(len(parts)))
    return findings(Context(tree, whole, series), part)


def test_peers_have_one_finding_per_cause():
    """Three disks wait in long queues: the longest is the finding, the others are named."""
    parts = [disks([50, 60, 55, 2], rate, busy=1.0) for rate in (170, 171)]
    (found,) = (each for each in findings_of(parts) if each.rule.id == "SM406")

    assert (found.device, found.peers) == ("sdb", ("sdc", "sda"))
    assert found.observed.words["also"] == "sdc, sda"
    # Of one disk that is asked for, its own finding.
    (alone,) = (each for each in findings_of(parts, part={"sda"}) if each.rule.id == "SM406")
    assert (alone.device, alone.peers) == ("sda", ())


def test_disks_of_different_arrays_have_findings_of_their_own():
    """Two disks without an array."""
    tree = Topology([disk("sda"), disk("sdb")], [])
    parts = [
        {n: moved(write=did(150, 4096, wait=150 * 40), aqu=6.0, busy=1.0) for n in ("sda", "sdb")}
    ] * 2

    assert [f.device for f in findings_of(parts, tree) if f.rule.id == "SM405"] == ["sda", "sdb"]
    # Unknown without a topology: one note names all.
    unknown = Topology([disk("sda"), disk("sdb")], [], unknown=[NO_TOPOLOGY])
    (found,) = (f for f in findings_of(parts, unknown) if f.rule.id == "SM405")
    assert (found.device, found.peers) == ("sda", ("sdb",))


def test_an_overloaded_disk_explains_the_queues_of_its_peers():
    """sdd has 70 ms where it had 2 ms; its peers queue too, but never had a quiet interval."""
    parts = [disks([40, 41, 42, 2], 200, busy=1.0), *[disks([50, 50, 50, 70], 210, busy=1.0)] * 3]

    found = [f for f in reported(parts) if f[0] in ("SM401", "SM402", "SM405")]
    assert found == [("SM401", "sdd", "warning")]


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        # queue depth, requests/s, bytes per request
        ([(1, 150, 4), (2, 270, 4), (4, 390, 4), (8, 399, 4), (16, 400, 4), (31, 401, 4)], True),
        # 2757 small requests are no reason for 130 large ones.
        (
            [(1.5, 2757, 4), (1, 900, 4), (1, 800, 4), (2, 400, 64), (4, 140, 64), (5, 130, 64)],
            False,
        ),
        ([(1.5, 2757, 4), (1, 900, 4), (1, 800, 4), (2, 400, 4), (4, 140, 4), (5, 130, 4)], False),
        # Below one request in flight, the load limits the rate.
        (
            [(0.7, 447, 4), (0.8, 440, 4), (5, 400, 4), (6, 399, 4), (7, 401, 4), (8.5, 397, 4)],
            False,
        ),
        ([(0.01, 9, 4), (0.02, 9, 4), (0.03, 9, 4), (0.04, 9, 4), (2.5, 9, 4), (3, 9, 4)], False),
        ([(1, 0.2, 4), (2, 0.4, 4), (4, 0.5, 4), (8, 0.5, 4), (16, 0.5, 4), (31, 0.5, 4)], False),
    ],
)
def test_a_knee_compares_like_loads(points, expected):
    """Throughput that stops growing, of one kind of load, with more than one request in flight."""
    parts = [
        {"sda": moved(write=did(rate, size * 1024, wait=1000 * aqu), aqu=aqu, busy=1.0)}
        for aqu, rate, size in points
    ]

    found = reported(parts, Topology([disk("sda")], []))
    assert (("SM403", "sda", "info") in found) == expected


def test_a_queue_beside_a_slower_peer_is_no_overload():
    """sda has 62 ms all the time; sdb has 14 ms now and then, 4 ms otherwise."""
    parts = [disks([62, ms, 1, 1], 380.0 + ms) for ms in (4, 14, 14, 4, 14)]
    found = reported(parts)

    assert ("SM202", "sda", "warning") in found
    assert not [f for f in found if f[0] == "SM401"]
    assert not [f for f in found if f[:2] == ("SM402", "sda")]


@pytest.mark.parametrize(("peer", "expected"), [(46.5, True), (90.0, False)])
def test_equal_peers_hide_no_overload(peer, expected):
    """In the lab, sdd had 45.5 ms at a queue depth of 5.3; its peers had about as much, at up to 4."""
    quiet, loaded = disks([4.4, 3.5, 5.6, 4.8], 14), disks([peer, 40, 38, 45.5], 116)
    short = {"sda": moved(write=did(40, 4096, wait=40 * peer), aqu=1.8, busy=0.3)}
    parts = [quiet, loaded | short, loaded | short, quiet | short]

    overloaded = {device for rule, device, _ in reported(parts) if rule == "SM401"}
    assert bool(overloaded) == expected
    assert "sda" not in overloaded


@pytest.mark.parametrize(("busy", "expected"), [(0.36, False), (0.9, True)])
def test_bursts_of_writeback_are_no_overload(busy, expected):
    """In the lab, 65 ms at a queue depth of 6.3 on an SSD that was idle 64 % of the time."""
    tree = Topology([disk("sda")], [])
    quiet = {"sda": moved(write=did(29.4, 67584, wait=29.4 * 7.2), aqu=0.2, busy=0.03)}
    burst = {"sda": moved(write=did(97.8, 67584, wait=97.8 * 64.7), aqu=6.3, busy=busy)}

    found = reported([quiet, burst, quiet, burst], tree)
    assert (("SM401", "sda", "warning") in found) == expected


@pytest.mark.parametrize(("size", "expected"), [(60725, False), (8192, True)])
def test_pieces_of_large_requests_are_no_overload(size, expected):
    """In the lab, writes of 1 MiB, one after the other, queue as pieces; the baseline has writes of 4 KiB."""
    tree = Topology([disk("sda")], [])
    pieces = {"sda": moved(write=did(36.9, size, wait=36.9 * 342), aqu=12.6, busy=0.8)}
    small = {"sda": moved(write=did(8.3, 4676, wait=8.3 * 54), aqu=0.6, busy=0.2)}

    found = reported([pieces], tree, baseline=Interval(small, seconds=10.0))
    assert (("SM401", "sda", "warning") in found) == expected


@pytest.mark.parametrize(("loaded", "expected"), [(1, False), (5, True)])
def test_one_busy_interval_of_ten_is_no_overload(loaded, expected):
    """A single disk: 4 ms at low load, 60 ms at a queue depth of 12."""
    tree = Topology([disk("sda")], [])
    quiet = {"sda": moved(write=did(150, 4096, wait=150 * 4), aqu=0.6, busy=0.6)}
    busy = {"sda": moved(write=did(200, 4096, wait=200 * 60), aqu=12.0, busy=1.0)}
    found = reported([quiet] * (10 - loaded) + [busy] * loaded, tree)

    assert (("SM401", "sda", "warning") in found) == expected


@pytest.mark.parametrize(("first", "expected"), [(20, True), (12, True), (11, False)])
def test_an_interval_in_which_the_load_starts_hides_no_overload(first, expected):
    """11/s in the first interval is too little to compare with 120/s; 20/s in the next is not."""
    tree = Topology([disk("sda")], [])
    starting = {"sda": moved(did(11, 4096, wait=11 * 4), aqu=0.01, busy=0.02)}
    low = {"sda": moved(did(first, 4096, wait=first * 9), aqu=0.2, busy=0.2)}
    high = {"sda": moved(did(120, 4096, wait=120 * 90), aqu=10.0, busy=0.9)}
    found = findings(_context([starting, low, high, high], tree))

    assert ("SM401" in [each.rule.id for each in found]) == expected


@pytest.mark.parametrize(("scale", "expected"), [(1.0, True), (0.02, False), (0.001, False)])
def test_a_disk_without_a_queue_has_no_knee(scale, expected):
    """Below two requests in flight nothing waits for another."""
    points = [(1, 150), (2, 270), (4, 390), (8, 399), (16, 400), (31, 401)]
    parts = [
        {
            "sda": moved(
                write=did(rate * scale, 4096, wait=1000 * aqu * scale),
                aqu=aqu * scale,
                busy=min(1.0, aqu * scale),
            )
        }
        for aqu, rate in points
    ]

    assert (("SM403", "sda", "info") in reported(parts, Topology([disk("sda")], []))) == expected


def test_requests_of_another_size_show_no_knee():
    """First 4 KiB at 2,700/s, then whole cache blocks at 130/s with a longer queue."""
    small = {"sda": moved(write=did(2700, 4096, wait=1500), aqu=1.5, busy=0.9)}
    large = {"sda": moved(write=did(130, 65536, wait=4900), aqu=4.9, busy=0.9)}
    trickle = {"sda": moved(write=did(30, 4096, wait=30), aqu=0.03, busy=0.1)}
    context = _context([trickle, small, small, *[large] * 4], Topology([disk("sda")], []))

    assert "SM403" not in [each.rule.id for each in findings(context)]


@pytest.mark.parametrize(("queue", "expected"), [(0.5, False), (1.1, True)])
def test_a_disk_that_is_idle_half_of_the_time_has_no_knee(queue, expected):
    """63/s with half a request in flight: it could have served more."""
    points = [(0.1, 20), (0.2, 30), (queue, 63), (2.3, 62), (2.4, 59), (2.4, 60)]
    parts = [{"sda": moved(did(rate, 4096, wait=1000 * aqu), aqu=aqu)} for aqu, rate in points]
    found = findings(_context(parts, Topology([disk("sda")], [])))

    assert ("SM403" in [each.rule.id for each in found]) == expected


@pytest.mark.parametrize("bursts", [True, False])
def test_bursts_have_no_knee(bursts):
    """In the lab, a disk that serves 150/s had 90/s at a queue depth of 1.1, busy 27 % of the time."""
    points = [(0.11, 8, 0.1), (0.12, 9, 0.1), (0.57, 42, 0.15), (1.12, 90, 0.27),
              (2.2, 92, 0.44), (3.06, 98, 0.41), (5.16, 80, 0.7)]  # fmt: skip
    parts = [
        {
            "sda": moved(
                did(rate, 4096, wait=1000 * aqu), aqu=aqu, busy=busy if bursts else min(1.0, aqu)
            )
        }
        for aqu, rate, busy in points
    ]
    found = findings(_context(parts, Topology([disk("sda")], [])))

    assert ("SM403" in [each.rule.id for each in found]) == (not bursts)


def test_an_interval_with_one_request_is_not_typical():
    """In the lab, between two loads: the await of one request is the median of five intervals."""
    tree = Topology([disk("sda", rotational=True)], [])
    points = [(0.16, 117.0, 0.0106), (43.9, 105.6, 0.23), (127, 103.0, 0.83), (127, 135.8, 0.97),
              (150, 132.8, 0.97)]  # fmt: skip
    parts = [
        {"sda": moved(did(rate, 4096, wait=rate * ms), aqu=rate * ms / 1000, busy=busy)}
        for rate, ms, busy in points
    ]

    assert "SM201" not in [each.rule.id for each in findings(_context(parts, tree))]


def test_a_burst_is_not_a_slow_disk():
    """20 writes at once, every 10 s: a long await with a short mean queue, but 15 ms of service time."""
    load = {"sda": moved(write=did(2, 4096, wait=2 * 150), aqu=0.3, busy=0.03)}
    sick = {"sda": moved(write=did(2, 4096, wait=2 * 150), aqu=0.3, busy=0.3)}
    tree = Topology([disk("sda", rotational=True)], [])

    assert reported([load] * 10, tree) == []
    assert reported([sick] * 10, tree) == [("SM201", "sda", "critical")]


@pytest.mark.parametrize(
    ("physical", "severity"), [(4096, "warning"), (512, "info"), (None, "info")]
)
def test_an_assumed_sector_is_said_to_be(physical, severity):
    """A disk that reports 512 bytes may hide 4 KiB; whether it does is not known."""
    tree = Topology(
        [
            disk("sda", queue=Queue(physical_block_size=physical)),
            Device("sda1", Kind.PARTITION, "8:1"),
            Device("dm-0", Kind.VOLUME, "253:0"),
        ],
        [
            Edge("sda1", "sda", Role.DATA, start=63 * 512),
            Edge("dm-0", "sda1", Role.DATA, start=1 << 20),
        ],
    )
    found = [each for each in checks(Context(tree)) if each.severity != "good"]

    # The volume is only beside a boundary because the partition is: one cause, one finding.
    assert [(each.rule.id, each.device, str(each.severity)) for each in found] == [
        ("SM901", "sda1", severity)
    ]
    assert ("assumed" in found[0].observed.words["unit"]) == (physical != 4096)
    assert ("reports 512" in found[0].observed.words["unit"]) == (physical == 512)


def test_the_kernels_offset_is_no_second_finding():
    """alignment_offset of a partition whose start is known to be off."""
    queue = Queue(physical_block_size=4096, alignment_offset=3584)
    part = Device("sda1", Kind.PARTITION, "8:1", queue=queue)
    known, unknown = (
        Topology(
            [disk("sda", queue=Queue(physical_block_size=4096)), part],
            [Edge("sda1", "sda", Role.DATA, start=at)],
        )
        for at in (63 * 512, None)
    )

    assert [each.rule.id for each in checks(Context(known)) if each.severity != "good"] == ["SM901"]
    assert [each.rule.id for each in checks(Context(unknown)) if each.severity != "good"] == [
        "SM903"
    ]


@pytest.mark.parametrize(("bytes_", "named"), [(4096.0, "r10"), (0.0, "none")])
def test_only_volumes_with_io_share_the_disks(bytes_, named):
    """An idle volume on the same disks does not wait."""
    tree = topology(raid_volume("vm", "raid5", 8), raid_volume("r10", "raid10", 9))
    loads = {
        "vm": moved(write=did(100, 4096)),
        "r10": moved(write=did(bytes_ and 10, bytes_)),
        **{f"vm_rimage_{n}": moved(did(50, 4096), did(50, 4096)) for n in range(4)},
    }
    context = Context(tree, Interval(loads, seconds=10.0))
    (found,) = (each for each in findings(context) if each.rule.id == "SM101")

    assert found.observed.words["other_volumes"] == named
    assert found.observed.evidence["member_rate"].value == 400


@pytest.mark.parametrize(
    ("written", "said"),
    [(0.0, "many reads at a time"), (1.0, "many reads at a time"), (90.0, "programs do not wait")],
)
def test_the_caveat_about_a_queue_is_about_what_fills_it(written, said):
    """Writeback fills no queue of reads."""
    load = moved(
        read=did(150, 4096, wait=150 * 60),
        write=did(written, 4096, wait=60 * written),
        aqu=9.0,
        busy=1.0,
    )
    tree = Topology([disk("sda")], [])
    found = findings(Context(tree, Interval({"sda": load}, seconds=10.0)))
    (each,) = (each for each in found if each.rule.id == "SM406")
    words = words_of(tree, each.observed)
    assert said in filled(each.rule.caveat, words)


def _saturated(queue, rate=2100.0, busy=1.0):
    """A load of reads of 512 KiB with a queue."""
    return moved(read=did(rate, 524288, wait=1000 * queue), aqu=queue, busy=busy)


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ([_saturated(43), _saturated(87, 2140), _saturated(132)], (3, 43, 132)),
        ([_saturated(43), _saturated(132)], None),  # two may do so by chance
        ([_saturated(43), _saturated(87), _saturated(132, 3000)], None),  # it transfers more
        ([_saturated(100), _saturated(110), _saturated(132)], None),  # as many in flight
        ([_saturated(43), _saturated(87, busy=0.5), _saturated(132)], None),
    ],
)
def test_like_disks_that_transfer_as_much_at_any_queue_depth_are_at_their_limit(loads, said):
    names = ["sda", "sdb", "sdc"][: len(loads)]
    tree = Topology([disk(name) for name in names], [])
    context = Context(tree, Interval(dict(zip(names, loads, strict=True)), seconds=10.0))
    found = findings(context)
    (each,) = (each for each in found if each.rule.id == "SM405" and each.device == names[-1])
    evidence = each.observed.evidence
    figures = [evidence[name].value for name in ("alike", "shallow", "deep") if name in evidence]
    assert figures == list(said or ())
    questions = [each.question.subject for each in unjudged(context, found, names)]
    assert ("overload" in questions) == (said is None)
