"""
Every kind of stack under every kind of load: what stackmap makes of the counters, and what the
kernel counted, layer by layer, on two kernels. The table of it is printed at the end of the run.
"""

from __future__ import annotations

import pytest

from tests.lab import judged
from tests.lab.boots import KERNELS

pytestmark = pytest.mark.lab("all")

EXACT = 0.01  # of the kernel's count
ALIKE = 0.02  # between kernels

# Each as STACK.WORKLOAD of scenarios/stacks.sh.
WORKLOADS = (
    "md5n3.rand4k-write",
    "md5n3.stripe-write",
    "md5n3.rand4k-read",
    "md5n5.seq1m-write",
    "md5n5.rand64k-read",
    "md5n8.rand4k-write",
    "md5n8.ext4-fsync",
    "md6n4.rand4k-write",
    "md6n4.stripe-write",
    "md6n8.rand8k-write",
    "md6n8.seq1m-read",
    "md4n5.rand16k-write",
    "md10n2.rand4k-mixed",
    "md10n2.seq256k-write",
    "md10f2.rand4k-mixed",
    "md10f2.seq256k-write",
    "md10o2.rand4k-mixed",
    "md10o2.seq256k-write",
    "lab.r5-rand4k-write",
    "lab.r5-stripe-write",
    "lab.r5-seq20k-write",
    "lab.r5-rand64k-mixed",
    "lab.r5wide-rand4k-write",
    "lab.r5wide-seq1m-read",
    "lab.r4-rand8k-write",
    "lab.r6-rand16k-write",
    "lab.r6-stripe-write",
    "lab.r10-rand16k-mixed",
    "lab.r10-seq1m-write",
    "lab.r1-rand4k-mixed",
    "lab.plain-seq128k-read",
    "lab.thin-first-write",
    "lab.thin-again",
    "lab.cached-rand4k-mixed",
    "lab.crypt-rand16k-mixed",
    "lab.crypt-seq1m-write",
    "lab.spread-seq256k-write",
    "lab.spread-rand4k-mixed",
    "lab.two-at-once",
    "lab.three-at-once",
    "lab.two-thins",
    "lab.r5-ext4-fsync",
    "pair.one",
)
PAIR = "pair.both"
# On arrays that keep a bitmap on their members, with a bit for each 64 KiB.
BITMAPS = (
    "md5n4.rand4k-write-qd16",
    "md5n4.stripe-write",
    "md5n4.rand16k-mixed",
    "md1n3.rand4k-mixed",
    "md1n3.seq256k-write",
)
# What is written at once, and what is still in a cache, is a matter of time: not the same twice.
UNLIKE = {
    "md5n8.ext4-fsync",
    "lab.r5-ext4-fsync",
    "md5n4.rand16k-mixed",
    "lab.r5-rand64k-mixed",
    "lab.cached-rand4k-mixed",
    "lab.three-at-once",
    "lab.spread-seq256k-write",  # 6.12's dm-crypt cuts at 128 KiB, so that its own requests are twice as many
}


def scenario(lab, kernel):
    return judged.measured(lab("stacks", kernel=kernel, disks=10, nvme=1, timeout=2400))


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_workload_was_measured(lab, kernel):
    found = scenario(lab, kernel)
    assert set(found) == {*WORKLOADS, *BITMAPS, PAIR}
    assert [name for name, workload in found.items() if workload.status] == []


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_layer_is_what_the_kernel_counted(lab, tabulated, kernel, name):
    """Requests, bytes and both ratios of each layer, reads and writes apart, within 1 %."""
    workload = scenario(lab, kernel)[name]
    found = [v for top in judged.judged_tops(workload) for v in judged.verdicts(workload, top)]
    tabulated(kernel, found)
    assert found
    assert [v for v in found if not v.right(EXACT)] == []


@pytest.mark.parametrize("name", BITMAPS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_bitmap_on_the_members_makes_a_range(lab, tabulated, kernel, name):
    """No counter has md's own writes apart: what the array's data made of them is in the range told."""
    workload = scenario(lab, kernel)[name]
    (top,) = workload.tops
    found = list(judged.verdicts(workload, top))
    tabulated(kernel, found)
    assert all(verdict.right(EXACT) for verdict in found)
    (disks,) = (each for each in found if (each.role, each.direction) == ("disks", "write"))
    for figure in (disks.requests, disks.bytes):
        # The range ends at all that the members were written.
        assert figure.ends is None or figure.ends[1] == pytest.approx(figure.said)


@pytest.mark.parametrize("kernel", KERNELS)
def test_bitmaps_were_written(lab, kernel):
    """The ranges hold something: on RAID5 a tenth and more of what the members were written."""
    workload = scenario(lab, kernel)["md5n4.rand4k-write-qd16"]
    known = judged.devices(workload.folder / "md5n4.tar")
    disks = [known[name]["dev"] for name in ("sda", "sdb", "sdc", "sdd")]
    marks = sum(workload.counted.metadata[disk, "W"] for disk in disks)
    written = sum(workload.counted.arrived(disk, "W").count for disk in disks)
    assert marks > 0.1 * written
    assert workload.said("md5n4")["layers"][-1]["estimated"]


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_healthy_members_are_not_compared_to_a_parity_disk(lab, kernel, name):
    """No member of a healthy array is accused of the load that its layout gives it."""
    workload = scenario(lab, kernel)[name]
    samples = workload.folder / f"{workload.stack}.{workload.name}.diskstats"
    machine = workload.folder / f"{workload.stack}.tar"
    said = judged.asked(machine, "explain", "-J", "--input", str(samples), *workload.tops)
    assert "SM203" not in {each["id"] for each in said["findings"]}


@pytest.mark.parametrize("kernel", KERNELS)
def test_pieces_of_two_volumes_over_one_striped_table_are_nobodys(lab, kernel):
    """The table cuts what both send: at the disks the bytes of each are known, and no more."""
    workload = scenario(lab, kernel)[PAIR]
    known = judged.devices(workload.folder / "pair.tar")
    for top in workload.tops:
        said = workload.said(top)
        number = known[said["device"]]["dev"]
        disks = said["layers"][-1]
        sent = workload.counted.arrived(number, "W").bytes
        assert disks["write"]["bytes"] * said["seconds"] == pytest.approx(sent, rel=EXACT)
        assert disks["write"]["arrivals"] is None
        assert disks["amplification"]["iops"]["write"] is None
        assert "splits requests of several volumes" in disks["reason"]


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in UNLIKE])
def test_kernels_amplify_alike(lab, name):
    """6.12 counts LVM's RAID twice, and all bios at their end: no figure shows it."""
    old, new = (dict(_ratios(scenario(lab, kernel)[name])) for kernel in ("6.1", "6.12"))
    assert old == pytest.approx(new, rel=ALIKE)


def _ratios(workload):
    """What each layer makes of reads and writes, where it is known."""
    for top in workload.tops:
        for place, layer in enumerate(workload.said(top)["layers"]):
            for unit in ("iops", "bytes"):
                for direction in ("read", "write"):
                    ratio = layer["amplification"][unit][direction]
                    if ratio is not None:
                        yield f"{top}, layer {place}: {direction} {unit}", ratio


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_cost_of_parity_is_what_the_kernel_counted(lab, kernel):
    """Bytes written below, and read because of it, for a byte written: within 1 %, or in its range."""
    off = {}
    for name, workload in scenario(lab, kernel).items():
        for top in workload.tops:
            parity = workload.said(top)["parity"] or {}
            cost, least = (
                parity.get(k) for k in ("cost_bytes_per_byte", "least_cost_bytes_per_byte")
            )
            if cost is None:
                continue
            counted = judged.cost(workload, top)
            if not least * (1 - EXACT) <= counted <= cost * (1 + EXACT):
                off[name, top] = (least, cost, counted)
            if name not in BITMAPS and least != cost:
                off[name, top] = "a range where no bitmap is"
    assert off == {}
