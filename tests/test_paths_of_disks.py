"""Disks over several paths: the states of the paths, the policy, and a state that changes while stackmap measures."""

from __future__ import annotations

import pytest

from stackmap.discover import discover
from stackmap.document.describe import what
from stackmap.model.device import Role
from tests.machine import DrawnHost, block
from tests.rules.cases_state import nvme
from tests.test_readings import intervals
from tests.test_watch import Machine


def drawn(*states, controllers=("live", "live")):
    """The topology of an NVMe disk whose paths have these ANA states."""
    files = dict(nvme("queue-depth"))
    for number, (state, controller) in enumerate(zip(states, controllers, strict=True)):
        files[f"/sys/block/nvme0c{number}n1/ana_state"] = f"{state}\n"
        files[f"/sys/block/nvme0c{number}n1/device/state"] = f"{controller}\n"
    return discover(DrawnHost(files))


@pytest.mark.parametrize(
    ("states", "controllers", "head", "paths", "usable"),
    [
        (("optimized", "optimized"), ("live", "live"), "active", ("active", "active"), "2 of 2"),
        (("optimized", "non-optimized"), ("live", "live"), "active", ("active", "non-optimized"), "2 of 2"),
        (("optimized", "inaccessible"), ("live", "live"), "active", ("active", "inaccessible"), "1 of 2"),
        (("optimized", "optimized"), ("live", "connecting"), "degraded", ("active", "connecting"), "1 of 2"),
        (("persistent-loss", "optimized"), ("live", "live"), "degraded", ("persistent-loss", "active"), "1 of 2"),
        (("inaccessible", "inaccessible"), ("live", "live"), "failed", ("inaccessible", "inaccessible"), "0 of 2"),
    ],
)  # fmt: skip
def test_the_state_of_an_nvme_disk_follows_from_its_paths(states, controllers, head, paths, usable):
    topology = drawn(*states, controllers=controllers)
    found = topology["nvme0n1"]
    assert (found.state, found.facts) == (head, {"paths": usable, "policy": "queue-depth"})
    assert tuple(topology[n].state for n in topology.used_by("nvme0n1", Role.PATH)) == paths
    assert what(found).endswith(f", {usable} paths, queue-depth")


def test_a_path_without_ana_has_the_state_of_its_controller():
    files = {p: t for p, t in nvme("numa").items() if "ana_state" not in p}
    topology = discover(DrawnHost(files))
    assert [topology[name].state for name in ("nvme0n1", "nvme0c0n1")] == ["active", "active"]


class Switching(Machine):
    """An NVMe disk whose second path becomes inaccessible after 15 seconds; no uevent of a block device tells."""

    def __init__(self):
        super().__init__()
        for name in ("nvme0n1", "nvme0c0n1", "nvme0c1n1"):
            number = {"nvme0n1": "259:1", "nvme0c0n1": "259:2", "nvme0c1n1": "259:3"}[name]
            self.add(name, block(name, number, 2048))
        self.files = {**self.files, **nvme("numa")}

    def ticks(self, interval, count):
        for tick, time in enumerate(super().ticks(interval, count)):
            state = "inaccessible" if tick >= 15 else "optimized"
            self.files = {**self.files, "/sys/block/nvme0c1n1/ana_state": state}
            yield time


def test_a_path_that_changes_is_an_event():
    events = [event for each in intervals(Switching(), 40) for event in each.events]
    assert "nvme0c1n1: was active, now inaccessible" in events
