"""stackmap against a kernel: what it says of a stack that is really there, under load."""

from __future__ import annotations

import json

import pytest

from tests.lab import truth

# Plain LVM on four disks, on the kernels of Debian 12 and on the newest one of Debian: from 6.5 on a dm-raid
# device is counted twice, which stackmap must correct and 6.1 must not be corrected for.
KERNELS = ["6.1", pytest.param("6.12", marks=pytest.mark.lab("all")), "newest"]

pytestmark = [pytest.mark.lab, pytest.mark.parametrize("kernel", KERNELS)]

VOLUME = "vghdd/vm-disk1"


@pytest.fixture
def out(lab, kernel):
    return lab("vghdd", disks=4, kernel=kernel)


@pytest.fixture
def devices(out):
    assert (out / "tree.status").read_text() == "0\n", (out / "tree.err").read_text()
    tree = json.loads((out / "tree.json").read_text())
    assert tree["schema"] == "stackmap.tree/1"
    return {device["label"] or device["name"]: device for device in tree["devices"]}


@pytest.fixture
def intervals(out):
    assert (out / "layers.status").read_text() == "0\n", (out / "layers.err").read_text()
    lines = (out / "layers.json").read_text().splitlines()
    reports = [json.loads(line) for line in lines]
    assert [report["schema"] for report in reports] == ["stackmap.layers/1"] * 5
    return reports


def test_the_load_was_counted(out):
    """The kernel saw bios of 20 KiB, and md made 4 KiB ones of them: the truth is one."""
    counted = truth.read(out / "load.truth")
    before, after = (truth.counters(out / f"load.{when}") for when in ("before", "after"))
    names = {done.name: number for number, done in after.items()}
    assert {"sda", "sdb", "sdc", "sdd", "dm-0"} <= set(names)
    for name in ("sda", "sdb", "sdc", "sdd"):
        number = names[name]
        sent = counted.arrived(number, "W")
        done = after[number].since(before[number])
        assert sent.count > 100
        assert done.bytes["W"] == pytest.approx(sent.bytes, rel=0.01)
    assert counted.remaps


def test_the_volume_is_a_raid5_of_four(devices):
    """Members, data members and chunk are those the volume was made with."""
    volume = devices[VOLUME]
    assert volume["kind"] == "volume"
    layout = volume["layout"]
    assert layout["level"] == "raid5"
    assert (layout["members"], layout["data"], layout["parity"]) == (4, 3, 1)
    assert layout["chunk"] == 65536
    roles = [below["role"] for below in volume["below"]]
    assert sorted(roles) == ["data"] * 4 + ["metadata"] * 4


def test_a_raid10_beside_it_is_told_apart(devices):
    """Both stand on the same four disks; each has its own layout."""
    layout = devices["vghdd/vm-disk1-r10"]["layout"]
    assert layout["level"] == "raid10"
    assert (layout["members"], layout["data"], layout["copies"]) == (4, 2, 2)


def test_byte_amplification_is_what_the_kernel_counted(out, devices, intervals):
    """Bytes written to the members ÷ bytes written to the volume, within 1 % of the histogram's."""
    counted = truth.read(out / "load.truth")
    volume = devices[VOLUME]
    numbers = {device["name"]: device["dev"] for device in devices.values()}
    members = [numbers[below["name"]] for below in volume["below"] if below["role"] == "data"]
    above = counted.arrived(volume["dev"], "W").bytes
    below = sum(counted.arrived(member, "W").bytes for member in members)

    # The load does not cover the intervals evenly: weigh each by what was written in it.
    written = sent = weighed = 0.0
    for report in intervals:
        (stack,) = report["stacks"]
        assert stack["top"] == VOLUME
        layers = {layer["role"]: layer for layer in stack["layers"]}
        bytes_above = layers["volume"]["write"]["bytes"] * report["seconds"]
        written += bytes_above
        sent += layers["members"]["write"]["bytes"] * report["seconds"]
        if bytes_above:
            weighed += layers["members"]["amplification"]["bytes"]["write"] * bytes_above
    assert written == pytest.approx(above, rel=0.01)
    assert sent == pytest.approx(below, rel=0.01)
    assert weighed / written == pytest.approx(below / above, rel=0.01)


def test_everything_the_members_send_arrives_at_the_disks(intervals):
    """Closure is 1 between layers that only pass on: nothing else used these disks."""
    busiest = max(intervals, key=_written)
    (stack,) = busiest["stacks"]
    disks = next(layer for layer in stack["layers"] if layer["role"] == "disks")
    assert disks["closure"]["write"] == pytest.approx(1, abs=0.02)


def _written(report):
    (stack,) = report["stacks"]
    return stack["layers"][0]["write"]["bytes"]
