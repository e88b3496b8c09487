"""
Recorded machines: the topology against what lsblk, dmsetup, lvs and mdadm said at that moment.

Differences that are right are said here, each with its reason.
"""

from __future__ import annotations

import re
import shutil
import tarfile

import pytest

from stackmap.discover import discover
from stackmap.discover.find import find
from stackmap.discover.uses import UNNUMBERED
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Kind, Role
from stackmap.sources import mountinfo
from tests.agreement import (
    edges_by_dmsetup,
    edges_by_lsblk,
    lsblk,
    pvs_by_lvs,
    pvs_by_topology,
    said,
)
from tests.paths import ROOT

CAPTURES = ROOT.parent / "shared" / "captures"
ARCHIVES = {
    path.relative_to(CAPTURES).as_posix().removesuffix(".tar.gz"): path
    for path in sorted(CAPTURES.glob("*/*.tar.gz"))
}

pytestmark = pytest.mark.skipif(
    not ARCHIVES, reason="the recorded kernels are not beside this checkout"
)


@pytest.fixture(scope="module", params=ARCHIVES)
def machine(request, tmp_path_factory):
    """Where a capture was unpacked."""
    directory = tmp_path_factory.mktemp("machine")
    with tarfile.open(ARCHIVES[request.param]) as archive:
        # Debian 12's Python knows no filters; these tars are ours.
        known = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(directory, **known)  # noqa: S202 - the team's own
    return directory


@pytest.fixture(scope="module")
def topology(machine):
    return discover(CapturedHost(str(machine)))


@pytest.fixture(scope="module")
def without_root(machine, tmp_path_factory):
    """The same machine without permission for dmsetup and lvs."""
    directory = tmp_path_factory.mktemp("without") / "root"
    shutil.copytree(machine, directory, symlinks=True, ignore=lambda *_: ["cmd"])
    return discover(CapturedHost(str(directory)))


def volumes(machine):
    """Each LV of lvs, by name as we write it, hidden ones without their brackets."""
    (report,) = said(machine, "lvs.json")["report"]
    return {f"{lv['vg_name']}/{lv['lv_name'].strip('[]')}": lv for lv in report["lv"]}


def test_edges_are_lsblks(machine, topology):
    """Every edge that lsblk shows, and none more."""
    assert edges_by_lsblk(machine) == {(edge.above, edge.below) for edge in topology.edges}


def test_edges_of_mapped_devices_are_dmsetups(machine, topology):
    """What `dmsetup deps` lists, below what `dmsetup info` numbers."""
    mapped = {(e.above, e.below) for e in topology.edges if e.above.startswith("dm-")}
    assert edges_by_dmsetup(machine, topology) == mapped


def test_pvs_below_volumes_are_lvms(machine, topology):
    """Of each LV, hidden ones too: where lvs leads to by names, the edges do."""
    expected = pvs_by_lvs(machine, topology)
    assert any(expected.values())
    assert expected == pvs_by_topology(machine, topology)


def test_devices_are_lsblks(machine, topology):
    """Names, numbers, sizes, read-only, and where they are mounted."""
    mounted = (machine / "proc/self/mountinfo").read_text().splitlines()
    on_btrfs = {m.point for line in mounted for m in mountinfo.parse(line) if m.kind == "btrfs"}
    # lsblk tells a btrfs at one of its devices only.
    expected = {
        device["kname"]: (
            device["maj:min"],
            device["size"],
            device["ro"],
            mounts(device) - on_btrfs,
        )
        for device, _ in lsblk(machine)
    }

    found = {
        device.name: (
            device.number,
            device.size,
            device.read_only,
            {use.name for use in device.uses if use.kind in ("mount", "swap")} - on_btrfs,
        )
        for device in topology
    }
    if isinstance(next(iter(expected.values()))[1], str):
        # lsblk without --bytes rounds; sysfs has the bytes, and ours are those.
        expected = {name: (a, found[name][1], b, c) for name, (a, _, b, c) in expected.items()}
    assert expected == found


def mounts(device):
    return {point for point in device["mountpoints"] if point}


KINDS = {
    "disk": {Kind.DISK, Kind.ZRAM, Kind.BCACHE},
    "part": {Kind.PARTITION},
    "crypt": {Kind.CRYPT, Kind.DM},  # lsblk goes by the uuid, which is CRYPT-VERITY- for verity
    "mpath": {Kind.MULTIPATH},
    "loop": {Kind.LOOP},
    "dm": {Kind.DM},
    "lvm": {Kind.VOLUME, Kind.MEMBER, Kind.CACHE, Kind.THIN, Kind.THIN_POOL, Kind.SNAPSHOT},
} | {f"raid{level}": {Kind.ARRAY} for level in (0, 1, 5, 6, 10)}
KINDS |= {"linear": {Kind.ARRAY}, "md": {Kind.ARRAY}}


def test_kinds_are_lsblks(machine, topology):
    """A kind of ours is one of those that lsblk calls by one word."""
    wrong = {
        device["kname"]: topology[device["kname"]].kind
        for device, _ in lsblk(machine)
        if topology[device["kname"]].kind not in KINDS[device["type"]]
    }
    assert {} == wrong


def test_disks_are_lsblks(machine, topology):
    """Model and serial as lsblk printed them, in any case: SCSI's page 0x80 is upper case."""
    for device, _ in lsblk(machine):
        ours = topology[device["kname"]]
        if ours.kind is Kind.DISK and device["serial"]:
            assert device["serial"].lower() == ours.serial.lower()
            assert (device["model"] or "") in ours.model


def test_every_active_lv_is_there_by_name(machine, topology):
    """LVs are written vg/lv; pool metadata spares and cache pools have no device."""
    active = {name for name, lv in volumes(machine).items() if lv["lv_kernel_major"] != "-1"}

    assert active <= {device.label for device in topology}


SEGMENTS = {"raid": re.compile(r"raid\d+"), "striped": re.compile("striped")}


def test_layouts_are_lvms(machine, topology):
    """Level, members and chunk of each RAID and striped LV."""
    labels = {device.label: device for device in topology}
    checked = 0
    for name, lv in volumes(machine).items():
        level = lv["segtype"].partition("_")[0]
        layout = labels[name].layout if name in labels else None
        if name in labels and int(lv["seg_count"]) > 1:
            assert layout is None, name
            continue
        if re.fullmatch(r"raid\d+|striped|mirror", level):
            checked += 1
            assert (level, int(lv["stripes"])) == (layout.level, layout.members), name
            assert size(lv["stripe_size"]) == (layout.chunk or 0), name
        elif name in labels:
            assert layout is None, name
    assert checked


def size(text):
    """lvs' "64.00k" in bytes."""
    number, unit = re.fullmatch(r"([\d.]+)\s*([kmgtb]?)\s*", text.strip()).groups()
    return int(float(number) * 1024 ** " kmgt".index(unit or " "))


def test_states_are_lvms(machine, topology):
    """What lvs calls healthy and idle is active; a sync under way has its name and progress."""
    labels = {device.label: device for device in topology}
    for name, lv in volumes(machine).items():
        action = lv["raid_sync_action"]
        if name in labels and action and not lv["lv_health_status"]:
            words = labels[name].state.partition(" ")[0]
            assert words == ("active" if action == "idle" else action), name


# The last word of mdadm's state, and ours.
ACTIONS = {
    "clean": "active",
    "active": "active",
    "degraded": "degraded",
    "checking": "check",
    "recovering": "recover",
    "resyncing": "resync",
    "reshaping": "reshape",
}


def test_arrays_are_mdadms(machine, topology):
    """Level, members, chunk, state, and the device in each slot."""
    for path in machine.glob("cmd/mdadm-detail-md*.txt"):
        name = path.stem.removeprefix("mdadm-detail-")
        device = topology[name]
        if device.kind is not Kind.ARRAY or device.layout is None:
            continue  # asked for a partition mdadm tells of its array; and a container is none
        text = path.read_text()
        told = dict(re.findall(r"^ +([\w ]+) : (.*?) *$", text, re.MULTILINE))
        rows = re.findall(
            r"^ +(?:\d+|-) +\d+ +\d+ +(\d+|-) +(.*?) +/dev/(\S+)$", text, re.MULTILINE
        )
        assert told["Raid Level"] == device.layout.level
        assert int(told["Raid Devices"]) == device.layout.members
        assert size(told.get("Chunk Size", "0").lower()) == (device.layout.chunk or 0)
        if "(DELAYED)" in told["State"]:
            continue  # mdadm calls every sync that waits a resync
        state = told["State"].rpartition(", ")[2].strip()
        assert ACTIONS[state] in device.state, name
        # An array below is called by its name in /dev/md.
        members = [(slot, *find(topology, member.removeprefix("md/"))) for slot, _, member in rows]
        assert [member for _, member in members] == [e.below for e in topology.below(name)]
        for slot, member in members:
            (edge,) = (e for e in topology.below(name) if e.below == member)
            assert (edge.role is Role.DATA) == (slot != "-")


# What only a table names, and nothing else does.
ONLY_TABLES = {
    "flakey": "its name and uuid say nothing of a target",
    "delay": "the same",
    "zero": "the same",
    "era": "the same",
    "log-writes": "the same",
    "unstriped": "the same",
    "switch": "the same",
    "error": "the same",
    "linear,striped": "its segments are in the table alone",
}

# Without the table, which of the devices below is for what.
ROLELESS = {"era", "log-writes", "switch", "verity"}


def test_without_root_the_same_edges(topology, without_root):
    """sysfs has every edge, and LVM's names the roles."""
    dumb = {device.name for device in topology if device.target in ROLELESS}

    def told(whole):
        return {(e.above, e.below, "" if e.above in dumb else e.role) for e in whole.edges}

    assert told(topology) == told(without_root)


def test_without_root_the_same_devices(topology, without_root):
    """Kind, name, size and target are the same, but for targets that nothing else names."""
    for device in topology:
        other = without_root[device.name]
        nameless = device.target in ONLY_TABLES or not (device.dm_name and device.uuid)
        target = "" if nameless else device.target
        uses = tuple(UNNUMBERED if use.source == "LV tag" else use for use in device.uses)
        assert (device.kind, device.label, device.size, target, uses) == (
            other.kind,
            other.label,
            other.size,
            other.target,
            other.uses,
        )
        assert device.merges == other.merges, device.title


def test_without_root_the_same_layouts(topology, without_root):
    """Level, members and chunk follow from sizes; raid4 looks like raid5, and a note says so."""
    for device in topology:
        if device.layout is None:
            continue
        found = without_root[device.name].layout
        level = "raid5" if device.target == "raid" and device.layout.level == "raid4" else None
        expected = (level or device.layout.level, device.layout.members, device.layout.chunk)
        assert expected == (found.level, found.members, found.chunk), device.title


def test_without_root_it_is_said(without_root):
    """Each thing that was not learned is one sentence."""
    first, *others = without_root.unknown
    assert first.startswith("tables of mapped devices: dmsetup table")
    assert ["raid4 and raid5 look alike"] * len(others) == [s[:26] for s in others]
