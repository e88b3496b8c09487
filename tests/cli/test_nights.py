"""``explain`` on nights of sar as people paste them, made by a random generator: when, and what changed."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from random import Random

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

HEADING = "DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util"
BEGIN = datetime(2026, 10, 25, 0, 0, 1)  # noqa: DTZ001 - a text has no zone


def sar(seed, figures, shown=lambda time: time, count=240, disk="sda"):
    """Return a text of sar in minutes: *figures* gives the rate, the KiB per request and the await of each interval."""
    random = Random(seed)
    lines = [f"Linux 5.14.0-427.el9.x86_64 (db07) \t{BEGIN:%m/%d/%Y} \t_x86_64_\t(8 CPU)", ""]
    for place in range(count):
        time = shown(BEGIN + timedelta(minutes=place + 1))
        if place % 40 == 0:
            lines += ["", f"{time - timedelta(minutes=1):%H:%M:%S}  {HEADING}"]
        rate, size, wait = (x * random.lognormvariate(0, 0.15) for x in figures(place))
        row = rate, rate * size / 2, rate * size / 2, 0.0, size, rate * wait / 1000
        busy = min(100.0, rate * wait / 10)
        cells = (f"{x:9.2f}" for x in (*row, wait, busy))
        lines.append(f"{time:%H:%M:%S}  {disk} {' '.join(cells)}")
    return "\n".join(lines) + "\n"


def explained(directory, text, *words):
    path = directory / "sar.txt"
    path.write_text(text)
    result = CliRunner().invoke(stackmap, ["explain", "--input", str(path), *words])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_an_episode_ends_when_the_text_says_so_though_the_clock_was_set_back(tmp_path):
    """At the end of summer time 02:59 is followed by 02:00: an hour and a half from 02:30 ends at 03:00."""

    def shown(time):
        return time if time.hour < 3 else time - timedelta(hours=1)

    text = sar(7, lambda place: (31, 8, 130.0 if 150 <= place < 201 else 7.0), shown, 300)
    ((begin, end),) = (
        (each["start"], each["end"])
        for each in json.loads(explained(tmp_path, text, "-J"))["episodes"]
    )

    assert begin in near("02:30:01")
    assert end in near("02:21:01")
    assert "(the clock was set back)" in explained(tmp_path, text)


def near(time):
    """The times within two intervals of *time*, as in JSON."""
    moment = datetime.strptime(f"2026-10-25 {time}", "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - no zone
    return {(moment + timedelta(minutes=n)).isoformat() for n in range(-2, 3)}


@pytest.mark.parametrize(
    ("rate", "await_ms", "first"),
    [
        (31, 900.0, "sda is slower"),  # the same load
        (140, 190.0, "sda is overloaded"),  # more of it
        (75, 600.0, "sda is overloaded"),
    ],
)
def test_a_disk_that_serves_the_same_load_slower_is_not_overloaded(tmp_path, rate, await_ms, first):
    """The decision and the episode agree: more load is a cause only where there is more."""
    text = sar(11, lambda place: (rate, 16, await_ms) if 90 <= place < 110 else (29, 16, 6.0))
    told = explained(tmp_path, text)

    assert told.startswith(f"Do first: {first}")
    assert ("The same load took longer" in told) == (first == "sda is slower")


@pytest.mark.parametrize(("usual", "await_ms"), [(6.0, 31.0), (0.7, 4.0)])
def test_a_virtual_disk_that_serves_the_same_load_slower_has_another_side(
    tmp_path, usual, await_ms
):
    """What a spinning disk may need for random requests says nothing about it."""
    text = sar(
        5,
        lambda place: (170, 16, await_ms if 90 <= place < 110 else usual),
        disk="vdb",
    )

    told = " ".join(explained(tmp_path, text).split())
    assert told.startswith("Do first: vdb is slower: ")
    assert "(01:30–01:50). Check the disk, the I/O limits and the other guests" in told


LSBLK = "NAME SIZE TYPE TRAN\nsda 9T disk {}\n"
MULTIPATH = """mpatha (3600a098038303053743f4d3943375a4b) dm-3 {}
size=9.0T features='0' hwhandler='1 alua' wp=rw
`-+- policy='service-time 0' prio=50 status=active
  `- 3:0:0:1 sda 8:0 active ready running
"""
LUN = "Check the storage system's own figures of this LUN"


@pytest.mark.parametrize(
    ("ticket", "advice"),
    [
        (LSBLK.format("iscsi"), "Check the target, its disk and the network between."),
        (LSBLK.format("fc"), LUN),
        (LSBLK.format("sata"), "Check the kernel log and `smartctl -a` of sda."),
        (MULTIPATH.format("NETAPP,LUN C-Mode"), LUN),
        (MULTIPATH.format("SEAGATE,ST4000NM0023"), "Check the kernel log and"),  # two SAS ports
    ],
)
def test_a_ticket_tells_where_the_data_of_a_disk_is(tmp_path, ticket, advice):
    """It has no sysfs; lsblk has the column TRAN, and `multipath -ll` the maker of a LUN."""
    text = sar(13, lambda place: (29, 16, 310.0 if 90 <= place < 110 else 6.0))
    told = explained(tmp_path, f"{ticket}\n{text}")
    first = " ".join(told.partition("\n\n")[0].split())
    assert first.startswith("Do first: sda is slower: ")
    assert advice in first


@pytest.mark.parametrize("disk", ["sda", "vdb"])
def test_the_report_and_a_comment_begin_as_explain_does(tmp_path, disk):
    """The report judged the average: a night with an incident had "Nothing in these figures"."""
    text = sar(13, lambda place: (29, 16, 310.0 if 90 <= place < 110 else 6.0), disk=disk)
    first = explained(tmp_path, text, "-m").splitlines()[0]
    words = ["report", "--input", str(tmp_path / "sar.txt"), "-o", "-", "-m"]
    page = CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout

    assert first.startswith(f"**Do first:** {disk} is slower: ")
    assert "(01:30–01:50)" in first
    assert first in page.splitlines()
    assert "No rule found a problem" not in page
    assert f"01:30–01:50: {disk} await " in page
    assert "instead of 0.00" not in page
    assert "Measured, min" not in page


def test_without_a_topology_the_disk_hangs_and_not_what_may_be_above_it(tmp_path):
    """The first line named a volume: it waits for the disk, and has more requests in flight."""
    lines = [
        f"Linux 6.1.0 (db1) \t{BEGIN:%m/%d/%Y} \t_x86_64_\t(8 CPU)",
        "",
        f"00:00:01  {HEADING}",
    ]
    for place in range(60):
        time, hangs = BEGIN + timedelta(minutes=place + 1), 40 <= place < 43
        for name, queue in (("dm-0", 47), ("sda3", 23), ("sda", 23)):
            row = (0, 0, 0, 0, 0, queue, 0, 100) if hangs else (31, 62, 62, 0, 4, 0.2, 6.5, 19)
            lines.append(f"{time:%H:%M:%S}  {name} {' '.join(f'{x:.2f}' for x in row)}")

    told = " ".join(explained(tmp_path, "\n".join(lines) + "\n").split())
    assert told.startswith("Do first: sda hangs (00:40–00:43). Read the kernel log")
    assert "Requests stopped completing (31.00 → 0.00 requests per second)" in told
    assert told.count(" hangs: ") == 1
    assert "23.0 requests in flight, none completed for 3 min. sda3 waits for it." in told


def test_the_load_of_a_disk_that_is_usually_idle_is_new(tmp_path):
    """It was "More load, new: the reads", whichever was more."""
    heading = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n"
    rows = (
        f"2026-10-25 0{place // 60}:{place % 60:02}:00\n{heading}sda 5 5 20 20 6 6 0.1 3\n"
        f"sdb {'31 97 124 388 130 130 16.6 100' if 70 <= place < 80 else '0 0 0 0 0 0 0 0'}\n"
        for place in range(120)
    )
    told = " ".join(explained(tmp_path, "\n".join(rows)).split())
    assert "sdb await 130 ms; it is usually idle." in told
    assert "Changed first: New load: 97.00 writes per second, usually none." in told


@pytest.mark.parametrize(
    ("turn", "steps", "slow", "span"),
    [
        (140, (1, 5), range(180, 190), ("05:40:01", "06:30:01")),
        (100, (1, 5), range(60, 69), ("01:00:01", "01:09:01")),
        (100, (5, 1), range(60, 69), ("05:00:01", "05:45:01")),
    ],
)
def test_an_episode_where_the_length_of_intervals_changes(tmp_path, turn, steps, slow, span):
    """Nine or ten intervals of one length are one episode, whatever length most others have."""
    first, second = steps

    def shown(time):
        place = (time - BEGIN) // timedelta(minutes=1)
        minutes = min(place, turn) * first + max(0, place - turn) * second
        return BEGIN + timedelta(minutes=minutes)

    text = sar(7, lambda place: (31, 8, 260.0 if place in slow else 7.0), shown)
    found = json.loads(explained(tmp_path, text, "-J"))["episodes"]

    assert [(each["start"][11:], each["end"][11:]) for each in found] == [span]
