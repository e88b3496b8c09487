"""Printed times: one clock for all forms, across midnight, and parts of a text by them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.text import intervals
from stackmap.text.printed_time import PrintedClock, is_time
from stackmap.text.text_lines import run_of

BANNER = "Linux 6.1.0-18-amd64 (db1) \t11/22/26 \t_x86_64_\t(8 CPU)\n\n"
HEADING = "{} DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util\n"
ROW = "{} {} 50.00 100.00 300.00 0.00 8.00 {:.2f} {:.2f} 20.00\n"


def seconds(*time: int) -> float:
    return datetime(*time, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("11/22/2026 03:10:07 AM", (2026, 11, 22, 3, 10, 7)),
        ("11/22/26 12:10:07 AM", (2026, 11, 22, 0, 10, 7)),
        ("11/22/26 12:10:07 PM", (2026, 11, 22, 12, 10, 7)),
        ("2026-11-22T03:10:07+0100", (2026, 11, 22, 3, 10, 7)),
        ("22.11.2026 03:10:07", (2026, 11, 22, 3, 10, 7)),
        ("22/11/26 03:10:07", (2026, 11, 22, 3, 10, 7)),
        ("2026年11月22日 03時10分07秒", (2026, 11, 22, 3, 10, 7)),
        ("2026-11-22 03:10:07 UTC", (2026, 11, 22, 3, 10, 7)),
        ("Sun Nov 22 03:10:07 CET 2026", (2026, 11, 22, 3, 10, 7)),
        ("1795317007", (2026, 11, 22, 3, 10, 7)),
        ("22. 11. 26 03:10:07", (2026, 11, 22, 3, 10, 7)),
        ("22.11.2026 03.10.07", (2026, 11, 22, 3, 10, 7)),
        ("22/11/2026 03:10:07 πμ", (2026, 11, 22, 3, 10, 7)),
        ("22/11/2026 03:10:07 μμ", (2026, 11, 22, 15, 10, 7)),
        ("22/11/26 03:10:07 PM IST", (2026, 11, 22, 15, 10, 7)),
        ("22/11/26 03:10:07 अपराह्न IST", (2026, 11, 22, 15, 10, 7)),
        ("22/11/26 12:10:07 পূর্বাহ্ণ", (2026, 11, 22, 0, 10, 7)),
        ("22/11/26 03:10:07 f", (2026, 11, 22, 15, 10, 7)),
        ("22/11/26 03:10:07 μ.μ.", (2026, 11, 22, 15, 10, 7)),
        ("22/11/26 03:10:07 p.m", (2026, 11, 22, 15, 10, 7)),
        ("22/11/26 03.10.07 অপৰাহ্ন", (2026, 11, 22, 15, 10, 7)),
        ("2026年11月22日 下午 03時10分07秒", (2026, 11, 22, 15, 10, 7)),
        ("2026年11月22日 03點10分07秒", (2026, 11, 22, 3, 10, 7)),
        ("Sunday, November 22, 2026 03:10:07 PM HKT", (2026, 11, 22, 15, 10, 7)),
        ("Sunday, 22 November, 2026 03:10:07 AM PST", (2026, 11, 22, 3, 10, 7)),
        ("22/11/2569 03:10:07", (2026, 11, 22, 3, 10, 7)),
        ("۲۶/۱۱/۲۲ ۰۳:۱۰:۰۷", (2026, 11, 22, 3, 10, 7)),
    ],
)
def test_forms(stamp, time):
    """The digits that were printed, whatever their zone."""
    assert PrintedClock().seconds(stamp) == seconds(*time)


@pytest.mark.parametrize(
    "line",
    [
        "22.11.2026 15.10.07",
        "22. 11. 26 15:10:07",
        "22/11/2026 03:10:07 μμ",
        "22/11/26 03:10:07 PM IST",
    ],
)
def test_iostat_prints_the_time_as_its_locale_does(line):
    assert is_time(line)


# The forms of iostat -t of Norwegian, Icelandic, Basque, Arabic, Hong Kong's English.
LOCAL = [
    "22. nov. 2026 kl. 03.1{} -0100",
    "sun 22.nóv 2026 03:1{}:07",
    "ig., 2026.eko azaren 22a 03:1{}:07",
    "22 نوف, 2026 UTC 03:1{}:07 ص",
    "Sunday, November 22, 2026 03:1{}:07 AM HKT",
]
DEVICES = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 7.00 11.00 13.00 11 13\n\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    2.00    3.00    0.00   94.00\n\n"


def read(text):
    return [report for report in intervals([text.encode()], "text") if report.loads]


@pytest.mark.parametrize("cpu", ["", CPU])
@pytest.mark.parametrize("form", LOCAL)
def test_the_line_above_iostat_s_tables_is_their_time_in_any_language(form, cpu):
    text = BANNER + "".join(f"{form.format(n)}\n{cpu}{DEVICES}" for n in range(3))
    reports = read(text)

    assert [report.stamp for report in reports] == [form.format(n) for n in range(3)]
    assert [b.clock - a.clock for a, b in pairwise(reports)] == [60, 60]


def test_a_sentence_with_a_time_is_none():
    """Whoever pastes reports without times may tell when something was."""
    text = BANNER + DEVICES + "at 03:10:07 it was slow:\n" + DEVICES
    assert [report.stamp for report in read(text)] == ["", ""]
    text = BANNER + "Test run at 10:15 begins\n" + DEVICES + "load 12:30 now\n" + DEVICES
    assert [report.stamp for report in read(text)] == ["", ""]


def test_finnish_times_are_no_dates():
    clock = PrintedClock()
    clock.date("22.11.2026")
    assert clock.seconds("03.10.07") == seconds(2026, 11, 22, 3, 10, 7)


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("lr., 2026.eko azaren 22a", None),
        ("is-Sibt, 22 ta Nov, 2026", None),
        ("22. 11. 26", 22),
        ("22. nov. 2026", None),
    ],
)
def test_a_banner_may_have_any_date(date, day):
    """The host is known in each locale, the day in most."""
    machine, printed = run_of(f"Linux 6.1.0-9 (db1) \t{date} \t_x86_64_\t(8 CPU)")
    assert (machine.host, printed) == ("db1", date)
    clock = PrintedClock()
    clock.date(printed)
    known = (
        None
        if clock.seconds("00:00:00") == 0
        else datetime.fromtimestamp(clock.seconds("00:00:00"), UTC).day
    )
    assert known == day


def test_a_day_is_over_when_the_time_goes_back_by_hours():
    """A clock that is set back by an hour stays in its day."""
    clock = PrintedClock()
    clock.date("10/24/26")
    stamps = ["23:50:01", "00:00:01", "02:50:01", "02:00:01", "23:59:59", "00:09:59"]
    days = [datetime.fromtimestamp(clock.seconds(each), UTC).day for each in stamps]
    assert days == [24, 25, 25, 25, 25, 26]


def test_the_date_comes_from_the_banner():
    """The kernel's version looks like a date, and is none."""
    clock = PrintedClock()
    clock.date("11/22/26")
    assert clock.seconds("03:10:07") == seconds(2026, 11, 22, 3, 10, 7)
    assert clock.seconds("no time") is None


@pytest.fixture
def night(tmp_path):
    """Return a sar text from 22:00 to 04:00, slow from 01:00 to 02:00."""
    lines = [BANNER.replace("6.1.0-18-amd64", "5.4.17-2136"), HEADING.format("22:00:01")]
    for place in range(36):
        time = f"{(22 + (place + 1) // 6) % 24:02}:{(place + 1) % 6}0:01"
        wait = 95.0 if 18 <= place < 24 else 5.0 + place % 3
        lines += [ROW.format(time, name, 0.05 * wait, wait) for name in ("dm-0", "sda")]
    path = tmp_path / "night.sar"
    path.write_text("".join(lines))
    return str(path)


def explained(*words):
    result = CliRunner().invoke(stackmap, words)
    return result, json.loads(result.stdout) if result.exit_code == 0 else None


def test_an_episode_has_the_times_of_the_text(night):
    """Across midnight, with the date of the banner."""
    _, answer = explained("explain", "-J", "--input", night)
    (episode,) = answer["episodes"]
    assert (episode["start"], episode["end"]) == ("2026-11-23T01:00:01", "2026-11-23T02:00:01")
    assert episode["devices"] == ["dm-0", "sda"]
    assert episode["changed"] == "slower"


@pytest.mark.parametrize(
    ("part", "count", "last"),
    [
        (["--since", "01:00", "--until", "02:00:01"], 7, "02:00:01"),
        (["--since", "2026-11-23T03:30"], 4, "04:00:01"),
        (["--until", "22:30:01"], 3, "22:30:01"),
        (["--since", "-1h"], 6, "04:00:01"),
    ],
)
def test_a_part_of_a_text(night, part, count, last):
    """By its printed times."""
    words = [*part, "iostat", "-J", "--report", "all", "--input", night]
    lines = CliRunner().invoke(stackmap, words).stdout.splitlines()
    assert (len(lines), json.loads(lines[-1])["time"]) == (count, last)


def piped(text, *words):
    return subprocess.run(
        [sys.executable, "-m", "stackmap", *words, "--input", "-"],
        input=text,
        capture_output=True,
        check=False,
    )


def test_a_part_of_a_pipe(night):
    """It cannot be read twice."""
    with open(night, "rb") as text:
        answer = piped(text.read(), "--since", "03:30", "iostat", "-J")
    assert json.loads(answer.stdout)["time"] == "average of 4 intervals"


def test_a_part_without_intervals_is_refused(night):
    """With what the text has."""
    result = CliRunner().invoke(stackmap, ["--since", "2027-01-01", "iostat", "--input", night])
    assert result.exit_code != 0
    assert "2026-11-22 22:10:01 to 2026-11-23 04:00:01" in str(result.exception)


def test_one_moment_is_judged_against_the_rest(night):
    """The await of that interval, and the usual one as its baseline."""
    _, answer = explained("explain", "-J", "--moment", "01:25", "--input", night)
    assert {each["name"] for each in answer["findings"]} >= {"long-wait"}
    _, answer = explained("explain", "-J", "--moment", "23:25", "--input", night)
    assert "long-wait" not in {each["name"] for each in answer["findings"]}
    refused, _ = explained("explain", "--moment", "2026-11-22T21:00", "--input", night)
    assert "no interval at that moment" in str(refused.exception)


def test_a_binary_file_of_sar_names_the_command_that_reads_it(tmp_path):
    """From a pipe sadf cannot read it, and from no damaged file."""
    begin = b"\x96\xd5\x75\x21" + bytes(60)
    assert b"sadf -j FILE -- -d" in piped(begin, "iostat").stderr
    path = tmp_path / "sa20"
    path.write_bytes(begin)
    result = CliRunner().invoke(stackmap, ["iostat", "--input", str(path)])
    assert "sadf" in str(result.exception)
