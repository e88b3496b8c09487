"""
Stacks that no other scenario has, with sizes and loads drawn from a seed: each layer, what the disks did, and its causes.

A seed that fails is a workload to keep: SEED in scenarios/unlike.sh.
"""

from __future__ import annotations

import pytest

from tests.lab import judged

pytestmark = pytest.mark.lab("all")

EXACT = 0.02  # of the kernel's count
STACKS = {
    "early": {"oddn2", "oddf2", "oddo2", "oddn3", "fifty", "thin", "synced"},
    "late": {"wrote", "cach", "away", "swap", "three", "luks", "bcache"},
}


@pytest.fixture(params=STACKS)
def half(request):
    return request.param


@pytest.fixture
def workloads(lab, kernel, half):
    return judged.measured(lab("unlike", half, kernel=kernel, disks=6, size="400M", timeout=2400))


def disks_below(known, tops):
    """The kernel's names of the disks of the stacks of *tops*."""
    todo, seen = [*tops], set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += [below["name"] for below in known[name]["below"]]
    return {name for name in seen if known[name]["kind"] == "disk"}


def test_every_workload_was_measured(workloads, half):
    assert {workload.stack for workload in workloads.values()} == STACKS[half]
    assert [name for name, workload in workloads.items() if workload.status] == []


def test_each_layer_is_what_the_kernel_counted(workloads):
    """Requests, bytes and both ratios, reads and writes apart, or a reason."""
    wrong = [
        verdict
        for workload in workloads.values()
        for top in judged.judged_tops(workload)
        for verdict in judged.verdicts(workload, top)
        if not verdict.right(EXACT)
    ]
    assert wrong == []


def test_all_that_the_disks_did_is_the_cost_and_its_causes(workloads):
    """Bytes that came to the disks, of all tops together: no other load ran."""
    off = {}
    for name, workload in workloads.items():
        known, counted = judged.devices(workload.folder / f"{workload.stack}.tar"), workload.counted
        said = [workload.said(top) for top in workload.tops]
        disks = disks_below(known, [each["device"] for each in said])
        truth = sum(counted.arrived(known[d]["dev"], kind).bytes for d in disks for kind in "RWN")
        costs = [each["disk_bytes_per_byte"] for each in said]
        if None in costs:
            off[name] = ("unknown", [each["causes"] for each in said])
            continue
        tops = [
            sum(each["layers"][0][way]["bytes"] for way in ("read", "write")) * each["seconds"]
            for each in said
        ]
        moved = sum(cost * top for cost, top in zip(costs, tops, strict=True))
        parts = sum(
            sum(each["causes"].values()) * top for each, top in zip(said, tops, strict=True)
        )
        if not (moved == pytest.approx(truth, rel=EXACT) == parts):
            off[name] = (moved, parts, truth)
    assert off == {}


def test_a_pool_on_an_array_has_the_causes_that_the_kernel_counted(workloads, half):
    """Zeroing, copies and metadata, before parity."""
    if half != "early":
        pytest.skip("the pool is in the other half")
    for name, workload in workloads.items():
        if workload.stack != "thin" or name == "thin.discarded":
            continue
        known, counted = judged.devices(workload.folder / "thin.tar"), workload.counted
        labels = {device["label"]: device["dev"] for device in known.values()}
        volume, pool = labels["thin/vol"], labels["thin/pool-tpool"]
        kept = labels["thin/pool_tmeta"]
        said = workload.said("thin/vol")
        top = sum(counted.arrived(volume, kind).bytes for kind in "RW")
        read, sent = (counted.remapped(volume, pool, kind).bytes for kind in "RW")
        copied = counted.arrived(pool, "R").bytes - read
        zeroed = sum(counted.arrived(pool, kind).bytes for kind in "WN") - sent - copied
        truth = {
            "data": read + sent,
            "cow": 2 * copied,
            "zeroing": zeroed,
            "metadata": sum(counted.arrived(kept, kind).bytes for kind in "RW"),
        }
        right = {
            cause: said["causes"].get(cause, 0) == pytest.approx(n / top, rel=EXACT, abs=0.002)
            for cause, n in truth.items()
        }
        assert all(right.values()) or said["estimated"], (name, said["causes"], truth, top)
