"""Findings on a thin pool, a cache and md's thread, against the kernel's own status at that time."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.host.capture import CapturedHost
from stackmap.ledger.device_state import readings_of, thread_usage
from stackmap.measurement.machines import CaptureSource

pytestmark = pytest.mark.lab("all")


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("targets", kernel=kernel, disks=6, size="600M", timeout=1200)


def explained(out, name):
    """The findings on a recording by id, each with its evidence by name."""
    words = ["--from", str(out / f"{name}.tar"), "explain", "-J"]
    found = json.loads(CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout)
    return {
        each["id"]: {it["name"]: it["value"] for it in each["evidence"]}
        for each in found["findings"]
    }


def statuses(out, name, target):
    """The words of *target* before and after the load."""
    lines = (out / f"{name}.status").read_text().splitlines()
    found = [line.split() for line in lines if f" {target} " in line and ":" in line.split()[0]]
    return [words[words.index(target) + 1 :] for words in found]


def test_the_pool(out):
    """Its last status says how full it is; it grew as much as fio wrote in new chunks."""
    first, last = statuses(out, "pool", "thin-pool")
    (before, _), (used, total) = ([*map(int, words[2].split("/"))] for words in (first, last))
    evidence = explained(out, "pool")["SM311"]

    assert evidence["share"] == pytest.approx(used / total, abs=0.02)
    assert evidence["used"] <= used * 65536
    assert used > before
    assert 0 < evidence["growth"] * evidence["measured"] <= (used - before) * 65536
    assert evidence["to_full"] == pytest.approx(
        (total * 65536 - evidence["used"]) / evidence["growth"]
    )


@pytest.mark.parametrize(("name", "id_"), [("cold", "SM503"), ("warm", "SM514")])
def test_the_cache(out, name, id_):
    """The share of hits is that of its counters; cold it misses, warm it does not."""
    first, last = statuses(out, name, "cache")
    hits, misses = (int(last[n]) - int(first[n]) for n in (4, 5))
    found = explained(out, name)

    assert found[id_]["hit_ratio"] == pytest.approx(hits / (hits + misses), abs=0.1)
    assert ("SM503" in found) == (name == "cold")


def test_promotions_are_no_misses(out):
    """The origin reads more than was missed: whole blocks are promoted."""
    first, last = statuses(out, "between", "cache")
    hits, misses, promoted = (int(last[n]) - int(first[n]) for n in (4, 5, 9))

    assert promoted >= 0
    assert ("SM503" in explained(out, "between")) == (misses / (hits + misses) >= 0.7)


def test_the_thread(out):
    """md names it, and the recording has the CPU time that it used while fio wrote."""
    source = CaptureSource(CapturedHost(str(out / "thread.tar")))
    intervals = (interval for _, interval in source.intervals(which="all"))
    ((thread, used),) = thread_usage(readings_of(intervals)).items()

    assert f"{thread.pid} {thread.name}" in (out / "threads.txt").read_text()
    assert thread.name == "md0_raid5"
    assert 0.1 < used < 1.05
