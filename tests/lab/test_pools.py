"""
Thin pools under file systems, with data and metadata on one md RAID10, on a plain disk, and on a RAID5
and a RAID1: each layer and each cause, against the kernel's own count.
"""

from __future__ import annotations

import pytest

from tests.lab import judged
from tests.lab.boots import KERNELS
from tests.lab.truth import Sent

pytestmark = pytest.mark.lab("all")

EXACT = 0.02  # of the kernel's count
LOADS = ("mkfs-fstrim", "mail-spool", "snapshots", "rand4k-mixed")
STACKS = {"deep": 2, "flat": 1, "raid": None}  # copies of each byte of the pool's data at the disks
NAMES = [f"{stack}.{load}" for stack in STACKS for load in LOADS]


@pytest.fixture(params=KERNELS)
def workloads(request, lab):
    return judged.measured(lab("pools", kernel=request.param, disks=12, timeout=1200))


def labelled(workload):
    """Return the devices of a workload's stack by their labels."""
    known = judged.devices(workload.folder / f"{workload.stack}.tar")
    return {device["label"]: device for device in known.values()}


def written(workload, device):
    """Return what arrived at *device* as writes, requests to write zeroes too."""
    number = device["dev"]
    return workload.counted.arrived(number, "W") + workload.counted.arrived(number, "N")


def moved(said):
    return sum(said["layers"][0][way]["bytes"] for way in ("read", "write")) * said["seconds"]


def test_every_workload_was_measured(workloads):
    assert set(workloads) == set(NAMES)
    assert [name for name, workload in workloads.items() if workload.status] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_pool_is_what_the_kernel_counted(workloads, name):
    """Requests and bytes that came to the pool and to its data, read and written; nothing confirms the pool's."""
    workload = workloads[name]
    volume = labelled(workload)[f"{workload.stack}/mail"]
    known = judged.devices(workload.folder / f"{workload.stack}.tar")
    pool = known[volume["below"][0]["name"]]
    said = workload.said(f"{workload.stack}/mail")
    for layer, label in zip(
        said["layers"][1:3], (pool["label"], f"{workload.stack}/pool_tdata"), strict=True
    ):
        device = labelled(workload)[label]
        number, counted = device["dev"], workload.counted
        empty = (
            counted.empty(number, "W") + counted.flushing[number, "W"] + counted.splits[number, "W"]
        )
        for way, truth in (
            ("read", counted.arrived(number, "R") + Sent(counted.splits[number, "R"])),
            ("write", written(workload, device) + Sent(empty)),
        ):
            assert layer[way]["arrivals"] * said["seconds"] == pytest.approx(truth.count, rel=EXACT)
            assert layer[way]["bytes"] * said["seconds"] == pytest.approx(truth.bytes, rel=EXACT)
        assert layer["closure"] == dict.fromkeys(("read", "write", "discard", "total"))


@pytest.mark.parametrize(
    "name", [f"{stack}.{load}" for stack in ("deep", "flat") for load in LOADS]
)
def test_each_cause_is_what_the_kernel_counted(workloads, name):
    """Bytes at the disks per byte at the volume. What a pool copied of what it read is an estimate, and says so."""
    workload, copies = workloads[name], STACKS[name.partition(".")[0]]
    here, counted = labelled(workload), workload.counted
    said = workload.said(f"{workload.stack}/mail")
    volume = here[f"{workload.stack}/mail"]
    known = judged.devices(workload.folder / f"{workload.stack}.tar")
    pool, metadata = known[volume["below"][0]["name"]], here[f"{workload.stack}/pool_tmeta"]
    read, sent = (counted.remapped(volume["dev"], pool["dev"], kind).bytes for kind in "RW")
    copied = counted.arrived(pool["dev"], "R").bytes - read
    zeroed = written(workload, pool).bytes - sent - copied
    kept = (
        counted.arrived(metadata["dev"], "W").bytes * copies
        + counted.arrived(metadata["dev"], "R").bytes
    )
    top, causes = moved(said), said["causes"]

    assert causes["metadata"] == pytest.approx(kept / top, rel=EXACT)
    both = ("cow", "zeroing")
    assert causes["data"] + sum(causes.get(c, 0) for c in both) == pytest.approx(
        (read + copied + copies * (sent + copied + zeroed)) / top, rel=EXACT
    )
    truth = {"data": read + copies * sent, "cow": (1 + copies) * copied, "zeroing": copies * zeroed}
    right = {
        c: causes.get(c, 0) == pytest.approx(n / top, rel=EXACT, abs=0.001)
        for c, n in truth.items()
    }
    assert all(right.values()) or said["estimated"]
    if name.endswith("mail-spool") or name == "flat.rand4k-mixed":
        assert right == dict.fromkeys(truth, True)
    assert causes["flush"] == 0


@pytest.mark.parametrize("load", LOADS)
def test_the_bitmap_of_md_is_what_md_wrote_itself(workloads, load):
    """Bios at the members that md did not pass on, without the empty flushes."""
    workload = workloads[f"deep.{load}"]
    known, counted = judged.devices(workload.folder / "deep.tar"), workload.counted
    (array,) = (device for device in known.values() if device["kind"] == "array")
    marks = 0
    for name in (below["name"] for below in array["below"]):
        number = known[name]["dev"]
        marks += (
            counted.arrived(number, "W").bytes - counted.remapped(array["dev"], number, "W").bytes
        )
    said = workload.said("deep/mail")

    one = 513 * len(array["below"]) / moved(said)  # a write that is counted as the span ends
    assert said["causes"]["bitmap"] == pytest.approx(marks / moved(said), rel=EXACT, abs=one)
