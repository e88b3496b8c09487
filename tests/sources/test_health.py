"""Health of disks: what is asked, of which disks, and what the answers of nvme-cli and smartctl mean."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.errors import NO_ANSWER, CaptureError, SourceError, SourceMissing, SourceTimeout
from stackmap.host import blockdev, command, live
from stackmap.host.live import LiveHost
from stackmap.model.health import Health
from stackmap.sources import health
from tests.machine import DrawnHost, block
from tests.rules.cases_state import nvme
from tests.rules.scripted import disk, disks

# Imitations of what the tools print.
NVME = {
    "critical_warning": 0, "temperature": 311, "avail_spare": 97, "spare_thresh": 10, "percent_used": 13,
    "data_units_written": "16093122", "media_errors": 2, "power_on_hours": 6487,
    "warning_temp_time": 3, "critical_comp_time": 2,
}  # fmt: skip
NVME_BY_SMARTCTL = {
    "smart_status": {"passed": False},
    "nvme_smart_health_information_log": {
        "critical_warning": 4, "temperature": 38, "available_spare": 97, "percentage_used": 113,
        "data_units_written": 7, "media_errors": 0, "power_on_hours": 1,
    },
}  # fmt: skip
ATA = {
    "smart_status": {"passed": True},
    "ata_smart_attributes": {
        "table": [{"id": 5, "name": "Reallocated_Sector_Ct", "raw": {"value": 1975, "string": "1975"}},
                  {"id": 197, "name": "Current_Pending_Sector", "raw": {"value": 8, "string": "8"}},
                  {"id": 198, "name": "Offline_Uncorrectable", "raw": {"value": 0, "string": "0"}},
                  {"id": 241, "name": "Total_LBAs_Written", "raw": {"value": 99, "string": "99"}}, "damaged",
                  {"id": [5], "raw": {"value": 1}}, {"id": None, "raw": {"value": 1}}],
    },
    "power_on_time": {"hours": 65592},
    "temperature": {"current": 25},
}  # fmt: skip
SAS = {
    "smart_status": {"passed": True},
    "scsi_grown_defect_list": 56,
    "scsi_percentage_used_endurance_indicator": 4,
    "scsi_error_counter_log": {
        "read": {"total_uncorrected_errors": 3},
        "write": {"total_uncorrected_errors": 0, "gigabytes_processed": "86472.611"},
    },
}  # fmt: skip
ASLEEP = {
    "smartctl": {
        "messages": [{"string": "Device is in STANDBY mode, exit(0)", "severity": "information"}]
    }
}


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (NVME, Health(failing=False, used=0.13, spare=0.97, media_errors=2, hot=300, written=16093122 * 512000,
                      power_on=6487 * 3600, temperature=38)),
        (NVME | {"critical_warning": {"value": 1, "available_spare": 1}}, Health(
            failing=True, used=0.13, spare=0.97, media_errors=2, hot=300, written=16093122 * 512000,
            power_on=6487 * 3600, temperature=38)),
        (NVME_BY_SMARTCTL, Health(failing=True, used=1.13, spare=0.97, media_errors=0, written=3584000,
                                  power_on=3600, temperature=38)),
        (ATA, Health(failing=False, media_errors=0, pending=8, reallocated=1975, power_on=65592 * 3600,
                     temperature=25)),
        (SAS, Health(failing=False, used=0.04, media_errors=3, reallocated=56, written=86472611000000)),
        (ASLEEP, Health(unknown=health.ASLEEP)),
        ({"smartctl": {}}, Health(unknown=health.NO_FIGURES)),
        ([1], Health(unknown=health.NO_FIGURES)),
    ],
)  # fmt: skip
def test_an_answer(printed, expected):
    assert health.parse(json.dumps(printed)) == expected


# What the structures of libblockdev 3.x hold.
LIBRARY_NVME = {
    "critical_warning": 0, "avail_spare": 97, "percent_used": 13, "total_data_written": 16093122 * 512000,
    "power_on_hours": 6487, "media_errors": 2, "temperature": 38, "warning_temp_time": 3, "critical_temp_time": 2,
}  # fmt: skip
LIBRARY_ATA = {
    "smart_enabled": True, "overall_status_passed": True, "power_on_time": 65592 * 60, "temperature": 25 + 273,
    "attributes": [{"id": 5, "well_known_name": "reallocated-sector-count", "value_raw": 1975},
                   {"id": 197, "well_known_name": "current-pending-sector", "value_raw": 8},
                   {"id": 198, "well_known_name": "offline-uncorrectable", "value_raw": 0}],
}  # fmt: skip
LIBRARY_SCSI = {
    "overall_status_passed": True, "power_on_time": 0, "temperature": 0, "scsi_grown_defect_list": 56,
    "read_errors_uncorrected": 3, "write_errors_uncorrected": 0, "write_processed_bytes": 86472611000000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "of_the_tool", "lost"),
    [
        (LIBRARY_NVME, NVME, {}),
        (LIBRARY_ATA, ATA, {}),
        (LIBRARY_SCSI, SAS, {"used": None}),  # why smartctl is asked first
    ],
)
def test_libblockdev_says_what_the_tool_says(answer, of_the_tool, lost):
    expected = health.parse(json.dumps(of_the_tool))._replace(**lost)
    assert health.parse(json.dumps(answer)) == expected


def test_no_temperature_and_no_count_of_libblockdev_are_unknown():
    found = health.parse(json.dumps(LIBRARY_NVME | {"temperature": -273, "total_data_written": 0}))
    assert (found.temperature, found.written) == (None, None)
    assert health.parse(json.dumps(LIBRARY_ATA | {"temperature": 0})).temperature is None


class Spy(DrawnHost):
    """It also keeps the words of each command."""

    def __init__(self, *args):
        super().__init__(*args)
        self.run_words = []

    def run(self, *words):
        self.run_words.append(words)
        return super().run(*words)


def ata(name="sda"):
    return disk(name, device__vendor="ATA     ")


def test_libblockdev_is_asked_before_smartctl():
    answers = {"libblockdev smart_ata_get_info /dev/sda": json.dumps(LIBRARY_ATA)}
    host = Spy(ata(), answers)
    assert health.read(host, discover(host))["sda"].pending == 8
    assert [words for words in host.run_words if words[0] == "smartctl"] == []


def test_of_nvme_its_own_tool_is_asked_first():
    """It alone prints for how long heat slowed the disk down, at both temperatures of its limits."""
    answers = {
        "libblockdev nvme_get_smart_log /dev/nvme0n1": json.dumps(LIBRARY_NVME),
        "nvme smart-log /dev/nvme0n1": json.dumps(
            NVME | {"thm_temp1_total_time": 7, "thm_temp2_total_time": 11}
        ),
    }
    assert (
        health.read(Spy(nvme("numa"), answers), discover(Spy(nvme("numa"))))["nvme0n1"].throttled
        == 18
    )


def test_without_the_tool_of_nvme_libblockdev_is_asked():
    answers = {"libblockdev nvme_get_smart_log /dev/nvme0n1": json.dumps(LIBRARY_NVME)}
    host = Missing(dict(nvme("numa")), answers)
    found = health.read(host, discover(host))["nvme0n1"]
    assert (found.used, found.throttled) == (0.13, None)


def test_of_sas_smartctl_is_asked_first():
    """libblockdev's structure lacks the share of life that is used."""
    answers = {
        "libblockdev smart_scsi_get_info /dev/sda": json.dumps(LIBRARY_SCSI),
        "smartctl /dev/sda": json.dumps(SAS),
    }
    host = Spy(disk("sda", device__vendor="SEAGATE"), answers)
    assert health.read(host, discover(host))["sda"].used == 0.04


def test_a_disk_that_libblockdev_finds_asleep_is_not_asked_again():
    answers = {"libblockdev smart_ata_get_info /dev/sda": json.dumps({"asleep": True})}
    host = Spy(ata(), answers)
    assert health.read(host, discover(host))["sda"] == Health(unknown=health.ASLEEP)
    assert [words for words in host.run_words if words[0] == "smartctl"] == []


class Refusing(Spy):
    """libblockdev raises *error*."""

    error: SourceError

    def run(self, *words):
        if words[0] == "libblockdev":
            self.run_words.append(words)
            raise self.error
        return super().run(*words)


@pytest.mark.parametrize(
    "error",
    [
        SourceError("libblockdev: power mode of /dev/sda: Invalid argument"),  # a USB bridge
        SourceTimeout(f"libblockdev: {NO_ANSWER} 5 s"),
    ],
)
def test_where_libblockdev_cannot_ask_smartctl_may(error):
    host = Refusing(ata(), {"smartctl /dev/sda": json.dumps(ATA)})
    host.error = error
    assert health.read(host, discover(host))["sda"].pending == 8


def test_a_slow_library_is_waited_for_once():
    """On a slow machine its start took all of the time of each disk."""
    answers = {f"smartctl /dev/sd{letter}": json.dumps(ATA) for letter in "abc"}
    host = Refusing({**ata("sda"), **ata("sdb"), **ata("sdc")}, answers)
    host.error = SourceTimeout(f"libblockdev: {NO_ANSWER} 5 s")
    found = health.read(host, discover(host))
    assert [each.pending for each in found.values()] == [8, 8, 8]
    assert len([words for words in host.run_words if words[0] == "libblockdev"]) == 1


def test_what_is_not_installed_is_looked_for_once():
    """With many disks, a child per disk would only learn the same again."""
    host = Refusing({**ata("sda"), **ata("sdb"), **ata("sdc")})
    host.error = SourceMissing("libblockdev: this version has no smart plugin")
    health.read(host, discover(host))
    assert len([words for words in host.run_words if words[0] == "libblockdev"]) == 1


@pytest.mark.parametrize("value", [-1, "x", None, True, [], 1e400, "9" * 5000, 10**4000])
def test_a_strange_figure_is_unknown(value):
    found = health.parse(json.dumps(NVME | {"percent_used": value, "media_errors": value}))
    assert (found.used, found.media_errors) == (None, None)
    assert found.spare == 0.97


@pytest.mark.parametrize("value", ["-7", "nan", "1e400", None, "1e40"])
def test_a_disk_has_not_written_less_than_nothing(value):
    log = {"write": {"gigabytes_processed": value, "total_uncorrected_errors": -5}}
    found = health.parse(json.dumps(SAS | {"scsi_error_counter_log": log}))
    assert (found.written, found.media_errors, found.used) == (None, None, 0.04)


@pytest.mark.parametrize(
    ("percent", "gigabytes", "is_believed"),
    [(20, "2199.1", True), (20, "2199", False), (0, "1", True), (100, "10996", True), (100, "10995", False)],
)  # fmt: skip
def test_a_count_that_was_lost_is_no_count(percent, gigabytes, is_believed):
    """Of a disk of 512 GiB, 20 % of its life are 4 times its size at least: 2,199.02 GB."""
    said = SAS | {
        "scsi_percentage_used_endurance_indicator": percent,
        "scsi_error_counter_log": {"write": {"gigabytes_processed": gigabytes}},
    }
    host = Spy(disk("sda", size=512 << 21), {"smartctl /dev/sda": json.dumps(said)})
    found = health.read(host, discover(host))["sda"]
    assert (found.written is not None) == is_believed
    assert found.used == percent / 100


@pytest.mark.parametrize(("percent", "used"), [(255, 2.55), (256, None), (10**30, None)])
def test_a_share_of_life_is_one_byte(percent, used):
    assert health.parse(json.dumps(NVME | {"percent_used": percent})).used == used


@pytest.mark.parametrize(("percent", "spare"), [(100, 1.0), (101, None), (255, None)])
def test_no_more_spare_blocks_than_all_are_left(percent, spare):
    assert health.parse(json.dumps(NVME | {"avail_spare": percent})).spare == spare


def test_an_answer_that_is_too_large_is_of_one_disk_alone():
    large = '{"smartctl":[' + "[]," * 1_000_000 + "[]]}"
    host = Spy(
        disks(("sda", "sdb")), {"smartctl /dev/sda": large, "smartctl /dev/sdb": json.dumps(ATA)}
    )
    found = health.read(host, discover(host))
    assert "needs more than" in found["sda"].unknown
    assert found["sdb"].pending == 8


@pytest.mark.parametrize("number", [[], {}, None])
def test_an_attribute_whose_number_is_none_is_left_out(number):
    printed = {
        "overall_status_passed": True,
        "attributes": [{"id": number, "value_raw": 7}, {"id": 197, "value_raw": 11}],
    }
    assert health.parse(json.dumps(printed)).pending == 11


def test_an_answer_that_is_nested_deeply_is_no_health():
    assert health.parse("[" * 100_000).unknown == "an answer that is not JSON"


def test_an_answer_of_which_much_would_be_made_is_refused():
    with pytest.raises(CaptureError, match="the health of a disk: refused: one answer needs more"):
        health.parse('{"smartctl":[' + "[]," * 1_000_000 + "[]]}")


@pytest.mark.parametrize(("warning", "fails"), [(0, False), (2, False), (1, True), (6, True)])
def test_a_disk_that_is_too_warm_does_not_fail(warning, fails):
    """Bit 1 of the critical warning is the temperature now."""
    assert health.parse(json.dumps(NVME | {"critical_warning": warning})).failing is fails


def test_no_temperature_is_not_absolute_zero():
    """Linux's own NVMe target prints 0 K."""
    assert health.parse(json.dumps(NVME | {"temperature": 0})).temperature is None


def machine(*commands):
    files = {
        **disks(("sda", "sdb")), **nvme("numa"), **block("vda", "252:0", 2048), **block("loop0", "7:0", 2048),
        "/sys/block/sdb/device/power/runtime_status": "suspended\n",
    }  # fmt: skip
    return DrawnHost(files, dict(commands))


def test_every_question_that_is_ever_asked():
    """These and no others: they read log pages and attributes, and write, reset and wake nothing."""
    files = {**disks(("sda",)), **nvme("numa")}
    host = Spy(
        files,
        {"smartctl /dev/sda": json.dumps(ATA), "nvme smart-log /dev/nvme0n1": json.dumps(NVME)},
    )
    found = health.read(host, discover(host))

    assert [words for words in host.run_words if words[0] in ("nvme", "smartctl")] == [
        ("nvme", "smart-log", "--output-format=json", "/dev/nvme0n1"),
        (
            "smartctl",
            "--json=c",
            "--nocheck=standby,0",
            "--info",
            "--health",
            "--attributes",
            "--log=error",
            "--log=ssd",
            "--log=devstat,1",
            "/dev/sda",
        ),
    ]
    functions = {"nvme_get_smart_log", "smart_ata_get_info", "smart_scsi_get_info"}
    assert set(health.QUESTIONS) == {"nvme", "smartctl", "smartctl_logs", *functions}
    assert health.QUESTIONS["smartctl"] == health.QUESTIONS["smartctl_logs"][:-3]
    assert {health.QUESTIONS[each] for each in functions} == {
        ("libblockdev", each) for each in functions
    }
    assert set(blockdev.DISK_FUNCTIONS) == functions
    assert found["nvme0n1"].used == 0.13


def test_a_suspended_disk_is_not_asked():
    """Nor are paths, loop devices and virtio disks, which have no health of their own."""
    host = machine(
        ("smartctl /dev/sda", json.dumps(ATA)), ("nvme smart-log /dev/nvme0n1", json.dumps(NVME))
    )
    found = health.read(host, discover(host))

    assert found.keys() == {"sda", "sdb", "nvme0n1"}
    assert found["sdb"].unknown == health.ASLEEP
    assert not any(asked.startswith("smartctl") and "sdb" in asked for asked in host.asked)


class Missing(DrawnHost):
    """nvme-cli is not installed."""

    def run(self, *words):
        if words[0] == "nvme":
            raise SourceMissing("nvme: No such file or directory")
        return super().run(*words)


def test_without_nvme_cli_smartctl_is_asked():
    host = Missing(dict(nvme("numa")), {"smartctl /dev/nvme0n1": json.dumps(NVME_BY_SMARTCTL)})
    assert health.read(host, discover(host))["nvme0n1"].used == 1.13


class Silent(DrawnHost):
    """No disk answers."""

    def run(self, *words):
        if words[0] == "smartctl":
            self.asked.append(words[-1])
            raise SourceTimeout(f"smartctl: {NO_ANSWER} 5 s")
        return super().run(*words)


def test_disks_that_do_not_answer_are_given_up():
    """After two of them no other is asked, so that check ends."""
    names = [f"sd{letter}" for letter in "abcdefghijkl"]
    host = Silent(disks(names))
    found = health.read(host, discover(host))
    assert [name for name in host.asked if name.startswith("/dev/")] == ["/dev/sda", "/dev/sdb"]
    assert found["sdl"].unknown == health.GIVEN_UP


@pytest.mark.parametrize(
    ("status", "known"), [(0, True), (64, True), (8, True), (2, False), (1, False)]
)
def test_the_status_of_smartctl_is_about_the_disk(tmp_path, monkeypatch, status, known):
    """Bits 0 and 1 say that it could not ask; a failing disk sets others."""
    tool = tmp_path / "smartctl"
    tool.write_text(f"#!/bin/sh\necho '{json.dumps(ATA)}'\nexit {status}\n")
    tool.chmod(0o755)
    monkeypatch.setattr(command, "SYSTEM_PATH", str(tmp_path))
    host = DrawnHost(disk("sda"))
    (device,) = discover(host).devices.values()
    asking = LiveHost()
    found = health.read(asking, [device])["sda"]
    assert (found.pending == 8) == known
    assert bool(found.unknown) != known


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        (json.dumps({"smartctl": {"messages": [{"string": "/dev/sda: Unknown USB bridge [0x1a2b:0x3c4d]"}]}}),
         "smartctl --json=c: /dev/sda: Unknown USB bridge [0x1a2b:0x3c4d]"),
        ("{}", "smartctl --json=c: failed without a message"),
        ('{"smartctl": {"messages": [7]}}', "smartctl --json=c: failed without a message"),
        ("[" * 9000, "smartctl --json=c: failed without a message"),
    ],
)  # fmt: skip
def test_why_smartctl_could_not_ask(tmp_path, monkeypatch, printed, reason):
    """With --json it says so in its output: of a USB bridge or a RAID controller, say."""
    (tmp_path / "printed").write_text(printed)
    tool = tmp_path / "smartctl"
    tool.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/printed\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setattr(command, "SYSTEM_PATH", str(tmp_path))
    (device,) = discover(DrawnHost(disk("sda"))).devices.values()
    assert health.read(LiveHost(), [device])["sda"].unknown == reason


@pytest.mark.skipif(os.geteuid() != 0, reason="only root asks disks")
@pytest.mark.parametrize("words", [["check", "--no-health"], ["tree"], ["explain", "1", "1"]])
def test_who_never_opens_a_disk(words, monkeypatch):
    """Only check does, and not with --no-health."""
    started = []
    monkeypatch.setattr(
        live,
        "_started",
        lambda c: started.append(c) or (_ for _ in ()).throw(SourceMissing("none")),
    )
    CliRunner().invoke(stackmap, words)
    assert [each for each in started if each[0] in health.QUESTIONS] == []
