"""
The bytes that the ledger says each volume wrote to each disk, beside the disk's own count.

A data unit of NVMe is 1,000 sectors of 512 bytes, rounded up; QEMU counts them. Its disks say that none of their
life is used, so the life is given.
"""

from __future__ import annotations

import json

import pytest

from tests.lab import judged

pytestmark = pytest.mark.lab("all")

DATA_UNIT = 512_000
DISKS = ("nvme0n1", "nvme1n1", "nvme2n1")
GIB = 2**30


@pytest.fixture
def booted(lab, kernel):
    return lab("wear", kernel=kernel, disks=2, nvme=3, timeout=1200)


def counted(folder, when):
    logs = {disk: json.loads((folder / f"{when}.{disk}.json").read_text()) for disk in DISKS}
    return {disk: int(log["data_units_written"]) * DATA_UNIT for disk, log in logs.items()}


def test_each_disk_counts_what_the_ledger_says(booted):
    """Within 1 % per volume and disk, over at least 1 GiB."""
    written, off = 0.0, {}
    for volume in ("r5", "r1"):
        samples = booted / f"machine.{volume}.diskstats"
        report = judged.asked(
            booted / "machine.tar",
            *("iostat", "-l", "-J", "--endurance", "1DWPD", "--input", str(samples), f"t/{volume}"),
        )
        before, after = (counted(booted, f"{volume}.{when}") for when in ("before", "after"))
        wear = {each["device"]: each for each in report["stacks"][0]["wear"]}
        for disk in DISKS:
            truth = after[disk] - before[disk]
            said = wear[disk]["bytes_per_day"] / 86400 * report["seconds"] if disk in wear else 0.0
            if truth > 1 << 20:
                written += truth
                off[volume, disk] = abs(said / truth - 1)
            else:
                assert said < 2 << 20, (volume, disk)
    assert written >= GIB
    assert len(off) == 5  # r5 on three disks, r1 on two
    assert max(off.values()) < 0.01, off
