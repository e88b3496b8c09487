"""What is wrong in a ticket: failed paths, a slow member, and figures of devices that only some texts name."""

from __future__ import annotations

import json

import pytest

from stackmap.discover.find import topology_from_names
from stackmap.model.topology import UNKNOWN_MACHINE
from tests.test_ticket_commands import run
from tests.test_tickets import edges, read

PATHS = {
    "multipath-tools 0.8": """\
mpathb (360060e8007c6b2000030c6b200000a11) dm-3 HITACHI ,OPEN-V
size=2.0T features='0' hwhandler='1 alua' wp=rw
|-+- policy='service-time 0' prio=50 status=active
| |- 1:0:0:2 sdc 8:32  active ready running
| `- 2:0:0:2 sde 8:64  failed faulty running
`-+- policy='service-time 0' prio=10 status=enabled
  `- 3:0:0:2 sdg 8:96  active ready running
""",
    "multipath-tools 0.4": """\
mpathb (360060e8007c6b2000030c6b200000a11) dm-3 HITACHI,OPEN-V
[size=2.0T][features=0][hwhandler=0]
\\_ round-robin 0 [prio=2][active]
 \\_ 1:0:0:2 sdc 8:32  [active][ready]
 \\_ 2:0:0:2 sde 8:64  [failed][faulty]
\\_ round-robin 0 [prio=1][enabled]
 \\_ 3:0:0:2 sdg 8:96  [active][ready]
""",
}
TABLE = "mpathb: 0 4294967296 multipath 0 0 2 1 service-time 0 2 2 8:32 1 1 8:64 1 1 service-time 0 1 2 8:96 1 1\n"


@pytest.mark.parametrize("before", ["", TABLE], ids=["alone", "with its table"])
@pytest.mark.parametrize("version", PATHS)
def test_a_failed_path_is_known_from_multipath(version, before):
    topology, _ = read(before + PATHS[version])
    states = {name: topology[name].state for name in ("dm-3", "sdc", "sde", "sdg")}
    assert states == {"dm-3": "degraded", "sdc": "active", "sde": "failed", "sdg": "standby"}
    assert topology["dm-3"].facts["paths"] == "2 of 3"


def test_names_in_the_tree_of_dmsetup():
    """With -o blkdevname: the number of a disk is joined with its name, which another text uses."""
    topology, notes = read(
        "vg-lv <dm-9> (254:9)\n └─ <md1> (9:1)\n    ├─ <nvme1n1p2> (259:5)\n    └─ <nvme0n1p2> (259:2)\n"
        "Personalities : [raid1]\nmd1 : active raid1 nvme1n1p2[1] nvme0n1p2[0]\n      1024 blocks [2/2] [UU]\n"
    )
    assert not notes
    assert {("dm-9", "md1"), ("md1", "nvme1n1p2"), ("md1", "nvme0n1p2")} <= edges(topology)


def test_drbd_lies_on_its_disk():
    topology, _ = read(
        "NAME         MAJ:MIN RM  SIZE RO TYPE MOUNTPOINT\n"
        "sdb            8:16   0  932G  0 disk\n"
        "└─drbd0      147:0    0  932G  0 disk\n"
        "  └─vgr-mail 253:0    0  800G  0 lvm  /var/vmail\n"
    )
    assert edges(topology) == {("drbd0", "sdb"), ("dm-0", "drbd0")}


MDSTAT = """\
Personalities : [raid6] [raid5] [raid4]
md2 : active raid5 sata1p5[0] sata4p5[3] sata3p5[2] sata2p5[1]
      23422115328 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]

unused devices: <none>
"""
SINCE_BOOT = """\
Linux 4.4.302+ (nas)    11/14/2024      _x86_64_        (4 CPU)

Device            r/s     w/s     rMB/s     wMB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util
sata1           12.33   44.10      0.10      0.31     0.10     3.20   0.80   6.77   18.20   33.10   1.68     8.21     7.22   6.10  34.42
sata2           12.21   44.20      0.10      0.31     0.10     3.20   0.81   6.75  148.20  403.10  19.62     8.19     7.21  17.50  98.72
sata3           12.41   44.00      0.10      0.31     0.10     3.20   0.80   6.78   17.90   32.80   1.66     8.22     7.21   6.08  34.30
sata4           12.29   44.20      0.10      0.31     0.10     3.20   0.80   6.75   18.40   33.50   1.71     8.20     7.22   6.12  34.58
"""


def test_partitions_of_a_nas():
    assert ("sata2p5", "sata2") in edges(read(MDSTAT)[0])


def test_peers_are_compared_since_boot(tmp_path):
    """All members have the same time behind them; no other finding is made of averages since boot."""
    done = run(tmp_path, MDSTAT + SINCE_BOOT, "explain", "-J", "--input")
    told = json.loads(done.stdout)
    (slow,) = (each for each in told["findings"] if each["severity"] == "warning")
    assert (slow["id"], slow["device"]) == ("SM202", "sata2")
    said = " ".join(run(tmp_path, MDSTAT + SINCE_BOOT, "explain", "--input").stdout.split())
    assert "These are averages since boot" in said
    assert "Could not judge: the load" in said


def test_of_totals_no_rate_is_told(tmp_path):
    rows = "".join(
        f"   8 {16 * n} sd{letter} {9000 + n} 0 72000 {ms} 4000 0 32000 {ms} 0 {ms} {2 * ms} 0 0 0 0\n"
        for n, (letter, ms) in enumerate(zip("abc", (40_000, 41_000, 900_000), strict=True))
    )
    array = "md0 : active raid5 sda[0] sdb[1] sdc[2]\n      2048 blocks level 5, 64k chunk, algorithm 2 [3/3] [UUU]\n"
    told = json.loads(run(tmp_path, array + rows, "explain", "-J", "--input").stdout)
    assert not [each for each in told["findings"] if each["severity"] == "warning"]


def test_a_second_partition_is_not_the_only_one(tmp_path):
    """pvs names sda2 alone, but there is an sda1, too: the figures of sda are not those of sda2."""
    text = "  PV         VG   Fmt  Attr PSize  PFree\n  /dev/{}  cs   lvm2 a--  99.00g    0 \n"
    figures = "\nDevice  r/s  rkB/s  r_await  w/s  wkB/s  w_await  aqu-sz  %util\nsda  7.00  70.00  1.00  5.00  50.00  1.00  0.10  1.00\n"
    rates = {}
    for name in ("sda1", "sda2"):
        done = run(tmp_path, text.format(name) + figures, "iostat", "-J", "--input")
        devices = {each["name"]: each for each in json.loads(done.stdout)["devices"]}
        rates[name] = devices.get(name, {}).get("reads")
    assert rates == {"sda1": 7, "sda2": None}


FLUSHES = """\
Device            r/s     rkB/s r_await     w/s     wkB/s w_await     f/s f_await  aqu-sz  %util
sda             45.00    360.00   40.00   60.00    960.00  {:6.2f}   60.00   {:5.2f}   {:5.2f}  99.60
"""


def test_flushes_are_not_the_reason_where_writes_wait_for_longer(tmp_path):
    """A write waits for a flush or two. Flushes that wait as long as all else are no cause."""
    ids = {}
    for write, flush in ((120.0, 60.0), (30.0, 60.0)):
        queue = (45 * 40 + 60 * write + 60 * flush) / 1000
        done = run(tmp_path, FLUSHES.format(write, flush, queue), "explain", "-J", "--input")
        ids[write] = {each["id"] for each in json.loads(done.stdout)["findings"]}
        (found,) = [f for f in json.loads(done.stdout)["findings"] if f["id"] == "SM502"] or [None]
        if found:
            share = next(f for f in found["evidence"] if f["name"] == "share")
            assert share["value"] == 1, "3.6 flushes in flight are all of the time, not 360 %"
    assert "SM502" not in ids[120]
    assert "SM502" in ids[30]


SAR = """\
Linux 5.14.0 (db1) \t11/20/2026 \t_x86_64_\t(8 CPU)

10:00:01          DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util
10:10:01       dev8-16    300.00   1200.00   1200.00      0.00      8.00      0.60      2.00     19.00
10:10:01      dev253-2    300.00   1200.00   1200.00      0.00      8.00      0.60      2.00     19.00
10:20:01       dev8-16    290.00   1160.00   1160.00      0.00      8.00     16.24     56.00     99.80
10:20:01      dev253-2    290.00   1160.00   1160.00      0.00      8.00     16.24     56.00     99.80
"""
LINKS = """\
# ls -l /dev/mapper
crw-------. 1 root root 10, 236 Nov  1 03:12 control
lrwxrwxrwx. 1 root root       7 Nov  1 03:12 vgdb-lvdata -> ../dm-2
# pvs
  PV         VG   Fmt  Attr PSize   PFree
  /dev/sdb   vgdb lvm2 a--  500.00g 100.00g
# sar -d
"""


def test_the_number_of_a_mapped_device_is_its_name(tmp_path):
    """dm-2 has the minor number 2; the major one is of those that the kernel gives out."""
    done = run(tmp_path, LINKS + SAR, "iostat", "-J", "--report", "1", "--input")
    devices = {each["name"]: each["tps"] for each in json.loads(done.stdout)["devices"]}
    assert devices == {"sdb": 300, "dm-2": 300}


def test_two_majors_may_not_both_be_of_device_mapper(tmp_path):
    """One of them is of another driver: nothing tells which."""
    text = LINKS + SAR.replace("10:20:01      dev253-2", "10:20:01      dev252-2", 1)
    both = text.replace("10:10:01       dev8-16", "10:10:01      dev252-2", 1)
    done = run(tmp_path, both, "iostat", "-J", "--report", "1", "--input")
    assert {each["name"] for each in json.loads(done.stdout)["devices"]} >= {"dev252-2", "dev253-2"}


def test_an_overload_in_a_quarter_of_few_intervals_is_no_all_clear(tmp_path):
    """The mean of a fast and a slow report is no queue. There are too few for an episode."""
    told = json.loads(run(tmp_path, SAR, "explain", "-J", "--input").stdout)
    (found,) = (each for each in told["findings"] if each["severity"] == "warning")
    assert (found["id"], found["device"]) == ("SM406", "dev8-16")
    assert "sdb is overloaded in some intervals: 16.2 requests" in found["sentence"]


POOL = """\
  pool: tank
 state: DEGRADED
  scan: {scan} in progress since Fri Nov 27 09:01:11 2026
config:

        NAME             STATE     READ WRITE CKSUM
        tank             DEGRADED     0     0     0
          raidz1-0       DEGRADED     0     0     0
            sda          ONLINE       0     0     0
            sdb          FAULTED     12   301     0  too many errors
            sdc          ONLINE       0     0     0{mark}
        logs
          nvme0n1p1      ONLINE       0     0     0
        spares
          sdd            AVAIL
"""


@pytest.mark.parametrize(
    ("scan", "mark", "states"),
    [
        ("resilver", "  (resilvering)", [None, "faulted", "resilver", None]),
        ("scrub", "", ["scrub", "faulted", "scrub", None]),
    ],
)
def test_what_a_pool_of_zfs_does(tmp_path, scan, mark, states):
    """The disk that failed is first, the scan is named once; a partition without a number has its user, too."""
    text = POOL.format(scan=scan, mark=mark)
    topology, _ = read(text)
    assert [topology[f"sd{letter}"].state for letter in "abcd"] == states
    assert [use.name for use in topology["nvme0n1p1"].uses] == ["[ZFS tank]"]
    found = json.loads(run(tmp_path, text, "explain", "-J", "--input").stdout)["findings"]
    assert [each["id"] for each in found][:2] == ["SM301", "SM302"]
    assert sum(each["id"] == "SM302" for each in found) == 1
    assert "it is used by [ZFS tank]" in found[0]["sentence"]


BY_PARTUUID = """\
NAME   MAJ:MIN  SIZE TYPE PARTUUID
sda      8:0    3.6T disk
├─sda1   8:1      2G part 0d4cf4a1-0000-4a4a-8b8b-00000000a001
└─sda2   8:2    3.6T part 0d4cf4a1-0000-4a4a-8b8b-00000000a002
sdb      8:16   3.6T disk
├─sdb1   8:17     2G part 0d4cf4a1-0000-4a4a-8b8b-00000000b001
└─sdb2   8:18   3.6T part 0d4cf4a1-0000-4a4a-8b8b-00000000b002
sdc      8:32   3.6T disk
├─sdc1   8:33   3.6T part 0d4cf4a1-0000-4a4a-8b8b-00000000c001
└─sdc9   8:41     8M part 0d4cf4a1-0000-4a4a-8b8b-00000000c009

  pool: store
 state: DEGRADED
status: One or more devices are faulted in response to persistent errors.
config:

        NAME                                      STATE     READ WRITE CKSUM
        store                                     DEGRADED     0     0     0
          raidz1-0                                DEGRADED     0     0     0
            0d4cf4a1-0000-4a4a-8b8b-00000000a002  ONLINE       0     0     0
            0d4cf4a1-0000-4a4a-8b8b-00000000b002  FAULTED      3    88     0  too many errors
            sdc                                   OFFLINE      0     0     0
            bay-7                                 UNAVAIL      0     0     0
"""


def test_members_of_a_pool_that_failed_are_told(tmp_path):
    """Whether the pool has them by PARTUUID, as whole disks, or by a name that no other text has."""
    topology, _ = read(BY_PARTUUID)
    pool = {device.name: device.state for device in topology if device.uses}
    assert pool == {"sda2": None, "sdb2": "faulted", "sdc1": "offline", "bay-7": "unavail"}
    found = json.loads(run(tmp_path, BY_PARTUUID, "explain", "-J", "--input").stdout)["findings"]
    assert {each["device"] for each in found} == {"sdb2", "sdc1", "bay-7"}
    assert all("it is used by [ZFS store]" in each["sentence"] for each in found)


def test_errors_of_btrfs_device_stats():
    names = ("write_io_errs", "read_io_errs", "flush_io_errs", "corruption_errs", "generation_errs")
    text = "".join(
        f"[/dev/{device}].{name}    {count}\n"
        for device, counts in (("sda1", (0, 0, 0, 0, 0)), ("sdb1", (2, 3, 5, 7, 11)))
        for name, count in zip(names, counts, strict=True)
    )
    topology, _ = read(text)
    assert {name: {**topology[name].counts} for name in ("sda1", "sdb1")} == {
        "sda1": {"btrfs_io_errors": 0, "btrfs_corruptions": 0},
        "sdb1": {"btrfs_io_errors": 10, "btrfs_corruptions": 18},
    }


DRBD = """\
version: 8.4.11-1 (api:1/proto:86-101)
GIT-hash: 66145a308421e9c124ec391a7848ac20203bb03c build by root@x, 2020-04-05 02:58:18
 0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----
    ns:13282320 nr:0 dw:44221332 dr:120231321 al:3211 bm:0 lo:1 pe:12 ua:0 ap:11 ep:1 wo:f oos:392014848
\t[>....................] sync'ed:  3.3% (382824/395872)M
\tfinish: 2:41:11 speed: 40,532 (39,880) K/sec
 1: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----
    ns:0 nr:1332 dw:1332 dr:0 al:0 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:0
"""


def test_what_drbd_does(tmp_path):
    topology, _ = read(DRBD)
    states = {name: topology[name].state for name in ("drbd0", "drbd1")}
    assert states == {"drbd0": "SyncSource 3.3 %", "drbd1": "degraded, WFConnection"}
    said = run(tmp_path, DRBD, "explain", "--input").stdout
    assert "drbd0 does background work (SyncSource 3.3 %)" in said


def test_no_command_for_an_array_without_a_kernel_name(tmp_path):
    """/sys/block/md/data is no folder."""
    text = """\
/dev/md/data:
        Raid Level : raid1
      Raid Devices : 2
             State : clean, degraded, recovering
    Rebuild Status : 41% complete

    Number   Major   Minor   RaidDevice State
       0       8       17        0      active sync   /dev/sdb1
       4       8       81        1      spare rebuilding   /dev/sdf1
"""
    said = run(tmp_path, text, "explain", "--input").stdout
    assert "no command" not in said
    assert "md/data does background work" in said


def test_how_many_times_as_slow_a_path_is(tmp_path):
    figures = "\nDevice  r/s  rkB/s  r_await  w/s  wkB/s  w_await  aqu-sz  %util\n" + "".join(
        f"{name}  400.00  3200.00  {wait}  0.00  0.00  0.00  {wait * 0.4}  50.00\n"
        for name, wait in (("sdc", 0.8), ("sdb", 48.0))
    )
    maps = PATHS["multipath-tools 0.8"].replace("sde 8:64  failed faulty", "sdb 8:16  active ready")
    said = " ".join(run(tmp_path, maps + figures, "explain", "--input").stdout.split())
    assert "await is 48.0 ms, 60.0 times as long as on sdc" in said


def test_members_of_an_array_of_unknown_level_are_peers(tmp_path):
    """`lsblk -f` has no level. Both members get the same writes, and one needs 17 times as long."""
    text = """\
NAME      FSTYPE            FSVER LABEL   UUID                                 FSAVAIL FSUSE% MOUNTPOINTS
sdb
└─sdb1    linux_raid_member 1.2   node1:0 1a0b5dbc-6a09-6b41-9a1b-1d7a6e0b9a6e
  └─md0   ext4              1.0   backup  9c1b7d6a-8f8b-4b35-9c7c-2a1fd7b2a3c4    1,2T    83% /backup
sdc
└─sdc1    linux_raid_member 1.2   node1:0 1a0b5dbc-6a09-6b41-9a1b-1d7a6e0b9a6e
  └─md0   ext4              1.0   backup  9c1b7d6a-8f8b-4b35-9c7c-2a1fd7b2a3c4    1,2T    83% /backup

Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util
md0            150.00  19200.00   21.00   60.00   7680.00  190.00   14.55  99.10
sdb             96.00  12288.00    9.00   60.00   7680.00   11.00    1.52  71.00
sdc             54.00   6912.00   41.00   60.00   7680.00  188.00   13.49  99.60
"""
    found = json.loads(run(tmp_path, text, "explain", "-J", "--input").stdout)["findings"]
    assert (found[0]["id"], found[0]["device"]) == ("SM202", "sdc")


HOURLY = "Linux 5.4.0 (web) 03/17/2021 _x86_64_ (8 CPU)\n\n00:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n"


def test_a_device_that_stops_is_found_in_a_text_without_lengths(tmp_path):
    """sar prints when an interval ends, not how long it is."""
    rows = [(10, 0.02), (20, 0.05), (30, 0.01), (40, 0.04)]
    text = HOURLY + "".join(
        f"00:{minute}:01 sdb 3.00 12.00 12.00 8.00 {queue:.2f} 7.00 5.00 1.00\n"
        for minute, queue in rows
    )
    text += "".join(
        f"0{hour}:00:01 sdb 0.00 0.00 0.00 0.00 37.00 0.00 0.00 100.00\n" for hour in (1, 2)
    )
    said = run(tmp_path, text, "explain", "--input").stdout
    assert "sdb hangs: 37.0 requests in flight, none completed for" in " ".join(said.split())


def test_a_counter_that_never_drops_is_no_hang(tmp_path):
    """A driver lost one request: the disk is always busy, and idle in some intervals."""
    text = HOURLY + "".join(
        f"0{hour}:00:01 sdb {rate}.00 {4 * rate}.00 0.00 4.00 {1 + rate / 100:.2f} 9.00 5.00 100.00\n"
        for hour, rate in enumerate((3, 0, 2, 0, 0, 5), 1)
    )
    said = run(tmp_path, text, "explain", "--input").stdout
    assert "(SM305 hung)" not in said
    assert "(SM801 stuck-counter)" not in said.partition("INFO")[0]


def test_a_busy_share_that_is_far_too_short_for_the_queue(tmp_path):
    """Linux 5.0 to 5.6 misses most of a long request: 1 % busy with 18 in flight."""
    heading = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    text = "".join(
        f"{heading}sdc 12.00 768.00 {wait}.00 0.00 0.00 0.00 {wait * 12 / 1000:.2f} 1.10\n"
        f"sdd 11.00 704.00 0.40 0.00 0.00 0.00 0.00 1.00\n\n"
        for wait in (1179, 1609, 1875, 1423)
    )
    said = run(tmp_path, text, "explain", "--input").stdout
    assert "sdc is slow" in said
    assert "SM201 sick-disk" in said


VDO = """\
  LV            VG   Attr       LSize  Pool  Origin Data%  Meta%  Move Log Cpy%Sync Convert Devices        Type
  mail          arch vwi-a-v--- 90.00g space        91.60                                   space(0)       vdo
  space         arch dwi------- 40.00g              91.60                                   space_vdata(0) vdo-pool
  [space_vdata] arch Dwi-ao---- 40.00g                                                      /dev/sdd(0)    linear
"""


@pytest.mark.parametrize("width", [None, 106], ids=["with Type", "without"])
def test_a_vdo_pool_in_lvs(width, tmp_path):
    """LVM calls its pool inactive; the device below its volumes is named after it, and is the one that is full."""
    text = "".join(f"{line[:width]}\n" for line in VDO.splitlines())
    topology, _ = read(text)
    assert edges(topology) == {
        ("arch-mail", "arch-space-vpool"),
        ("arch-space-vpool", "arch-space_vdata"),
        ("arch-space_vdata", "sdd"),
    }
    assert [topology[n].target for n in ("arch-mail", "arch-space-vpool")] == ["linear", "vdo"]
    assert (topology["arch-mail"].size, topology["arch-space-vpool"].size) == (90 << 30, None)
    report = json.loads(run(tmp_path, text, "check", "-J", "--input").stdout)
    (warning,) = (check for check in report["checks"] if check["severity"] != "ok")
    assert (warning["id"], warning["device"]) == ("SM315", "arch-space-vpool")
    assert "91.6 % full" in warning["is"]
    assert "`lvextend --size +SIZE -- arch/space`" in warning["advice"]


SUB_LVS = """\
  LV              VG  Attr       LSize   Pool   Origin       Data% Meta% Move Log Cpy%Sync Convert
  cold            vg0 Cwi-aoC---  70.00g [fast] [cold_corig]  3.10 12.00              0.00
  [cold_corig]    vg0 owi-aoC---  70.00g
  data            vg0 rwi-aor---  90.00g                                            100.00
  [data_rimage_0] vg0 iwi-aor---  45.00g
  [data_rimage_1] vg0 iwi-aor---  45.00g
  [data_rimage_2] vg0 iwi-aor---  45.00g
  [data_rmeta_0]  vg0 ewi-aor---   4.00m
  [fast]          vg0 Cwi---C---   4.00g                      3.10 12.00              0.00
  [fast_cdata]    vg0 Cwi-ao----   4.00g
  name            vg0 -wi-a-----   1.00g
  name_rimage_7   vg0 -wi-a-----   1.00g
  off             vg0 rwi---r---   9.00g
  [off_rimage_0]  vg0 Iwi---r---   9.00g
  tank            vg0 twi-aotz-- 120.00g                     40.10  9.20
  [tank_tdata]    vg0 Twi-ao---- 120.00g
  [tank_tmeta]    vg0 ewi-ao---- 120.00m
"""


def test_lvs_without_devices_tells_what_is_below_by_the_names_that_lvm_reserves():
    """Not below an LV that is not active, nor by a name that a user gave: LVM shows its own in brackets."""
    topology, _ = read(SUB_LVS)
    title = {name: topology[name].title for name in topology.devices}

    assert {(title[above], title[below]) for above, below in edges(topology)} == {
        ("vg0/cold", "vg0/cold_corig"),
        ("vg0/data", "vg0/data_rimage_0"),
        ("vg0/data", "vg0/data_rimage_1"),
        ("vg0/data", "vg0/data_rimage_2"),
        ("vg0/data", "vg0/data_rmeta_0"),
        ("vg0/tank-tpool", "vg0/tank_tdata"),
        ("vg0/tank-tpool", "vg0/tank_tmeta"),
    }


def test_devices_that_lvs_prints_are_not_guessed():
    """With the column, an LV has the devices in it and no other."""
    heading, *rows = SUB_LVS.splitlines()
    table = [f"{heading} Devices"]
    for row in rows:
        below = "data_rimage_0(0)" if row.split()[0] == "data" else ""
        table.append(f"{row.ljust(len(heading))} {below}".rstrip())
    topology, _ = read("\n".join(table))
    title = {name: topology[name].title for name in topology.devices}

    assert {(title[above], title[below]) for above, below in edges(topology)} == {
        ("vg0/data", "vg0/data_rimage_0")
    }


def test_a_disk_by_number_and_by_name_has_its_name_once():
    """sar -d and iostat of one host: `iostat sda` is one row."""
    named, numbered = (
        topology_from_names(n, UNKNOWN_MACHINE) for n in (["sda", "dev8-0"], ["dev8-0"])
    )

    assert [device.title for device in numbered] == ["sda"]
    assert sorted(device.title for device in named) == ["dev8-0", "sda"]
