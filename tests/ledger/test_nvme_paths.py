"""NVMe disks whose paths the kernel shows (nvme0c0n1): they pass on what volumes send, before and since Linux 6.2."""

from __future__ import annotations

import pytest

from stackmap.features.export.weights import DISKS, MEMBERS, stacks
from stackmap.ledger.amplification import LayerReport
from tests.machine import block
from tests.rules.cases_state import nvme
from tests.rules.scripted import GIB_SECTORS, Did, Scripted, intervals, md, volume

PAGE = 4096
# "off": with queue/iostats 0 at the head.
KERNELS = {"old": "6.1.0-28-amd64", "new": "6.12.1-amd64", "off": "6.12.1-amd64"}
HEADS = ("nvme0n1", "nvme1n1", "nvme2n1")


def kernel(age):
    return {"/proc/version": f"Linux version {KERNELS[age]}\n"}


def two_volumes(age):
    """Two LVs on one disk with two paths."""
    targets = ["vg-a: 0 30000 linear 259:1 0", "vg-b: 0 30000 linear 259:1 30000"]
    lvs = (volume(1, "vg-a", "nvme0n1"), volume(2, "vg-b", "nvme0n1"))
    files = nvme("round-robin")
    if age == "off":
        files |= {"/sys/block/nvme0n1/queue/iostats": "0\n"}
    return Scripted(files, *lvs, kernel(age), targets=targets)


def array(age):
    """RAID5 on three disks with one path each."""
    files = {}
    for number, head in enumerate(HEADS):
        counts = "0" if age == "off" else "1"
        files |= block(head, f"259:{2 * number + 1}", GIB_SECTORS, queue__iostats=counts)
        path = head.replace("n1", "c0n1")
        files |= block(
            path, f"259:{2 * number + 2}", GIB_SECTORS, device__state="live", ana_state="optimized"
        )
    return Scripted(files, md("raid5", HEADS), kernel(age))


def report(host, part, age):
    """The stacks; before Linux 6.2 a head counts nothing."""
    counted = {name: did for name, did in part.items() if age == "new" or name not in HEADS}
    topology, (interval,) = intervals(host, [counted])
    found = LayerReport(topology, interval, (), skip_idle=True)
    return {stack.top.title: stack for stack in found.stacks}


@pytest.mark.parametrize("age", KERNELS)
def test_what_each_volume_writes_is_known_down_to_the_disks(age):
    part = {
        "dm-1": Did(writes=11), "dm-2": Did(writes=7), "nvme0n1": Did(writes=18),
        "nvme0c0n1": Did(writes=10), "nvme0c1n1": Did(writes=8),
    }  # fmt: skip
    found = report(two_volumes(age), part, age)
    for title, writes in (("vg/a", 11), ("vg/b", 7)):
        layers = found[title].layers
        assert [each.layer.word for each in layers] == ["volume", "multipath", "disks"]
        assert [each.share.part("write").bytes for each in layers] == [writes * PAGE] * 3
        assert found[title].cost.bytes_per_byte == 1


@pytest.mark.parametrize("age", KERNELS)
def test_an_array_on_such_disks_has_members_and_disks(age):
    part = {"md0": Did(writes=5)}
    for head in HEADS:
        part |= dict.fromkeys((head, head.replace("n1", "c0n1")), Did(writes=13))
    layers = report(array(age), part, age)["md0"].layers
    assert [each.layer.word for each in layers] == ["array", "multipath", "disks"]
    written = [each.share.part("write").bytes for each in layers]
    assert written == pytest.approx([5 * PAGE, 39 * PAGE, 39 * PAGE])


@pytest.mark.parametrize("age", KERNELS)
def test_the_fleet_reads_the_devices_that_count(age):
    """Volumes pass through; an array's members are the heads, or before Linux 6.2 the paths."""
    topology, _ = intervals(two_volumes(age), [])
    weights = {stack.top.title: stack.weights for stack in stacks(topology)}
    assert [w.device for w in weights["vg/a"] if w.layer == DISKS] == ["dm-1"]

    topology, _ = intervals(array(age), [])
    (md0,) = (stack for stack in stacks(topology) if stack.top.name == "md0")
    heads = {head if age == "new" else head.replace("n1", "c0n1") for head in HEADS}
    for layer in (MEMBERS, DISKS):
        assert {w.device for w in md0.weights if w.layer == layer} == heads
