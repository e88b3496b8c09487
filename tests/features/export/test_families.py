"""What a host exports, of machines drawn by hand: each sample from the numbers it is made of."""

from __future__ import annotations

import pytest

from stackmap.features.export.families import Exported, families, fullest, textfile, trouble_of
from stackmap.features.export.weights import stacks
from stackmap.model.device import Device, Kind, Role
from stackmap.model.raid import layout
from stackmap.model.topology import Edge, Topology
from stackmap.rules.rule import Finding, Severity, observe
from stackmap.rules.table import RULES
from tests.drawn import DISKS, disk, passing, raid_volume, topology

GIB = 1 << 30
RULE = next(rule for rule in RULES if rule.id == "SM301")


def exported(tree, names=(), **more):
    """Each sample of the machine by the name of its metric and its labels' values."""
    host = Exported(tree, tuple(stacks(tree, names)), (), {}, 1763732411.0, "7.1")
    return {
        (family.name.removeprefix("stackmap_"), *labels.values()): value
        for family in families(host._replace(**more))
        for labels, value in family.samples
    }


def of(found, name):
    """The samples of one metric, by the rest of their labels."""
    return {tuple(labels): value for (metric, *labels), value in found.items() if metric == name}


def counting(target, **counts):
    return passing(
        "dm-3", Kind.THIN_POOL if target == "thin-pool" else Kind.VOLUME, target, counts=counts
    )


def test_bytes_of_segments_on_one_disk_add_up():
    """2 and 3 GiB on one disk are 5, beside 7 on another; what lies on one device alone has no bytes."""
    segments = [("sda", 0, 2), ("sdb", 2, 7), ("sda", 9, 3)]
    edges = [Edge("dm-0", name, Role.DATA, at * GIB, size * GIB) for name, at, size in segments]
    whole = Edge("dm-1", "sda", Role.DATA, 0, 11 * GIB)
    tree = Topology([disk("sda"), disk("sdb"), passing("dm-0"), passing("dm-1")], [*edges, whole])
    found = exported(tree)

    assert of(found, "edge_bytes") == {
        ("dm-0", "sda", "data"): 5.0 * GIB,
        ("dm-0", "sdb", "data"): 7.0 * GIB,
    }
    assert of(found, "edge_info") == dict.fromkeys(
        [("dm-0", "sda", "data"), ("dm-0", "sdb", "data"), ("dm-1", "sda", "data")], 1
    )


@pytest.mark.parametrize(
    ("device", "metric", "share", "full"),
    [
        (counting("thin-pool", data_used=11, data_total=44), "thin_pool_data_used_ratio", 0.25, "data"),
        (counting("thin-pool", metadata_used=3, metadata_total=24), "thin_pool_metadata_used_ratio", 0.125, "metadata"),
        (counting("snapshot", used=7, total=8), "snapshot_used_ratio", 0.875, "space"),
        (counting("cache", used=5, total=20), "cache_used_ratio", 0.25, ""),
        (counting("cache", dirty=1, total=32), "cache_dirty_ratio", 0.03125, ""),
    ],
)  # fmt: skip
def test_a_share_is_the_used_part_of_the_whole(device, metric, share, full):
    """A full cache is as it should be: only pools and snapshots become full."""
    assert of(exported(Topology([device], [])), metric) == {("dm-3", "dm-3"): share}
    assert fullest(device) == ((share, full) if full else (None, ""))


def test_the_fuller_space_of_a_pool_is_named():
    pool = counting("thin-pool", data_used=11, data_total=44, metadata_used=23, metadata_total=46)
    assert fullest(pool) == (0.5, "metadata")
    assert fullest(counting("thin-pool", data_used=11, data_total=0)) == (None, "")


def test_good_findings_are_no_findings():
    """The others have their severity; the same finding twice is one sample."""
    found = [
        Finding(RULE, observe("sda")._replace(severity=severity))
        for severity in (Severity.WARNING, Severity.GOOD, Severity.INFO, Severity.WARNING)
    ]
    tree = Topology([disk("sda", state="active")], [])

    assert of(exported(tree, findings=tuple(found)), "finding") == {
        ("SM301", RULE.name, "warning", "sda"): 1,
        ("SM301", RULE.name, "info", "sda"): 1,
    }


def raid(level, members, state, missing=0):
    """An array with so many members missing."""
    parts = raid_volume("dm-0", level, 0, members)
    tree = topology(parts)
    top = tree["dm-0"]._replace(state=state)
    gone = {f"dm-0_rimage_{place}" for place in range(missing)}
    devices = [top if d.name == "dm-0" else d for d in tree if d.name not in gone]
    edges = [e for e in tree.edges if gone.isdisjoint((e.above, e.below))]
    return Topology(devices, edges)


@pytest.mark.parametrize(
    ("level", "missing", "state", "trouble"),
    [
        ("raid5", 1, "degraded", "degraded"),
        ("raid5", 2, "failed", "failed"),
        ("raid6", 2, "degraded", "degraded"),
        ("raid6", 3, "failed, check", "failed"),
        ("raid5", 0, "suspended", "hung"),
        ("raid5", 0, "failed", "failed"),
        ("raid5", 0, "inactive", "failed"),
        ("raid5", 1, "needs check", "failed"),
    ],
)
def test_an_array_has_failed_when_its_state_says_so(level, missing, state, trouble):
    assert trouble_of(raid(level, 4, state, missing), "dm-0") == trouble


def test_what_hangs_is_counted():
    """Nothing while it is unknown; 0 where nothing hangs."""
    tree = Topology([disk("sda"), disk("sdb")], [])

    assert of(exported(tree), "hung_devices") == {}
    assert of(exported(tree, hung=()), "hung_devices") == {(): 0}
    found = exported(tree, hung=("sdb",))
    assert of(found, "hung_devices") == {(): 1}
    assert of(found, "device_hung") == {("sdb", "sdb"): 1}


def test_a_slow_member_belongs_to_its_array():
    """sdb is 3 times as slow as its peers; sdz is slow and no member."""
    array = Device("md0", Kind.ARRAY, "9:0", target="md", layout=layout("raid1", 2), state="active")
    tree = Topology(
        [array, disk("sda"), disk("sdb"), disk("sdz")],
        [Edge("md0", "sda", Role.DATA), Edge("md0", "sdb", Role.DATA)],
    )

    assert of(exported(tree), "stack_slow_members") == {}
    found = exported(tree, slow={"sdb": 3.0, "sdz": 7.0})
    assert of(found, "stack_slow_members") == {("md0", "md0"): 1}
    assert of(found, "slow_member_ratio") == {("md0", "md0", "sdb"): 3.0}


def test_a_family_is_its_help_its_type_and_its_samples():
    """As the text format of Prometheus has it, after the line by which stackmap knows its own file."""
    tree = Topology([disk("sda")], [])
    host = Exported(tree, (), (), {}, 1763732411.5, "7.1")
    text = "".join(textfile(families(host))).splitlines()

    assert text[0].startswith("# Written by stackmap export --textfile")
    place = text.index("stackmap_topology_timestamp_seconds 1763732411.5")
    assert text[place - 1] == "# TYPE stackmap_topology_timestamp_seconds gauge"
    assert text[place - 2].startswith("# HELP stackmap_topology_timestamp_seconds ")


@pytest.mark.parametrize(
    ("state", "syncing", "degraded"),
    [("active", 0, 0), ("degraded", 0, 1), ("resync 12.5 %", 1, 0), (None, None, None)],
)
def test_the_figures_of_a_raid(state, syncing, degraded):
    """A RAID6 of 4 with chunks of 64 KiB; what is not known has no sample. A disk has none of them."""
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid6", 4, 65536), state=state)
    disks = [disk(name) for name in DISKS]
    tree = Topology([array, *disks], [Edge("md0", each.name, Role.DATA) for each in disks])
    found = exported(tree)

    figures = {
        "members": 4,
        "parity_members": 2,
        "chunk_bytes": 65536,
        "sync_active": syncing,
        "degraded": degraded,
    }
    for name, value in figures.items():
        known = {} if value is None else {("md0", "md0"): value}
        assert of(found, f"stack_{name}") == known, name


def test_a_raid_below_another_device_is_a_layer_of_its_own():
    """The LV hands all that it gets to the array, so either's counters are what the RAID did."""
    array = Device("md0", Kind.ARRAY, "9:0", layout=layout("raid1", 2), state="active")
    edges = [
        Edge("lv", "md0", Role.DATA),
        *(Edge("md0", name, Role.DATA) for name in ("sda", "sdb")),
    ]
    tree = Topology([passing("lv"), array, disk("sda"), disk("sdb")], edges)
    of_layer = {}
    for (_, _, layer, _, name), factor in of(exported(tree), "layer_weight").items():
        of_layer.setdefault(layer, {})[name] = factor

    assert set(of_layer) >= {"volume", "raid", "members", "disks"}
    assert of_layer["raid"] in ({"lv": 1.0}, {"md0": 1.0})
    assert of_layer["members"] == of_layer["disks"] == {"sda": 1.0, "sdb": 1.0}
