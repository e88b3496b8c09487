"""``tree`` while something is wrong: it says so, and does not wait for what may never come."""

from __future__ import annotations

import json
from statistics import median

import pytest

from tests.lab.boots import KERNELS

pytestmark = pytest.mark.lab("all")

SECOND = 1000  # ms
WHILE = ("healthy", "rebuild", "path", "suspended")


@pytest.fixture(params=KERNELS)
def out(lab, request):
    return lab("trouble", kernel=request.param, disks=6, icount=0, timeout=1800)


def devices(out, name):
    """What it said then, by label, or by the kernel's name."""
    told = json.loads((out / f"{name}.json").read_text())["devices"]
    return {device["label"] or device["name"]: device for device in told}


def took(out, name):
    """The median of its runs, in milliseconds."""
    return median(int(line) for line in (out / f"{name}.ms").read_text().split())


def test_all_is_well_at_first(out):
    states = {device["state"] for device in devices(out, "healthy").values()}
    assert states <= {"active", "standby", None}


def test_a_rebuild_is_told(out):
    """Of an array and of a volume; and the member that is rebuilt is none yet that can be read."""
    found = devices(out, "rebuild")
    (array,) = (device for device in found.values() if device["kind"] == "array")
    assert array["state"].startswith("recover")
    assert "recovering" == found["sdb"]["state"]
    assert found["lab/mirror"]["state"].startswith("repair")


def test_a_failed_path_is_told(out):
    """The device goes on without it: degraded, one path failed, the other active."""
    found = devices(out, "path")
    below = [edge["name"] for edge in found["paths"]["below"]]
    assert "degraded" == found["paths"]["state"]
    assert ["active", "failed"] == [found[name]["state"] for name in below]


def test_a_suspended_device_is_told(out):
    """It alone: what stands on it only waits for it."""
    found = devices(out, "suspended")
    assert ("suspended", "active") == (found["still"]["state"], found["above"]["state"])
    assert "suspended" in (out / "suspended.txt").read_text()


@pytest.mark.parametrize("name", WHILE)
def test_nothing_is_waited_for(out, name):
    """Within two seconds of the guest's clock, which goes by what it does: no CPU of today is slower."""
    assert took(out, name) < 2 * SECOND
