"""
Plans for volumes that swap, a VM's process, XFS or btrfs use, followed as they are printed on a real kernel.

Who may stay stays, and who must stop is stopped and started by the plan's own
commands. Files, what the process wrote, and the swap space are there afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.followed import BOOT, Followed, followed_in, lost_nothing, shared, went_well

pytestmark = pytest.mark.lab("all")

ONLINE = ("xfs-mirror", "btrfs-mirror", "swap-mirror", "vm-mirror")
OFFLINE = ("xfs-copy", "swap-copy")
LARGER = ("ext4-larger", "xfs-larger", "btrfs-larger")
FILES = ("xfs-mirror", "btrfs-mirror", "xfs-copy", "btrfs-copy")
EACH = (*FILES, "vm-mirror", *LARGER, "swap-mirror", "swap-copy")


@pytest.fixture
def out(lab, kernel, case) -> Path:
    """Return the folder of a case; it shares its boot with others."""
    return lab("plan-users", case, kernel=kernel, **shared(EACH, case, BOOT))


@pytest.fixture
def followed(out) -> Followed:
    return followed_in(out)


@pytest.mark.parametrize("case", EACH)
def test_every_step_succeeds_and_nothing_is_lost(followed):
    went_well(followed)
    lost_nothing(followed)


@pytest.mark.parametrize("case", EACH)
def test_it_is_online_where_it_says(followed, case):
    """Files are written through every step but those of a copy that is no btrfs's."""
    assert followed.way["online"] == (case not in OFFLINE)
    assert followed.done["written"] > 5


@pytest.mark.parametrize("case", ONLINE)
def test_who_continues_is_said(followed, case):
    kind = case.partition("-")[0]
    (said,) = (each for each in followed.way["checked"] if each.startswith("no need to stop"))
    assert f"({kind})" in said


@pytest.mark.parametrize("case", ["swap-mirror", "swap-copy"])
def test_swap_is_on_in_the_end(out):
    """On the volume of the same name, which is another device after a copy."""
    device = (out / "device").read_text().strip()
    assert [device] == [line.split()[0] for line in (out / "swaps").read_text().splitlines()[1:]]


@pytest.mark.parametrize("case", ["vm-mirror"])
def test_the_process_of_a_vm_continues(out):
    """It is seen as a user; all that it wrote succeeded, and is read back; its copy is refused."""
    lines = (out / "vm.txt").read_text().splitlines()
    assert len([line for line in lines if line.startswith("wrote")]) > 5
    assert len([line for line in lines if line.startswith("read")]) == 5
    assert [] == [line for line in lines if not line.startswith(("wrote", "read"))]
    devices = json.loads((out / "tree.json").read_text())["devices"]
    (lv,) = (device for device in devices if device["label"] == "vg/lv")
    assert ("vm", "web") in [(use["how"], use["who"]) for use in lv["uses"]]
    said = (out / "refusals.txt").read_text()
    assert said.startswith("copy 3 ")
    assert "shut it down yourself" in said


@pytest.mark.parametrize("case", LARGER)
def test_the_files_take_the_space_of_a_larger_array(out, followed, case):
    """By the command that the plan names; btrfs gives it back."""
    kind = case.partition("-")[0]
    command = {"ext4": "resize2fs", "xfs": "xfs_growfs", "btrfs": "btrfs filesystem resize max"}
    assert any(command[kind] in each for each in followed.way["unchecked"])
    before, after = map(int, (out / "sizes").read_text().split())
    assert after > before * 1.3
    assert set((out / "status").read_text().split()) == {"0"}
