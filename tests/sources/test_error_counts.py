"""The kernel's counts of errors, as its files and dm's status print them."""

from __future__ import annotations

import pytest

from stackmap.discover import discover
from stackmap.document.describe import states
from stackmap.model.health import ERROR_COUNTS, error_words, errors, grown_errors
from stackmap.sources.polled_state import polled_devices
from tests.machine import DrawnHost
from tests.paths import ROOT
from tests.rules.scripted import disk, disks, md

DEVICE = "/sys/block/sda/device"
UUID = "/sys/fs/btrfs/11111111-2222-3333-4444-555555555555"


def counted(*parts):
    """The counts of every device of a machine."""
    topology = discover(DrawnHost({path: text for part in parts for path, text in part.items()}))
    return {device.name: dict(device.counts) for device in topology if device.counts}


def test_scsi_counts_are_hexadecimal():
    files = {f"{DEVICE}/ioerr_cnt": "0x1f\n", f"{DEVICE}/iotmo_cnt": "0x2\n"}
    assert counted(disk("sda"), files) == {"sda": {"command_errors": 31, "timeouts": 2}}


@pytest.mark.parametrize("text", ["31\n", "0x\n", "0x123456789\n", "\n", "0x1g\n"])
def test_a_strange_count_is_unknown(text):
    """A kernel that counts nothing and one that counts 0 differ."""
    assert counted(disk("sda"), {f"{DEVICE}/iotmo_cnt": text}) == {}


def test_errors_of_a_member_are_its_own():
    """Of a member on a device whose name has a slash, too; the differences are the array's."""
    member = "/sys/block/md0/md/dev-cciss!c0d1"
    files = {
        "/sys/block/md0/md/dev-sda/errors": "8\n",
        "/sys/block/md0/md/dev-sda/bad_blocks": "2048 8\n9999 1\n",
        f"{member}/errors": "0\n",
        f"{member}/bad_blocks": "",
    }
    array = md("raid1", ("sda", "cciss!c0d1"), mismatch_cnt=128)
    found = counted(disk("sda"), disk("cciss!c0d1", "cciss/c0d1"), array, files)
    assert found == {
        "md0": {"mismatched_sectors": 128},
        "sda": {"corrected_sectors": 8, "bad_sectors": 9},
        "cciss/c0d1": {"corrected_sectors": 0, "bad_sectors": 0},
    }


def test_btrfs_counts_all_its_devices_together():
    stats = "write_errs {}\nread_errs {}\nflush_errs 1\ncorruption_errs {}\ngeneration_errs 0\n"
    files = {
        f"{UUID}/devices/sda/size": "1",
        f"{UUID}/devices/sdb/size": "1",
        f"{UUID}/devinfo/1/error_stats": stats.format(2, 3, 4),
        f"{UUID}/devinfo/2/error_stats": stats.format(0, 0, 5),
        "/sys/fs/btrfs/features/x": "1",
    }
    both = {"btrfs_io_errors": 7, "btrfs_corruptions": 9}
    assert counted(disks(("sda", "sdb")), files) == {"sda": both, "sdb": both}


@pytest.mark.parametrize(
    ("most", "limit", "lowered"),
    [
        ("6.0 Gbps", "6.0 Gbps", 0),
        ("6.0 Gbps", "3.0 Gbps", 1),
        ("<unknown>", "<unknown>", 0),  # the firmware set no limit
        ("<unknown>", "1.5 Gbps", 1),
        ("3.0 Gbps", "3.0 Gbps", 0),  # an old port
    ],
)
def test_a_lowered_link(most, limit, lowered):
    link = {"/sys/block/sda": "-> ../devices/pci0/0000:00:1f.2/ata3/host2/target2:0:0/block/sda"}
    place = "/sys/class/ata_link/link3"
    files = {f"{place}/hw_sata_spd_limit": most, f"{place}/sata_spd_limit": limit}
    assert counted(disk("sda"), link, files) == {"sda": {"link_lowered": lowered}}


def test_the_state_shows_what_healthy_disks_do_not_count():
    counts = {"command_errors": 40, "timeouts": 1, "bad_sectors": 0, "used": 7}
    (device,) = discover(DrawnHost(disk("sda"))).devices.values()
    sick = device._replace(counts=counts, state="active")

    assert states([sick]) == "active, 1 command timeout"
    assert states([sick, device._replace(counts={"timeouts": 2}, state="active")]) == (
        "active, 3 command timeouts"
    )
    assert errors(counts) == {"command_errors": 40, "timeouts": 1, "bad_sectors": 0}
    assert list(error_words(counts)) == ["1 command timeout"]


def test_what_grew_is_told_with_the_total():
    before = {"timeouts": 1, "command_errors": 3, "bad_sectors": 9}
    now = {"timeouts": 3, "command_errors": 4, "bad_sectors": 8, "corrected_sectors": 5}
    told = ["1 failed command (now 4)", "2 command timeouts (now 3)"]
    assert list(grown_errors(before, now)) == told  # a count that is new did not grow


def test_every_count_comes_from_somewhere():
    """A key of the table that nothing reads, or another one, fails."""
    by_dm = {"checksum_errors", "path_failures"}
    scsi = {"ioerr_cnt": "0x0", "iotmo_cnt": "0x0"}
    files = {f"{DEVICE}/{name}": text for name, text in scsi.items()}
    member = {f"/sys/block/md0/md/dev-sda/{name}": "" for name in ("errors", "bad_blocks")}
    member["/sys/block/md0/md/dev-sda/errors"] = "0"
    link = {"/sys/block/sda": "-> ../devices/ata1/host0/target0:0:0/block/sda"}
    link["/sys/class/ata_link/link1/sata_spd_limit"] = "<unknown>"
    btrfs = {f"{UUID}/devices/sda/size": "1", f"{UUID}/devinfo/1/error_stats": "write_errs 0\n"}
    array = md("raid1", ("sda", "sdb"), mismatch_cnt=0)
    found = counted(disks(("sda", "sdb")), array, files, member, link, btrfs)
    assert {key for keys in found.values() for key in keys} == ERROR_COUNTS.keys() - by_dm


def test_every_count_is_in_the_manual():
    page = (ROOT / "man" / "stackmap-kernel.7").read_text()
    assert [key for key in ERROR_COUNTS if f"\n{key} " not in page] == []


def test_a_file_that_is_missing_is_not_asked_again():
    host = DrawnHost({**disks(("sda", "sdb")), f"{DEVICE}/iotmo_cnt": "0x0"})
    topology = discover(host)
    (file,) = polled_devices(host, topology).error_files
    assert file.path == f"{DEVICE}/iotmo_cnt"
