"""
Two recordings of the lab (6.12, tests/lab/scenarios/paths.sh): a path of NVMe that is removed, and a budget of io.cost that is used up.

What is expected is the kernel's own count, as it was printed before and after the load beside the recording.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

RECORDINGS = ROOT / "tests" / "recordings"
READS = {"dm-0": 23709, "nvme0n1": 23710, "nvme0c0n1": 21454}
FEW = 2  # reads of udev before and after


def asked(name, *words):
    path = RECORDINGS / f"{name}-6.12.tar.gz"
    done = CliRunner().invoke(stackmap, ["--from", str(path), *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def explained(name):
    return {
        finding["id"]: finding for finding in json.loads(asked(name, "explain", "-J"))["findings"]
    }


def test_reads_of_a_volume_over_two_paths_of_which_one_is_removed():
    totals = dict.fromkeys(READS, 0.0)
    for line in asked("nvme-gone", "iostat", "-J", "--report", "all").splitlines():
        report = json.loads(line)
        for device in report["devices"]:
            if device["name"] in READS:
                totals[device["name"]] += device["reads"] * report["seconds"]
    assert totals == pytest.approx(READS, abs=FEW + 0.1)


def test_the_disk_is_degraded_when_one_of_its_paths_is_removed():
    """Each path by its address; that it looks whole afterwards hides nothing."""
    tree = asked("nvme-gone", "tree")
    assert "path: tcp 127.0.0.1:4421" in tree
    assert "path: tcp 127.0.0.1:4422" in tree
    finding = explained("nvme-gone")["SM301"]
    assert (finding["device"], finding["severity"]) == ("nvme0n1", "critical")
    assert "1 of 2 paths; a path is gone" in finding["sentence"]


def test_io_cost_holds_a_disk_back():
    """The kernel counted 6.130 s of the budget in 6.207 s, and a queue of less than one request at the disk."""
    finding = explained("cost")["SM705"]
    figures = {each["name"]: each["value"] for each in finding["evidence"]}
    assert (finding["device"], finding["outcome"]) == ("sdd", "throttled")
    assert figures["used"] == pytest.approx(6.130 / 6.207, abs=0.03)
    report = json.loads(asked("cost", "iostat", "-J", "sdd"))
    assert report["devices"][0]["aqu"] < 1
