"""
Await of LVM RAID volumes under fsync, beside fio's: a kernel that counts their requests twice counts empty flushes once.

fio's times are those of the volume, and what a system call takes: each job has one request in flight. The disks
are scsi_debug's in virtual time.
"""

from __future__ import annotations

import json

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
