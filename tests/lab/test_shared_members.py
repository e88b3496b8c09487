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
# The workload, the volume, its disks, and whether its flushes are known: not of one whose disk another read, nor of
# one that nothing spreads; but of one that wrote nothing, whoever wrote to its disk.
VOLUMES = (
    ("linears", "lab/one", ("sde",), False),
    ("linears", "lab/two", ("sde",), True),
    ("striped", "lab/striped", ("sde", "sdf"), True),
    ("bent", "lab/bent", ("sde", "sdf"), False),
)


@pytest.fixture
def out(lab, kernel):
    return lab("sharing", kernel=kernel, disks=7, timeout=1800)


@pytest.mark.parametrize(("name", "volume", "disks", "told"), VOLUMES, ids=str)
def test_members_took_what_the_kernel_passed_on_from_the_volume(out, name, volume, disks, told):
    """Requests and bytes, whatever others sent there; and of flushes all, or nothing where others hide them."""
    machine = out / "sharing.tar"
    samples = str(out / f"sharing.{name}.diskstats")
    said = judged.asked(machine, "whatif", volume, "--to", "raid10", "-J", "--input", samples)
    counted = truth.read(out / f"sharing.{name}.truth")
    numbers = {
        n: d["dev"] for d in judged.devices(machine).values() for n in (d["name"], d["label"])
    }
    for direction, kind in KINDS.items():
        took = said["now"]["members"][direction]
        passed = (counted.remapped(numbers[volume], numbers[disk], kind) for disk in disks)
        true = sum(passed, Sent())
        assert took["iops"] * said["seconds"] == pytest.approx(true.count, rel=EXACT, abs=1)
        assert took["bytes"] * said["seconds"] == pytest.approx(true.bytes, rel=EXACT, abs=4096)
    flushes, number = said["load"]["flushes"], numbers[volume]
    sent = counted.empty(number, "W") + counted.empty(number, "F")
    assert (flushes is not None) == told
    assert not told or flushes * said["seconds"] == pytest.approx(sent, rel=EXACT, abs=1)
