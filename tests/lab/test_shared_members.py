"""
What ``whatif`` says the members of a volume took, where they serve others too: what the kernel passed on to them.

``block_bio_remap`` counts each bio that a volume sent to a disk below, whoever else used the disk.
"""

from __future__ import annotations

import pytest

from tests.lab import judged, truth
from tests.lab.truth import Sent

pytestmark = pytest.mark.lab("all")

EXACT = 0.01
KINDS = {"read": "R", "write": "W"}
# The workload, the volume, its disks, and whether others used them in it.
VOLUMES = (
    ("linears", "lab/one", ("sde",), True),
    ("linears", "lab/two", ("sde",), True),
    ("striped", "lab/striped", ("sde", "sdf"), False),
    ("bent", "lab/bent", ("sde", "sdf"), False),
)


@pytest.fixture(params=["6.1", "6.12"])
def out(lab, request):
    return lab("sharing", kernel=request.param, disks=7, timeout=1800)


@pytest.mark.parametrize(("name", "volume", "disks", "shared"), VOLUMES, ids=str)
def test_members_took_what_the_kernel_passed_on_from_the_volume(out, name, volume, disks, shared):
    """Requests and bytes, whatever others sent there; and what others send tells nothing of flushes."""
    machine = out / "sharing.tar"
    samples = str(out / f"sharing.{name}.diskstats")
    said = judged.asked(machine, "whatif", volume, "--to", "raid10", "-J", "--input", samples)
    counted = truth.read(out / f"sharing.{name}.truth")
    numbers = {
        n: d["dev"] for d in judged.devices(machine).values() for n in (d["name"], d["label"])
    }
    for direction, kind in KINDS.items():
        told = said["now"]["members"][direction]
        passed = (counted.remapped(numbers[volume], numbers[disk], kind) for disk in disks)
        true = sum(passed, Sent())
        assert told["iops"] * said["seconds"] == pytest.approx(true.count, rel=EXACT, abs=1)
        assert told["bytes"] * said["seconds"] == pytest.approx(true.bytes, rel=EXACT, abs=4096)
    if shared:
        assert said["load"]["flushes"] is None
