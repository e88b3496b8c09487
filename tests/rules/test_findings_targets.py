"""
Rules on thin pools, snapshots and caches, from the kernel's status lines.

The lines are written as thin-provisioning.rst, snapshot.rst and cache.rst define them; what each
rule must say follows from them by hand.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.model.device import Device, Kind, Role, StatusReading, TargetStatus
from stackmap.model.interval import Interval
from stackmap.model.topology import Edge, Topology
from stackmap.model.units import GIB, KIB, MIB
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.rules.rule import Severity
from stackmap.rules.table import findings
from stackmap.sources import dm
from stackmap.sources.dm_targets import status_of
from tests.drawn import did, disk, moved, passing
from tests.paths import ROOT

POOL = "p: 0 2097152 thin-pool 3 {meta}/1024 {data}/16384 - {mode} discard_passdown {full} {check} 256 "
SNAPSHOT = "s: 0 131072 snapshot {words}"
CACHE = (
    "c: 0 196608 cache 8 10/2048 128 {used}/640 {rh} {rm} {wh} {wm} {demoted} {promoted} {dirty} "
    "2 metadata2 writeback 2 migration_threshold 2048 smq 0 {mode} {check} "
)
HOUR = 3600.0
SAMPLES = ROOT / "sample_topologies"


def status(line):
    """The status of the target in a *line* of ``dmsetup status``."""
    ((segment,),) = dm.parse_segments(line).values()
    found = status_of(segment)
    return TargetStatus("one", found.state, found.counts)


def pool(data=100, meta=10, mode="rw", full="queue_if_no_space", check="-"):
    """A pool of 1 GiB in chunks of 64 KiB, and metadata of 4 MiB."""
    return status(POOL.format(data=data, meta=meta, mode=mode, full=full, check=check))


def cache(mode="rw", check="-", **more):
    names = ("used", "rh", "rm", "wh", "wm", "demoted", "promoted", "dirty")
    return status(CACHE.format(mode=mode, check=check, **{n: more.get(n, 0) for n in names}))


def device(name, target, now, **facts):
    kinds = {"thin-pool": Kind.THIN_POOL, "snapshot": Kind.SNAPSHOT, "cache": Kind.CACHE}
    return Device(
        name, kinds[target], "254:0", target=target, state=now.state, counts=now.counts,
        facts={"block": str(64 * KIB), **facts},
    )  # fmt: skip


def judged(target, *statuses, seconds=10.0, loads=None, **facts):
    """What explain finds on a device with these statuses, *seconds* apart, beneath it a fast and a slow one."""
    name = {"thin-pool": "p", "snapshot": "s", "cache": "c"}[target]
    readings = tuple(
        StatusReading(1000.0 + n * seconds, {name: each}) for n, each in enumerate(statuses)
    )
    parts = [Interval(loads or {}, seconds=seconds, readings=ends) for ends in pairwise(readings)]
    whole = Interval(loads or {}, seconds=seconds * max(1, len(parts)), readings=readings[:1])
    tree = Topology(
        [disk("sda"), device(name, target, statuses[0], **facts), passing("fast"), passing("slow")],
        [Edge(name, "fast", Role.CACHE), Edge(name, "slow", Role.ORIGIN), Edge("slow", "sda", Role.DATA)]
        if target == "cache" else [Edge(name, "sda", Role.DATA)],
    )  # fmt: skip
    return Context(tree, whole, tuple(parts))


def found(context, id_):
    """The one finding of a rule; None without one."""
    of_rule = [each for each in findings(context) if each.rule.id == id_]
    assert len(of_rule) <= 1
    return of_rule[0] if of_rule else None


def figures(finding):
    return {name: each.value for name, each in finding.observed.evidence.items()}


# Fullness.


@pytest.mark.parametrize(
    ("data", "severity"),
    [
        (13107, None),  # 79.998 %
        (13108, Severity.WARNING),  # 80.005 %
        (15564, Severity.WARNING),  # 94.995 %
        (15565, Severity.CRITICAL),  # 95.001 %
        (16384, Severity.CRITICAL),
    ],
)
def test_the_data_space_of_a_thin_pool(data, severity):
    finding = found(judged("thin-pool", pool(data)), "SM311")

    assert (finding and finding.severity) == severity
    if finding:
        assert figures(finding) == pytest.approx(
            {"share": data / 16384, "used": data * 64 * KIB, "total": GIB}
        )


def test_the_metadata_space_of_a_thin_pool():
    """860 of 1024 blocks of 4 KiB; its data has room."""
    context = judged("thin-pool", pool(meta=860))

    assert figures(found(context, "SM312")) == {
        "share": 860 / 1024,
        "used": 860 * 4 * KIB,
        "total": 4 * MIB,
    }
    assert found(context, "SM311") is None


def test_check_says_it_without_an_interval():
    now = pool(15600, 900)
    tree = Topology([device("p", "thin-pool", now)], [])
    said = [(each.rule.id, each.severity) for each in checks(Context(tree))]

    assert said == [("SM311", Severity.CRITICAL), ("SM312", Severity.WARNING)]


def test_the_time_to_full():
    """1,640 of 16,384 chunks are free; 82 more are used per hour: 20 hours."""
    context = judged("thin-pool", pool(14580), pool(14662), pool(14744), seconds=HOUR)

    assert figures(found(context, "SM311")) == pytest.approx(
        {
            "share": 14744 / 16384, "used": 14744 * 64 * KIB, "total": GIB, "to_full": 20 * HOUR,
            "growth": 82 * 64 * KIB / HOUR, "measured": 2 * HOUR,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "warned"), [(300, True), (299, False)], ids=["ten minutes", "less"]
)
def test_a_pool_that_is_soon_full(seconds, warned):
    """Half full, and 8,000 chunks in ten minutes; a shorter trend is a burst."""
    context = judged("thin-pool", pool(100), pool(4000), pool(8192), seconds=seconds)

    assert (found(context, "SM311") is not None) == warned


def test_a_pool_that_shrinks_has_no_time_to_full():
    evidence = figures(found(judged("thin-pool", pool(15000), pool(14000)), "SM311"))

    assert "to_full" not in evidence
    assert evidence["growth"] == pytest.approx(-1000 * 64 * KIB / 10)


def test_a_pool_that_was_extended():
    """Twice as large at the end: its space then counts, and the growth of both is one."""
    larger = POOL.replace("16384", "32768")
    end = status(larger.format(data=15600, meta=1, mode="rw", full="error_if_no_space", check="-"))

    assert found(judged("thin-pool", pool(15500), end), "SM311") is None


@pytest.mark.parametrize(
    ("told", "rules"),
    [
        (pool(16384, mode="out_of_data_space"), {"SM301", "SM311"}),
        (pool(50, mode="ro"), {"SM314"}),
        (pool(50, 1024, mode="ro", check="needs_check"), {"SM301", "SM312"}),
        (status("p: 0 2097152 thin-pool Fail"), {"SM301"}),
        (status("p: 0 2097152 thin-pool Error"), {"SM301"}),
    ],
)
def test_a_pool_in_a_bad_mode(told, rules):
    assert {each.rule.id for each in findings(judged("thin-pool", told))} == rules


@pytest.mark.parametrize(
    ("words", "share"),
    [("26215/32768 112", 26215 / 32768), ("26214/32768 112", None), ("Invalid", None),
     ("Overflow", None), ("Merge failed", None), ("Unknown", None)],
)  # fmt: skip
def test_a_snapshot(words, share):
    """80.002 % and 79.999 %; without figures its state is what there is to say."""
    context = judged("snapshot", status(SNAPSHOT.format(words=words)))
    finding = found(context, "SM313")

    assert (finding and figures(finding)["share"]) == share
    assert (found(context, "SM301") is not None) == (
        words in ("Invalid", "Overflow", "Merge failed")
    )


def test_a_snapshot_that_is_merged_empties():
    merging = status("s: 0 131072 snapshot-merge 30000/32768 112")

    assert found(judged("snapshot", merging), "SM301") is None
    assert merging.state == "merging"


# Caches.

READS = {
    "c": moved(did(1000, 4 * KIB)), "fast": moved(did(770, 4 * KIB), did(30, 64 * KIB)),
    "slow": moved(did(230, 4 * KIB, 0)), "sda": moved(did(260, 4 * KIB)),
}  # fmt: skip


def test_promotions_are_no_misses():
    """
    The origin reads 79.7 % of the bytes, yet 23 % of the reads missed.

    1,000 reads of 4 KiB per second: 230 misses (920 KiB) and 35.42 promotions of 64 KiB.
    """
    origin = {"slow": moved(did(265.4, 3187 * KIB / 265.4))}
    before = cache(rh=5000, rm=100, promoted=7)
    after = cache(rh=5000 + 7700, rm=100 + 2300, promoted=7 + 354)
    context = judged("cache", before, after, loads=READS | origin)

    assert found(context, "SM503") is None
    copies = found(judged("cache", before, after, loads={**READS, **origin}), "SM511")
    assert copies is None  # 2.2 of 3.9 MiB/s


def test_misses_are_counted():
    """900 of 1,000 in each of ten seconds; what came before the interval counts nothing."""
    before, after = cache(rh=10**6, rm=5), cache(rh=10**6 + 1000, rm=5 + 9000)
    evidence = figures(found(judged("cache", before, after, loads=READS), "SM503"))

    assert (evidence["missed"], evidence["hit_ratio"]) == pytest.approx((0.9, 0.1))
    assert (evidence["read_hits"], evidence["read_misses"]) == pytest.approx((100, 900))


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (640, "The cache is full: enlarge it."),
        (218, "The cache is 34.1 % full: measure again when it no longer fills."),
    ],
)
def test_only_a_full_cache_is_to_be_enlarged(used, said):
    before, after = cache(used=used, rm=5), cache(used=used, rh=1000, rm=9005)
    finding = found(judged("cache", before, after, loads=READS), "SM503")
    assert said in finding.observed.words["to_do"]
    assert figures(finding)["used"] == pytest.approx(used / 640)


def test_advice_has_the_name_of_the_volume_where_the_status_is_not_known():
    """Without root only its name is known; `dmsetup` says how full the cache is."""
    slow = {"slow": moved(did(50, 64 * KIB)), "fast": moved(write=did(3.75, 64 * KIB))}
    unknown = cache()._replace(counts={})
    observed = found(judged("cache", unknown, loads=READS | slow), "SM503").observed
    assert "to_do" not in observed.words
    assert "used" not in observed.evidence


def test_without_counters_only_the_least_is_known():
    """2,000 KiB/s of 4,000 were promoted at most: at least 30 % missed, or 74 % where little was."""
    slow = {"slow": moved(did(50, 64 * KIB))}
    promoted = {"fast": moved(write=did(31.25, 64 * KIB))}
    little = {"fast": moved(write=did(3.75, 64 * KIB))}

    assert found(judged("cache", cache(), loads=READS | slow | promoted), "SM503") is None
    finding = found(judged("cache", cache(), loads=READS | slow | little), "SM503")
    assert figures(finding)["missed"] == pytest.approx((3200 - 240) / 4000)
    assert finding.observed.words["extent"] == "at least, by bytes"


def test_a_warm_cache_is_good():
    context = judged("cache", cache(), cache(rh=9000, rm=1000), loads=READS)
    finding = found(context, "SM514")

    assert (finding.severity, figures(finding)["hit_ratio"]) == (Severity.GOOD, 0.9)


def test_counters_that_went_back_give_no_ratio():
    """The cache was loaded anew in between: its reads are judged by their bytes."""
    context = judged("cache", cache(rh=9000), cache(rh=10), loads=READS)

    assert found(context, "SM514") is None
    assert found(context, "SM503") is None


def test_copies_of_a_cold_cache():
    """
    200 promotions of 64 KiB per second for 1,000 reads of 4 KiB: 12.5 of 3.9 MiB/s.

    The origin is written 1 MiB/s, of which 50 writes of 4 KiB missed: 0.8 MiB/s were written back.
    """
    loads = READS | {
        "c": moved(did(1000, 4 * KIB), did(50, 4 * KIB)),
        "slow": moved(did(230, 4 * KIB), did(16, 64 * KIB)),
    }
    after = cache(rh=5000, rm=5000, wm=500, promoted=2000, demoted=900)
    evidence = figures(
        found(judged("cache", cache(), after, loads=loads, mode="writeback"), "SM511")
    )

    assert evidence["promoted"] == pytest.approx(200 * 64 * KIB)
    assert evidence["written_back"] == pytest.approx(16 * 64 * KIB - 50 * 4 * KIB)
    assert evidence["copied"] == pytest.approx(evidence["promoted"] + evidence["written_back"])
    assert (evidence["promotions"], evidence["demotions"]) == pytest.approx((200, 90))


def test_writethrough_writes_nothing_back():
    loads = READS | {"slow": moved(did(230, 4 * KIB), did(50, 64 * KIB))}
    after = cache(rh=5000, rm=5000, promoted=2000)
    finding = found(judged("cache", cache(), after, loads=loads, mode="writethrough"), "SM511")

    assert figures(finding)["written_back"] == 0


def test_passthrough_caches_nothing():
    """Its hits are blocks that the cache has, and reads of the origin all the same."""
    after = cache(rh=9000, rm=1000)
    said = {
        each.rule.id
        for each in findings(judged("cache", cache(), after, loads=READS, mode="passthrough"))
    }

    assert "SM513" in said
    assert not said & {"SM503", "SM511", "SM514"}


@pytest.mark.parametrize(("dirty", "reported"), [(480, True), (479, False)])
def test_dirty_blocks(dirty, reported):
    finding = found(judged("cache", cache(used=640, dirty=dirty)), "SM512")

    assert (finding is not None) == reported
    if finding:
        assert figures(finding) == {"share": 0.75, "dirty": 480 * 64 * KIB}


@pytest.mark.parametrize(
    ("told", "rules"),
    [
        (status("c: 0 196608 cache Fail"), {"SM301"}),
        (cache(mode="ro"), {"SM314"}),
        (cache(mode="ro", check="needs_check"), {"SM301"}),
    ],
)
def test_a_cache_in_a_bad_mode(told, rules):
    assert {each.rule.id for each in findings(judged("cache", told))} == rules


def test_a_recorded_cold_cache():
    """
    A real kernel: its origin reads what was missed, in 4 KiB, and what was promoted, in 64 KiB.

    dmsetup counted 2,426 hits and 9,709 misses of the whole load, which went on after the
    recording, and 2,732 of 3,200 chunks of the pool.
    """
    said = ["--from", str(SAMPLES / "cold-cache"), "explain", "-J"]
    printed = CliRunner().invoke(stackmap, said, catch_exceptions=False).stdout
    by_id = {
        each["id"]: {it["name"]: it["value"] for it in each["evidence"]}
        for each in json.loads(printed)["findings"]
    }
    cache_, pool_ = by_id["SM503"], by_id["SM311"]

    assert cache_["missed"] == pytest.approx(9709 / (9709 + 2426), abs=0.1)
    assert cache_["slow"] == pytest.approx(
        cache_["read_misses"] * 4 * KIB + cache_["promotions"] * 64 * KIB, rel=0.05
    )
    assert cache_["slow"] > 3 * cache_["asked"]
    assert pool_["share"] == 2732 / 3200
    assert "SM511" not in by_id
