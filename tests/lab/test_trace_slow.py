"""A trace finds the one slow member of a volume by how its latencies are distributed."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.lab("all")

PER_SECOND = 40  # requests that the third disk manages


@pytest.fixture
def out(lab, kernel):
    return lab("trace-slow", kernel=kernel, disks=4, slow=f"3:{PER_SECOND}", timeout=1800)


def test_the_slow_disk_is_named_and_no_other(out):
    said, name = (out / "slow.txt").read_text(), (out / "slow.name").read_text().strip()
    assert f"{name} is slow: its median read latency is" in said
    assert said.count(" is slow:") == 1


def test_its_distribution_stands_apart(out):
    """With 8 requests in flight, most of which wait there, 40 per second take 100 ms and more."""
    (stack,) = json.loads((out / "slow.json").read_text())["stacks"]
    disks = stack["layers"][-1]["by_device"]
    medians = {name: each["read"]["latency_us"]["p50"] for name, each in disks.items()}
    assert set(medians) == {"sda", "sdb", "sdc", "sdd"}
    slow = medians.pop((out / "slow.name").read_text().strip())
    assert 50_000 < slow < 8 * 1_000_000 / PER_SECOND * 1.5
    assert slow > 3 * max(medians.values())


def test_a_disk_that_keeps_up_is_not_slow(out):
    assert " is slow:" not in (out / "even.txt").read_text()
