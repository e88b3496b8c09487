"""Tickets with lists of arrays, of Ceph OSDs and of LVs that no table of LVM has, and lsblk's one parent for each device."""

from __future__ import annotations

import json

import pytest

from stackmap.discover.find import topology_from_names
from stackmap.errors import InputError
from stackmap.model.device import Kind, Role
from stackmap.model.topology import UNKNOWN_MACHINE
from tests.test_ticket_commands import run
from tests.test_tickets import edges, read

SCAN = """\
ARRAY /dev/md3 level=raid5 num-devices=3 metadata=1.2 name=store:3 UUID=0d1c2b3a:44445555:66667777:8888999a
   devices=/dev/sdc1,/dev/sdd1,/dev/sde1
ARRAY /dev/md/boot level=raid1 num-devices=2 metadata=1.0 spares=1 UUID=1d1c2b3a:44445555:66667777:8888999a
   devices=/dev/sda1,/dev/sdb1,/dev/sdf1
INACTIVE-ARRAY /dev/md7 num-devices=1 metadata=1.2 UUID=2d1c2b3a:44445555:66667777:8888999a
   devices=/dev/sdg1
"""


@pytest.mark.parametrize("quote", ["", "> "])
def test_arrays_of_a_scan(quote):
    """Which member is a spare is not printed."""
    topology, notes = read("".join(f"{quote}{line}\n" for line in SCAN.splitlines()))
    assert not notes
    assert str(topology["md3"].layout) == "raid5 2+1"
    assert [edge.role for edge in topology.below("md3")] == [Role.DATA] * 3
    assert topology["md/boot"].layout is None
    assert [edge.role for edge in topology.below("md/boot")] == [Role.DATA] * 3
    assert (topology["md7"].state, topology["md7"].layout) == ("inactive", None)


def test_a_configuration_file_lists_no_arrays():
    text = (
        SCAN + "ARRAY /dev/md9 metadata=1.2 name=store:9 UUID=9d1c2b3a:44445555:66667777:8888999a\n"
    )
    assert "md9" not in read(text)[0]


def test_disks_of_ceph_osds():
    """The LV of an OSD, that of its database, and an OSD on a partition, which has no LV."""
    text = """\
====== osd.4 =======

  [block]       /dev/ceph-7a/osd-block-4

      block device              /dev/ceph-7a/osd-block-4
      db device                 /dev/dbs/db-4
      osd id                    4
      devices                   /dev/sdk

  [db]          /dev/dbs/db-4

      db device                 /dev/dbs/db-4
      devices                   /dev/nvme1n1

====== osd.5 =======

  [block]       /dev/sdl1

      PARTUUID                  0d4cf4a1-0000-4a4a-8b8b-00000000a009
"""
    topology, notes = read(text)
    assert not notes
    assert edges(topology) == {
        ("ceph--7a-osd--block--4", "sdk"),
        ("dbs-db--4", "nvme1n1"),
        ("sdl1", "sdl"),
    }


def test_the_wrapped_name_of_an_osd_is_joined():
    text = "  [block]       /dev/ceph-7a/osd-blo\nck-4\n\n      block device       /dev/ceph-7a/osd-blo\nck-4\n      devices            /dev/sdk\n"
    assert edges(read(text)[0]) == {("ceph--7a-osd--block--4", "sdk")}


def test_disks_of_ceph_osds_as_json():
    part = {
        "devices": ["/dev/sdk"],
        "lv_name": "osd-block-4",
        "lv_size": "40",
        "path": "/dev/ceph-7a/osd-block-4",
    }
    topology, notes = read(json.dumps({"4": [part | {"tags": {"ceph.osd_id": "4"}}]}, indent=4))
    assert not notes
    assert edges(topology) == {("ceph--7a-osd--block--4", "sdk")}


@pytest.mark.parametrize(
    "volume",
    [
        "Filesystem              Size Used Avail Use% Mounted on\n/dev/mapper/data-redo--log 50G 9G 41G 18% /redo\n",
        (
            "  --- Logical volume ---\n  LV Path                /dev/data/redo-log\n  LV Name                redo-log\n"
            "  VG Name                data\n  LV Size                50.00 GiB\n"
        ),
    ],
)
@pytest.mark.parametrize("second", ["", "  /dev/sdc data lvm2 a--  100.00g 50.00g\n"])
def test_an_lv_is_on_the_only_pv_of_its_group(volume, second):
    """Though nothing but its name, or lvdisplay without -m, tells of it."""
    pvs = f"  PV       VG   Fmt  Attr PSize   PFree\n  /dev/sdb data lvm2 a--  100.00g 50.00g\n{second}\n"
    topology, _ = read(pvs + volume)
    below = set() if second else {("data-redo--log", "sdb")}
    assert edges(topology) == below


@pytest.mark.parametrize("cached", ["", "bcache"])
def test_one_of_the_devices_below_a_bcache_may_be_its_cache(cached):
    """`lsblk -P` names one: it was called the disk, though another one that bcache has was left over."""
    rows = [
        ("sdb", "disk", "", "bcache"), ("nvme0n1", "disk", "", cached), ("bcache0", "disk", "sdb", "ext4"),
    ]  # fmt: skip
    text = "".join(
        f'NAME="{name}" SIZE="1T" TYPE="{kind}" PKNAME="{parent}" FSTYPE="{content}"\n'
        for name, kind, parent, content in rows
    )
    topology, _ = read(text)
    assert edges(topology) == (set() if cached else {("bcache0", "sdb")})


def test_names_that_lsblk_gives_a_line_of_their_own():
    """Old versions do where a name is longer than its column; branches of the tree go on beside the rest."""
    text = """\
NAME                  MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT
bricks-lv_data        253:7    0  900G  0 lvm  /bricks
└─bricks-thin_pool_of_bricks-tpool
                      253:6    0    1T  0 lvm
  ├─bricks-thin_pool_of_bricks_tmeta
  │                   253:4    0    4G  0 lvm
  │ └─sdb               8:16   0    2T  0 disk
  └─bricks-thin_pool_of_bricks_tdata
                      253:5    0    1T  0 lvm
    └─sdb               8:16   0    2T  0 disk
"""
    topology, notes = read(text)
    assert not notes
    assert {d.dm_name for d in topology if d.dm_name} == {
        "bricks-lv_data", "bricks-thin_pool_of_bricks-tpool", "bricks-thin_pool_of_bricks_tmeta",
        "bricks-thin_pool_of_bricks_tdata",
    }  # fmt: skip
    assert {("dm-7", "dm-6"), ("dm-6", "dm-4"), ("dm-4", "sdb"), ("dm-5", "sdb")} <= edges(topology)


def test_node_exporter_tells_that_a_member_is_missing():
    text = """\
node_md_disks{device="md5",state="active"} 3
node_md_disks{device="md5",state="failed"} 1
node_md_disks_required{device="md5"} 4
node_md_state{device="md5",state="active"} 1
node_md_state{device="md5",state="inactive"} 0
node_md_disks{device="md6",state="active"} 2
node_md_disks_required{device="md6"} 2
node_md_state{device="md6",state="active"} 1
"""
    topology, _ = read(text)
    assert {name: topology[name].state for name in ("md5", "md6")} == {
        "md5": "degraded",
        "md6": "active",
    }


def test_the_status_of_an_array_is_no_table():
    """It tells how its members are; which they are, the table does."""
    topology, _ = read("vg-home: 0 4194304 raid raid1 2 AA 4194304/4194304 idle 0\n")
    assert topology["vg-home"].target != "raid"


def test_partitions_of_disks_of_any_kind_by_their_names():
    names = ("sata1", "sata1p2", "nbd3", "nbd3p1", "md4", "md4p1", "sda", "sda2", "md7p1")
    topology = topology_from_names(names, UNKNOWN_MACHINE)
    parts = {device.name for device in topology if device.kind is Kind.PARTITION}
    assert parts == {"sata1p2", "nbd3p1", "md4p1", "sda2"}


MDSTAT = """\
Personalities : [raid6] [raid5] [raid4] [raid1]
md3 : active raid5 sdd1[3](F) sdb1[0] sdc1[2]
      40960000 blocks level 5, 128k chunk, algorithm 2 [3/2] [U_U]

md4 : active raid1 sde1[1] sda1[0]
      20480000 blocks super 1.2 [2/1] [U_]
      [=>...................]  recovery =  7.0% (1433600/20480000) finish=9.9min speed=32000K/sec

unused devices: <none>
"""


@pytest.mark.parametrize("kept", range(60, MDSTAT.index("[3/2]") + 4))
def test_a_cut_mdstat_tells_neither_how_many_members_an_array_has_nor_that_all_work(kept):
    """It was "raid5 1+1, active" where the two letters of the state were missing."""
    topology, _ = read(MDSTAT[:kept])
    assert topology["md3"].layout is None
    assert topology["md3"].state is None


def test_what_follows_a_lost_line_of_mdstat_is_not_of_the_array_before():
    text = "".join(line for line in MDSTAT.splitlines(keepends=True) if not line.startswith("md4"))
    topology, _ = read(text)
    assert (topology["md3"].state, topology["md3"].size) == ("degraded", 40960000 << 10)


@pytest.mark.parametrize("indent", ["", "    "])
def test_what_follows_a_lost_line_of_multipath_is_not_of_the_map_before(indent):
    """A text may be indented as a whole, too."""
    lines = []
    for number, disks in ((0, "ab"), (1, "cd"), (2, "ef")):
        lines += [
            f"mpath{disks[0]} (36001405aa000000000000000000000{number}) dm-{number} LIO-ORG,store",
            "size=2.0T features='0' hwhandler='1 alua' wp=rw",
            "`-+- policy='service-time 0' prio=50 status=active",
            *(f"  {mark} 1:0:0:{number} sd{disk} 8:{16 * 'abcdef'.index(disk)} active ready running" for mark, disk in zip(("|-", "`-"), disks, strict=True)),
        ]  # fmt: skip
    del lines[5]
    topology, _ = read("".join(f"{indent}{line}\n" for line in lines))
    assert edges(topology) == {("dm-0", "sda"), ("dm-0", "sdb"), ("dm-2", "sde"), ("dm-2", "sdf")}


@pytest.mark.parametrize("text", ["hello\n", "", "\x7fELF\x02\x01\x00\x00\n"])
def test_a_text_without_a_device_is_no_tree(tmp_path, text):
    result = run(tmp_path, text, "tree", "--input")
    assert isinstance(result.exception, InputError)
    assert "pasted.txt: no lsblk, /proc/mdstat" in str(result.exception)
    assert result.stdout == ""


LOST_NAMES = {
    "node_exporter": 'node_md_disks_required{device=""} 5\nnode_md_disks{device="",state="active"} 1\n',
    "mdadm": "ARRAY /dev/md/ level=raid1 num-devices=2 metadata=1.2 UUID=8f1a:1\n   devices=/dev/,/dev/sdb1\n",
}


@pytest.mark.parametrize("text", LOST_NAMES.values(), ids=LOST_NAMES)
def test_a_device_whose_name_the_paste_lost_is_none(tmp_path, text):
    result = run(tmp_path, text, "tree", "--input")
    assert result.exception is None or isinstance(result.exception, InputError)


LACKING = """\
ARRAY /dev/md2 level=raid5 num-devices=3 metadata=1.2 UUID=8f1a23c4:11112222:33334444:55556669
   devices=/dev/sda3,/dev/sdb3
"""


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        (LACKING, True),
        (LACKING + "ARRAY /dev/md7 level=raid1 num-devices=2 UUID=8f1a:7\n", True),
        (LACKING.replace("num-devices=3", "num-devices=2"), False),
        (LACKING.replace("metadata", "spares=1 metadata"), False),
        (LACKING + "sdc3\n", False),  # a mail cut the list
    ],
)
def test_an_array_with_fewer_members_than_it_needs_is_degraded(text, lacks):
    state = read(text)[0]["md2"].state or ""
    assert state.startswith("degraded") == lacks


INFO = """\
$ pvs
  PV         VG   Fmt  Attr PSize   PFree
  /dev/sda1  data lvm2 a--  100.00g 9.00g
$ dmsetup info
Name:              data-crypt
State:             ACTIVE
Major, minor:      253, 5
UUID: CRYPT-LUKS2-0f7e3a4b5c6d7e8f9a0b1c2d3e4f5a6b-data-crypt

Name:              data-vm
State:             ACTIVE
Major, minor:      253, 6
UUID: LVM-abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl
"""


def test_a_map_that_is_not_lvm_s_is_no_lv_of_the_group_in_its_name():
    topology, _ = read(INFO)
    assert [edge.above for edge in topology.above("sda1")] == ["dm-6"]
