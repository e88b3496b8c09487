"""What the rules find on the machines of the articles, and on small drawn ones."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.model.cgroup_io import IoLimit
from stackmap.model.device import NEVER_SYNCED, Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.rules.context import Context
from stackmap.rules.rule import Severity
from stackmap.rules.table import RULES, findings
from tests.drawn import DISKS, did, disk, moved, passing, raid_volume, topology
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
LOUD = ("critical", "warning")


def explained(sample, text="", *more):
    """Return the findings of ``explain`` on a sample and one of its texts, as JSON has them."""
    words = ["--from", str(SAMPLES / sample), "explain", "-J", *more]
    if text:
        words += ["--input", str(SAMPLES / sample / "input" / text)]
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    return json.loads(result.stdout)["findings"]


def names(found, *severities):
    return [
        (each["name"], each["device"])
        for each in found
        if not severities or each["severity"] in severities
    ]


# Article 004: from RAID5 to RAID10.


def test_small_writes_on_raid5_are_the_first_finding():
    """sar 07:10:01: 3.12 disk bytes per byte written, 1.33 with full stripes."""
    first = explained("raid5-raid10-medusa", "sar-0710.txt")[0]
    evidence = {each["name"]: each["value"] for each in first["evidence"]}

    assert (first["id"], first["label"]) == ("SM101", "vghdd/vm-disk1")
    assert (evidence["cost"], evidence["ideal"]) == pytest.approx((3.123, 4 / 3), abs=5e-4)


@pytest.mark.parametrize("text", ["iostat-1.txt", "iostat-2.txt", "iostat-3.txt"])
def test_sdd_is_suspect_in_all_three_tables(text):
    """Its await is 1.8, 3.4 and 1.6 times the median of its peers."""
    found = explained("raid5-raid10-medusa", text)

    assert [d for name, d in names(found) if name == "slow-member"] == ["sdd"]


@pytest.mark.parametrize("text", ["iostat-2.txt", "iostat-3.txt"])
def test_raid10_has_no_partial_stripes(text):
    """A layout without parity has no partial stripes."""
    assert "partial-stripe" not in dict(names(explained("raid5-raid10-medusa", text)))


def test_a_sync_under_the_first_figures_of_raid10():
    """iostat 2: dm-118 reads nothing, its members 3020.8 KB/s. After the sync there is no finding."""
    during = explained("raid5-raid10-medusa", "iostat-2.txt")
    after = explained("raid5-raid10-medusa", "iostat-3.txt")
    first = during[0]
    evidence = {each["name"]: each["value"] for each in first["evidence"]}

    assert (first["name"], first["device"]) == ("unasked-reads", "dm-118")
    assert evidence["unasked"] == pytest.approx(4 * 755.2 * 1024)
    assert "unasked-reads" not in dict(names(after))


# Article 003: a slow disk.


def test_a_sick_disk_is_not_the_workload_and_its_neighbours_are_innocent():
    """sdb: 389 ms per 128 KiB with 2 in flight. nvme0n1 and the devices above it have no finding."""
    found = explained("laptop-luks-lvm", "iostat-worst.txt")

    assert names(found, *LOUD) == [("sick-disk", "sdb")]
    assert "nvme0n1" not in {each["device"] for each in found}


def test_a_slow_disk_is_not_sick():
    """5.1 ms per 128 KiB is normal for a spinning disk."""
    assert names(explained("laptop-luks-lvm", "iostat-faster.txt"), *LOUD) == []


def test_of_a_volume_and_the_disk_below_it_the_disk_is_overloaded():
    """Both take 29 ms where the baseline has 2 ms; the volume waits for the disk just below it."""
    tree = Topology([disk("sda"), passing("dm-0")], [Edge("dm-0", "sda", Role.DATA)])
    quiet, loaded = (
        Interval(dict.fromkeys(("dm-0", "sda"), moved(did(rate, 4096, wait=wait), aqu=queue)))
        for rate, wait, queue in ((23, 46.0, 0.046), (59, 59 * 29.0, 17.0))
    )
    found = findings(Context(tree, loaded, baseline=quiet))

    assert [each.device for each in found if each.rule.id == "SM401"] == ["sda"]


# Articles 000 and 001: busy is not full.


@pytest.mark.parametrize("text", ["iostat-one-run.txt", "iostat-two-runs.txt"])
def test_busy_flash_is_not_full(text):
    """96 and 98 % busy is no warning. Requests in flight are rate × await, by Little's law."""
    (only,) = explained("ceph-nvme", text)
    evidence = {each["name"]: each["value"] for each in only["evidence"]}

    assert (only["name"], only["severity"]) == ("busy-is-not-full", "info")
    assert evidence["queue"] == pytest.approx(evidence["rate"] * evidence["await"] / 1000, rel=0.05)


@pytest.mark.parametrize(
    ("text", "loud"),
    [
        ("iostat-1-thread.txt", []),
        ("iostat-4-threads.txt", []),
        ("iostat-64-threads.txt", [("overloaded", "dm-0")]),
    ],
)
def test_overload_is_judged_by_ones_own_await(text, loud):
    """One thread has 7.83 ms: 13.69 is fine, 108.72 is not. Utilisation was 97, 100 and 100 %."""
    alone = str(SAMPLES / "mysql-raid" / "input" / "iostat-1-thread.txt")

    assert names(explained("mysql-raid", text, "--baseline", alone), *LOUD) == loud
    name = [("evident-overload", "dm-0")] if loud else []
    assert names(explained("mysql-raid", text), *LOUD) == name


# Drawn.


def context(parts, loads, **more):
    return Context(topology(*parts), Interval(loads, seconds=10.0), **more)


def found(parts, loads, **more):
    return [(each.rule.name, each.device) for each in findings(context(parts, loads, **more))]


RAID10 = raid_volume("vm", "raid10", 8)


@pytest.mark.parametrize(
    ("level", "members", "facts", "expected"),
    [
        ("raid5", 5, {NEVER_SYNCED: "--nosync"}, True),
        ("raid4", 5, {NEVER_SYNCED: "--nosync"}, True),
        ("raid5", 4, {NEVER_SYNCED: "--nosync"}, False),
        ("raid5", 5, {}, False),
        ("raid6", 6, {NEVER_SYNCED: "--nosync"}, False),
        ("raid6", 7, {NEVER_SYNCED: "--nosync"}, True),
        ("raid10", 6, {NEVER_SYNCED: "--nosync"}, False),
    ],
)
def test_parity_that_was_never_calculated(level, members, facts, expected):
    """md writes read-modify-write only with more than p + 2 data chunks per stripe (stackmap-kernel(7))."""
    reported = ("never-synced", "vm") in found(
        [raid_volume("vm", level, 8, members, facts=facts)], {}
    )

    assert reported == expected


def on_disks(awaits, rate=100.0):
    """Four disks that write *rate* requests of 64 KiB per second, with an await in ms each."""
    return {
        name: moved(write=did(rate, 65536, wait=rate * ms), aqu=rate * ms / 1000)
        for name, ms in zip(DISKS, awaits, strict=True)
    }


def test_one_slow_member_is_told_and_only_the_worst():
    """29 ms beside 7, 11 and 13 is 2.6 times their median. A second slow member is not reported."""
    assert found([RAID10], on_disks([7, 29, 11, 13])) == [("slow-member", "sdb")]
    assert found([RAID10], on_disks([7, 29, 11, 23])) == [("slow-member", "sdb")]


@pytest.mark.parametrize(
    "awaits", [[7, 11, 13, 16], [1.1, 1.3, 1.7, 5.9], [11, 11, 11, 16]], ids=str
)
def test_members_that_differ_a_little_are_not_accused(awaits):
    """Less than 1.5 times the median, or less than 5 ms more."""
    assert found([RAID10], on_disks(awaits)) == []


def test_a_member_with_more_to_do_is_not_accused():
    """31 % more requests than its peers explain a longer await."""
    loads = on_disks([7, 29, 11, 13])
    loads["sdb"] = moved(write=did(131, 65536, wait=131 * 29), aqu=3.8)

    assert found([RAID10], loads) == []


def test_a_member_with_another_mix_is_not_accused():
    """Each serves 100 per second, but sdb 61 writes and its peers 41: more than a quarter more."""
    awaits = dict(zip(DISKS, [7, 29, 11, 13], strict=True))
    mixed, equal = (
        {
            name: moved(
                did(100 - writes, 65536, wait=(100 - writes) * ms),
                did(writes, 65536, wait=writes * ms),
                aqu=ms / 10,
            )
            for name, ms in awaits.items()
            for writes in [of_sdb if name == "sdb" else 41]
        }
        for of_sdb in (61, 41)
    )

    assert found([RAID10], mixed) == []
    assert found([RAID10], equal) == [("slow-member", "sdb")]


def test_a_slow_member_is_slow_in_most_parts_of_the_interval():
    """Slow in one interval of three is not reported; in three of three it is."""
    slow, well = Interval(on_disks([7, 29, 11, 13])), Interval(on_disks([7, 11, 11, 13]))

    loads = slow.loads
    assert found([RAID10], loads, series=(slow, slow, slow)) == [("slow-member", "sdb")]
    assert found([RAID10], loads, series=(slow, well, well)) == []


def test_where_all_sit_at_one_cap_no_member_is_slow():
    """All disks serve 100 per second with a queue: a cap, so the longest queue is chance."""
    capped = Interval(on_disks([11, 29, 13, 17]))
    more = Interval(on_disks([11, 29, 13, 17], rate=111))
    short = Interval(on_disks([7, 29, 11, 13]))

    assert found([RAID10], capped.loads, series=(capped,) * 3) == []
    assert found([RAID10], capped.loads, series=(capped, more, capped)) == [("slow-member", "sdb")]
    assert found([RAID10], short.loads, series=(short,) * 3) == [("slow-member", "sdb")]


def test_a_slow_device_between_is_told_where_it_is():
    """The disks are alike, but the member above sdb is slow."""
    loads = on_disks([7, 7, 7, 7]) | {
        f"vm_rimage_{n}": moved(write=did(100, 65536, wait=100 * ms))
        for n, ms in enumerate([7, 37, 7, 7])
    }

    assert found([RAID10], loads) == [("slow-member", "vm_rimage_1")]


@pytest.mark.parametrize(
    ("rotational", "ms", "queue", "sick"),
    [
        (True, 97, 1.1, True),
        (True, 59, 1.1, False),
        (True, 970, 97.0, False),
        (False, 29, 1.1, True),
        (False, 11, 1.1, False),
        (None, 59, 1.1, False),
    ],
)
def test_sick_is_slow_with_a_short_queue(rotational, ms, queue, sick):
    """Four times 15.7 ms for a spinning disk, 5.3 ms for flash, per 64 KiB; a long queue explains more."""
    rate = 1000 * queue / ms
    disk = Device("sdz", Kind.DISK, "8:1", merges=True, rotational=rotational)
    load = {"sdz": moved(did(rate, 65536, wait=rate * ms), aqu=queue)}

    assert (("sick-disk", "sdz") in found([([disk], [])], load)) == sick


def test_what_is_broken_comes_first():
    """A degraded array is reported before its slow member."""
    devices, edges = RAID10
    degraded = ([devices[0]._replace(state="degraded"), *devices[1:]], edges)

    assert found([degraded], on_disks([7, 29, 11, 13])) == [
        ("broken", "vm"),
        ("slow-member", "sdb"),
    ]


@pytest.mark.parametrize("work", ["resync 12.5 %", "check 3.0 %", "recover 7.1 %", "reshape"])
def test_work_on_its_own_account_is_told(work):
    """A state with such work is reported."""
    devices, edges = RAID10
    at_work = ([devices[0]._replace(state=work), *devices[1:]], edges)

    assert found([at_work], {}) == [("background-work", "vm")]


def test_a_bitmap_that_is_written_with_each_write():
    """101 writes per second, and 97 to the bitmap of each member."""
    loads = {"vm": moved(write=did(101, 4096))} | {
        f"vm_rmeta_{n}": moved(write=did(97, 512, wait=97 * 7)) for n in range(4)
    }

    assert found([RAID10], loads) == [("metadata-writes", "vm")]


def test_a_cap_is_told_where_it_acts():
    """198 writes per second of 200 allowed are throttled, 150 are not."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    cap = (IoLimit("lv", "control group vm", "io.max", (("write_ios", 200.0),)),)

    at_it, below = moved(write=did(198, 4096)), moved(write=did(150, 4096))
    assert found([parts], {"lv": at_it}, limits=cap) == [("throttled", "lv")]
    assert found([parts], {"lv": below}, limits=cap) == []

    idle = moved(write=did(0, 4096))
    series = tuple(Interval({"lv": load}, seconds=1.0) for load in (at_it, at_it, idle, idle))
    half = moved(write=did(99, 4096))
    assert found([parts], {"lv": half}, limits=cap, series=series) == [("throttled", "lv")]


def test_a_start_beside_a_chunk_under_load():
    """A partition 32 KiB into a chunk of 64 KiB."""
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid5", 4, 65536), state="active")
    parts = (
        [array, Device("md0p1", Kind.PARTITION, "259:0")],
        [Edge("md0p1", "md0", Role.DATA, start=32768)],
    )

    assert found([parts], {"md0p1": moved(write=did(101, 196608))}) == [("misaligned", "md0p1")]


@pytest.mark.parametrize(("chunk", "size", "cut"), [(4, 4, True), (4, 2, False), (64, 64, False)])
def test_requests_that_are_cut_by_a_small_chunk(chunk, size, cut):
    """dm counts the pieces: all have the size of the chunk, and that is less than 64 KiB."""
    striped = Device(
        "lv", Kind.VOLUME, "254:1", target="striped", layout=layout("striped", 4, chunk * 1024)
    )
    parts = ([striped], [Edge("lv", name, Role.DATA, length=1) for name in DISKS])
    loads = {"lv": moved(did(4000, size * 1024))} | {
        name: moved(did(1000, size * 1024)) for name in DISKS
    }

    assert (("small-chunk", "lv") in found([parts], loads)) == cut


def test_the_knee_of_a_disk():
    """No more than 400 per second from a queue depth of 4."""
    parts = ([passing("lv")], [Edge("lv", "sda", Role.DATA)])
    points = [(1, 150), (2, 270), (4, 390), (8, 399), (16, 400), (31, 401)]
    series = tuple(
        Interval({"sda": moved(did(rate, 4096, wait=1000 * aqu), aqu=float(aqu))}, seconds=1.0)
        for aqu, rate in points
    )
    (finding,) = [
        each
        for each in findings(context([parts], series[-1].loads, series=series))
        if each.rule.name == "knee"
    ]

    assert finding.observed.evidence["knee"].value == 4


def test_a_rule_that_yields_is_silent_where_the_other_speaks():
    """A sick disk that is busy has one finding, the one that explains more."""
    disk = Device("sdz", Kind.DISK, "8:1", merges=True, rotational=True)
    load = {"sdz": moved(did(3, 131072, wait=3 * 499), aqu=1.5, busy=1.0)}

    assert found([([disk], [])], load) == [("sick-disk", "sdz")]


def test_the_worst_comes_first():
    """Findings are sorted by severity."""
    order = list(Severity)
    for sample in ("raid5-raid10-medusa", "vghdd", "laptop-luks-lvm"):
        for text in [p.name for p in (SAMPLES / sample / "input").glob("*")] or [""]:
            ranks = [order.index(each["severity"]) for each in explained(sample, text)]
            assert ranks == sorted(ranks)


def test_a_rule_is_superseded_by_rules_that_exist():
    """Each id in the table is an id of the table."""
    ids = {rule.id for rule in RULES}

    assert {other for rule in RULES for other in rule.superseded_by} <= ids
