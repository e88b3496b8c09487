"""``blame`` on ordinary disks: file systems, control groups and processes in one table."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.document.blame import COLUMNS, BlameReport, counting_devices, headline, matrix
from stackmap.document.blocks import Table
from stackmap.ledger.blame import blame
from stackmap.ledger.ledger import Ledger
from stackmap.model.cgroup_io import CgroupLoad, ProcessIo
from stackmap.model.device import Device, Kind, Role, Use
from stackmap.model.interval import Interval
from stackmap.model.topology import Edge, Topology
from tests.drawn import did, moved

CGROUP = "/sys/fs/cgroup/system.slice/{}.service/io.stat"
PART = Device(
    "vda1", Kind.PARTITION, "254:1",
    uses=(Use("mount", "/", "/proc/self/mountinfo"), Use("service", "db", CGROUP.format("db")),
          Use("service", "udisks2", CGROUP.format("udisks2"))),
)  # fmt: skip
ROOT = Topology([Device("vda", Kind.DISK, "254:0"), PART], [Edge("vda1", "vda", Role.DATA)])
BARE = Topology(
    [Device("vda", Kind.DISK, "254:0", uses=(Use("mount", "/", "/proc/self/mountinfo"),))], []
)
DB = CgroupLoad("/system.slice/db.service", "254:0", 75.0, 75 * 4096.0, ("service", "db"))
FIO = ProcessIo("7", "fio", 0.0, 4096.0)


def shown(topology, names, loads, groups=(), processes=()):
    """The table's groups of rows by title, each row as text; the first sentence."""
    interval = Interval(loads, 1000.0, 1.0)
    ledger = Ledger(topology, loads, 1.0)
    blamed = [blame(ledger, name) for name in names if not topology.below(name)]
    report = BlameReport(topology, names, interval, blamed, [], groups, processes)
    (table,) = (block for block in matrix(report) if isinstance(block, Table))
    (said,) = headline(report) if blamed else ("",)
    return {
        part.title: [[str(cell) for cell in row] for row in part.rows] for part in table.groups
    }, said


def test_a_file_system_on_the_disk_itself_has_a_name():
    """No device is above: its mount point is the source, not "no device"."""
    parts, said = shown(BARE, ["vda"], {"vda": moved(None, did(100, 4096))})

    assert [row[0] for row in parts[""]] == ["file system on /"]
    assert said.text.startswith("The file system on / sends 100 % of the requests")


def test_a_control_group_is_counted_at_the_disk_of_a_partition():
    """75 of the disk's 100 requests; asked for the disk or for its partition."""
    loads = {name: moved(None, did(100, 4096)) for name in ("vda", "vda1")}
    for name in ("vda", "vda1"):
        parts, _ = shown(ROOT, [name], loads, [DB])
        (row,) = parts["control groups on vda"]
        assert (row[0], row[2], row[-2]) == ("/system.slice/db.service", "75.00", "75.0 %")
    assert counting_devices(ROOT, ["vda1"]) == ["vda", "vda1"]
    said = shown(ROOT, ["vda"], loads, [DB])[1].text
    assert said.endswith(
        "Control group /system.slice/db.service sends 75.0 % of the requests of vda."
    )


@pytest.mark.parametrize("counted", [True, False])
def test_a_service_that_sent_nothing_is_no_user(counted):
    """Where control groups are counted; else all that ever did I/O are users."""
    loads = {name: moved(None, did(100, 4096)) for name in ("vda", "vda1")}
    parts, _ = shown(ROOT, ["vda"], loads, [DB] if counted else [])
    used = next(row[1] for rows in parts.values() for row in rows if row[0] == "vda1")

    assert used == ("/, db" if counted else "/, db, udisks2")


def test_processes_follow_with_their_bytes():
    """They are of all devices, so they have no requests, no await and no share."""
    parts, _ = shown(BARE, ["vda"], {"vda": moved(None, did(100, 4096))}, [DB], [FIO])
    (row,) = parts["processes, all devices together"]

    assert row == ["fio (7)", "0.0 read, 4.0 written", "-", "4.0", "-", "-", "-"]
    assert len(row) == len(COLUMNS)


IOSTAT = """Linux 6.1.0 (db1)  11/28/2026  _x86_64_  (2 CPU)
11/28/2026 21:41:16
Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s await aqu-sz %util
vda 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
vdb 7.00 0.00 28.00 0.00 0.00 0.00 1.00 0.01 0.70
"""
LSBLK = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nvda 252:0 0 20G 0 disk /\nvdb 252:16 0 20G 0 disk /srv\n\n"


def blamed(directory, text, *names):
    path = directory / "paste.txt"
    path.write_text(text)
    words = ["blame", "--input", str(path), *names]
    return CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout


def test_a_disk_without_io_is_named_as_such(tmp_path):
    """There was a heading without rows."""
    said = blamed(tmp_path, LSBLK + IOSTAT, "vda")
    assert "No I/O in this interval: vda." in said
    assert "SOURCE" not in said
    said = blamed(tmp_path, LSBLK + IOSTAT, "vda", "vdb")
    assert "file system on /srv" in said
    assert said.count("No I/O in this interval: vda.") == 1


def test_without_a_topology_the_source_is_unknown(tmp_path):
    """It said that all requests come from no device above: which devices are above is not known."""
    said = " ".join(blamed(tmp_path, IOSTAT, "vdb").split())
    assert said.startswith("Which volumes load vdb is unknown: the text has no topology. Add to")
    assert "unknown: no topology 7.00 28.0" in said
    assert "not from any device above" not in said


def test_what_sar_has_is_shown(tmp_path):
    """It has bytes and no merges, so what arrived is unknown; there was a heading without rows."""
    sar = "21:41:16 DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util\n21:42:16 vdb 7 28 0 0 4 0.01 1 0.7\n"
    said = " ".join(blamed(tmp_path, LSBLK + sar, "vdb").split())
    assert "file system on /srv - 28.0 - - 100 %" in said


def test_sar_tells_by_bytes_which_volume_is_in_the_way(tmp_path):
    """sar prints no merges of a partition, but its bytes are shared out."""
    above = ("  └─md1 9:1 raid1", "    ├─vg-web 253:0 lvm", "    └─vg-log 253:1 lvm")
    rows = [
        row
        for disk, number in (("sda", 0), ("sdb", 16))
        for row in (f"{disk} 8:{number} disk", f"└─{disk}1 8:{number + 1} part", *above)
    ]
    placed = (row.rsplit(maxsplit=2) for row in ("NAME MAJ:MIN TYPE", *rows))
    tree = "".join(f"{name:<18} {number:>7} {kind}\n" for name, number, kind in placed)
    figures = dict.fromkeys(("sda", "sda1", "sdb", "sdb1", "md1"), (130, 1040))
    figures |= {"dm-0": (9, 72), "dm-1": (121, 968)}
    lines = ["21:40:00 DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util"]
    lines += [
        f"21:{minute}:00 {name} {tps} 0 {kib} 0 8 {tps * 0.3} 300 {100 if tps > 9 else 60}"
        for minute in range(41, 51)
        for name, (tps, kib) in figures.items()
    ]
    text = tree + "\n" + "\n".join(lines) + "\n"
    said = " ".join(blamed(tmp_path, text, "sda").split())
    assert said.startswith("vg/web, vg/log through md1 send 100 % of the bytes of sda.")
    assert "unknown" not in said
    words = ["explain", "--input", str(tmp_path / "paste.txt")]
    told = CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout
    assert told.startswith("Do first: vg/web waits behind vg/log. Limit vg/log")


PLACELESS = """\
Filesystem          Size Used Avail Use% Mounted on
/dev/mapper/app-log  20G   9G   11G  45% /log
/dev/vda1            40G   9G   31G  23% /
Device    r/s   rkB/s r_await    w/s   wkB/s w_await aqu-sz %util
vda      0.00    0.00    0.00   2.00    8.00    1.00   0.00  0.10
vdb     40.00  640.00    2.00  70.00 2240.00    9.00   0.71 61.00
app-log 40.00  640.00    2.00  70.00 2240.00    9.00   0.71 61.00
"""


def test_a_volume_without_known_disks_is_no_disk_and_may_be_the_source(tmp_path, monkeypatch):
    """Its requests arrive at disks, too: they were counted twice, as from no device above."""
    monkeypatch.setenv("COLUMNS", "200")
    said = " ".join(blamed(tmp_path, PLACELESS).split())
    assert said.startswith(
        "Which volumes load vda and vdb is unknown: the text does not have the devices below app-log. Add"
    )
    assert "unknown: a volume or no device above - 2880.0" in said
    assert "app-log file system" not in said


def test_the_file_system_on_one_of_two_disks_sends_what_no_volume_does(tmp_path):
    rows = PLACELESS.splitlines(keepends=True)
    text = "".join(rows[:-1]).replace("/dev/mapper/app-log ", "/dev/vdb ")
    said = " ".join(blamed(tmp_path, text).split())
    assert said.startswith("The file system on /log sends 99.7 % of the bytes of vda and vdb.")
