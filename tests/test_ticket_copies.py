"""Copies of data in a ticket: DRBD 9's status, and arrays known by the superblocks of their members only."""

from __future__ import annotations

import pytest

from tests.test_ticket_commands import run
from tests.test_tickets import edges, read

STATUS = """\
[root@alpha ~]# drbdsetup status --verbose --statistics
web node-id:0 role:Primary suspended:no
    write-ordering:flush
  volume:0 minor:7 disk:UpToDate backing_dev:/dev/sdb1 quorum:yes
      size:31456220 read:1048576 written:90112 upper-pending:0
      lower-pending:0 al-suspended:no blocked:no
  volume:1 minor:11 disk:Inconsistent backing_dev:/dev/vg0/db quorum:yes
      size:41941692 read:0 written:17572864 upper-pending:0
  beta node-id:1 connection:Connected role:Secondary congested:no ap-in-flight:0
      rs-in-flight:0
    volume:0 replication:Established peer-disk:UpToDate
        resync-suspended:no
    volume:1 replication:SyncTarget peer-disk:UpToDate done:41.90 resync-suspended:no
  gamma node-id:2 connection:Connected role:Secondary congested:no
    volume:0 replication:Established peer-disk:Diskless peer-client:yes
    volume:1 replication:Established peer-disk:Diskless peer-client:yes
"""


def test_volumes_of_drbd_9_lie_on_their_disks():
    topology, notes = read(STATUS)
    assert notes == []
    assert {("drbd7", "sdb1"), ("drbd11", "vg0-db")} <= edges(topology)
    assert (topology["drbd7"].state, topology["drbd11"].state) == ("active", "SyncTarget 41.90 %")
    assert topology["drbd7"].size == 31456220 * 1024


@pytest.mark.parametrize(
    ("printed", "state"),
    [
        ("  disk:UpToDate\n  beta role:Secondary\n    peer-disk:UpToDate\n", "active"),
        ("  disk:UpToDate open:no\n  beta connection:StandAlone\n", "degraded, StandAlone"),
        ("  disk:Diskless client:no\n  beta role:Primary\n    peer-disk:UpToDate\n", "degraded, Diskless/UpToDate"),
        ("  disk:Diskless quorum:no\n  beta connection:Connecting\n", "degraded, no quorum"),
        ("  disk:UpToDate\n  beta role:Secondary\n    replication:PausedSyncS peer-disk:Inconsistent\n", "degraded, PausedSyncS"),
        ("  disk:UpToDate\n  beta role:Primary\n    replication:SyncSource peer-disk:Inconsistent done:7.31\n", "SyncSource 7.31 %"),
        ("  disk:UpToDate\n  beta role:Primary\n    peer-disk:Diskless\n  gamma role:Secondary\n    peer-disk:Outdated\n", "degraded, UpToDate/Outdated"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("quote", ["", "> "])
def test_the_state_of_a_volume_without_its_number(printed, state, quote):
    text = "".join(f"{quote}{line}\n" for line in ("web role:Primary", *printed.splitlines()))
    topology, _ = read(text)
    assert {device.name: device.state for device in topology} == {"drbd/by-res/web/0": state}


def test_the_only_volume_is_the_only_device():
    lsblk = (
        "NAME      MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\n"
        "sdb         8:16   0  10G  0 disk\n"
        "└─drbd5   147:5    0  10G  0 disk /srv\n"
    )
    status = "web role:Primary\n  disk:UpToDate\n  beta connection:Connecting\n"
    topology, notes = read(status + lsblk)
    assert topology["drbd5"].state == "degraded, Connecting"
    assert notes == []
    assert len(topology) == 2
    topology, notes = read(status + status.replace("web", "db") + lsblk)
    assert topology["drbd5"].state is None
    assert notes == [
        (
            "devices of DRBD's volumes unknown (web/0 degraded, Connecting, db/0 degraded, Connecting):"
            " give `drbdsetup status --verbose`"
        )
    ]


JSON = """\
[
{
  "name": "web",
  "node-id": 1,
  "role": "Primary",
  "suspended": false,
  "devices": [
    {
      "volume": 0,
      "minor": 3,
      "disk-state": "UpToDate",
      "client": false,
      "quorum": true,
      "size": 409600
    } ],
  "connections": [
    {
      "peer-node-id": 2,
      "name": "beta",
      "connection-state": "Connected",
      "peer_devices": [
        {
          "volume": 0,
          "replication-state": "SyncSource",
          "peer-disk-state": "Inconsistent",
          "percent-in-sync": 37.25
        } ]
    } ]
}
]
"""


def test_drbd_9_in_json():
    device = read(JSON)[0]["drbd3"]
    assert (device.state, device.size) == ("SyncSource 37.25 %", 409600 * 1024)


def test_what_to_do_about_a_lost_peer(tmp_path):
    text = "web role:Primary\n  disk:UpToDate\n  beta connection:StandAlone\n"
    said = run(tmp_path, text, "explain", "--input").stdout
    assert "a copy is out of date or cannot be reached" in " ".join(said.split())
    assert "see `drbdadm status` on all its hosts" in " ".join(said.split())


SUPERBLOCK = """\
/dev/{member}:
          Magic : a92b4efc
        Version : 1.2
    Feature Map : 0x1
     Array UUID : 5f1e3b2a:77777777:aaaaaaaa:0badcafe
           Name : alpha:{name}  (local to host alpha)
  Creation Time : Tue Mar  3 10:11:12 2020
     Raid Level : raid5
   Raid Devices : 3

 Avail Dev Size : 1953260976 sectors (931.39 GiB 1000.07 GB)
     Array Size : {size}
  Used Dev Size : 1953260544 sectors (931.39 GiB 1000.07 GB)
    Data Offset : 264192 sectors
   Super Offset : 8 sectors
          State : clean
    Device UUID : 11111111:22222222:33333333:44444444

    Update Time : Thu Mar  5 10:20:30 2020
       Checksum : 8d5b1d4e - correct
         Events : {events}

         Layout : left-symmetric
     Chunk Size : 512K

   Device Role : {role}
   Array State : {slots} ('A' == active, '.' == missing, 'R' == replacing)
"""
KIB_SIZE = "1953260544 KiB (1862.77 GiB 2000.14 GB)"


def superblocks(*members, name="5", size=KIB_SIZE):
    keys = ("member", "role", "slots", "events")
    return "".join(
        SUPERBLOCK.format(name=name, size=size, **dict(zip(keys, each, strict=True)))
        for each in members
    )


WHOLE = (
    ("sdc1", "Active device 1", "AAA", 1200),
    ("sdb1", "Active device 0", "AAA", 1200),
    ("sdd1", "Active device 2", "AAA", 1200),
    ("sde1", "spare", "AAA", 1200),
)


@pytest.mark.parametrize("size", [KIB_SIZE, "3906521088 (1862.77 GiB 2000.14 GB)"], ids=["KiB", "sectors"])  # fmt: skip
def test_an_array_is_known_by_its_superblocks(size):
    topology, notes = read(superblocks(*WHOLE, size=size))
    array = topology["md5"]
    assert notes == []
    assert array.size == 1953260544 * 1024
    assert array.state == "clean by superblocks"
    assert (array.layout.level, array.layout.members, array.layout.chunk) == ("raid5", 3, 512 << 10)
    assert [(edge.below, edge.role.value) for edge in topology.below("md5")] == [
        ("sdb1", "data"), ("sdc1", "data"), ("sdd1", "data"), ("sde1", "spare"),
    ]  # fmt: skip
    assert topology["sdb1"].size == (1953260976 + 264192) * 512


@pytest.mark.parametrize(
    ("newest", "state", "failed"),
    [("AA.", "degraded", {"sdd1"}), ("A..", "failed", {"sdc1", "sdd1"})],
)
def test_the_newest_superblock_tells_which_members_are_lost(newest, state, failed):
    members = [("sdb1", "Active device 0", newest, 1305), WHOLE[0], WHOLE[2]]
    topology, _ = read(superblocks(*members))
    assert topology["md5"].state == state
    assert failed == {e.below for e in topology.below("md5") if e.role.value == "failed"}


def test_of_two_members_in_one_slot_the_newer_one_counts():
    members = [*WHOLE[:3], ("sdf1", "Active device 2", "AAA", 1100)]
    topology, _ = read(superblocks(*members))
    roles = {edge.below: edge.role.value for edge in topology.below("md5")}
    assert (roles["sdd1"], roles["sdf1"]) == ("data", "failed")


def test_superblocks_add_to_an_array_that_is_named():
    mdstat = (
        "Personalities : [raid6] [raid5] [raid4]\n"
        "md127 : inactive sdd1[2](S) sdc1[1](S) sdb1[0](S)\n"
        "      2929891464 blocks super 1.2\n\n"
        "unused devices: <none>\n"
    )
    topology, notes = read(mdstat + superblocks(*WHOLE[:3]))
    array = topology["md127"]
    assert (array.state, array.layout.level, array.layout.members) == ("inactive", "raid5", 3)
    assert array.size == 1953260544 * 1024  # mdstat adds up what the members have
    assert notes == []
    assert "md5" not in topology


OLD = """\
/dev/{member}:
          Magic : a92b4efc
        Version : 0.90.00
           UUID : 0fb2b9b5:6d1c0ae2:9a4ad3c2:5c1d4f7e (local to host alpha)
  Creation Time : Sun May  3 11:12:13 2009
     Raid Level : raid1
  Used Dev Size : 488383936 (465.76 GiB 500.11 GB)
     Array Size : 488383936 (465.76 GiB 500.11 GB)
   Raid Devices : 2
  Total Devices : 2
Preferred Minor : 3

    Update Time : Sat Jun  6 07:08:09 2015
          State : clean
 Active Devices : {active}
Working Devices : {active}
 Failed Devices : 0
  Spare Devices : 0
       Checksum : 3d1e1f0a - correct
         Events : 0.1234


      Number   Major   Minor   RaidDevice State
this     {slot}       8       {minor}        {slot}      active sync   /dev/{member}

   0     0       8        2        0      active sync   /dev/sda2
   1     1       8       18        1      active sync   /dev/sdb2
"""


@pytest.mark.parametrize(("active", "state"), [(2, "clean by superblocks"), (1, "degraded")])
def test_superblocks_of_version_0_90(active, state):
    """The metadata at the end of the last partition is found at the end of its disk, too."""
    members = (("sda2", 0, 2), ("sda", 0, 2), ("sdb2", 1, 18))
    text = "".join(
        OLD.format(member=name, slot=slot, minor=minor, active=active)
        for name, slot, minor in members
    )
    topology, _ = read(text)
    assert (topology["md3"].state, topology["md3"].layout.level) == (state, "raid1")
    assert {edge.below for edge in topology.below("md3")} == {"sda2", "sdb2"}


def test_a_name_in_words_is_an_alias():
    topology, _ = read(superblocks(*WHOLE, name="data"))
    assert topology["md/data"].layout.level == "raid5"


def test_the_level_of_an_inactive_array_is_not_raid0():
    """mdadm --detail says so of each."""
    detail = (
        "/dev/md0:\n           Version : 1.2\n        Raid Level : raid0\n     Total Devices : 3\n"
        "             State : inactive\n   Working Devices : 3\n\n"
        "    Number   Major   Minor   RaidDevice\n\n"
        "       -       8       17        -        /dev/sdb1\n"
        "       -       8       33        -        /dev/sdc1\n"
    )
    assert read(detail)[0]["md0"].layout is None
    topology, notes = read(detail + superblocks(*WHOLE[:2], name="0"))
    assert (topology["md0"].layout.level, topology["md0"].state, notes) == ("raid5", "inactive", [])


def test_members_that_are_mappings_with_the_names_of_disks():
    members = [(f"mapper/{name}", *rest) for name, *rest in WHOLE[:3]]
    topology, _ = read(superblocks(*members))
    assert {edge.below for edge in topology.below("md5")} == {f"mapper/{m[0]}" for m in WHOLE[:3]}
    assert topology["md5"].state == "clean by superblocks"


def test_another_array_with_the_name_of_the_superblocks():
    mdstat = "Personalities : [raid1]\nmd5 : active raid1 sdy1[1] sdx1[0]\n      976630464 blocks super 1.2 [2/2] [UU]\n"
    topology, _ = read(mdstat + superblocks(*WHOLE[:3]))
    assert {edge.below for edge in topology.below("md5")} == {"sdx1", "sdy1"}
    (other,) = (device for device in topology if device.layout and device.layout.level == "raid5")
    assert {edge.below for edge in topology.below(other.name)} == {"sdb1", "sdc1", "sdd1"}


def test_members_of_a_text_that_is_not_used_are_no_spares():
    """An earlier mdstat has disks that the array does not have now."""
    detail = (
        "/dev/md0:\n        Raid Level : raid1\n      Raid Devices : 2\n             State : clean\n\n"
        "    Number   Major   Minor   RaidDevice State\n"
        "       0       8       17        0      active sync   /dev/sdb1\n"
        "       1       8       33        1      active sync   /dev/sdc1\n"
    )
    mdstat = (
        "Personalities : [raid1]\nmd0 : inactive sde[2](S) sdb1[0](S)\n      976630464 blocks\n"
    )
    topology, notes = read(mdstat + detail)
    assert {edge.below for edge in topology.below("md0")} == {"sdb1", "sdc1"}
    assert "md0: on sde in /proc/mdstat, not in mdadm --detail" in notes
