"""``explain``: machines and texts without evidence, and the exit statuses."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.cli.options import status_of
from stackmap.rules.rule import Severity
from tests.paths import ROOT

SAMPLES = ROOT / "sample_topologies"
TABLE = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\n"
ROW = "{} 100.00 0.00 1600.00 0.00 0.00 0.00 0.00 0.00 7.00 0.00 0.70 16.00 0.00 5.00 70.00\n"


def explain(source, *words, **more):
    return CliRunner().invoke(
        stackmap, ["--from", str(source), "explain", "--exit-code", *words], **more
    )


@pytest.mark.parametrize(
    ("severities", "judged", "status"),
    [
        ([], True, 0),
        ([Severity.INFO, Severity.GOOD], True, 0),
        ([Severity.INFO], False, 12),
        ([Severity.WARNING], False, 10),
        ([Severity.WARNING, Severity.CRITICAL], False, 11),
        ([Severity.CRITICAL], True, 11),
    ],
)
def test_problems_win_over_open_questions(severities, judged, status):
    """11, 10, 12, 0."""
    assert status_of(severities, judged=judged) == status


def test_open_questions_win_over_missing_names():
    """One of two names is unknown: 64, unless there is more to say."""
    text = str(SAMPLES / "mysql-raid/input/iostat-{}-threads.txt")
    one = text.replace("{}-threads", "1-thread")

    def status(*words):
        return explain(SAMPLES / "mysql-raid", "mysql", "vgnone", "--input", *words).exit_code

    assert status(one) == 64
    assert status(text.format(4)) == 12
    assert status(text.format(64), "--baseline", one) == 10


@pytest.mark.parametrize(
    "lines", ["", "   8       0 sda 5 0 40 3 2 0 16 1 0 4 4\n"], ids=["empty", "idle"]
)
def test_a_machine_without_io_is_not_well(tmp_path, lines):
    """/proc/diskstats has no device, or one that did nothing in two samples."""
    (tmp_path / "sys/block/sda").mkdir(parents=True)
    (tmp_path / "sys/block/sda/dev").write_text("8:0\n")
    for frame in ("", "frames/1", "frames/2"):
        directory = tmp_path / frame / "proc"
        directory.mkdir(parents=True)
        (directory / "diskstats").write_text(lines)
        (directory / "uptime").write_text(f"{10 + len(frame)}.{frame[-1:] or 0} 1.0\n")
    result = explain(tmp_path)

    assert "\nCould not judge: the load." in result.stdout
    assert result.exit_code == 12


def test_a_capture_of_one_sample_has_no_load():
    """Its states are judged; a rate needs two samples."""
    result = explain(SAMPLES / "ec2-nvme-raid0", "--why")

    assert "\nCould not judge: the load." in result.stdout
    assert "Load not judged: no interval was measured: need two samples" in result.stdout
    assert not result.stderr  # said once
    assert result.exit_code == 12


def test_nothing_was_measured_before_the_interrupt(monkeypatch):
    """No interval: 12, never a clean bill of health."""
    from stackmap.measurement.source import Measurement

    monkeypatch.setattr(Measurement, "intervals", lambda _: iter(()))
    result = explain(SAMPLES / "vghdd")

    assert "\nCould not judge: the load." in result.stdout
    assert result.exit_code == 12


def test_json_names_the_open_questions():
    text = str(SAMPLES / "mysql-raid/input/iostat-4-threads.txt")
    found = json.loads(explain(SAMPLES / "mysql-raid", "-J", "--input", text).stdout)

    ((question,),) = ([each] for each in found["not_judged"])
    assert (question["question"], question["device"]) == ("overload", "dm-0")
    assert "4.1 requests in flight with an await of 13.7 ms" in question["reason"]
    assert "--baseline" in question["advice"]


def test_a_text_of_another_host_is_judged_by_its_own_names(tmp_path):
    """The layout of this machine is not used, and the output says so."""
    text = tmp_path / "iostat.txt"
    text.write_text(
        TABLE + ROW.format("sdz") + "\n" + TABLE + ROW.format("sdz") + ROW.format("sdy") + "\n"
    )
    told = explain(SAMPLES / "ec2-nvme-raid0", "--why", "--input", str(text)).stdout

    assert "\nCould not judge: layout." in told
    assert "judged by the names in the text" in " ".join(told.split())
    assert "(2 disks)" in told  # sdy is in the second report only


def running(captured):
    """A capture in place of this machine, which a measurement can stop."""
    captured.stop = lambda: None
    return captured


@pytest.mark.parametrize(
    ("banner", "doubted"), [("", True), ("Linux 6.1.0 ({host}) \t11/21/26\n\n", False)]
)
def test_names_that_happen_to_be_this_machines_are_doubted_first(
    tmp_path, monkeypatch, banner, doubted
):
    """A live machine with a disk of that name; only the host in the text proves that it is the same."""
    from stackmap.host import live
    from stackmap.host.capture import CapturedHost

    sample = SAMPLES / "laptop-luks-lvm"
    host = running(CapturedHost(str(sample)))
    monkeypatch.setattr(host, "hurry", lambda: None, raising=False)
    monkeypatch.setattr(live, "LiveHost", lambda: host)
    from stackmap.discover import discover

    name = discover(host).machine.host
    text = tmp_path / "iostat.txt"
    text.write_text(banner.format(host=name) + TABLE + ROW.format("sdb") + "\n")
    told = (
        CliRunner()
        .invoke(stackmap, ["explain", "--input", str(text)], catch_exceptions=False)
        .stdout
    )

    assert told.startswith("Caution: The text does not name its host") == doubted


def test_a_text_with_names_this_machine_lacks_is_of_another(tmp_path, monkeypatch):
    """sdb is a disk here too, but sdq is not: the text's own names are used."""
    from stackmap.host import live
    from stackmap.host.capture import CapturedHost

    host = running(CapturedHost(str(SAMPLES / "laptop-luks-lvm")))
    monkeypatch.setattr(host, "hurry", lambda: None, raising=False)
    monkeypatch.setattr(live, "LiveHost", lambda: host)
    text = tmp_path / "iostat.txt"
    text.write_text(TABLE + ROW.format("sdb") + ROW.format("sdq") + "\n")
    told = (
        CliRunner()
        .invoke(stackmap, ["explain", "--input", str(text)], catch_exceptions=False)
        .stdout
    )

    assert "\nCould not judge: layout." in told


@pytest.mark.parametrize(
    ("report", "named"), [("all", ["report 1", "report 2"]), ("2", ["report 2"]), (None, [])]
)
def test_each_report_of_a_text_without_times_is_numbered(tmp_path, report, named):
    """As ``--report`` numbers them, so that the reader finds it in the text."""
    words = [] if report is None else ["--report", report]
    text = tmp_path / "iostat.txt"
    text.write_text((TABLE + ROW.format("sdb") + "\n") * 2)
    told = explain(SAMPLES / "laptop-luks-lvm", "--input", str(text), *words).stdout

    assert re.findall(r"report \d", told) == named


def test_each_interval_of_a_recording_has_its_time():
    told = explain(SAMPLES / "vghdd", "--report", "all").stdout

    assert re.findall(r"2026-11-21 10:39:\d\d UTC", told) == [
        f"2026-11-21 10:39:{second:02} UTC" for second in (4, 6, 8, 10, 12)
    ]


def test_the_rules_are_text_or_markdown():
    """``--json`` is refused rather than ignored."""
    text, markdown, json_ = (
        explain(SAMPLES / "vghdd", "--rules", *form) for form in ((), ("-m",), ("-J",))
    )

    assert text.exit_code == markdown.exit_code == 0
    assert "SM101" in text.output
    assert markdown.output.startswith("#")
    assert json_.exit_code == 2
    assert "--json" in json_.stderr
