"""
One load on RAID5, on it again, and on RAID10: what compare says of them, beside the kernel's count.

The same load twice has no significant change; what RAID10 saves is one, of the size that the kernel counted.
"""

from __future__ import annotations

import pytest

from tests.lab import truth
from tests.lab.judged import asked, devices, measured

pytestmark = pytest.mark.lab("all")

COSTS = {"completed": "total", "write_cost": "write", "bytes": "total"}


@pytest.fixture
def recorded(lab, kernel):
    folder = lab("compare", kernel=kernel, disks=4, timeout=1800)
    for name, workload in measured(folder).items():
        assert workload.status == 0, name
    return folder


def compared(folder, before, after, *words):
    texts = (str(folder / f"compare.{name}.diskstats") for name in (before, after))
    (stack,) = asked(folder / "compare.tar", "compare", *texts, *words, "-J")["stacks"]
    return stack


def ratio(stack, figure, layer, direction):
    (found,) = (
        each
        for each in stack["ratios"]
        if (each["figure"], each["layer"], each["direction"]) == (figure, layer, direction)
    )
    return found


def counted(folder, name, volume):
    """Return the requests issued to the disks for one bio to *volume*, and their bytes for a byte."""
    kernel = truth.read(folder / f"compare.{name}.truth")
    known = devices(folder / "compare.tar")
    numbers = {d["label"]: d["dev"] for d in known.values()}
    disks = [d["dev"] for d in known.values() if d["kind"] == "disk" and d["name"].startswith("sd")]
    sent = sum((kernel.taken(numbers[volume], kind) for kind in "RW"), truth.Sent())
    done = sum((kernel.issued(disk, kind) for disk in disks for kind in "RW"), truth.Sent())
    return done.count / sent.count, done.bytes / sent.bytes


def test_the_same_load_again_changed_nothing(recorded):
    """Not one figure of some thirty is significant, and there are enough intervals to tell."""
    stack = compared(recorded, "first", "second", "vg/r5")
    judged = [
        each
        for each in (*stack["ratios"], *stack["waits"])
        if each["change"] and each["change"]["p"] is not None
    ]

    assert len(judged) > 10
    assert [each["figure"] for each in judged if each["change"]["significant"]] == []


def test_the_move_is_significant(recorded):
    """Fewer requests and bytes at the disks for one at the volume."""
    stack = compared(recorded, "second", "moved", "-m", "vg/r5=vg/r10")

    for figure, direction in COSTS.items():
        change = ratio(stack, figure, "disks", direction)["change"]
        assert change["significant"], figure
        assert change["high"] < 1


def test_the_range_has_what_the_kernel_counted(recorded):
    """Bytes at the disks for a byte, before and after, by the histograms; what the bitmap wrote is apart."""
    stack = compared(recorded, "second", "moved", "-m", "vg/r5=vg/r10")
    found = ratio(stack, "bytes", "disks", "total")
    truths = counted(recorded, "second", "vg/r5")[1], counted(recorded, "moved", "vg/r10")[1]

    for side, true in zip(("before", "after"), truths, strict=True):
        assert found[side]["value"] == pytest.approx(true, rel=0.05)
    assert found["change"]["ratio"] == pytest.approx(truths[1] / truths[0], rel=0.05)
