"""How long disks last: from what was recorded of them, from a rating, and from the disks only if asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.cli.wear import DiskLives, endurance
from stackmap.discover import discover
from stackmap.errors import NO_ANSWER
from stackmap.host.capture import CapturedHost
from stackmap.host.live import LiveHost
from stackmap.host.recording import RecordingHost
from stackmap.sources import health
from tests.machine import DrawnHost
from tests.paths import ROOT
from tests.rules.cases_state import nvme
from tests.rules.scripted import disk

SAMPLE = ROOT / "sample_topologies/vghdd"
DISKS = ("sda", "sdb", "sdc", "sdd")
WRITTEN = 6_659 * 10**9
LOG = {"percent_used": 13, "data_units_written": 17_000_000}
SAS = {
    "scsi_percentage_used_endurance_indicator": 13,
    "scsi_error_counter_log": {"write": {"gigabytes_processed": "6659"}},
}


@pytest.fixture
def capture(tmp_path):
    """A sample machine whose disks were asked."""
    folder = tmp_path / "capture"
    shutil.copytree(SAMPLE, folder, symlinks=True)
    for name in DISKS:
        (folder / "cmd" / f"smartctl--dev-{name}.txt").write_text(json.dumps(SAS))
    return str(folder)


def run(*words):
    done = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def wear_of(*words):
    return json.loads(run(*words).splitlines()[0])["stacks"][0]["wear"]


def test_a_recording_with_health_has_wear(capture):
    found = wear_of("--from", capture, "iostat", "-l", "-J")
    assert found
    for each in found:
        low, high = each["years"]
        assert 0 < low < high
        left = [WRITTEN * (1 - used) / used for used in (0.14, 0.12)]
        assert each["bytes_left"] == pytest.approx(left)
        per_year = each["bytes_per_day"] * 365.25
        assert each["years"] == pytest.approx([one / per_year for one in left])
    assert "disk life: " in run("--from", capture, "iostat", "-l")


def test_a_recording_without_health_has_none():
    assert wear_of("--from", str(SAMPLE), "iostat", "-l", "-J") == []
    assert "disk life" not in run("--from", str(SAMPLE), "iostat", "-l")


def test_a_rating_needs_no_answer_of_a_disk_and_is_of_flash_alone():
    files = {**nvme("numa"), **disk("sda"), **disk("sdb", queue__rotational="0")}
    host = DrawnHost(files)
    topology = discover(host, geometry=True)
    found = DiskLives(host, live=False, asks=False, rating=endurance("3DWPD")).of(topology)
    assert found.keys() == {"nvme0n1", "sdb"}
    for name, rest in found.items():
        assert (rest.low, rest.high) == pytest.approx([3 * 5 * 365.25 * topology[name].size] * 2)
        assert (rest.rated, rest.used) == (True, None)


@pytest.fixture
def worn_capture(capture):
    """One of the disks is beyond its rated life, and has errors."""
    worn = {**SAS, "scsi_percentage_used_endurance_indicator": 104}
    worn["scsi_error_counter_log"] = {
        "read": {"total_uncorrected_errors": 2},
        "write": {"total_uncorrected_errors": 0, "gigabytes_processed": "6659"},
    }
    Path(capture, "cmd", "smartctl--dev-sdc.txt").write_text(json.dumps(worn))
    return capture


def test_a_disk_beyond_its_life_has_no_years(worn_capture):
    """Not "0.0 to 0.0 years", and no negative share."""
    said = " ".join(run("--from", worn_capture, "iostat", "-l", "vghdd/vm-disk1").split())
    assert "disk life: sdc is at the end of its rated life (104 % used); " in said
    assert "years" not in said


def reported(key, *words):
    found = json.loads(run(*words, "-J"))[key]
    return {(each["id"], each["device"]) for each in found if each["severity"] != "ok"}


def test_check_and_explain_judge_what_disks_said_in_a_capture(worn_capture):
    """explain leaves out what slows no request, such as wear."""
    assert {("SM342", "sdc"), ("SM343", "sdc")} <= reported(
        "checks", "--from", worn_capture, "check"
    )
    explained = reported("findings", "--from", worn_capture, "explain")
    assert ("SM343", "sdc") in explained
    assert ("SM342", "sdc") not in explained


def test_whatif_has_years_now_and_then(capture):
    """By the disks' own count; null where they said nothing."""
    words = ("whatif", "vghdd/vm-disk1", "--to", "raid10")
    wear = json.loads(run("--from", capture, *words, "-J"))["wear"]
    assert 0 < wear["years_now"][0] < wear["years_now"][1]
    assert 0 < wear["years_projected"][0] < wear["years_projected"][1]
    # The present rate is exact, so its range is that of the disks: 12 to 14 % are used.
    share = wear["years_now"][1] / wear["years_now"][0]
    assert share == pytest.approx((0.88 / 0.12) / (0.86 / 0.14))
    assert "Disk life: " in run("--from", capture, *words)
    assert json.loads(run("--from", str(SAMPLE), *words, "-J"))["wear"] is None


def test_the_report_has_the_sentence(capture, tmp_path):
    page = tmp_path / "page.md"
    run("--from", capture, "report", "-o", str(page))
    assert "isk life: " in page.read_text()


@pytest.mark.parametrize("value", ["3", "0DWPD", "x", "3DWPD:y", "TBW", "1e9TBW", "-1DWPD"])
def test_what_is_no_rating(value):
    assert endurance(value) is None
    done = CliRunner().invoke(stackmap, ["iostat", "-l", f"--endurance={value}"])
    assert done.exit_code == 2


def test_a_rating_is_of_layers():
    done = CliRunner().invoke(stackmap, ["iostat", "--endurance", "3DWPD"])
    assert done.exit_code == 2
    assert "need --per-layer" in done.output


class Unready:
    """An answer that does not come."""

    def ready(self, _):
        return False


class Asked(DrawnHost):
    """It counts how often a question begins in the background."""

    begun = 0
    is_silent = False

    def in_background(self, ask):
        self.begun += 1
        return Unready() if self.is_silent else super().in_background(ask)


def asking(monkeypatch, *, asks, is_silent=False):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    answer = {"nvme smart-log /dev/nvme0n1": json.dumps(LOG)}
    host = Asked(dict(nvme("numa")), answer)
    host.is_silent = is_silent
    return host, DiskLives(host, live=True, asks=asks, rating=None), discover(host)


def test_a_live_machine_is_asked_once_and_in_the_background(monkeypatch):
    host, lives, topology = asking(monkeypatch, asks=True)
    assert lives.of(topology)["nvme0n1"].used == 0.13
    assert lives.of(topology)["nvme0n1"].used == 0.13
    assert host.begun == 1


def test_without_the_option_no_disk_is_asked(monkeypatch):
    host, lives, topology = asking(monkeypatch, asks=False)
    assert lives.of(topology) == {}
    assert host.begun == 0


def test_disks_that_do_not_answer_delay_nothing_and_may_still_answer(monkeypatch):
    host, lives, topology = asking(monkeypatch, asks=True, is_silent=True)
    assert lives.of(topology) == lives.of(topology) == {}
    assert host.begun == 1


def test_what_disks_say_is_recorded(tmp_path):
    """Each disk for itself: one without an answer does not hide the others."""
    answers = {"nvme smart-log /dev/nvme0n1": json.dumps(LOG)}
    host = DrawnHost({**nvme("numa"), "/proc/diskstats": ""}, answers)
    out = str(tmp_path / "out")
    with RecordingHost(host, out) as recording:
        for _ in range(1):
            topology = discover(recording)
            health.read(recording, topology)
    captured = CapturedHost(out)
    found = health.recorded(captured, discover(captured))
    assert found["nvme0n1"].used == 0.13
    assert NO_ANSWER not in found["nvme0n1"].unknown


def test_no_disk_of_this_machine_is_asked_for_the_devices_of_a_text(tmp_path, monkeypatch):
    """Its author may name any disk, and 40,000 of them: a process for each took minutes."""
    asked = []
    monkeypatch.setattr(LiveHost, "run", lambda _, *words: asked.append(words) or "")
    text = tmp_path / "iostat.txt"
    text.write_text(
        "Device r/s w/s rkB/s wkB/s await\nsda 1.0 2.0 3.0 4.0 5.0\nnvme0n1 1 2 3 4 5\n"
    )

    for words in (("iostat", "-l"), ("iostat", "-l", "--wear")):
        assert "sda" in run(*words, "--input", str(text))
    assert [words for words in asked if words[-1].startswith("/dev/")] == []
