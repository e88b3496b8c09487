"""What keys do to the state of ``top``, what it remembers, and how it moves through a recording."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import replace
from datetime import datetime

import pytest

from stackmap.errors import CaptureError, NoInterval, OutputRefused
from stackmap.features.top import program
from stackmap.features.top.follow import LiveIntervals, RecordedIntervals
from stackmap.features.top.judge import CLEAR, NOT_YET, Judge, LastingFindings
from stackmap.features.top.moment import COLUMNS, RecentLoad, Scope
from stackmap.features.top.program import Player, Watcher
from stackmap.features.top.state import Request, Row, Screen, State, pressed, scrolled
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.host.segments import Limits, RecentFiles
from stackmap.measurement.capture_part import CapturePart
from stackmap.measurement.machines import CaptureSource
from stackmap.model.cgroup_io import CgroupCounters
from stackmap.model.device import Use
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Flow, Load
from stackmap.rules.disk import sick_disk
from stackmap.rules.rule import Finding, Severity, observe
from tests.features.top.watched import SAMPLES, PaperDisplay, press, watch

VGHDD = SAMPLES / "vghdd"
ROWS = [Row(f"row {n}", f"row {n}", stack=f"row {n}") for n in range(100)]
LIVE = Screen(ROWS, 10)
RECORDED = Screen(ROWS, 10, recorded=True)


def after(*keys, screen=LIVE, state=None):
    """Return the state and the last request after *keys*."""
    state, request = state or State(), None
    for key in keys:
        state, request = pressed(state, key, screen)
        state = scrolled(state, screen.rows, screen.page)
    return state, request


@pytest.mark.parametrize(
    ("keys", "row", "offset"),
    [
        (["down"], 1, 0), (["up"], 0, 0), (["j"] * 12, 12, 3), (["j"] * 12 + ["k"] * 12, 0, 0),
        (["pgdn"], 10, 1), (["end"], 99, 90), (["end", "pgup"], 89, 89), (["end", "home"], 0, 0),
        (["end", "down"], 99, 90), (["n"], 1, 0), (["end", "n"], 0, 0),
    ],
)  # fmt: skip
def test_the_cursor_stays_on_the_screen(keys, row, offset):
    state, _ = after(*keys)
    assert (state.cursor, state.offset) == (f"row {row}", offset)


def test_a_row_that_goes_takes_no_one_with_it():
    """The cursor stays on its row when rows appear above it. If the row goes, the first row has it."""
    state, _ = after("down", "down")
    came = [Row("new", "new"), *ROWS]
    assert scrolled(state, came, 10).cursor == "row 2"
    assert scrolled(state, came[:2], 10).cursor == "new"
    assert scrolled(state, [], 10).cursor == ""


@pytest.mark.parametrize(
    ("keys", "request_", "screen"),
    [
        (["q"], Request("quit"), LIVE), (["ctrl-c"], Request("quit"), LIVE),
        (["i", *"2.5", "enter"], Request("interval", "2.5"), LIVE),
        (["i", "enter"], None, LIVE), (["i", *"25", "backspace", "enter"], Request("interval", "2"), LIVE),
        (["W", *"out", "enter"], Request("write", "out"), LIVE), (["W", *"o\0\tut", "enter"], Request("write", "out"), LIVE),
        (["W", *"out", "esc"], None, LIVE),
        (["t"], None, LIVE), (["B"], None, LIVE), (["."], None, LIVE), (["i"], None, RECORDED),
        (["t"], Request("step", "1"), RECORDED), (["T"], Request("step", "-1"), RECORDED),
        (["B", *"-1h", "enter"], Request("jump", "-1h"), RECORDED), (["."], None, RECORDED),
        (["?", "q"], None, LIVE), (["/", *"q", "enter"], None, LIVE), (["\x00"], None, LIVE), ([""], None, LIVE),
    ],
)  # fmt: skip
def test_requests(keys, request_, screen):
    """A key acts only where that is possible; an open prompt takes all keys."""
    assert after(*keys, screen=screen)[1] == request_


def test_choices():
    """Views, directions, orders, folds, filters and pauses are the user's until changed."""
    state, _ = after("2", "w", "s", "s", "z", " ", "/", *"vm x", "enter")
    wanted = State(view=1, direction="write", sort=2, paused=True, filter="vm x",
                   toggled=frozenset({"row 0"}))  # fmt: skip
    assert replace(state, cursor="", message="") == wanted
    state, _ = after(*"sss", "z", "b", " ", "/", "enter", "1", state=state)
    assert replace(state, message="", cursor="") == State(toggled=state.toggled)
    assert after("y")[0].message == "stackmap iostat -l 1"
    assert after("?", "pgdn", screen=Screen(ROWS, 10, 25))[0].scroll == 10
    assert after("?", "end", screen=Screen(ROWS, 10, 25))[0].scroll == 15


def finding(device="sda", severity=Severity.WARNING):
    return Finding(sick_disk, observe(device, severity=severity))


def test_a_finding_appears_after_three_intervals_and_stays_ten():
    lasting = LastingFindings()
    seen = []
    for found in [1, 1, 0, 1, 1, 1, *[0] * 12]:
        lasting.judge([finding()] * found)
        seen.append(len(lasting.shown))
    assert seen == [0, 0, 0, 0, 0, 1, *[1] * 10, 0, 0]


def test_findings_that_were_judged_together_count_as_many():
    """The worst first; the findings on a device go with it."""
    lasting = LastingFindings()
    lasting.judge([finding("sdb"), finding("sda", Severity.CRITICAL)], 5)
    assert [each.device for each in lasting.shown] == ["sda", "sdb"]
    lasting.forget(["sda"])
    assert [each.device for each in lasting.shown] == ["sdb"]
    lasting.judge([], 10)
    assert lasting.shown
    lasting.judge([], 1)
    assert not lasting.shown


def test_nothing_is_clear_before_it_was_judged():
    """The header, view 4 and the pane of a row say that nothing is judged until a finding could have lasted."""
    watcher, display = watch(VGHDD, count=2, size=(120, 30))
    watcher.press("4")
    lines = display.text.splitlines()
    assert lines[2] == lines[5] == NOT_YET
    press(watcher, "1", "e")
    assert NOT_YET in display.text.splitlines()[5:]


@pytest.mark.parametrize(
    ("reads", "said"),
    [
        (0, "Not judged: no device had I/O in the interval."),
        (1, "Not judged: no disk had 10 requests"),
        (90, CLEAR),
    ],
)
def test_what_was_judged_is_said(reads, said):
    """Without a load, nothing was judged."""
    judge, scope, intervals = judge_of(VGHDD)
    judge._host = None
    loads = {**dict.fromkeys(intervals[0].loads, IDLE), "sda": load(reads)}
    for _ in range(3):
        assert judge.verdict == NOT_YET
        judge.take(*[Interval(loads, time=0.0, seconds=1.0)] * 2)
        judge.run_for(1.0, scope)

    assert not judge.findings
    assert judge.verdict.startswith(said)


def judge_of(capture):
    """
    Return a judge of *capture* as of a live machine, the scope that it judges, and the capture's intervals.

    The judge has no CPU time saved up, so it does one step per interval.
    """
    host = CapturedHost(str(capture))
    found = list(CaptureSource(host).intervals(1.0))
    judge = Judge(host)
    judge._credit = 0.0
    topology, first = found[0]
    return judge, Scope(topology, first.loads, ()), [interval for _, interval in found]


def test_a_round_of_judging_takes_several_intervals():
    """No interval takes more than its share. Nothing is clear before the round is over; the result is as if judged at once."""
    judge, scope, intervals = judge_of(VGHDD)
    rounds = 0
    for interval in intervals[:3] + [intervals[3]] * 3000:
        judge.take(interval, scope.corrected(interval))
        judge.run_for(1e-9, scope)
        judge._credit = 0.0  # a step may be longer than all shares up to now
        rounds += judge._round is None
        if not rounds:
            assert judge.verdict == NOT_YET
            assert not judge.findings
    assert rounds
    assert {each.rule.id for each in judge.findings} >= {"SM202"}


def test_a_device_that_goes_takes_its_findings_of_the_round_along():
    judge, scope, intervals = judge_of(VGHDD)
    for interval in intervals:
        judge.take(interval, scope.corrected(interval))
    judge._round = judge._steps(scope)
    next(judge._round)
    judge.forget(frozenset({"sda"}))
    for _ in judge._round:
        pass
    assert "sda" not in {each.device for each in judge.findings}


def load(reads, wait=1.0):
    flow = Flow(reads, 0.0, reads * 4096, reads * wait)
    return Load(flow, Flow(0.0, 0.0, 0.0, 0.0), IDLE.discard, IDLE.flush, aqu=0.0)


def test_recent_load_is_the_mean_of_five_seconds():
    """Two minutes in 24 columns: rates by time, awaits by requests; unknown is not 0."""
    recent = RecentLoad()
    for second in range(1, 301):
        loads = {"sda": load(second), "idle": IDLE, "unknown": Load()}
        recent.add(Interval(loads, time=1000.0 + second, seconds=1.0))
    values = recent.values("sda", "iops", "read")
    assert len(values) == COLUMNS
    # The newest column began at 1300 and has one second; the one before has 1295 to 1299.
    assert values[-2:] == (pytest.approx((295 + 296 + 297 + 298 + 299) / 5), pytest.approx(300))
    assert recent.values("sda", "await", "total")[-1] == pytest.approx(1.0)
    assert recent.values("sda", "bytes", "total")[-1] == pytest.approx(300 * 4096)
    assert recent.values("idle", "iops", "read")[-1] == 0.0
    assert recent.values("idle", "await", "read")[-1] is None
    assert recent.values("unknown", "iops", "read")[-1] is None
    assert recent.values("nowhere", "iops", "read")[-1] is None
    recent.forget({"sda"})
    assert recent.values("sda", "iops", "read") == (None,) * COLUMNS


def test_long_intervals_have_a_column_each():
    recent = RecentLoad()
    for minute in range(30):
        recent.add(Interval({"sda": load(minute)}, time=60.0 * minute, seconds=60.0))
    assert recent.values("sda", "iops", "read") == tuple(pytest.approx(n) for n in range(6, 30))


def player_of(capture, part=None):
    host = CapturedHost(str(capture))
    source = RecordedIntervals(host, part or CapturePart())
    watcher = Watcher(PaperDisplay(), host, (), live=False)
    player = Player(source, watcher, source.overview())
    player.show_last(source.from_start())
    return player


def times(capture):
    source = CaptureSource(CapturedHost(str(capture)))
    return [interval.time for _, interval in source.intervals(1.0)]


def test_a_recording_forwards_and_backwards():
    """Each interval is reached forwards and backwards, with the same figures."""
    player, wanted = player_of(VGHDD), times(VGHDD)
    seen = {}
    for step in ["1"] * 6 + ["-1"] * 6 + ["1"] * 2:
        shown = player.watcher.moment.interval
        seen.setdefault(shown.time, shown.loads)
        assert seen[shown.time] == shown.loads
        player.serve(Request("step", step))
    assert sorted(seen) == wanted
    assert player.watcher.moment.interval.time == wanted[2]


@pytest.mark.parametrize(
    ("text", "place"),
    [("@0", 0), ("-0.5s", -1), ("-2.5s", -2), ("@1795257546.7", 1), ("2099-01-01", -1), ("+1s", 0)],
)
def test_a_jump_goes_to_the_interval_that_has_the_time(text, place):
    player = player_of(VGHDD)
    player.serve(Request("jump", text))
    assert player.watcher.moment.interval.time == times(VGHDD)[place]


@pytest.mark.parametrize("start", [0, -1])
@pytest.mark.parametrize("place", [0, 2, -1])
def test_a_time_of_day_is_found_from_anywhere(start, place):
    """From the first interval too, before which the time of day was yesterday's; from an open pane, too."""
    player = player_of(VGHDD)
    wanted = times(VGHDD)
    player.serve(Request("jump", f"@{wanted[start]}"))
    clock = f"{datetime.fromtimestamp(wanted[place] - 0.5):%H:%M:%S}"  # noqa: DTZ006 - as people type it

    player.watcher.press("?")
    request = [player.watcher.press(key) for key in ("B", *clock, "enter")][-1]
    player.serve(request)

    assert player.watcher.moment.interval.time == wanted[place]


def test_a_time_of_day_that_was_not_recorded_is_refused():
    """It does not go to an end of the recording as if that were the time."""
    player = player_of(VGHDD)
    player.serve(Request("jump", "-2.5s"))
    before = player.watcher.moment
    noon = f"{datetime.fromtimestamp(times(VGHDD)[0] + 6 * 3600):%H:%M}"  # noqa: DTZ006 - as people type it
    player.serve(Request("jump", noon))

    assert player.watcher.moment is before
    assert "is not in this recording" in player.watcher.state.message


def test_after_a_jump_the_minutes_before_are_known():
    """The sparkline and the findings need what came before the interval."""
    player = player_of(VGHDD)
    player.serve(Request("jump", "-0.5s"))
    moment = player.watcher.moment
    assert len(moment.recent.values("sda", "iops", "total")) == 3
    assert {each.rule.id for each in moment.findings} >= {"SM202"}


def test_a_part_of_a_recording_stays_within_it():
    wanted = times(VGHDD)
    player = player_of(VGHDD, CapturePart(since=f"@{wanted[0]}", until=f"@{wanted[3] + 0.1}"))
    assert player.watcher.moment.interval.time == wanted[1]
    player.serve(Request("step", "-1"))
    assert "no other interval" in player.watcher.state.message
    for _ in range(5):
        player.serve(Request("step", "1"))
    assert player.watcher.moment.interval.time == wanted[3]
    player.serve(Request("jump", "-100h"))
    assert player.watcher.moment.interval.time == wanted[1]


def test_a_pause_keeps_the_screen():
    """Intervals are taken meanwhile; the newest is shown when it ends."""
    watcher, _ = watch(VGHDD, count=1)
    source = RecordedIntervals(CapturedHost(str(VGHDD)))
    first = watcher.moment
    list(source.from_start())
    watcher.press("z")
    watcher.take(*next(source.after()))
    assert watcher.moment is first
    watcher.press("z")
    assert watcher.moment is not first


def near(value):
    return pytest.approx(value, abs=0.02)


def shown_services(monkeypatch, *samples, uses=()):
    """Return the names and IOPS in view 3 after an interval of 2 s between two *samples* of groups."""
    kept = iter([{key: CgroupCounters(*n) for key, n in each.items()} for each in samples])
    monkeypatch.setattr(program.cgroup, "read", lambda _: next(kept))
    source = RecordedIntervals(CapturedHost(str(VGHDD)))
    watcher, display = watch(VGHDD, count=1, size=(119, 30))
    watcher.press("3")
    watcher.take(*next(source.from_start()))
    watcher.moment.scope.users = list(uses)
    watcher.take(*next(source.after()))
    rows = display.text.splitlines()[5:-1]
    return watcher, {line.split("  ")[0]: float(line.split()[-4]) for line in rows if line.strip()}


DOCKER = "/system.slice/docker-0123456789abcdef.scope"
SHIFTED = {
    (DOCKER, "8:0"): (10, 0, 0, 0), (f"{DOCKER}/init.scope", "8:0"): (20, 0, 0, 0),
    ("/system.slice/db.service", "8:16"): (6, 0, 0, 0), ("/system.slice/idle.service", "8:0"): (5, 0, 0, 0),
}  # fmt: skip
BEFORE = {**dict.fromkeys(SHIFTED, (0, 0, 0, 0)), ("/system.slice/idle.service", "8:0"): (5, 0, 0, 0)}  # fmt: skip


def test_a_container_is_one_row(monkeypatch):
    """Its own requests and those of the groups inside are added up; a service that did nothing has no row."""
    _, rows = shown_services(monkeypatch, BEFORE, SHIFTED)

    assert rows == {"docker 0123456789ab": near(15.0), "db": near(3.0)}


def test_a_user_whose_requests_are_counted_has_them_alone(monkeypatch):
    """A service known to use a disk has a row with what its group sent, not with the load of the disk."""
    uses = [("sda", Use("service", "idle", "test")), ("sdb", Use("service", "db", "test"))]
    watcher, rows = shown_services(monkeypatch, BEFORE, SHIFTED, uses=uses)

    assert rows == {"docker 0123456789ab": near(15.0), "db": near(3.0), "idle": 0.0}
    seen = {watcher.state.cursor}
    for _ in range(len(rows)):
        watcher.press("down")
        seen.add(watcher.state.cursor)
    assert len(seen) == len(rows)


def test_after_a_new_interval_groups_are_counted_from_its_begin(monkeypatch):
    """Otherwise the requests since the last interval are divided by the seconds of the new one."""
    later = {key: tuple(2 * count for count in counts) for key, counts in SHIFTED.items()}
    watcher, _ = shown_services(monkeypatch, BEFORE, SHIFTED, later)
    assert watcher.moment.groups
    watcher.begin(1.0)
    watcher.take(watcher.moment.topology, watcher.moment.interval)

    assert watcher.moment.groups is None


@pytest.mark.parametrize("keys", ["t", "T", ".", ["B", *"-1h", "enter"]])
def test_moving_in_a_recording_ends_a_pause(keys):
    """Otherwise these keys would change nothing on the screen."""
    state, request = after("z", *keys, screen=RECORDED)

    assert state.playing or request is not None
    assert not state.paused


def recorded_in_memory(files, kept):
    """Return the figures of LiveIntervals over a replayed machine that *files* recorded."""
    host = RecordingHost(CapturedHost(str(VGHDD)), files, Limits(age=kept, segment=3.0))
    with host:
        yield [interval for _, interval in LiveIntervals(host).intervals(1.0)]


def open_files():
    """How many files this process has open; pipes may be of threads that other tests began."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            count += stat.S_ISREG(os.stat(f"/proc/self/fd/{name}").st_mode)
    return count


def test_the_last_minutes_are_written_as_a_capture(tmp_path):
    """From memory to a directory; what is read from it is what was seen, from the oldest segment kept."""
    for kept, count in ((1e9, 5), (3.0, 3)):
        files = RecentFiles()
        out = tmp_path / str(count)
        before = open_files()
        recorded = recorded_in_memory(files, kept)
        seen = next(recorded)
        assert open_files() > before
        files.save(str(out))
        with pytest.raises(OutputRefused):
            files.save(str(out))
        recorded.close()
        found = list(CaptureSource(CapturedHost(str(out))).intervals(1.0))
        assert open_files() <= before
        assert len(found) == count
        for (_, again), was in zip(reversed(found), reversed(seen), strict=False):
            assert again.time == pytest.approx(was.time, abs=1e-5)
            assert again.loads["sda"].total.ios == pytest.approx(
                was.loads["sda"].total.ios, rel=1e-4
            )


def test_nothing_is_written_before_the_first_sample(tmp_path):
    with pytest.raises(CaptureError, match="nothing is recorded yet"):
        RecentFiles().save(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_capture_of_one_sample_names_a_command_that_shows_it():
    """top itself has no --since-boot."""
    with pytest.raises(NoInterval, match=r"run `stackmap iostat -l --since-boot`$"):
        watch(SAMPLES / "mysql-raid")
