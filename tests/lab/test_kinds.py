"""
Kinds and states of stacks that the zoo lacks, on a real kernel: the same laws, and what each must show.

The machine is read as any user's capture is; the laws are those of test_zoo.
"""

from __future__ import annotations

import json
import tarfile

import pytest

from stackmap.model.device import Kind, Role, Use
from tests.test_zoo import (  # noqa: F401 - pytest runs them here too, on this machine
    test_arrays_are_mdadms,
    test_devices_are_lsblks,
    test_disks_are_lsblks,
    test_edges_are_lsblks,
    test_edges_of_mapped_devices_are_dmsetups,
    test_every_active_lv_is_there_by_name,
    test_kinds_are_lsblks,
    test_layouts_are_lvms,
    test_pvs_below_volumes_are_lvms,
    test_states_are_lvms,
    test_without_root_the_same_devices,
    test_without_root_the_same_edges,
    test_without_root_the_same_layouts,
    topology,
    without_root,
)

pytestmark = pytest.mark.lab("all")


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("kinds", kernel=kernel, disks=13, timeout=900)


@pytest.fixture(scope="module")
def machine(out, tmp_path_factory):
    directory = tmp_path_factory.mktemp("machine")
    with tarfile.open(out / "kinds.tar") as archive:
        # Debian 12's Python knows no filters; this tar is ours.
        known = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(directory, **known)  # noqa: S202 - our own
    return directory / "kinds"


@pytest.fixture
def named(topology):  # noqa: F811 - the fixture, by its name
    """Devices by the names that the scenario gave."""
    by_alias = {d.facts["alias"]: d for d in topology if "alias" in d.facts}
    return {d.label: d for d in topology if d.label} | by_alias


ARRAYS = {
    "far": ("raid10", "far", "active"),
    "offset": ("raid10", "offset", "active"),
    "threefold": ("raid10", "near", "active"),
    "filling": ("raid5", "ls", "recover"),
    "syncing": ("raid6", "ls", "resync"),
    "checked": ("raid5", "ls", "check"),
    "growing": ("raid5", "ls", "reshape"),
    "gone": ("raid5", "ls", "degraded"),
    "nested": ("raid0", "", "active"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array(name, named):
    """Level, variant, and what is under way."""
    array = named[name]
    state = array.state.partition(" ")[0]
    assert ARRAYS[name] == (array.layout.level, array.layout.variant, state)


MEMBERS = {
    "filling": {Role.DATA: 3, Role.SPARE: 1},
    "journaled": {Role.DATA: 3, Role.JOURNAL: 1},
    "gone": {Role.DATA: 2},
    "replaced": {Role.DATA: 2, Role.REPLACEMENT: 1},
    "threefold": {Role.DATA: 3},
}


@pytest.mark.parametrize("name", MEMBERS)
def test_members_of_an_array(name, named, topology):  # noqa: F811 - the fixture
    """Spares, journals and replacements are told from those that carry data."""
    roles = [edge.role for edge in topology.below(named[name].name)]
    assert MEMBERS[name] == {role: roles.count(role) for role in roles}


def test_a_write_mostly_member_is_named(named):
    assert "sdb2" == named["mostly"].facts["write mostly"]


def test_a_container_is_no_array(named, topology):  # noqa: F811 - the fixture
    """ddf's container only holds the disks; the array inside stands on them itself."""
    container, inside = named["container"], named["inside"]
    assert (None, None) == (container.layout, container.state)
    assert {"sdl", "sdm"} == {edge.below for edge in topology.below(inside.name)}
    assert {Role.SPARE} == {edge.role for edge in topology.below(container.name)}


def test_odd_names(named):
    """Hyphens, dots, plus and underscore, and what device-mapper mangles."""
    group = "vg.x+y_z-w"
    expected = {f"{group}/{lv}" for lv in ("a-b", "c.d", "e+f_g", "h--i")} | {"caf é"}
    assert expected <= set(named)


def test_an_lv_of_many_segments(named, topology):  # noqa: F811 - the fixture
    """Two linear pieces and a striped one; each edge says how much of its disk it takes."""
    pieces = named["vg.x+y_z-w/pieces"]
    edges = topology.below(pieces.name)
    assert ["sda6", "sdb6", "sdc6", "sdd6"] == [edge.below for edge in edges]
    assert pieces.size == sum(edge.length for edge in edges)
    assert pieces.layout is None


def test_users_by_names(named):
    """Proxmox' LV says whose it is by its name, Ceph's by its tag."""
    uses = [use for lv in ("vm-100-disk-0", "osd-block-0001")
            for use in named[f"vg.x+y_z-w/{lv}"].uses]  # fmt: skip
    assert [Use("vm", "100", "LV name"), Use("ceph", "osd.3", "LV tag")] == uses


def test_an_external_origin(named, topology):  # noqa: F811 - the fixture
    """A thin volume reads what it never wrote from an LV outside of its pool."""
    below = {e.role: e.below for e in topology.below(named["moving/inside"].name)}
    assert {Role.DATA, Role.ORIGIN} == set(below)
    assert "moving/outside" in topology[below[Role.ORIGIN]].label


def test_a_snapshot_that_merges(named, topology):  # noqa: F811 - the fixture
    """The origin's own device has the snapshot-merge target while it lasts."""
    merged = named["moving/merged"]
    assert ("snapshot-merge", "merging") == (merged.target, merged.state)
    assert {Role.ORIGIN, Role.COW} == {edge.role for edge in topology.below(merged.name)}


def test_a_volume_that_moves(named, topology):  # noqa: F811 - the fixture
    """It stands on a hidden mirror, and that on the disk it leaves and the one it moves to."""
    (edge,) = topology.below(named["moving/moved"].name)
    mirror = topology[edge.below]
    assert ("moving/pvmove0", Kind.MEMBER, "mirror") == (mirror.label, mirror.kind, mirror.target)
    assert mirror.state.startswith("resync")
    labels = {topology[edge.below].title for edge in topology.below(mirror.name)}
    assert {"sdi7", "sluggish"} == labels


TARGETS = {
    "log": {Role.DATA, Role.JOURNAL},
    "one-stripe": {Role.DATA},
    "switched": {Role.PATH},
    "aged": {Role.DATA, Role.METADATA},
    "sealed": {Role.DATA, Role.METADATA},
    "broken": set(),
}


@pytest.mark.parametrize("name", TARGETS)
def test_a_rare_target(name, named, topology):  # noqa: F811 - the fixture
    """The kernel's own table, read."""
    assert TARGETS[name] == {edge.role for edge in topology.below(named[name].name)}
    assert ("failed" if name == "broken" else "active") == named[name].state


def test_crypt_on_a_partition_of_a_multipath_device(named, topology):  # noqa: F811 - the fixture
    """Down to both paths, one of which has failed."""
    stack = [topology[name] for name in topology.with_all_below(named["hidden"].name)]
    assert [Kind.CRYPT, Kind.PARTITION, Kind.MULTIPATH] == [device.kind for device in stack[:3]]
    # One was failed on purpose; test_trouble has what its device is then.
    working = [device for device in stack[3:] if device.state != "failed"]
    assert len(working) < 2
    assert ("degraded" if working else "failed") == stack[2].state
    assert "abab" not in str(stack[0])


def test_a_btrfs_on_two_devices(topology):  # noqa: F811 - the fixture
    assert {"loop1", "loop0p1"} == {d.name for d in topology if "/tmp/a b" in d.mounts}


def test_a_suspended_device_does_not_hang_it(out):
    """It is marked, and the tree is there within the time that an emulated machine takes to start."""
    assert "0\n" == (out / "tree.status").read_text(), (out / "tree.err").read_text()
    devices = json.loads((out / "tree.json").read_text())["devices"]
    (still,) = (device for device in devices if device["label"] == "still")
    assert "suspended" == still["state"]
