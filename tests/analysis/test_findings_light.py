"""What a layout costs is a warning at real rates, a remark while the disks have little to do."""

from __future__ import annotations

import pytest

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.rules import RULES, findings
from stackmap.model.interval import Interval
from tests.drawn import DISKS, did, moved, raid_volume, topology

TREE = topology(raid_volume("vm", "raid5", 8))
PAGE = 4096


def severities(writes, *, size=PAGE, await_ms=2.0, reads=0.0, bitmap=0.0):
    """
    Return id → severity of what 10 s of a load on RAID5 of four disks give.

    *writes* of *size* and *reads* per second; each write reads and writes two pages per page
    (read-modify-write); the bitmap has *bitmap* writes per second on each disk.
    """
    pages = writes * size / PAGE / 4 * 2  # per disk, read and written
    ios = 2 * pages + reads / 4 + bitmap
    member = moved(did(pages + reads / 4, PAGE, wait=await_ms * (pages + reads / 4)),
                   did(pages, PAGE, wait=await_ms * pages))  # fmt: skip
    meta = moved(write=did(bitmap, PAGE, wait=await_ms * bitmap))
    disk = moved(member.read, did(pages + bitmap, PAGE, wait=await_ms * (pages + bitmap)),
                 aqu=ios * await_ms / 1000, busy=min(1.0, ios * await_ms / 1000))  # fmt: skip
    loads = {"vm": moved(did(reads, PAGE, wait=reads), did(writes, size, wait=4 * writes))}
    loads |= {f"vm_rimage_{n}": member for n in range(4)}
    loads |= {f"vm_rmeta_{n}": meta for n in range(4)} | dict.fromkeys(DISKS, disk)
    found = findings(Context(TREE, Interval(loads, seconds=10.0)))
    return {each.rule.id: str(each.severity) for each in found if each.severity != "good"}


@pytest.mark.parametrize(
    ("writes", "more", "expected"),
    [
        (0, {}, None),
        (1, {}, None),
        (10, {}, None),  # 40 KiB/s
        (20, {"bitmap": 20}, "info"),
        (12, {"size": 2 * PAGE, "reads": 28}, "info"),
        (40, {}, "info"),
        (120, {}, "warning"),
        (300, {}, "warning"),
        # A slow disk has enough to do: more than one request waits.
        (40, {"await_ms": 30.0}, "warning"),
    ],
)
def test_partial_stripes_by_rate(writes, more, expected):
    """Light loads of a healthy stack do not warn; those that keep disks busy do."""
    assert severities(writes, **more).get("SM101") == expected


@pytest.mark.parametrize("writes", [1, 5, 18])
def test_a_bitmap_at_a_low_rate_is_no_warning(writes):
    """Each write sets a bit on every disk: more metadata writes than data writes."""
    found = severities(writes, bitmap=writes)

    assert set(found.values()) <= {"info"}
    assert "warning" in severities(20 * writes + 100, bitmap=200).values()


def test_each_rule_about_a_cost_shows_the_limits():
    """Their thresholds are listed by ``explain --rules``."""
    costs = {
        "SM101",
        "SM112",
        "SM203",
        "SM501",
        "SM502",
        "SM503",
        "SM504",
        "SM505",
        "SM511",
        "SM515",
    }

    assert {rule.id for rule in RULES if "light_rate" in rule.thresholds} == costs
    assert {rule.id for rule in RULES if "light_queue" in rule.thresholds} == costs
