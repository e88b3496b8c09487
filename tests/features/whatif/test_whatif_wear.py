"""How long disks last on another layout, where several paths lead to one disk."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stackmap.features.whatif.projection import DeviceLoad, wear_change
from stackmap.features.whatif.quantities import exact
from stackmap.ledger.wear import YEAR
from stackmap.model.device import Device, Kind, Role
from stackmap.model.health import Life
from stackmap.model.topology import Edge, Topology

HEADS = ("mpatha", "mpathb", "mpathc")
NOTHING = DeviceLoad(0)
PATHS = [f"sd{letter}" for letter in "abcdef"]


def topology():
    """Three disks with two paths each."""
    heads = [Device(head, Kind.MULTIPATH, "", target="multipath") for head in HEADS]
    edges = [Edge(HEADS[n // 2], path, Role.PATH) for n, path in enumerate(PATHS)]
    return Topology([*heads, *(Device(path, Kind.DISK, "") for path in PATHS)], edges)


def load(count, written):
    """Devices that are written to at *written* bytes per second together."""
    return DeviceLoad(count, exact(0), exact(7), 0.0, written, carried=exact(written))


def test_a_disk_with_two_paths_takes_what_both_carry():
    """Now 3 disks take 30 bytes per second over 6 paths, and then 20: 10 and 5 bytes each (of 4 disks)."""
    now, then = load(6, 30.0), load(4, 20.0)
    projection = SimpleNamespace(
        now=SimpleNamespace(disks=now, members=NOTHING),
        projected=SimpleNamespace(disks=then, members=NOTHING),
    )
    lives = dict.fromkeys(PATHS, Life(70 * YEAR, 110 * YEAR))
    found = wear_change(projection, topology(), PATHS, lives)
    assert found.now == pytest.approx((7, 11))
    assert found.projected == pytest.approx((14, 22))


def test_a_disk_of_which_no_path_tells_its_life_makes_it_unknown():
    projection = SimpleNamespace()
    lives = dict.fromkeys(PATHS[:4], Life(YEAR, YEAR))
    assert wear_change(projection, topology(), PATHS, lives) is None
