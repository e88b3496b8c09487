"""No figure where none can be known, and the reason why."""

from __future__ import annotations

import json
import re

import pytest

from tests.lab import judged
from tests.lab.boots import KERNELS

pytestmark = pytest.mark.lab("all")

# What stands in the reason, by the state that the load was measured in.
REASONS = {
    "md-recover": "recover",
    "md-resync": "resync",
    "md-check": "check",
    "dm-resync": "resync",
    "dm-check": "check",
}


@pytest.fixture(params=KERNELS)
def out(lab, request):
    return lab("states", kernel=request.param, disks=5, timeout=1200)


@pytest.mark.parametrize("state", REASONS)
def test_parity_cannot_be_told(out, state):
    """The members do more than the load: no range, no cost, and in words why."""
    workload = judged.measured(out)[f"{state}.load"]
    parity = workload.said(workload.tops[0])["parity"]
    assert REASONS[state] in (parity["reason"] or "")
    assert parity["full_stripe"] == {"low": None, "high": None}
    assert parity["cost_bytes_per_byte"] is None


@pytest.mark.parametrize("state", ["md-degraded", "dm-degraded"])
def test_a_degraded_array_has_a_cost_but_no_full_stripes(out, state):
    """Only writes were sent, so all reads are theirs; test_costs.py has what the kernel counted."""
    workload = judged.measured(out)[f"{state}.load"]
    parity = workload.said(workload.tops[0])["parity"]
    assert parity["cost_bytes_per_byte"] >= 1
    assert parity["full_stripe"] == {"low": None, "high": None}
    assert parity["pages_per_row"] is None


def test_a_device_that_was_replaced_has_no_interval(out):
    """Another that bears its name did more: its counters did not even go back."""
    assert (out / "replaced.status").read_text() == "0\n", (out / "replaced.err").read_text()
    reports = [json.loads(line) for line in (out / "replaced.json").read_text().splitlines()]
    assert len(reports) == 4
    # Gone and there again between two samples, or, on a slow machine, with a sample between.
    changed = [report for report in reports if report["events"]]
    events = " ".join(event for report in changed for event in report["events"])
    assert "replaced by another device" in events or (
        "went away" in events and "appeared" in events
    )
    for report in changed:
        assert list(written(report)) in ([], [None, None])
    # What came before the first sample, and the three times four hundred KiB of the other, at most.
    for report in (each for each in reports if each not in changed):
        assert all(size <= 3 * 409600 / report["seconds"] for size in written(report))


def written(report):
    """Yield the bytes written a second at each layer of each stack."""
    for stack in report["stacks"]:
        yield from (layer["write"]["bytes"] for layer in stack["layers"])


def test_counters_that_went_back_have_no_interval(out, tmp_path):
    """Also where only one of them did: a wrap, or a device that began anew."""
    text = (out / "md-check.load.diskstats").read_text()
    before, after = text.split("TS ")[1:]
    ahead = re.sub(r"( md\d+ \d+ \d+ \d+ \d+) \d+", r"\1 987654321", before)
    assert ahead != before
    samples = tmp_path / "samples"
    samples.write_text(f"TS {ahead}TS {after}")
    report = judged.layers(out / "md-check.tar", samples, "states")
    assert report["stacks"][0]["layers"][0]["write"]["iops"] is None
    assert any("went back" in event for event in report["events"])
