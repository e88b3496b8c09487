"""The weights that a host exports, times its counters, are the ledger's shares: what iostat -l shows."""

from __future__ import annotations

import random

import pytest

from stackmap.discover import discover
from stackmap.features.export.weights import DISKS, MEMBERS, VOLUME, stacks
from stackmap.host.capture import CapturedHost
from stackmap.ledger.corrections import corrected
from stackmap.ledger.disk_cost import disk_cost
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.ownership import is_pool
from stackmap.model.device import Device, Kind, Role
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
CAPTURES = ROOT.parent / "shared" / "captures"
MACHINES = [
    *(path for path in sorted(SAMPLES.iterdir()) if path.is_dir()),
    *(
        CAPTURES / name
        for name in ("zoo/healthy.tar.gz", "zoo/degraded.tar.gz", "vghdd-6.12/capture.tar.gz")
    ),
]


def topology_of(path):
    if not path.exists():
        pytest.skip("the captures of ../shared are missing")
    return discover(CapturedHost(str(path), print), geometry=True)


def some_loads(topology, seed):
    """Return any loads: every device is busy."""
    chance = random.Random(seed)

    def flow():
        ios = chance.uniform(1000, 2000)
        return Flow(ios, 0.0, ios * 4096, ios * 2)

    return {
        name: Load(flow(), flow(), aqu=1.0, busy=0.5, in_flight_at_ends=0)
        for name in topology.devices
    }


def total(weights, loads, field):
    return sum(each.factor * getattr(loads[each.device].total, field) for each in weights)


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: f"{p.parent.name}-{p.name}")
@pytest.mark.parametrize("seed", range(3))
def test_weights_are_the_ledgers_shares(path, seed):
    """Where weights are given, their sum is what belongs to the stack; where the ledger is exact, they are given."""
    topology = topology_of(path)
    raw = some_loads(topology, seed)
    ledger = Ledger(topology, corrected(topology, Interval(raw, seconds=1.0)).loads, 1.0)
    compared = 0

    for stack in stacks(topology):
        top = stack.top.name
        for name in (VOLUME, DISKS):
            weights = [each for each in stack.weights if (each.layer, each.role) == (name, "data")]
            devices = [top] if name == VOLUME else lowest(topology, top)
            share = ledger.share(top, devices)
            if not weights:
                continue
            compared += 1
            known = share.total.bytes
            if known is not None and not share.total.is_range:
                assert total(weights, raw, "bytes") == pytest.approx(known, rel=1e-6), (top, name)
    assert compared


def lowest(topology, top):
    from stackmap.ledger.layers import layers

    return layers(topology, top)[-1].devices


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_data_and_metadata_are_all_that_the_disks_did(path):
    """Both roles together are the cost that iostat -l prints."""
    topology = topology_of(path)
    raw = some_loads(topology, 5)
    ledger = Ledger(topology, corrected(topology, Interval(raw, seconds=1.0)).loads, 1.0)

    for stack in stacks(topology):
        at_disks = [each for each in stack.weights if each.layer == DISKS]
        cost = disk_cost(ledger, stack.top.name)
        if at_disks and cost.bytes is not None and cost.low is None and not cost.estimated:
            assert total(at_disks, raw, "bytes") == pytest.approx(cost.bytes, rel=1e-6), (
                stack.top.title
            )


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_the_volume_is_the_top_alone(path):
    """Below an encrypted device or an array lies another volume; it must not be added to the top's figures."""
    topology = topology_of(path)

    for stack in stacks(topology):
        of_volume = [each for each in stack.weights if each.layer == VOLUME]
        assert [each.device for each in of_volume] in ([stack.top.name], []) or is_pool(stack.top)
        at = {}
        for each in stack.weights:
            at.setdefault((each.layer, each.role), []).append(each.device)
        assert all(len(set(names)) == len(names) for names in at.values())


def test_volumes_below_an_array_are_a_layer_of_their_own():
    """An array of a volume and of an encrypted one: the volume below that is not the stack's own."""
    topology = Topology(
        [
            Device("md0", Kind.ARRAY, "9:0", layout=layout("raid1", 2, None, 2, "")),
            Device("dm-2", Kind.CRYPT, "253:2", target="crypt"),
            Device("dm-1", Kind.VOLUME, "253:1", target="linear"),
            Device("dm-0", Kind.VOLUME, "253:0", target="linear"),
            Device("sda", Kind.DISK, "8:0"),
            Device("sdb", Kind.DISK, "8:16"),
        ],
        [
            Edge(above, below, Role.DATA)
            for above, below in (
                ("md0", "dm-2"), ("md0", "dm-1"), ("dm-2", "dm-0"), ("dm-1", "sda"), ("dm-0", "sdb"),
            )
        ],
    )  # fmt: skip
    (stack,) = stacks(topology)

    assert [each.device for each in stack.weights if each.layer == VOLUME] == ["md0"]
    assert [each.device for each in stack.weights if each.layer == "lower volume"] == ["dm-2"]


def test_a_raid_has_all_its_members():
    """And only they are at the layer that parity is judged by."""
    (stack,) = (
        s for s in stacks(topology_of(SAMPLES / "vghdd")) if s.top.title == "vghdd/vm-disk1"
    )

    assert [w.device for w in stack.weights if w.layer == MEMBERS] == [
        "dm-1",
        "dm-3",
        "dm-5",
        "dm-7",
    ]
    assert dict(stack.disks)["dm-7"] == "sdd"
