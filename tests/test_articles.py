"""The articles' published tables give the figures that were worked out from them by hand (PEERS 4d)."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

MEDUSA = ROOT / "sample_topologies" / "raid5-raid10-medusa"


def stack(text, name):
    """Return the figures of *name* from one published table."""
    result = CliRunner().invoke(
        stackmap,
        [
            "--from",
            str(MEDUSA),
            "iostat",
            "-l",
            "-J",
            "--report",
            "last",
            "--input",
            str(MEDUSA / "input" / text),
            name,
        ],
        catch_exceptions=False,
    )
    return json.loads(result.stdout)["stacks"][0]


def test_small_writes_on_raid5():
    """Seed 004, sar 07:10:01: 4 x the requests, half of it from cutting 8 KiB in two."""
    figures = stack("sar-0710.txt", "vm-disk1")
    ratios, cost = figures["layers"][1]["amplification"], figures["parity"]

    assert ratios["iops"]["total"] == pytest.approx(3.836, abs=5e-4)
    assert {d: ratios["bytes"][d] for d in ("read", "write", "total")} == pytest.approx(
        {"read": 1.974, "write": 1.792, "total": 1.897}, abs=5e-4
    )
    assert ratios["shrink"]["total"] == pytest.approx(2.022, abs=5e-4)
    assert cost["cost_bytes_per_byte"] == pytest.approx(3.123, abs=5e-4)
    assert cost["ideal_bytes_per_byte"] == pytest.approx(1.333, abs=5e-4)


@pytest.mark.parametrize("text", ["sar.txt", "iostat-2.txt"])
def test_large_reads_are_cut_and_nothing_else(text):
    """64 KiB reads arrive at the members as sixteen of 4 KiB: no byte more."""
    ratios = stack(text, "vm-disk1")["layers"][1]["amplification"]

    assert ratios["iops"]["total"] == pytest.approx(16.0, abs=0.005)
    assert ratios["bytes"]["total"] == pytest.approx(1.0, abs=5e-4)


def test_raid10_writes_twice_and_the_disks_merge():
    """Seed 004, iostat 2: two copies; 7,247 writes and what else arrived became a 31st of that."""
    _, members, disks = stack("iostat-2.txt", "vm-disk1-r10")["layers"]

    assert members["amplification"]["bytes"]["write"] == pytest.approx(2.001, abs=5e-4)
    assert disks["coalescing"]["read"] == pytest.approx(20.8, abs=0.05)
    assert disks["coalescing"]["write"] == pytest.approx(31.0, abs=0.05)


def test_raid10_after_the_move():
    """Seed 004, iostat 3: 18,842 writes a second become 449 at the disks."""
    _, members, disks = stack("iostat-3.txt", "vm-disk1-r10")["layers"]

    assert members["amplification"]["iops"]["write"] == pytest.approx(1.935, abs=5e-4)
    assert disks["coalescing"]["write"] == pytest.approx(81.5, abs=0.05)
    assert disks["write"]["iops"] == pytest.approx(448.6, rel=0.01)
