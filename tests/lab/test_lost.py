"""
Members that go one after another until data is lost, and targets that fail in their own way.

``tree``, ``check`` and what the tools themselves say must agree.
"""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.lab import judged

pytestmark = pytest.mark.lab("all")

FINDINGS = {"degraded", "failed"}  # states that check must report

# The state of each volume, by how many of the disks f, g and h are gone: no tool of LVM tells "degraded" from "failed".
LVM = {
    "lvm-less-1": {"ten": "degraded", "one": "degraded", "five": "degraded", "six": "degraded"},
    "lvm-less-2": {"ten": "failed", "one": "degraded", "five": "failed", "six": "degraded"},
    "lvm-less-3": {"ten": "failed", "one": "failed", "five": "failed", "six": "failed"},
}
MD = {"md-less-1": 0, "md-less-2": 4, "md-less-3": 6}  # how many of six arrays have lost data
# What else is wrong, by moment and label; a word of STATE.
OTHERS = {
    "back-lost": {
        "back/one": "degraded",  # its disk is back; LVM says "refresh needed"
        "back/snap": "invalid",
        "back/pool-tpool": "out of data space",
        "small": "read-only",  # its metadata is full
    },
    "cache-lost": {"pm": "failed", "back/one": "degraded"},
}


@pytest.fixture
def out(lab, kernel):
    return lab("lost", kernel=kernel, disks=15, size="200M", timeout=900)


def states(machine):
    """The state of each device by its label."""
    return {d["label"]: d["state"] for d in judged.devices(machine).values()}


def found_broken(machine):
    """The state in each finding of check, by the device's name."""
    found = judged.asked(machine, "check", "-J")["checks"]
    broken = [each for each in found if each["id"] == "SM301"]
    return {each["device"]: re.search(r" is (.*?);", each["is"])[1] for each in broken}


def by_mdadm(text):
    """``mdadm --detail``'s own word for each array: "degraded", "failed" or "active"."""
    told = {}
    for part in re.split(r"(?m)^/dev/md/", text)[1:]:
        if state := re.search(r"State : (.*?) *$", part, re.MULTILINE):
            words = state[1].lower()
            name = part.partition(":")[0]
            told[name] = next((word for word in FINDINGS if word in words), "active")
    return told


@pytest.mark.parametrize("moment", MD)
def test_arrays_are_what_mdadm_says(out, moment):
    machine = out / f"{moment}.tar"
    told = by_mdadm((out / f"{moment}.detail").read_text())
    assert sum(state == "failed" for state in told.values()) == MD[moment]
    known = judged.devices(machine)
    arrays = {
        d["facts"]["alias"]: d for d in known.values() if d["kind"] == "array" and d["layout"]
    }

    assert {name: arrays[name]["state"] for name in told} == told
    broken = found_broken(machine)
    assert {name: broken[arrays[name]["name"]] for name in told} == told


@pytest.mark.parametrize("moment", MD)
def test_an_array_that_is_not_started_is_found(out, moment):
    assert "inactive" in found_broken(out / f"{moment}.tar").values()


@pytest.mark.parametrize("moment", LVM)
def test_volumes_have_failed_when_their_data_is_gone(out, moment):
    machine = out / f"{moment}.tar"
    known = {d["label"].removeprefix("lab/"): d for d in judged.devices(machine).values()}
    broken = found_broken(machine)

    assert {name: known[name]["state"] for name in LVM[moment]} == LVM[moment]
    assert {name: broken[known[name]["name"]] for name in LVM[moment]} == LVM[moment]


@pytest.mark.parametrize("moment", [*MD, *LVM])
def test_monitoring_is_told_the_same(out, moment):
    """What export calls degraded or failed is the state in tree."""
    machine = out / f"{moment}.tar"
    words = ["--from", str(machine), "export", "--textfile", "-"]
    text = CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout
    told = dict(
        re.findall(r'stackmap_broken\{device="([^"]+)",name="[^"]*",what="([a-z]+)"\}', text)
    )
    arrays = [d for d in judged.devices(machine).values() if d["layout"] and d["state"] in FINDINGS]

    assert arrays
    assert {d["name"]: told[d["name"]] for d in arrays} == {d["name"]: d["state"] for d in arrays}


def test_wrong_checksums_are_counted(out):
    """As many as the target's status has."""
    machine = out / "sums.tar"
    status = (out / "sums.status").read_text()
    counted = int(re.search(r"(?m)^sums: \d+ \d+ integrity (\d+) ", status)[1])
    (sums,) = [d for d in judged.devices(machine).values() if d["label"] == "sums"]

    assert counted > 0
    assert sums["errors"]["checksum_errors"] == counted


@pytest.mark.parametrize("moment", OTHERS)
def test_other_targets_say_what_failed(out, moment):
    found = states(out / f"{moment}.tar")
    assert {label: found[label] for label in OTHERS[moment]} == OTHERS[moment]
