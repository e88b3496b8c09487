"""Health of SATA disks: which attributes count, by their names, and the standard's own device statistics."""

from __future__ import annotations

import json

import pytest

from stackmap.discover import discover
from stackmap.sources import health
from tests.rules.scripted import disk
from tests.sources.test_health import LIBRARY_ATA, Spy


def attribute(number, name, value, text=None):
    return {
        "id": number,
        "name": name,
        "raw": {"value": value, "string": str(value) if text is None else text},
    }


def of_attributes(*table):
    return health.parse(json.dumps({"ata_smart_attributes": {"table": table}}))


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (198, "Host_Reads_GiB"),
        (198, "Read_Sectors_Tot_Ct"),
        (197, "Read_Failure_Blk_Ct"),
        (197, "Total_Pending_Sectors"),  # it never decreases
        (197, "Unknown_SSD_Attribute"),
        (5, "Runtime_Bad_Block"),
    ],
)
def test_an_attribute_that_the_vendor_uses_for_something_else(number, name):
    """An SSD that has read 7 TiB has no 7,168 unreadable sectors."""
    found = of_attributes(attribute(number, name, 7168))
    assert (found.media_errors, found.pending, found.reallocated) == (None, None, None)


@pytest.mark.parametrize(
    ("number", "name", "field"),
    [
        (198, "Uncorrectable_Sector_Ct", "media_errors"),
        (198, "Offline_UErr_Media_Scan", "media_errors"),
        (197, "Current_Pending_ECC_Cnt", "pending"),
        (5, "Retired_Block_Count", "reallocated"),
    ],
)
def test_other_names_of_the_same_attribute(number, name, field):
    assert getattr(of_attributes(attribute(number, name, 7)), field) == 7


@pytest.mark.parametrize(
    ("text", "count"), [("7", 7), ("7 (3 5)", 7), ("7/11", 7), ("0x0007", None), ("7h+3m", None)]
)
def test_a_raw_value_of_several_numbers(text, count):
    """smartctl's number is all 48 bits: 7 and 3 × 65,536 and 5 × 2^32 here."""
    packed = 7 + (3 << 16) + (5 << 32)
    found = of_attributes(attribute(5, "Reallocated_Sector_Ct", packed, text))
    assert found.reallocated == count


def test_several_numbers_in_one_are_no_count_of_libblockdev():
    entry = {"id": 5, "well_known_name": "reallocated-sector-count", "value_raw": 7 + (5 << 32)}
    answer = {**LIBRARY_ATA, "attributes": [entry]}
    assert health.parse(json.dumps(answer)).reallocated is None


@pytest.mark.parametrize("name", [None, "host-reads-gib"])
def test_libblockdev_does_not_trust_an_attribute(name):
    entry = {"id": 198, "well_known_name": name, "value_raw": 7168}
    answer = {**LIBRARY_ATA, "attributes": [entry]}
    assert health.parse(json.dumps(answer)).media_errors is None


def test_a_disk_whose_smart_is_off_does_not_say_that_it_fails():
    """libblockdev says that a disk did not pass, too, where the disk gave no answer."""
    answer = {**LIBRARY_ATA, "smart_enabled": False, "overall_status_passed": False}
    assert health.parse(json.dumps(answer)).failing is None
    assert health.parse(json.dumps({**answer, "smart_enabled": True})).failing is True


# Device statistics of a SATA SSD: 3,301 sectors of 4 KiB written, 29 % of its life used.
def statistics(*, valid=True):
    flags = {"valid": valid}
    return {
        "logical_block_size": 4096,
        "ata_smart_attributes": {"table": [attribute(177, "Wear_Leveling_Count", 5), attribute(231, "SSD_Life_Left", 93)]},
        "endurance_used": {"current_percent": 7},
        "ata_device_statistics": {"pages": [
            {"number": 1, "table": [{"offset": 16, "value": 5, "flags": flags}, {"offset": 24, "value": 3301, "flags": flags}]},
            {"number": 7, "table": [{"offset": 8, "value": 29, "flags": flags}]}, "damaged",
        ]},
    }  # fmt: skip


def test_the_wear_of_a_sata_ssd_is_in_its_device_statistics():
    """An attribute of wear has the vendor's meaning, and smartctl's guess by its name (7 % here) is none."""
    found = health.parse(json.dumps(statistics()))
    assert (found.used, found.written) == (0.29, 3301 * 4096)


def test_wear_that_the_statistics_do_not_have_is_unknown():
    found = health.parse(json.dumps(statistics(valid=False)))
    assert (found.used, found.written) == (None, None)
    without_size = {**statistics(), "logical_block_size": None}
    assert health.parse(json.dumps(without_size)).written is None


@pytest.mark.parametrize(("rotational", "asked"), [("0", "smartctl"), ("1", "libblockdev")])
def test_of_a_sata_ssd_smartctl_is_asked_first(rotational, asked):
    answers = {
        "libblockdev smart_ata_get_info /dev/sda": json.dumps(LIBRARY_ATA),
        "smartctl /dev/sda": json.dumps(statistics()),
    }
    host = Spy(disk("sda", device__vendor="ATA", queue__rotational=rotational), answers)
    health.read(host, discover(host))
    tools = [words[0] for words in host.run_words if words[-1] == "/dev/sda"]
    assert set(tools) == {asked}


@pytest.mark.parametrize(
    ("place", "rotational", "vendor", "has_logs"),
    [
        (
            "pci0000:00/0000:00:14.0/usb4/4-1/4-1:1.0/host9/target9:0:0/9:0:0:0",
            "0",
            "Samsung",
            False,
        ),
        ("pci0000:00/0000:03:00.0/host1/port-1:0/end_device-1:0", "0", "TOSHIBA", True),
        ("pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0", "0", "ATA", True),
        ("pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0", "1", "ATA", False),
    ],
)
def test_who_is_asked_for_its_logs(place, rotational, vendor, has_logs):
    """SSDs and SAS disks, but no disk behind a USB bridge: some bridges hang on the question."""
    files = disk("sda", device__vendor=vendor, queue__rotational=rotational)
    where = {"/sys/block/sda": f"-> ../devices/{place}/block/sda"}
    host = Spy({**files, **where}, {"smartctl /dev/sda": json.dumps(statistics())})
    found = health.read(host, discover(host))["sda"]
    (words,) = [words for words in host.run_words if words[0] == "smartctl"]
    assert ("--log=devstat,1" in words) == has_logs
    assert not found.unknown
