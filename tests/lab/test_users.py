"""Who uses a device, on a real kernel: what it charges, mounts and serves."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.lab("all")

GROUPS = "/sys/fs/cgroup/system.slice"
DOCKER = f"{GROUPS}/docker-{'0123456789abcdef' * 4}.scope/io.stat"


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("users", kernel=kernel, disks=2, timeout=400)


def users(out, name):
    """Who uses each device that anyone uses, by label or name, as ``tree -J`` had it."""
    devices = json.loads((out / name).read_text())["devices"]
    return {
        device["label"] or device["name"]: [(use["how"], use["who"]) for use in device["uses"]]
        for device in devices
        if device["uses"]
    }


def test_it_ran(out):
    assert "0\n" == (out / "tree.status").read_text(), (out / "tree.err").read_text()


def test_each_is_used_by_whom_it_is(out):
    """And a volume that nobody touched by nobody."""
    found = users(out, "tree.json")
    assert [("container", "docker 0123456789ab")] == found["lab/data"]
    assert [("service", "mariadb")] == found["lab/raw"]
    assert ("container", "lxc web") in found["lab/web"]
    assert [("ceph", "osd.7")] == found["lab/osd-block-0001"]
    assert "lab/idle" not in found


def test_where_it_is_said(out):
    devices = json.loads((out / "tree.json").read_text())["devices"]
    (data,) = (device for device in devices if device["label"] == "lab/data")
    assert [DOCKER] == [use["source"] for use in data["uses"]]


def test_without_root_what_everyone_may_read(out):
    """The kernel's charges; not the mounts of others' processes, nor LVM's tags."""
    found = users(out, "nobody.json")
    assert [("container", "docker 0123456789ab")] == found["lab/data"]
    assert [("ceph", "[Ceph OSD]")] == found["lab/osd-block-0001"]


def test_a_network_block_device(out):
    """It is there, with the program that serves it; those not connected are not."""
    devices = json.loads((out / "tree.json").read_text())["devices"]
    (served,) = (device for device in devices if device["name"].startswith("nbd"))
    assert ("nbd0", "NBD by qemu-nbd") == (served["name"], served["model"])
