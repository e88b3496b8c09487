"""
Await of LVM RAID volumes under fsync, beside fio's: a kernel that counts their requests twice counts empty flushes once.

fio's times are those of the volume, and what a system call takes. The disks are scsi_debug's in virtual time.
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
    """All loads of three levels; with one request at a time the time is exact, and several at once are an estimate."""
    off = {}
    for run in judged.measured(booted).values():
        (top,) = run.tops
        count, wait = of_fio(booted / f"{run.name}.fio")
        report = run.said(top)
        volume = report["layers"][0]["write"]
        ios, await_ms = volume["iops"] * report["seconds"], volume["await"]
        off[run.name] = (ios / count - 1, await_ms / (wait / count) - 1)

    assert len(off) == 18
    assert {name: each for name, each in off.items() if max(map(abs, each)) > NEAR} == {}
