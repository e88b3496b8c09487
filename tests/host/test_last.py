"""The last interval of a window: the one that reading all of it ends with, read alone."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.host.timeline import FrameSchedule, TimeWindow, last_interval
from stackmap.sampling.watch import Watch
from tests.long import SPAN, START
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
WINDOWS = [
    (None, None, None),
    (None, 1200, None),
    (600, 601, None),
    (599, 600, None),
    (None, None, 7),
    (3, None, 60),
    (5, 1199, 700),
    (None, 1850.5, 1300),
]


def window(since, until, every):
    begin, end = (None if each is None else START + each for each in (since, until))
    return TimeWindow(begin, end, every)


@given(
    st.lists(st.integers(1, 40), min_size=0, max_size=60),
    st.none() | st.integers(1, 90),
    st.integers(1, 7),
)
def test_the_last_two_frames_that_are_taken(steps, every, size):
    """For any spacing of samples, and in any parts that they are read in."""
    times = [1000.0 + sum(steps[:place]) / 4 for place in range(len(steps) + 1)]
    asked = None if every is None else every / 4
    pace = FrameSchedule(TimeWindow(every=asked))
    taken = [time for time in times if pace.accepts(time)]
    parts = [times[at : at + size] for at in range(0, len(times), size)]
    found = last_interval(reversed(parts), asked, times[0])

    if len(taken) < 2:
        assert found is None
    else:
        assert (found.since, found.until) == (taken[-2], taken[-1])


@pytest.mark.parametrize(("since", "until", "every"), WINDOWS)
def test_it_is_what_reading_all_ends_with(long, since, until, every):
    """Its counters, at both ends; and no other sample."""
    whole, last = CapturedHost(str(long)), CapturedHost(str(long))
    for host in (whole, last):
        host.select(window(since, until, every))
    seen = [(time, host_text(whole)) for time in whole.ticks(1.0, None)]

    assert last.select_last_interval()
    assert [(time, host_text(last)) for time in last.ticks(1.0, None)] == seen[-2:]


def host_text(host):
    return host.read("/proc/diskstats")


def test_no_segment_before_it_is_read(long, monkeypatch):
    """Of a week, its last minutes."""
    host = CapturedHost(str(long))
    read = []
    real = host._tree.read
    monkeypatch.setattr(host._tree, "read", lambda path: read.append(path) or real(path))
    host.select_last_interval()

    logs = {path for path in read if path.startswith("/log/")}
    assert logs == {f"/log/{START + 1800:.6f}.gz"}


@pytest.mark.parametrize("at", [0, 600, SPAN])
def test_of_one_sample_there_is_none(long, at):
    """The selected part does not change."""
    host = CapturedHost(str(long))
    host.select(window(at, at, None))

    assert not host.select_last_interval()
    assert len(list(host.ticks(1.0, None))) == 1


def test_frames_as_files_have_a_last_one_too(tmp_path):
    """The older form of a capture, and a tree without any."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "diskstats").write_text("8 0 sda 2 3 5 7 11 13 17 19 0 23 29\n")
    assert not CapturedHost(str(tmp_path)).select_last_interval()

    times = [1000.0, 1002.0, 1005.0]
    (tmp_path / "capture.json").write_text(json.dumps({"format": 1, "times": times}))
    host = CapturedHost(str(tmp_path))
    assert host.select_last_interval()
    assert list(host.ticks(1.0, None)) == times[1:]


@pytest.mark.parametrize(
    "words",
    [
        ["iostat", "-J"],
        ["iostat", "-l", "-J", "vm-disk1"],
        ["explain", "-J", "vm-disk1"],
        ["whatif", "vm-disk1", "--to", "raid10", "-J"],
    ],
    ids=lambda words: words[0] + words[1],
)
def test_every_command_reports_the_same(words):
    """The last of all intervals is the one by its number, and the one by its name."""
    count = sum(1 for _ in pairwise(CapturedHost(str(SAMPLE)).ticks(1.0, None)))
    said = [
        CliRunner().invoke(stackmap, ["--from", str(SAMPLE), *words, "--report", which])
        for which in ("last", str(count))
    ]

    assert {result.exit_code for result in said} == {0}
    assert said[0].stdout == said[1].stdout


def test_its_devices_are_those_of_its_time(long):
    """The topology is read at the beginning of the interval, so earlier changes are not its events."""
    host = CapturedHost(str(long))
    host.select_last_interval()
    watch = Watch(host, discover(host), discover)
    ((_, interval),) = watch.intervals(1.0, None)

    assert interval.events == ()
