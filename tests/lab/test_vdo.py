"""
LVM's VDO volumes on a disk, on md RAID5 and on LVM's RAID1: each layer as the kernel counted it, and the tree.

Debian has no vdoformat, which LVM calls to make a pool: build it from VDO's source, and put it into /usr/bin.
"""

from __future__ import annotations

import re
import shutil

import pytest

from tests.lab import judged

pytestmark = [
    pytest.mark.lab("all"),
    pytest.mark.skipif(not shutil.which("vdoformat"), reason="vdoformat is not installed"),
]

STACKS = ("plain", "five", "two")
EXACT = 0.001  # of the kernel's count


@pytest.fixture
def folder(lab, kernel):
    if kernel == "6.1":
        pytest.skip("dm-vdo is in Linux from 6.9 on")
    return lab("vdo", kernel=kernel, disks=5, size="8G", timeout=1500)


@pytest.fixture
def workloads(folder):
    return judged.measured(folder)


def test_every_workload_was_measured(workloads):
    assert {workload.stack for workload in workloads.values()} == set(STACKS)
    assert [name for name, workload in workloads.items() if workload.status] == []


def test_each_layer_is_what_the_kernel_counted(workloads):
    """New blocks, equal ones, compressed ones, reads and discards."""
    verdicts = [
        verdict
        for workload in workloads.values()
        for verdict in judged.verdicts(workload, *workload.tops)
    ]
    assert len(verdicts) > len(workloads)
    assert [verdict for verdict in verdicts if not verdict.right(EXACT)] == []


@pytest.mark.parametrize("stack", STACKS)
def test_the_tree_has_the_edges_of_lsblk(folder, stack):
    """``lsblk -s`` prints each device below the one that uses it."""
    rows = re.findall(
        r'^KNAME="([^"]+)" PKNAME="([^"]+)"$', (folder / f"{stack}.lsblk").read_text(), re.MULTILINE
    )
    devices = judged.devices(folder / f"{stack}.tar")
    edges = {(name, below["name"]) for name, device in devices.items() for below in device["below"]}
    assert edges == {(above, name) for name, above in rows}
    assert [device["target"] for device in devices.values()].count("vdo") == 1


def test_how_full_a_pool_is(folder):
    """In blocks, as the kernel's status has it."""
    status = (folder / "plain.lvm").read_text()
    used, total = re.findall(r"vdo /dev/\S+ normal - online online (\d+) (\d+)", status)[0]
    (pool,) = (d for d in judged.devices(folder / "plain.tar").values() if d["target"] == "vdo")
    assert pool["facts"]["used"] == f"{100 * int(used) / int(total):.1f} %"
