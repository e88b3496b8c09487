"""
Plans for volumes that swap, a VM's process, XFS or btrfs use, followed as they are printed on a real kernel.

Who may stay stays, and who must stop is stopped and started by the plan's own
commands. Files, what the process wrote, and the swap space are there afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.followed import BOOT, Followed, followed_in, lost_nothing, went_well

pytestmark = pytest.mark.lab("all")

ONLINE = ("xfs-mirror", "btrfs-mirror", "swap-mirror", "vm-mirror")
OFFLINE = ("xfs-copy", "swap-copy")
LARGER = ("ext4-larger", "xfs-larger", "btrfs-larger")
EACH = (*ONLINE, *OFFLINE, "btrfs-copy", *LARGER)


@pytest.fixture
def booted(lab, kernel) -> Path:
    return lab("plan-users", kernel=kernel, **BOOT)


@pytest.fixture
def followed(booted, case) -> Followed:
    return followed_in(booted / case)


@pytest.mark.parametrize("case", EACH)
def test_every_step_succeeds_and_nothing_is_lost(followed):
    went_well(followed)
    lost_nothing(followed)


@pytest.mark.parametrize("case", EACH)
def test_it_is_online_where_it_says(followed, case):
    """Files are written through every step but those of a copy that is no btrfs's."""
    assert followed.way["online"] == (case not in OFFLINE)
    assert followed.done["written"] > 5
    assert any(" was followed in a lab" in each for each in followed.way["checked"])


@pytest.mark.parametrize("case", ONLINE)
def test_who_continues_is_said(followed, case):
    kind = case.partition("-")[0]
    (said,) = (each for each in followed.way["checked"] if each.startswith("no need to stop"))
    assert f"({kind})" in said


@pytest.mark.parametrize("case", ["swap-mirror", "swap-copy"])
def test_swap_is_on_in_the_end(booted, case):
    """On the volume of the same name, which is another device after a copy."""
    device = (booted / case / "device").read_text().strip()
    assert [device] == [
        line.split()[0] for line in (booted / case / "swaps").read_text().splitlines()[1:]
    ]


def test_the_process_of_a_vm_continues(booted):
    """It is seen as a user; all that it wrote succeeded, and is read back; its copy is refused."""
    out = booted / "vm-mirror"
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
def test_the_files_take_the_space_of_a_larger_array(booted, followed, case):
    """By the command that the plan names; btrfs gives it back."""
    kind = case.partition("-")[0]
    command = {"ext4": "resize2fs", "xfs": "xfs_growfs", "btrfs": "btrfs filesystem resize max"}
    assert any(command[kind] in each for each in followed.way["unchecked"])
    before, after = map(int, (booted / case / "sizes").read_text().split())
    assert after > before * 1.3
    assert set((booted / case / "status").read_text().split()) == {"0"}
