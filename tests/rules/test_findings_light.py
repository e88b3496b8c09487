"""What a layout costs is a warning where requests queue or at real rates, otherwise a remark."""

from __future__ import annotations

import pytest

from stackmap.model.interval import Interval
from stackmap.model.load import Flow
from stackmap.model.topology import Topology
from stackmap.rules.context import Context
from stackmap.rules.table import RULES, findings
from tests.drawn import DISKS, did, disk, moved, raid_volume, topology

TREE = topology(raid_volume("vm", "raid5", 8))
PAGE = 4096


def drawn(writes, *, size=PAGE, await_ms=2.0, reads=0.0, bitmap=0.0, volume_ms=4.0):
    """
    Return the loads of a RAID5 of four disks.

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
    wait = volume_ms * writes
    loads = {
        "vm": moved(did(reads, PAGE, wait=reads), did(writes, size, wait=wait), aqu=wait / 1000)
    }
    loads |= {f"vm_rimage_{n}": member for n in range(4)}
    return loads | {f"vm_rmeta_{n}": meta for n in range(4)} | dict.fromkeys(DISKS, disk)


def found(loads, series=()):
    """Return id → severity of what 10 s of a load give."""
    parts = tuple(Interval(each, seconds=2.0) for each in series)
    reported = findings(Context(TREE, Interval(loads, seconds=10.0), parts))
    return {each.rule.id: str(each.severity) for each in reported if each.severity != "good"}


def severities(writes, **more):
    """Return id → severity of what 10 s of *writes* per second give."""
    return found(drawn(writes, **more))


@pytest.mark.parametrize(
    ("writes", "more", "expected"),
    [
        (0, {}, None),
        (1, {}, None),
        (10, {}, None),  # 40 KiB/s
        (20, {"bitmap": 20}, "info"),
        (12, {"size": 2 * PAGE, "reads": 28}, "info"),
        (40, {}, "info"),
        # 0.5 and 0.6 requests in flight on each disk: no request waits.
        (120, {}, "info"),
        (300, {}, "info"),
        (600, {}, "warning"),
        (40, {"await_ms": 30.0}, "warning"),
    ],
)
def test_partial_stripes_by_rate(writes, more, expected):
    """Loads that a healthy stack serves at once do not warn; those that queue at its disks do."""
    assert severities(writes, **more).get("SM101") == expected


QUIET = drawn(19, await_ms=4.3, volume_ms=33.8)
SATURATED = drawn(110, await_ms=47.0, volume_ms=218.6)


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ((QUIET, QUIET, SATURATED, SATURATED, SATURATED), "info"),
        # Whether a short queue would help is not known.
        ((SATURATED,) * 5, "warning"),
        ((), "warning"),
    ],
)
def test_partial_stripes_of_an_array_that_a_queue_saturates(series, expected):
    """In the lab, 34 ms at a queue depth of 0.6 and 219 ms at 24: at the same cost per write."""
    told = found(SATURATED, series)

    assert told["SM101"] == expected
    assert ("SM401" in told) == (expected == "info")


@pytest.mark.parametrize("writes", [1, 5, 18])
def test_a_bitmap_at_a_low_rate_is_no_warning(writes):
    """Each write sets a bit on every disk: more metadata writes than data writes."""
    told = severities(writes, bitmap=writes)

    assert set(told.values()) <= {"info"}
    assert "warning" in severities(20 * writes + 100, bitmap=200).values()


@pytest.mark.parametrize(("await_ms", "expected"), [(6.3, "info"), (40.0, "warning")])
def test_flushes_that_take_as_long_as_a_disk_needs(await_ms, expected):
    """In the lab, 73 commits per second on a healthy disk, with 6.3 ms per flush, are the load's own cost."""
    load = moved(write=did(99, 6144, wait=99 * 2.0), aqu=0.7, busy=0.6)
    load = load._replace(flush=Flow(73.0, wait=73 * await_ms))
    tree = Topology([disk("sda", rotational=True)], [])
    reported = findings(Context(tree, Interval({"sda": load}, seconds=10.0)))

    assert {each.rule.id: str(each.severity) for each in reported}["SM502"] == expected


def test_each_rule_about_a_cost_shows_the_limits():
    """Their thresholds are listed by ``explain --rules``."""
    costs = {
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
    parity = {"SM101", "SM112"}
    assert {rule.id for rule in RULES if "light_queue" in rule.thresholds} == costs | parity
