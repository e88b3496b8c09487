"""Disks over several paths: the states of the paths, the policy, and a state that changes while stackmap measures."""

from __future__ import annotations

import pytest

from stackmap.discover import discover
from stackmap.document.describe import what
from stackmap.model.device import Role
from stackmap.model.reason import StateChange
from stackmap.rules.context import measured_context
from stackmap.rules.table import findings
from stackmap.rules.unjudged import unjudged
from stackmap.sampling.snapshots import topology_events
from stackmap.sources.uevent import NO_CHANGES
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


@pytest.mark.parametrize(
    ("transport", "printed", "shown"),
    [
        ("tcp", "traddr=192.0.2.7,trsvcid=4420,src_addr=192.0.2.1", "tcp 192.0.2.7:4420"),
        ("rdma", "traddr=2001:db8::7,trsvcid=4420", "rdma [2001:db8::7]:4420"),
        ("fc", "traddr=nn-0x20000090fa942779:pn-0x10000090fa942779,host_traddr=nn-0x1:pn-0x2",
         "fc pn-0x10000090fa942779"),
        ("loop", "traddr=1", "loop 1"),
        ("pcie", "0000:3b:00.0", "pcie 0000:3b:00.0"),
    ],
)  # fmt: skip
def test_a_path_is_shown_by_its_address(transport, printed, shown):
    at = "/sys/block/nvme0c0n1/device"
    files = {**nvme("numa"), f"{at}/transport": f"{transport}\n", f"{at}/address": f"{printed}\n"}
    assert what(discover(DrawnHost(files))["nvme0c0n1"]) == shown


class Losing(Machine):
    """An NVMe disk whose second path is *lost* after some seconds, then removed; it may come back."""

    def __init__(self, *, lost=5, returns=None):
        super().__init__()
        for number, name in enumerate(("nvme0n1", "nvme0c0n1", "nvme0c1n1"), 1):
            self.add(name, block(name, f"259:{number}", 2048))
        self.files = {**self.files, **nvme("numa")}
        self.steps = [lambda _: None] * 40
        self.steps[lost] = lambda m: m.show("connecting")
        self.steps[15] = lambda m: m.remove("nvme0c1n1")
        if returns is not None:
            self.steps[returns] = lambda m: m.back()

    def show(self, state):
        self.files = {**self.files, "/sys/block/nvme0c1n1/device/state": state}

    def back(self):
        again = {p: t for p, t in nvme("numa").items() if "nvme0c1n1" in p}
        self.add("nvme0c1n1", again)


@pytest.mark.parametrize("lost", [5, 39])
def test_a_path_that_the_kernel_removed_leaves_a_degraded_disk(lost):
    """Whether it was seen to be lost before, or not: the paths that are left are all that the kernel shows."""
    host = Losing(lost=lost)
    topology = discover(host)
    measured = intervals(host, 30)
    events = [event for each in measured for event in each.events]
    (change,) = [
        e
        for e in events
        if e.startswith("nvme0n1: was") and e.endswith("now degraded: 1 of 2 paths")
    ]
    assert change.was == ("degraded" if lost == 5 else "active")
    found = findings(measured_context(topology, measured))
    (broken,) = [finding for finding in found if finding.rule.id == "SM301"]
    seen = "members that are not active: nvme0c1n1 (connecting)" if lost == 5 else "a path is gone"
    assert (broken.device, broken.observed.words["cause"]) == ("nvme0n1", seen)


def test_a_path_that_went_away_was_measured_in_part():
    """The input did not lack its figures."""
    host = Losing(lost=39)
    topology = discover(host)
    context = measured_context(topology, intervals(host, 30))
    (question,) = unjudged(context, [], topology.devices)
    assert (question.code, question.observed.words["devices"]) == ("not-throughout", "nvme0c1n1")


def test_a_path_that_came_back_leaves_a_remark():
    host = Losing(returns=20)
    topology = discover(host)
    found = findings(measured_context(topology, intervals(host, 30)))
    assert [f.rule.id for f in found if f.rule.id in ("SM301", "SM307")] == ["SM307"]


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


@pytest.mark.parametrize(
    ("left", "controller", "said"),
    [
        (1, "live", "was active, now degraded: 1 of 2 paths"),
        (1, "connecting", "was active, now failed: 1 of 2 paths"),
        (0, "", "was active, now failed: 0 of 2 paths"),
    ],
)
def test_a_disk_that_cannot_be_reached_when_a_path_is_gone_has_failed(left, controller, said):
    """Degraded is only what still works."""
    files = {p: t for p, t in nvme("numa").items() if "nvme0c1n1" not in p}
    files["/sys/block/nvme0c0n1/device/state"] = f"{controller}\n"
    if not left:
        files = {p: t for p, t in files.items() if "nvme0c0n1" not in p}
    assert changes(discover(DrawnHost(nvme("numa"))), discover(DrawnHost(files))) == [said]


def test_a_second_path_beside_one_in_an_unknown_state():
    files = {p: t for p, t in nvme("numa").items() if "nvme0c1n1" not in p}
    files = {p: t for p, t in files.items() if not p.endswith("state")}
    said = changes(discover(DrawnHost(files)), discover(DrawnHost(nvme("numa"))))
    assert said == ["was in an unknown state, now active"]


def changes(before, after):
    """Return the changes of the disk's state that are told, without its name."""
    events = topology_events(before, after, NO_CHANGES)
    said = [e for e in events if isinstance(e, StateChange) and e.device == "nvme0n1"]
    return [e.removeprefix("nvme0n1: ") for e in said]


def test_a_path_that_is_lost_for_two_seconds_is_seen():
    """The kernel counts no failures of NVMe's paths."""
    host = Losing(lost=5)
    host.steps[7] = lambda m: m.show("live")
    events = [event for each in intervals(host, 12) for event in each.events]
    assert [e for e in events if e.startswith("nvme0c1n1")] == [
        "nvme0c1n1: was active, now connecting",
        "nvme0c1n1: was connecting, now active",
    ]
