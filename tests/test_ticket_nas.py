"""Tickets of a NAS: its system on a mirror with free places, a member that fails requests, work that waits."""

from __future__ import annotations

import pytest

from tests.test_ticket_commands import run
from tests.test_tickets import edges, read

BAYS = """\
Personalities : [raid1] [raid6] [raid5] [raid4] [raidF1]
md2 : active raid5 sata1p5[0] sata3p5[2] sata2p5[1]
      7804374912 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]
md0 : active raid1 sata1p1[0] sata3p1[2] sata2p1[1]
      8388544 blocks [12/3] [UUU_________]
unused devices: <none>
"""
LOST = BAYS.replace(" sata3p5[2] ", " ").replace("[3/3] [UUU]", "[3/2] [UU_]")
REFUSES = BAYS.replace("sata3p5[2]", "sata3p5[2](E)").replace("[3/3] [UUU]", "[3/3] [UUE]")
RESHAPED = """\
md7 : active raid5 sdd1[3] sdc1[2] sdb1[1] sda1[0]
      5860150272 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]
      {}
"""


def shown(tmp_path, text, *words):
    return " ".join(run(tmp_path, text, *words, "--input").stdout.split())


def test_places_of_empty_bays_are_no_missing_members(tmp_path):
    """All disks of the complete md2 have a member of md0; if md2 lacks one, too, a disk is missing."""
    whole, lost = (shown(tmp_path, text, "check") for text in (BAYS, LOST))
    assert "CRITICAL" not in whole
    assert "md0 has 3 of 12 members" in whole
    assert lost.count("CRITICAL") == 2
    assert "md0 is degraded; 9 members are missing" in lost


def test_a_mirror_of_four_that_lost_two_is_degraded(tmp_path):
    text = BAYS.replace("[12/3] [UUU_________]", "[4/2] [UU__]").replace(" sata3p1[2] ", " ")
    assert "md0 is degraded" in shown(tmp_path, text, "check")


def test_a_member_that_fails_requests_has_failed(tmp_path):
    """A Synology keeps it in the array, and counts it: "[3/3] [UUE]"."""
    topology, _ = read(REFUSES)
    assert (topology["md2"].state, topology["sata3p5"].state) == ("degraded", "faulty")
    assert "md2 is degraded; members that are not active: sata3p5 (faulty)" in shown(
        tmp_path, REFUSES, "check"
    )


def test_a_reshape_that_waits_is_no_work_yet(tmp_path):
    """It has no I/O, and no speed to lower; one that runs has."""
    waits = RESHAPED.format("reshape=DELAYED")
    assert read(waits)[0]["md7"].state == "reshape delayed"
    assert "background work" not in shown(tmp_path, waits, "check")
    runs = RESHAPED.format("[>..]  reshape = 13.0% (25500/195338) finish=9.0min speed=4100K/sec")
    assert "slow it down" in shown(tmp_path, runs, "check")


def test_a_reshape_that_stands_still_is_not_waited_for(tmp_path):
    still = RESHAPED.format("[>..]  reshape = 13.0% (25500/195338) finish=0.0min speed=0K/sec")
    found = shown(tmp_path, still, "check")
    assert "It stands still: its speed is 0." in found
    assert "Find out why it stands still: see `dmesg`." in found
    assert "after it" not in found
    assert "slow it down" not in found


@pytest.mark.parametrize("separator", ["-part", "p", ""])
def test_partitions_of_a_multipath_map_by_their_names(separator):
    """kpartx puts "-part", "p" or nothing between the name and the number."""
    topology, _ = read(
        "mpathc (360060e8007c6b2000030c6b200000a11) dm-3 HITACHI ,OPEN-V\n"
        "size=2.0T features='0' hwhandler='1 alua' wp=rw\n"
        "`-+- policy='service-time 0' prio=50 status=active\n"
        "  `- 1:0:0:2 sdc 8:32  active ready running\n\n"
        "# ls -l /dev/mapper\ncrw------- 1 root root 10, 236 Jan  4 10:00 control\n"
        f"lrwxrwxrwx 1 root root 7 Jan  4 10:00 mpathc{separator}2 -> ../dm-4\n"
    )
    assert edges(topology) == {("dm-4", "dm-3"), ("dm-3", "sdc")}


BCACHE = """\
# bcache-status
--- bcache ---
Device                      /dev/bcache1 (252:1)
UUID                        1f0a5d6e-2222-4444-8888-0c1d2e3f4a5b
Cache Mode                  writethrough [writeback] writearound none
--- Backing Device ---
  Device File               /dev/sde2 (8:66)
  bcache Device File        /dev/bcache1 (252:1)
  Size                      3.64TiB
  State                     dirty
--- Cache Device ---
  Device File               /dev/nvme1n1p3 (259:7)
  Size                      223.57GiB
"""


def test_bcache_status_tells_the_disk_and_the_cache():
    topology, _ = read(BCACHE)
    roles = {(edge.above, edge.below): edge.role.name for edge in topology.edges}
    assert roles[("bcache1", "sde2")] == "ORIGIN"
    assert roles[("bcache1", "nvme1n1p3")] == "CACHE"
    assert topology["bcache1"].facts["mode"] == "writeback"


UNRAID = """\
root@Tower:~# cat /proc/mdstat
sbName=/boot/config/super.dat
mdState=STARTED
mdNumDisks=3
mdResyncAction=check P
mdResyncSize=7814026532
mdResync={}
mdResyncPos=1953506633
diskNumber.0=0
diskName.0=
diskState.0=7
rdevStatus.0=DISK_OK
rdevName.0=sdx
diskNumber.1=1
diskName.1=md1p1
diskSize.1=7814026532
diskState.1=7
rdevStatus.1=DISK_OK
rdevName.1=sdy
diskNumber.2=2
diskName.2=md2p1
diskSize.2=7814026532
rdevStatus.2={}
rdevName.2=sdz
root@Tower:~# lsblk
NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS
sdx          65:112  0   7.3T  0 disk
└─sdx1       65:113  0   7.3T  0 part
sdy          65:128  0   7.3T  0 disk
└─sdy1       65:129  0   7.3T  0 part
sdz          65:144  0   7.3T  0 disk
└─sdz1       65:145  0   7.3T  0 part
md1p1         9:1    0   7.3T  0 md   /mnt/disk1
md2p1         9:2    0   7.3T  0 md   /mnt/disk2
"""


def test_unraid_has_a_device_of_its_own_above_each_disk():
    """Its md1p1 is no partition: there is no md1."""
    topology, notes = read(UNRAID.format(0, "DISK_OK"))
    assert edges(topology) >= {("md1p1", "sdy1"), ("md2p1", "sdz1"), ("sdy1", "sdy")}
    assert "md1" not in topology
    assert topology["md1p1"].state == "active"
    assert not notes


def test_unraid_says_which_disk_is_emulated_and_that_parity_is_checked(tmp_path):
    topology, _ = read(UNRAID.format(7814026532, "DISK_DSBL"))
    assert topology["md1p1"].state == "check 25.0 %"
    assert topology["md2p1"].state == "degraded, check 25.0 %"
    assert "md2p1 is degraded" in shown(tmp_path, UNRAID.format(0, "DISK_DSBL"), "check")


GROUP = """\
Personalities : [raid1] [raid5]
md3 : active raid1 sdc6[0] sdd6[1]
      1953494912 blocks super 1.2 [2/2] [UU]
md2 : active raid5 sdd5[2] sdc5[1] sdb5[0]
      8776306368 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]
# pvs
  PV         VG   Fmt  Attr PSize PFree
  /dev/md2   vg7  lvm2 a--  8.17t    0
  /dev/md3   vg7  lvm2 a--  1.82t    0
# lvs
  LV   VG  Attr       LSize Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert
  lv   vg7 -wi-ao---- {}
"""


@pytest.mark.parametrize(("size", "below"), [("9.99t", {"md2", "md3"}), ("8.00t", set())])
def test_a_volume_that_no_other_pvs_can_hold_is_on_all(size, below):
    """9.99 TiB are more than each of the two has; where 8 TiB are is not known."""
    topology, _ = read(GROUP.format(size))
    assert {b for a, b in edges(topology) if a == "vg7-lv"} == below


def test_a_device_without_a_name_in_a_tree_is_known_by_its_number():
    topology, _ = read("# dmsetup ls --tree\nvg9-lv1 (253:4)\n └─vg9-tp1 (253:2)\n    └─ (147:1)\n")
    assert edges(topology) == {("dm-4", "dm-2"), ("dm-2", "drbd1")}


def test_tree_has_the_devices_that_only_figures_name(tmp_path):
    figures = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsdq 5.00 1.00 19.00 10 190\n"
    done = run(tmp_path, f"{BAYS}\n{figures}sata1 3.00 1.00 7.00 10 70\n", "tree", "--input")
    assert "\nsdq " in done.stdout
    assert done.stdout.count("sata1 ") == 2  # and an arrow back to it


def test_a_partition_of_a_map_that_only_figures_name(tmp_path):
    """`iostat -N` prints kpartx's names."""
    text = (
        "mpathc (360060e8007c6b2000030c6b200000a11) dm-3 HITACHI ,OPEN-V\n"
        "size=2.0T features='0' hwhandler='1 alua' wp=rw\n"
        "`-+- policy='service-time 0' prio=50 status=active\n"
        "  `- 1:0:0:2 sdc 8:32  active ready running\n\n"
        "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
        "sdc 5.00 1.00 19.00 10 190\nmpathc 5.00 1.00 19.00 10 190\n"
        "mpathc-part2 5.00 1.00 19.00 10 190\nmpathz-part2 1.00 0.00 4.00 0 40\n"
    )
    drawn = run(tmp_path, text, "tree", "--input").stdout
    assert "mpathc-part2" in drawn
    assert "\n└─ mpathc " in drawn
    assert "devices below mpathz-part2: not in the input" in " ".join(drawn.split())
