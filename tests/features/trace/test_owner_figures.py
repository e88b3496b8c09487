"""Owners at each layer, from what probes counted."""

from __future__ import annotations

from stackmap.features.trace.owners import GONE, ROOT, OwnerIo, OwnerSample, Sum
from stackmap.model.device import Device, Kind, Role
from stackmap.model.topology import Edge, Topology
from stackmap.render.terminal import Style, render_text

TOPOLOGY = Topology(
    [
        Device("dm-0", Kind.VOLUME, "253:0", label="vg/data", target="linear"),
        Device("sda1", Kind.PARTITION, "8:1"),
        Device("sda", Kind.DISK, "8:0"),
        Device("sdb", Kind.DISK, "8:16"),
    ],
    [Edge("dm-0", "sda1", Role.DATA, 0), Edge("sda1", "sda", Role.DATA, 0)],
)
GROUPS = {7: "/system.slice/mariadb.service", 1: ""}


def row(number, owner, size, direction="write", *, name="", took=0):
    return OwnerIo(number, not name, owner, name, direction, Sum(2, size, 1 if took else 0, took))


def owners(rows, *names):
    return OwnerSample(tuple(rows), GROUPS).owners(TOPOLOGY, names)


def test_a_partitions_requests_are_the_disks_too():
    """They are submitted once, to the partition."""
    found = owners([row("8:1", 7, 8192, took=3000), row("8:0", 7, 512)], "sda")
    sums = {each.device: each.parts["write"] for each in found}
    assert sums["sda1"].bytes == 8192
    assert sums["sda"].bytes == 8704
    assert sums["sda"].milliseconds == 3.0
    assert sums["sda"].size == 2176


def test_other_stacks_are_left_out():
    found = owners([row("8:16", 7, 4096), row("7:0", 7, 4096)], "sda")
    assert found == []


def test_the_heaviest_owner_of_the_top_is_first():
    rows = [row("8:1", 7, 99), row("253:0", 1, 10), row("253:0", 7, 20), row("253:0", 7, 5, "read")]
    found = owners(rows, "dm-0")
    assert [(each.device, each.number, each.bytes) for each in found] == [
        ("dm-0", 7, 25),
        ("dm-0", 1, 10),
        ("sda1", 7, 99),
        ("sda", 7, 99),
    ]


def test_names():
    rows = [row("8:0", 7, 4), row("8:0", 1, 3), row("8:0", 99, 2), row("8:0", 4711, 1, name="dd")]
    named = [each.title for each in owners(rows, "sda")]
    assert named == ["service mariadb", ROOT, GONE, "dd 4711"]


def test_the_table_and_its_json():
    sample = OwnerSample((row("253:0", 7, 8192, took=1500),), GROUPS, 3, 0.012)
    text = render_text(sample.blocks(TOPOLOGY, ["dm-0"]), Style(100))
    assert "service mariadb  vg/data  write         2  8.0      4.0  1.50" in text
    assert "3 requests could not be counted" in text
    assert sample.json(TOPOLOGY, ["dm-0"]) == {
        "cgroups": [
            {
                "cgroup": "/system.slice/mariadb.service",
                "owner": "service mariadb",
                "device": "dm-0",
                "read": {"requests": 0, "bytes": 0, "size": None, "latency_us": None},
                "write": {"requests": 2, "bytes": 8192, "size": 4096.0, "latency_us": 1500.0},
            }
        ],
        "processes": [],
        "lost": {"hits": 3},
        "overhead": 0.012,
        "stopped": None,
    }


def test_nothing_traced_is_said():
    assert "No request was traced" in render_text(
        OwnerSample().blocks(TOPOLOGY, ["dm-0"]), Style(100)
    )
