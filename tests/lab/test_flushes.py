"""
Await of LVM RAID volumes under fsync, beside fio's: a kernel that counts their requests twice counts empty flushes once.

fio's times are those of the volume, and what a system call takes: each job has one request in flight. The disks
are scsi_debug's in virtual time.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from math import ceil

import pytest

from tests.lab import judged

pytestmark = pytest.mark.lab("all")

NEAR = 0.05


@pytest.fixture
def booted(lab, kernel):
    return lab("flushes", kernel=kernel, disks=0, virtual="yes", mem=2500, timeout=1800)


def of_fio(path):
    """The requests that are writes to the volume, and their milliseconds."""
    found = json.loads(path.read_text())["jobs"]
    counts = [(each["write"]["total_ios"], each["sync"]["total_ios"]) for each in found]
    times = [
        writes * each["write"]["lat_ns"]["mean"] + syncs * each["sync"]["lat_ns"].get("mean", 0.0)
        for each, (writes, syncs) in zip(found, counts, strict=True)
    ]
    return sum(map(sum, counts)), sum(times) / 1e6


def test_flushes_are_counted_and_timed_as_fio_does(booted):
    """
    Loads of three levels: all requests, and with one in flight all of their time.

    With four in flight, a flush may wait for another one that no counter has: then the time is at least that of
    the writes and half of the flushes, and not more than fio's.
    """
    off = {}
    for run in judged.measured(booted).values():
        (top,) = run.tops
        count, wait = of_fio(booted / f"{run.name}.fio")
        report = run.said(top)
        volume = report["layers"][0]["write"]
        off[run.name] = (
            volume["iops"] * report["seconds"] / count - 1,
            volume["await"] / (wait / count) - 1,
        )

    assert len(off) == 15
    assert {name: counts for name, (counts, _) in off.items() if abs(counts) > NEAR} == {}
    far = {
        name: times
        for name, (_, times) in off.items()
        if not (-0.5 if name.endswith("jobs") else -NEAR) <= times <= NEAR
    }
    assert far == {}


EVENT = re.compile(r" ([\d.]+): block_bio_(queue|complete): [\d,]+ (\w+) (\d+) \+ \d+ \[")
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def of_kernel(path):
    """Microseconds of each request by direction, from the events of its arrival and its end; two at a place end in turn."""
    began, took = defaultdict(list), defaultdict(list)
    for time, what, letters, sector in EVENT.findall(path.read_text()):
        key = "write" if "W" in letters else "read", sector
        if what == "queue":
            began[key].append(float(time))
        else:
            took[key[0]].append((float(time) - began[key].pop(0)) * 1e6)
    return {direction: sorted(times) for direction, times in took.items()}


@pytest.mark.parametrize("direction", ["read", "write"])
def test_traced_latencies_are_those_of_each_request(booted, direction):
    """Every request is counted; percentiles are within 5 % of the kernel's own events, and of fio's."""
    (stack,) = json.loads((booted / "traced.json").read_text())["stacks"]
    (job,) = json.loads((booted / "traced.fio").read_text())["jobs"]
    traced = stack["layers"][0][direction]
    times, by_fio = of_kernel(booted / "traced.events")[direction], job[direction]
    seen = by_fio["clat_ns"]["percentile"]

    assert traced["count"] == len(times) == by_fio["total_ios"] > 1000
    assert sum(count for *_, count in traced["latency_us"]["histogram"]) == len(times)
    for name, share in PERCENTILES.items():
        assert traced["latency_us"][name] == pytest.approx(
            times[ceil(share * len(times)) - 1], rel=NEAR
        )
        assert traced["latency_us"][name] == pytest.approx(
            seen[f"{share * 100:.6f}"] / 1000, rel=NEAR
        )
