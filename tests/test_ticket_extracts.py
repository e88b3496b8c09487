"""Tickets that show a part: what was searched for, what a mail cut, a listing of one disk, work that waits."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import pytest

from stackmap.model.device import Role
from tests.test_ticket_commands import run
from tests.test_tickets import edges, read

STACKMAP = (sys.executable, "-m", "stackmap")
HEAD = (
    "          Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util\n"
)


def row(time, name, writes, await_ms=7.0):
    """A row of `iostat -x` behind its time, as a script prints it."""
    queue = writes * await_ms / 1000
    return f"{time} {name:16} 0.00 0.00 0.00 {writes:7.2f} {writes * 4:.2f} {await_ms:.2f} {queue:.2f} 31.00\n"


def writes(tmp_path, text):
    """The writes per second of each device, on average."""
    rows = csv.DictReader(run(tmp_path, text, "iostat", "--csv", "--input").stdout.splitlines())
    return {row["name"]: float(row["writes_per_s"]) for row in rows}


TIMES = ("10:00:10", "10:00:20", "10:00:30")


def test_tables_of_one_time_are_one_report(tmp_path):
    """A log that was searched for the array, then for a member: 3 intervals, in which both had these figures."""
    array = "".join(row(time, "md7", writes) for time, writes in zip(TIMES, (2, 3, 7), strict=True))
    member = "".join(
        row(time, "sdf", writes) for time, writes in zip(TIMES, (5, 11, 14), strict=True)
    )
    text = f"The array:\n\n{HEAD}{array}\nA member:\n\n{HEAD}{member}"

    assert writes(tmp_path, text) == {"md7": 4, "sdf": 10}
    assert "average of 3 intervals" in run(tmp_path, text, "iostat", "--input").stdout


def test_other_columns_of_one_device_do_not_dilute_a_table_of_all(tmp_path):
    """`iostat -x` of an array and its members, then `iostat` of the array for a while."""
    basic = "10:07:{:02} md7 9.00 0.00 40.00 0 400\n"
    later = "".join(basic.format(second) for second in range(10, 60, 10))
    text = (
        f"{HEAD}{row(TIMES[0], 'md7', 6)}{row(TIMES[0], 'sdf', 13)}{row(TIMES[0], 'sdg', 17)}\n"
        f"          Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n{later}"
    )

    assert writes(tmp_path, text) == {"md7": 6, "sdf": 13, "sdg": 17}
    assert "average of 1 of 6 intervals" in run(tmp_path, text, "iostat", "--input").stdout


@pytest.mark.parametrize("before", ["level 5,", "level 5, 2", "level 5, 25"])
def test_a_chunk_that_a_mail_cut_in_two(before):
    line = "80000 blocks level 5, 256k chunk, algorithm 2 [3/3] [UUU]"
    cut = line.index(before) + len(before)
    topology, _ = read(
        "Personalities : [raid5]\n"
        f"md7 : active raid5 sdd[2] sdc[1] sdb[0]\n      {line[:cut]}\n{line[cut:]}\n"
    )
    assert topology["md7"].layout.chunk == 256 * 1024


def test_a_progress_that_a_mail_cut_in_two():
    topology, _ = read(
        "Personalities : [raid5]\nmd7 : active raid5 sdd[2] sdc[1] sdb[0]\n"
        "      80000 blocks level 5, 64k chunk, algorithm 2 [3/3] [UUU]\n"
        "      [>....................]  check =  2.5% (1000\n/40000) finish=9.9min speed=61K/sec\n"
    )
    assert topology["md7"].state == "check 2.5 %"


def test_work_that_waits_does_not_run():
    """md7 waits for md8, which is on the same disks: it is degraded, and nothing is read for it."""
    topology, _ = read(
        "Personalities : [raid1]\nmd7 : active raid1 sdc1[2] sdb1[0]\n"
        "      80000 blocks [2/1] [U_]\n        resync=DELAYED\n\n"
        "md8 : active raid1 sdc2[2] sdb2[0]\n      90000 blocks [2/1] [U_]\n"
        "      [>....................]  recovery =  2.5% (2250/90000) finish=9.9min speed=61K/sec\n"
    )
    assert topology["md7"].state == "degraded"
    assert topology["md8"].state == "recover 2.5 %"


def test_an_array_whose_slots_are_all_in_use_lacks_no_member():
    """During a change of level md counts a member too few: "[4/3] [UUUU]"."""
    topology, _ = read(
        "Personalities : [raid6]\nmd7 : active raid6 sde[3] sdd[2] sdc[1] sdb[0]\n"
        "      80000 blocks super 1.2 level 6, 512k chunk, algorithm 18 [4/3] [UUUU]\n"
        "      [===>.................]  reshape = 16.2% (6480/40000) finish=9.9min speed=61K/sec\n"
    )
    assert topology["md7"].state == "reshape 16.2 %"


DETAIL = """\
/dev/md7:
           Version : 1.2
        Raid Level : raid5
        Array Size : 8388608 (8.00 GiB 8.59 GB)
      Raid Devices : 3
             State : clean, checking
    Active Devices : 3
        Chunk Size : 64K
      Check Status : 41% complete

    Number   Major   Minor   RaidDevice State
       0       8       16        0      active sync   /dev/sdb
       1       8       32        1      active sync   /dev/sdc
       3       8       48        2      active sync   /dev/sdd
"""
AS_MEMBER = """\
/dev/md7:
          Magic : a92b4efc
        Version : 1.2
     Array UUID : 11111111:22222222:33333333:44444444
     Raid Level : linear
   Raid Devices : 4
 Avail Dev Size : 10485760 sectors (5.00 GiB 5.37 GB)
  Used Dev Size : 0 sectors
    Data Offset : 2048 sectors
   Unused Space : before=1968 sectors, after=6289408 sectors
          State : clean
    Device Role : Active device 1
    Array State : AAAA ('A' == active, '.' == missing, 'R' == replacing)
"""


@pytest.mark.parametrize("texts", [(DETAIL, AS_MEMBER), (AS_MEMBER, DETAIL)])
def test_the_superblock_on_an_array_is_not_that_of_the_array(texts):
    """`mdadm -E /dev/md7` tells of the array that md7 is a member of; md7 has grown since."""
    topology, notes = read("\n# mdadm\n".join(texts))
    assert topology["md7"].layout.level == "raid5"
    assert not notes


def test_the_progress_with_more_digits_counts():
    """mdadm prints whole percents, md its sectors."""
    topology, _ = read(
        DETAIL + "\n# cat /proc/mdstat\nmd7 : active raid5 sdd[3] sdc[1] sdb[0]\n"
        "      8388608 blocks super 1.2 level 5, 64k chunk, algorithm 2 [3/3] [UUU]\n"
        "      [========>............]  check = 41.7% (1749025/4194304) finish=9.9min speed=61K/sec\n"
    )
    assert topology["md7"].state == "check 41.7 %"


LISTED = "NAME      MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT\n"


def test_lsblk_of_a_cache_alone():
    """What is smaller than the cached device cannot hold its data."""
    topology, _ = read(
        f"{LISTED}sdx        65:112  0  372G  0 disk\n`-bcache3 252:48   0  7.3T  0 disk\n"
    )
    assert [edge.role for edge in topology.below("bcache3")] == [Role.CACHE]
    topology, _ = read(
        f"{LISTED}sdy        65:128  0  7.3T  0 disk\n`-bcache3 252:48   0  7.3T  0 disk\n"
    )
    assert [edge.role for edge in topology.below("bcache3")] == [Role.ORIGIN]


def test_lsblk_of_one_of_the_disks_below_a_volume():
    """A volume of 9.1 TiB is not on a disk of 5.5 TiB alone: that it is linear is unknown."""
    topology, _ = read(
        f"{LISTED}sdq        65:0    0  5.5T  0 disk\n`-vgq-lvq 253:5    0  9.1T  0 lvm  /srv/q\n"
    )
    assert edges(topology) == {("dm-5", "sdq")}
    assert topology["dm-5"].target == ""
    assert any("by the sizes of those" in each for each in topology.unknown)


BTRFS = """\
Label: 'pool'  uuid: 5f0c3a6e-0000-4111-8222-933344445555
        Total devices 3 FS bytes used 1.10TiB
        devid    1 size 1.82TiB used 1.11TiB path /dev/sdb1
        devid    2 size 1.82TiB used 1.11TiB path /dev/sdc1   <<< new
        devid    3 size 1.82TiB used 1.11TiB path /dev/sdd1 MISSING
Filesystem      Size  Used Avail Use% Mounted on
/dev/sdb1       3.7T  1.2T  2.5T  33% /srv/pool
"""


def test_a_file_system_of_btrfs_is_on_all_of_its_devices():
    topology, _ = read(BTRFS)
    assert topology["sdb1"].mounts == topology["sdc1"].mounts == ("/srv/pool",)
    assert "sdd1" not in topology


STALLED = """\
Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sdb              0.00    0.00      0.00      0.00     0.00     0.00   0.00   0.00    0.00    0.00   0.00     0.00     0.00   0.00   0.00
dm-3             0.00    0.00      0.00      0.00     0.00     0.00   0.00   0.00    0.00    0.00   0.00     0.00     0.00   0.00 100.00
md7              0.00    0.00      0.00      0.00     0.00     0.00   0.00   0.00    0.00    0.00   0.00     0.00     0.00   0.00 100.00
"""


def test_what_may_hang_is_looked_at_before_anything_is_measured_again(tmp_path):
    shown = run(tmp_path, STALLED, "explain", "--input").stdout
    assert shown.startswith("Do first: dm-3 hangs, or counts wrong. List waiting processes")
    assert shown.count("SM801") == 1
    assert "Also: md7." in shown
    assert "no known device below it hangs" in " ".join(shown.split())


def test_a_rebuild_is_not_to_be_slowed_down(tmp_path):
    """Until it ends, the array lacks redundancy; a check may be slowed down."""
    mdstat = (
        "Personalities : [raid1]\nmd8 : active raid1 sdc2[2] sdb2[0]\n      90000 blocks [2/{}]\n"
        "      [>....................]  {} =  2.5% (2250/90000) finish=9.9min speed=61K/sec\n"
    )
    rebuild = run(tmp_path, mdstat.format("1] [U_", "recovery"), "explain", "--input").stdout
    check = run(tmp_path, mdstat.format("2] [UU", "check"), "explain", "--input").stdout
    assert "sync_speed_max" not in rebuild
    assert "sync_speed_max" in check


CONTRADICTING = (
    f"{LISTED}sdq          65:0    0   20G  0 disk\n|-vga-root 253:0    0    9G  0 lvm  /\n"
    "`-vga-swap 253:1    0    2G  0 lvm  [SWAP]\n\n"
    'KNAME="dm-0" MAJ:MIN="253:0" NAME="vgb-root" SIZE="30G" TYPE="lvm" MOUNTPOINT="/"\n'
    'KNAME="dm-1" MAJ:MIN="253:1" NAME="vgb-swap" SIZE="4G" TYPE="lvm" MOUNTPOINT="[SWAP]"\n'
)


def test_contradicting_texts_give_one_answer(tmp_path):
    """Two hosts whose names were cut out: the order of a set is another one in each process."""
    path = tmp_path / "pasted.txt"
    path.write_text(CONTRADICTING)
    command = [*STACKMAP, "tree", "--input", str(path)]
    shown = {
        subprocess.run(
            command,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(6)
    }
    assert len(shown) == 1


CONTAINER = """\
/dev/md9:
           Version : imsm
        Raid Level : container
     Total Devices : 2

   Working Devices : 2

    Number   Major   Minor   RaidDevice

       -       8       16        -        /dev/sdb
       -       8       32        -        /dev/sdc
"""


def test_a_container_is_not_to_be_repaired(tmp_path):
    """It is always inactive: only the arrays in it have I/O."""
    text = (
        "Personalities : [raid1]\nmd9 : inactive sdc[1](S) sdb[0](S)\n"
        f"      5288 blocks super external:imsm\n\n# mdadm --detail /dev/md9\n{CONTAINER}"
    )
    topology, _ = read(text)
    assert topology["md9"].state is None
    assert "CRITICAL" not in run(tmp_path, text, "explain", "--input").stdout


def test_the_size_that_mdadm_prints_of_a_partition_is_that_of_the_partition():
    whole, part = DETAIL, DETAIL.replace("md7:", "md7p2:").replace("8388608 (8.00", "2097152 (2.00")
    topology, notes = read(f"{whole}\n# mdadm --detail /dev/md7p2\n{part}")
    assert not notes
    assert (topology["md7"].size, topology["md7p2"].size) == (8 << 30, 2 << 30)


def test_an_array_that_is_not_started_reads_nothing(tmp_path):
    text = DETAIL.replace("clean, checking", "inactive")
    shown = " ".join(run(tmp_path, text, "explain", "--input").stdout.split())
    assert "md7 is inactive; md has not started it." in shown
    assert "in place of the missing one" not in shown


FOLDED = """\
NAME   FSTYPE FSVER LABEL   UUID
FSAVAIL FSUSE% MOUNTPOINT
sdr
└─sdr1 ext4   1.0           0badc0de-1111-4222-8333-444455556666
36.5G    27% /home
sdt
├─sdt1 btrfs        pool    0badc0de-7777-4222-8333-444455556666
1.2T    66% /srv/pool
└─sdt2 swap   1             0badc0de-8888-4222-8333-444455556666
         [SWAP]
"""


def test_a_table_of_lsblk_whose_rows_a_mail_wrapped_too():
    topology, _ = read(FOLDED)
    assert topology["sdr1"].mounts == ("/home",)
    assert topology["sdt1"].mounts == ("/srv/pool",)
    assert [use.kind for use in topology["sdt2"].uses] == ["swap"]
    assert {device.name for device in topology} == {"sdr", "sdr1", "sdt", "sdt1", "sdt2"}


def test_the_rest_of_a_row_does_not_end_a_branch():
    """The heading takes three lines, as does a row."""
    topology, _ = read(
        "NAME        FSTYPE              SIZE MOUNTPOINT\n"
        "UUID                                 MIN-IO SCHED\nMODEL\n"
        "sdr                             1.8T\n                                        512 bfq\nDISK_R\n"
        "└─sdr1      bcache              1.8T\n0badc0de-1111-4222-8333-444455556666     512 bfq\n"
        "  └─bcache3 ext4                1.8T /srv\n0badc0de-2222-4222-8333-444455556666     512\n"
    )
    assert {("bcache3", "sdr1"), ("sdr1", "sdr")} <= edges(topology)


def test_branches_without_the_blanks_before_them():
    """A second last branch at one place is that of what is on the first one."""
    topology, _ = read(
        f"{LISTED}sdr         65:16   0  279G  0 disk\n└─sdr1      65:17   0   60G  0 part\n"
        "└─vgr-lvr   253:0    0   50G  0 lvm  /srv\nsdt         65:48   0  279G  0 disk\n"
        "└─sdt1      65:49   0   60G  0 part\n"
    )
    assert edges(topology) == {("dm-0", "sdr1"), ("sdr1", "sdr"), ("sdt1", "sdt")}


def test_the_cache_of_bcache_is_smaller_than_its_data():
    """lsblk shows both, and only their sizes tell which is which."""
    topology, _ = read(
        f"{LISTED}sdr         65:16   0   40G  0 disk\n└─bcache3  252:48   0  1.8T  0 disk\n"
        "sdt         65:48   0  1.8T  0 disk\n└─bcache3  252:48   0  1.8T  0 disk\n"
    )
    roles = {edge.below: edge.role for edge in topology.below("bcache3")}
    assert roles == {"sdr": Role.CACHE, "sdt": Role.ORIGIN}


def test_a_remark_behind_a_name(tmp_path):
    """An author says what a device is."""
    text = (
        "Device             tps    MB_read/s    MB_wrtn/s    MB_read    MB_wrtn\n"
        "sdr (new)        94.00         0.00        57.00          0        105\n"
        "sdt             324.00        27.00        13.00         27        113\n"
    )
    shown = run(tmp_path, text, "iostat", "--input").stdout
    assert "58368.00" in shown
    assert "94.00" in shown


@pytest.mark.parametrize(
    ("member", "first"),
    [(17.0, "Look above the disks"), (900.0, "Fewer requests at a time wait less")],
)
def test_what_no_disk_of_a_text_waits_for_is_above_them(tmp_path, member, first):
    """Without a topology; of the array 1.3 s, of no disk a third of it."""
    rows = row(TIMES[0], "md7", 100, 1300.0) + row(TIMES[0], "sdf", 60, member)
    shown = " ".join(run(tmp_path, HEAD + rows, "explain", "--input").stdout.split())
    finding = shown.partition("WARNING: md7 is slow: await 1300 ms (SM423")[2]
    assert f"Do: {first}" in finding
    fast = "No disk in these figures is as slow: the slowest, sdf, has an await of 17.0 ms."
    assert (fast in finding) == (member < 100)


def test_disks_below_a_volume_that_are_not_in_the_text_may_be_slow(tmp_path):
    """Another disk of the text is fast, which tells nothing."""
    tree = "NAME MAJ:MIN RM SIZE RO TYPE\nsdf 8:80 0 9G 0 disk\n└─sdf1 8:81 0 9G 0 part\nmd7 9:7 0 99G 0 raid5\n"
    rows = row(TIMES[0], "md7", 100, 1300.0) + row(TIMES[0], "sdf", 60, 17.0)
    shown = " ".join(run(tmp_path, f"{tree}\n{HEAD}{rows}", "explain", "--input").stdout.split())
    finding = shown.partition("WARNING: md7 is slow: await 1300 ms (SM423")[2]
    assert finding
    assert "No disk in these figures" not in finding
    assert "Look above the disks" not in finding


FDISK = """\
Disk /dev/sdr: 465.76 GiB, 500107862016 bytes, 976773168 sectors
Disk model: DISK 850
Units: sectors of 1 * 512 = 512 bytes
Sector size (logical/physical): 512 bytes / 4096 bytes
I/O size (minimum/optimal): 4096 bytes / 131072 bytes
Disklabel type: dos

Device     Boot   Start       End   Sectors   Size Id Type
/dev/sdr1  *         63   2097214   2097152     1G fd Linux raid autodetect
/dev/sdr2       2099200   4196351   2097152     1G  5 Extended
/dev/sdr5       2101248   4196351   2095104  1023M 83 Linux
"""
CYLINDERS = """\
Disk /dev/sdt: 500.1 GB, 500107862016 bytes
255 heads, 63 sectors/track, 60801 cylinders
Units = cylinders of 16065 * 512 = 8225280 bytes

   Device Boot      Start         End      Blocks   Id  System
/dev/sdt1               1       60801   488384001   fd  Linux raid autodetect
"""


def test_fdisk_tells_where_partitions_begin(tmp_path):
    topology, _ = read(FDISK)
    assert {name: topology[name].size for name in ("sdr", "sdr1", "sdr5")} == {
        "sdr": 500107862016, "sdr1": 1 << 30, "sdr5": 2095104 * 512
    }  # fmt: skip
    assert topology["sdr"].model == "DISK 850"
    shown = " ".join(run(tmp_path, FDISK, "check", "--input").stdout.split())
    assert "partition start on sdr: 31.5 KiB, not a multiple of 4 KiB" in shown
    assert "sdr2" not in shown


def test_fdisk_with_single_blanks_and_with_an_impossible_row():
    """The extended partition has the others in it; a partition does not end before it begins."""
    text = "\n".join(" ".join(line.split()) for line in FDISK.splitlines())
    topology, _ = read(f"{text}\n/dev/sdr6 4200000 4100000 99 1M 83 Linux\n")
    assert {device.name for device in topology} <= {"sdr", "sdr1", "sdr5", "sdr6"}
    assert topology["sdr5"].size == 2095104 * 512
    assert "sdr6" not in topology or topology["sdr6"].size is None


def test_fdisk_in_cylinders_tells_the_size_of_the_disk():
    topology, _ = read(
        CYLINDERS + "\n# lsblk -l\nNAME MAJ:MIN RM SIZE RO TYPE\nsdt1 65:49 0 465.8G 0 part\n"
    )
    assert topology["sdt"].size == 500107862016
    assert topology["sdt1"].size == pytest.approx(465.8 * (1 << 30), rel=0.001)


def test_a_branch_that_lost_its_blanks_below_deeper_ones():
    """It is on the last of them; where one is not the last at its place, on which is unknown."""
    rows = (
        f"{LISTED}sdr         65:16   0  279G  0 disk\n└─sdr1      65:17   0   60G  0 part\n"
        "  {}─md7       9:7    0   50G  0 raid1\n└─bcache3  252:48   0   50G  0 disk\n"
    )
    topology, _ = read(rows.format("└"))
    assert ("bcache3", "md7") in edges(topology)
    topology, _ = read(rows.format("├"))
    assert not topology.below("bcache3")


def test_the_command_for_a_bitmap_names_the_array(tmp_path):
    """It is the whole advice of the first line, to be copied."""
    text = DETAIL.replace("clean, checking", "clean").replace("8388608 (8.00", "838860800 (800.00")
    text = text.replace("Check Status : 41% complete", "Consistency Policy : resync")
    shown = " ".join(run(tmp_path, text, "explain", "--input").stdout.split())
    assert shown.startswith(
        "Do first: md7 has no bitmap. Add a bitmap: `mdadm --grow --bitmap=internal /dev/md7`. "
    )
