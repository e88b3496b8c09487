"""Trees that others made: sosreports, and those with a part of sysfs; each as far as it goes like the machine itself."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover, partial_tree
from stackmap.errors import CaptureError
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Kind
from stackmap.sources.device_lists import number_of
from tests.paths import ROOT
from tests.sosreport import write, write_sosreport

SAMPLES = ROOT / "sample_topologies"
MACHINES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
KIB = 1024


@pytest.fixture(params=MACHINES)
def machine(request):
    host = CapturedHost(str(SAMPLES / request.param), warn=lambda _: None)
    return host, discover(host)


@pytest.fixture
def report(machine, tmp_path):
    """The machine as a sosreport, in its own folder as ``sos`` archives it."""
    return write_sosreport(tmp_path / "sosreport-host", *machine)


def read(path):
    return discover(CapturedHost(str(path)))


def edges(topology):
    return {(edge.above, edge.below, edge.role) for edge in topology.edges}


def test_a_sosreport_is_the_machine(machine, report):
    """Names, kinds, edges, layouts, states and mounts; sizes to the KiB of /proc/partitions."""
    _, whole = machine
    found = read(report)

    assert set(found.devices) == set(whole.devices)
    assert edges(found) == edges(whole)
    for name, device in whole.devices.items():
        other = found[name]
        assert (other.title, other.kind, other.number) == (device.title, device.kind, device.number)
        assert (other.layout, other.target) == (device.layout, device.target)
        assert set(device.mounts) == set(other.mounts)
        assert 0 <= device.size - other.size < KIB


def test_an_archive_of_it_is_the_same(report, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "report"), "xztar", report.parent, report.name)
    assert edges(read(archive)) == edges(read(report))


def test_the_tree_of_lsblk_is_enough_for_the_edges(machine, report):
    """A report whose dmsetup failed: its text is a message, which is named; roles come from LVM's names."""
    _, whole = machine
    message = "/dev/mapper/control: open failed: Permission denied\nCommand failed.\n"
    for name in ("dmsetup_table", "dmsetup_status"):
        write(report, f"/sos_commands/devicemapper/{name}", message)
    found = read(report)

    pairs = [{(edge.above, edge.below) for edge in each.edges} for each in (found, whole)]
    assert pairs[0] == pairs[1]
    has_dm = any(device.dm_name for device in whole)
    assert has_dm == any("open failed" in sentence for sentence in found.unknown)


def test_names_of_proc_are_enough_for_devices(machine, report):
    """Without sysfs and without texts of commands: every device, partitions on their disks."""
    _, whole = machine
    shutil.rmtree(report / "sys")
    shutil.rmtree(report / "sos_commands")
    found = read(report)

    assert set(found.devices) == set(whole.devices)
    partitions = {d.name for d in whole if d.kind is Kind.PARTITION and not d.dm_name}
    expected = {edge for edge in edges(whole) if edge[0] in partitions}
    assert expected == {edge for edge in edges(found) if edge[0] in partitions}
    # mountinfo has the names of those that are mounted
    unplaced = [device.title for device in found if device.name.startswith("dm-")]
    (sentence,) = [text for text in found.unknown if "devices below" in text] or [""]
    said = sentence.partition("devices below ")[2].partition(": ")[0]
    named, _, more = said.partition(" and ")
    names = named.split(", ") if named else []
    assert set(names) <= set(unplaced)
    assert len(names) + int(more.removesuffix(" more") or 0) == len(unplaced)


def test_counters_alone_show_devices_without_sizes(machine, report):
    """Unknown sizes are null and "-", never 0 B; no device with I/O is dropped. mdstat has the sizes of arrays."""
    _, whole = machine
    for name in ("sys", "sos_commands"):
        shutil.rmtree(report / name)
    (report / "proc/partitions").unlink()
    result = CliRunner().invoke(stackmap, ["--from", str(report), "tree", "-J"])
    found = {device["name"]: device["size"] for device in json.loads(result.output)["devices"]}

    counted = {line.split()[2] for line in (report / "proc/diskstats").read_text().splitlines()}
    assert counted & set(whole.devices) <= set(found)
    assert {size for name, size in found.items() if not name.startswith("md")} == {None}
    text = CliRunner().invoke(stackmap, ["--from", str(report), "tree"])
    assert "0 B" not in text.output
    assert "not known: size of " in text.output


def test_the_stacks_of_a_report_whose_slow_plugins_were_ended(machine, report):
    """sos ends a plugin after its time: no numbers, no sizes, no lsblk, and half of sysfs."""
    _, whole = machine
    for name in ("partitions", "diskstats"):
        (report / "proc" / name).unlink()
    shutil.rmtree(report / "sos_commands/block")
    for place in sorted((report / "sys/block").iterdir())[::2]:
        shutil.rmtree(place)
    found = read(report)

    mapped = {device.name for device in whole if device.dm_name}
    assert mapped <= set(found.devices)
    assert {(n, found[n].number, found[n].title) for n in mapped} == {
        (n, whole[n].number, whole[n].title) for n in mapped
    }
    expected = {
        edge
        for edge in edges(whole)
        if edge[0] in mapped and (edge[1] in mapped or number_of(edge[1]) == whole[edge[1]].number)
    }
    assert {edge for edge in edges(found) if edge[0] in mapped} >= expected
    assert not {edge for edge in edges(found) if edge[0] in mapped} - edges(whole)
    (sentence,) = [text for text in found.unknown if "devices below" in text] or [""]
    lacking = {above for above, *_ in edges(whole) - edges(found) if above in mapped}
    assert all(found[name].title in sentence for name in lacking)


def drawn(root, partitions, **files):
    write(root, "/proc/partitions", "major minor  #blocks  name\n\n" + partitions)
    for path, text in files.items():
        write(root, "/" + path.replace("__", "/"), text)
    return read(root)


@pytest.mark.parametrize(
    ("disk", "partition"),
    [("sda", "sda1"), ("nvme0n1", "nvme0n1p2"), ("cciss/c0d0", "cciss/c0d0p1"), ("md127", "md127p1"),
     ("mmcblk0", "mmcblk0p1"), ("xvda", "xvda15")],
)  # fmt: skip
def test_a_partition_is_on_its_disk(tmp_path, disk, partition):
    found = drawn(tmp_path, f"8 0 1048576 {disk}\n8 1 1024 {partition}\n")
    assert {(partition, disk, "data")} == edges(found)
    assert 1 << 20 == found[partition].size


@pytest.mark.parametrize("name", ["mmcblk0boot0", "xvda1", "dm-11", "sr0", "nvme0n1", "md1"])
def test_a_name_with_digits_is_no_partition_of_a_disk_that_is_not_there(tmp_path, name):
    found = drawn(tmp_path, f"8 0 1048576 {name}\n7 0 4 mmcblk0\n")
    assert not edges(found)


def test_empty_devices_are_not_shown(tmp_path):
    """A sosreport lists all loop devices in /sys/block; /proc/partitions only those with a file."""
    for name in ("loop0", "loop1", "sda"):
        write(tmp_path, f"/sys/block/{name}/queue/rotational", "0\n")
    assert {"loop1", "sda"} == set(drawn(tmp_path, "7 1 1024 loop1\n8 0 1024 sda\n").devices)


MDSTAT = """\
Personalities : [raid1] [raid6] [raid5] [raid4] [raid10]
md1 : active raid10 sde[4](S) sdd[3](W) sdc[2] sdb[1](F) sda[0]
      2093056 blocks super 1.2 512K chunks 2 far-copies [4/3] [U_UU]
      [==>..................]  check = 12.5% (250/2000) finish=127.5min speed=33440K/sec

md2 : active (read-only) raid5 sdh[3] sdg[1] sdf[0]
      2093056 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/2] [UU_]

md3 : inactive sdi[0](S)
      1046528 blocks super external:imsm

unused devices: <none>
"""


def test_arrays_of_mdstat(tmp_path):
    """Levels, layouts, states and members; if two of three members are in sync, which ones is unknown."""
    names = [f"sd{letter}" for letter in "abcdefghi"]
    lines = [f"8 {16 * place} 1048576 {name}\n" for place, name in enumerate(names)]
    lines += [f"9 {number} 2093056 md{number}\n" for number in (1, 2, 3)]
    found = drawn(tmp_path, "".join(lines), proc__mdstat=MDSTAT)

    assert ["raid10 far 2×2", "raid5 2+1"] == [str(found[name].layout) for name in ("md1", "md2")]
    assert [1 << 19, 1 << 16] == [found[name].layout.chunk for name in ("md1", "md2")]
    assert "ls" == found["md2"].layout.variant
    assert ["degraded, check 12.5 %", "read-only"] == [found[n].state for n in ("md1", "md2")]
    assert ["data", "failed", "data", "data", "spare"] == [
        role for _, _, role in sorted(e for e in edges(found) if e[0] == "md1")
    ]
    assert "sdd" == found["md1"].facts["write mostly"]
    assert [None, None, None] == [found[name].state for name in ("sdf", "sdg", "sdh")]
    assert ("md3", "sdi", "spare") in edges(found)


def test_a_member_that_is_not_there_is_named(tmp_path):
    text = "md0 : active raid1 sdb[1] sda[0]\n      1024 blocks [2/2] [UU]\n"
    found = drawn(tmp_path, "8 0 1024 sda\n9 0 1024 md0\n", proc__mdstat=text)
    assert ["member sdb of md0: not among the block devices of the input"] == list(found.unknown)


@pytest.mark.parametrize("layout", ["", "0", "x"])
def test_a_raid10_layout_that_cannot_be_read_is_unknown(tmp_path, layout):
    """The layout is not reported as one copy without redundancy."""
    files = {"level": "raid10", "raid_disks": "4", "chunk_size": "524288", "layout": layout}
    for name, text in files.items():
        write(tmp_path, f"/sys/block/md0/md/{name}", text + "\n")
    write(tmp_path, "/sys/block/md0/size", "2048\n")
    found = discover(CapturedHost(str(tmp_path)))
    assert found["md0"].layout is None
    assert any("data layout of md0" in sentence for sentence in found.unknown)


@pytest.mark.parametrize("source", ["/dev/sda:/dev/sdb", "/dev/sda"])
def test_a_bcachefs_uses_all_its_devices(tmp_path, source):
    """Newer kernels name all in the mount; /sys/fs/bcachefs links to them."""
    if ":" not in source:
        for place, name in enumerate(("sda", "sdb")):
            folder = tmp_path / f"sys/fs/bcachefs/0c0f/dev-{place}"
            folder.mkdir(parents=True)
            (folder / "block").symlink_to(f"../../../../block/{name}")
    mount = f"43 35 0:44 / /srv rw - bcachefs {source} rw\n"
    disks = "8 0 1024 sda\n8 16 1024 sdb\n8 32 1024 sdc\n"
    found = drawn(tmp_path, disks, proc__self__mountinfo=mount)
    assert [("/srv",), ("/srv",), ()] == [found[name].mounts for name in ("sda", "sdb", "sdc")]


def test_files_padded_with_nuls(machine, tmp_path, request):
    """GNU tar of a live /sys pads each file to a page: no device or edge is lost, and a warning says so."""
    name = request.node.callspec.params["machine"]
    _, whole = machine
    copy = tmp_path / "copy"
    shutil.copytree(SAMPLES / name, copy, symlinks=True)
    for path in (copy / "sys").rglob("*"):
        if path.is_file() and not path.is_symlink() and path.name != ".names":
            path.write_bytes(path.read_bytes().ljust(4096, b"\0"))
    for path in (copy, shutil.make_archive(str(tmp_path / "copy"), "gztar", copy)):
        said = []
        found = discover(CapturedHost(str(path), warn=said.append))
        assert edges(found) == edges(whole)
        assert [d.size for d in found] == [d.size for d in whole]
        assert any("padded with NULs" in line for line in said)


LSBLK_BCACHE = """\
NAME        MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT
vda         252:0    0  300G  0 disk
`-vda2      252:2    0  300G  0 part /
vdb         252:16   0  100G  0 disk
|-bcache0   251:0    0  100G  0 disk
| `-crypt-a 253:2    0  100G  0 crypt /srv
`-bcache1   251:128  0  100G  0 disk
vdc         252:32   0  100G  0 disk
`-bcache1   251:128  0  100G  0 disk
vdd         252:48   0  100G  0 disk
`-bcache0   251:0    0  100G  0 disk
"""


@pytest.mark.parametrize(
    "place",
    ["sos_commands/block/lsblk", "insights_commands/lsblk", "data/insights_commands/lsblk"],
)
def test_a_report_without_sysfs_and_lists_is_read_by_its_outputs(tmp_path, place):
    """The cache is what both share; partitions, sizes and mounts are those of lsblk."""
    write(tmp_path, f"/{place}", LSBLK_BCACHE)
    found = read(tmp_path)
    assert edges(found) == {
        ("vda2", "vda", "data"),
        ("bcache0", "vdb", "cache"), ("bcache0", "vdd", "origin"),
        ("bcache1", "vdb", "cache"), ("bcache1", "vdc", "origin"),
        ("dm-2", "bcache0", "data"),
    }  # fmt: skip
    assert found["dm-2"].mounts == ("/srv",)
    assert found["vda2"].mounts == ("/",)
    assert 0.9 < found["vda"].size / (300 << 30) < 1.1


def test_sysfs_and_outputs_are_merged_and_sysfs_counts(tmp_path):
    """Today's sos has no partitions and no sizes in sysfs."""
    write(tmp_path, "/sys/block/vda/queue/rotational", "0\n")
    write(
        tmp_path,
        "/sos_commands/block/lsblk_-O_-P",
        'ALIGNMENT="0" KNAME="vda" MAJ:MIN="252:0" NAME="vda" ROTA="1" SIZE="40G" TYPE="disk"\n'
        'ALIGNMENT="0" KNAME="vda1" MAJ:MIN="252:1" NAME="vda1" PKNAME="vda" SIZE="39G" TYPE="part" MOUNTPOINT="/"\n',
    )
    found = read(tmp_path)
    assert edges(found) == {("vda1", "vda", "data")}
    assert found["vda"].size == 40 << 30
    assert found["vda"].queue.rotational is False


def test_an_archive_of_outputs_alone_is_read(tmp_path):
    write(tmp_path / "case-1", "/outputs/lsblk.txt", LSBLK_BCACHE)
    write(tmp_path / "case-1", "/sos_commands/block/blkid", '/dev/vda2: UUID="1-2" TYPE="ext4"\n')
    archive = shutil.make_archive(str(tmp_path / "case"), "gztar", tmp_path, "case-1")
    assert ("bcache1", "vdc", "origin") in edges(read(archive))


IMAGE = "quay-io-odf-must-gather-sha256-0123456789abcdef"


@pytest.mark.parametrize(
    "place",
    [
        "lsblk.txt",
        "commands/lsblk.out",
        "storage/lsblk",
        f"must-gather.local.1/{IMAGE}/nodes/worker-0.example.com/lsblk",
        "2026-01-01T10_00.500/mod_out/run/lsblk.log",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_bundle_of_any_layout_is_read_by_its_outputs(tmp_path, place, packed):
    """Vendors, clouds and must-gather name folders as they like, and files after the command."""
    write(tmp_path / "case", f"/{place}", LSBLK_BCACHE)
    write(tmp_path / "case", "/readme.txt", "how this was made\n")
    path = tmp_path / "case"
    if packed:
        path = shutil.make_archive(str(path), "gztar", tmp_path, "case")
    assert ("bcache1", "vdc", "origin") in edges(read(path))


def test_a_supportconfig_has_its_commands_in_a_few_files(tmp_path):
    """Each output stands below a line with the command."""
    heading = "#==[ Command ]======================================#\n# /usr/bin/"
    mdstat = (
        "Personalities : [raid1]\nmd0 : active raid1 vdf[1] vde[0]\n      1024 blocks [2/2] [UU]\n"
    )
    write(tmp_path, "/scc_a/fs-diskio.txt", f"{heading}lsblk -i\n{LSBLK_BCACHE}\n{heading}true\n")
    write(tmp_path, "/scc_a/fs-softraid.txt", f"{heading}cat /proc/mdstat\n{mdstat}\n")
    found = edges(read(tmp_path))
    assert {("bcache1", "vdc", "origin"), ("md0", "vde", "data")} <= found


def test_a_bundle_of_several_machines_is_refused(tmp_path):
    """Their devices have the same names. One of the folders is a machine."""
    for node in ("a", "b"):
        write(tmp_path, f"/nodes/{node}/lsblk", LSBLK_BCACHE.replace("100G", f"{ord(node)}G"))
        write(tmp_path, f"/nodes/{node}/df", "equal")
    with pytest.raises(
        CaptureError, match="lsblk of several machines, in /nodes/a and /nodes/b: give"
    ):
        read(tmp_path)
    assert ("bcache1", "vdc", "origin") in edges(read(tmp_path / "nodes" / "a"))


def test_a_json_that_was_cut_does_not_take_the_next_output(tmp_path):
    write(tmp_path, "/sos_commands/lvm2/lvs_--reportformat_json", '{"report": [\n')
    write(tmp_path, "/sos_commands/multipath/zz", "")
    write(tmp_path, "/sos_commands/block/lsblk", LSBLK_BCACHE)
    assert ("vda2", "vda", "data") in edges(read(tmp_path))


def test_outputs_have_a_limit(tmp_path, monkeypatch):
    """The first ones are used, and what was not read is said."""
    monkeypatch.setattr(partial_tree, "MAX_OUTPUTS", 2000)
    write(tmp_path, "/sos_commands/block/lsblk", LSBLK_BCACHE)
    write(tmp_path, "/sos_commands/block/lsblk_-O", "x\n" * 2000)
    found = read(tmp_path)
    assert ("bcache1", "vdc", "origin") in edges(found)
    assert any("not read" in sentence for sentence in found.unknown)
