"""Intervals of several samples: exact sums, and no figures across what happened between."""

import random
from itertools import pairwise

import pytest

from stackmap.cli.record import samples
from stackmap.discover import discover
from stackmap.errors import CaptureError
from stackmap.host import log
from stackmap.host.budget import Budget
from stackmap.host.capture import CapturedHost
from stackmap.host.log_reader import MAX_WAITING, Answers, LogReader
from stackmap.host.recording import RecordingHost
from stackmap.host.timeline import TimeWindow
from stackmap.measurement import machines
from stackmap.measurement.machines import CaptureSource
from stackmap.measurement.source import IntervalSelection
from stackmap.sampling.snapshots import interval_between
from stackmap.sampling.watch import Watch
from stackmap.sources import diskstats
from tests.machine import DrawnHost, block
from tests.test_stretches import COUNT, INTERVAL, Growing, close, recorded

ALL = IntervalSelection(which="all")


@pytest.fixture(params=[(seed, rare) for seed in range(6) for rare in (3, 20, COUNT)], ids=str)
def recording(request, tmp_path):
    return recorded(tmp_path / "c", *request.param)


def coarse(recording, step):
    host = CapturedHost(str(recording))
    host.select(TimeWindow(every=step * INTERVAL))
    return [interval for _, interval in CaptureSource(host).select(ALL)]


def fine(recording):
    host = CapturedHost(str(recording))
    return [interval for _, interval in Watch(host, discover(host), discover).intervals(1, None)]


def inside(parts, whole):
    """Return the fine intervals in a coarse one."""
    begin = whole.time - whole.seconds
    return [each for each in parts if begin + 1e-6 < each.time <= whole.time + 1e-6]


@pytest.mark.parametrize("step", [2, 7, 25])
def test_a_coarse_interval_is_the_sum_of_its_samples(recording, step):
    """A device with figures in all samples has their sum. Any other has no figures, and its event is kept."""
    parts = fine(recording)
    found = coarse(recording, step)

    assert COUNT // step - 2 <= len(found) <= COUNT // step
    for whole in found:
        within = inside(parts, whole)
        assert sum(each.seconds for each in within) == pytest.approx(whole.seconds)
        assert whole.loads.keys() == set.intersection(*(set(each.loads) for each in within))
        assert {e for each in within for e in each.events} <= set(whole.events)
        for name, load in whole.loads.items():
            for kind in ("read", "write", "discard", "flush"):
                sums = sum_of([each.loads[name].flow(kind) for each in within], within)
                assert close(tuple(figure_of(load.flow(kind), whole.seconds)), sums)


def test_changes_that_leave_the_devices_do_not_divide_an_interval(tmp_path, monkeypatch):
    """One difference of counters per interval: a machine whose settings change all the time takes no longer."""
    differences = []
    monkeypatch.setattr(machines, "interval_between",
                        lambda *args: differences.append(args) or interval_between(*args))  # fmt: skip
    found = coarse(recorded(tmp_path / "c", 1, 2, Growing), 5)

    assert sum("size changed" in event for each in found for event in each.events) > COUNT / 4
    assert len(differences) == len(found)


def figure_of(flow, seconds):
    return [None if figure is None else figure * seconds for figure in flow]


def sum_of(flows, parts):
    columns = zip(
        *(figure_of(f, p.seconds) for f, p in zip(flows, parts, strict=True)), strict=True
    )
    return tuple(None if None in column else sum(column) for column in columns)


@pytest.mark.parametrize("step", [2, 25])
def test_without_marks_each_sample_is_examined(recording, step, monkeypatch):
    """A recording of an older version does not say in which segments all only counted on."""
    expected = coarse(recording, step)
    monkeypatch.setattr(LogReader, "_count", lambda *_: None)

    found = coarse(recording, step)
    assert [each.loads.keys() for each in found] == [each.loads.keys() for each in expected]
    for one, other in zip(found, expected, strict=True):
        assert all(close(load[:4], other.loads[name][:4]) for name, load in one.loads.items())


def test_average_of_a_coarse_window(recording):
    """The average over the window that --every leaves is that of the counters at its ends."""
    host = CapturedHost(str(recording))
    host.select(TimeWindow(every=7 * INTERVAL))
    (average,) = CaptureSource(host).select_steady(IntervalSelection(which="average"))
    host = CapturedHost(str(recording))
    topology = discover(host)
    texts = [(time, host.read(diskstats.PATH).splitlines()) for time in host.ticks(1, None)]
    end = next(n for n, (time, _) in enumerate(texts) if abs(time - average.time) < 1e-6)
    (begun, first), (ended, last) = texts[0], texts[end]

    assert average.seconds == pytest.approx(ended - begun)
    before, after = diskstats.parse(first), diskstats.parse(last)
    for name, load in average.loads.items():
        assert name in topology
        grown = after[name].writes - before[name].writes
        assert load.write.ios * average.seconds == pytest.approx(grown)


class Reset(DrawnHost):
    """Two disks, 100 requests per second each; sda's counters begin anew at *at* and then pass their old values."""

    def __init__(self, at):
        super().__init__(
            {
                **block("sda", "8:0"),
                **block("sdb", "8:16"),
                "/sys/kernel/uevent_seqnum": "1\n",
                "/proc/uptime": "9.0 9.0\n",
            }
        )
        self.events = []
        self.at = at
        self.tick = 0

    def read(self, path):
        if path != diskstats.PATH:
            return super().read(path)
        later = self.tick - self.at
        first = 1000 * later if later >= 0 else self.tick * 100
        rows = ((0, "sda", first), (16, "sdb", self.tick * 100))
        return "".join(f"8 {n} {name} {c} 0 {c * 8} {c} 0 0 0 0 0 {c} {c}\n" for n, name, c in rows)

    def ticks(self, interval, count):
        for self.tick in range(count):
            yield 1763600400.0 + interval * self.tick


@pytest.mark.parametrize("at", [2, 45, 601, 660, 1799])
def test_a_reset_between_two_used_samples_is_seen(tmp_path, at):
    """The counters are higher than before at the next used sample: their difference is no rate."""
    with RecordingHost(Reset(at), str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 1900):
            pass
    host = CapturedHost(str(tmp_path / "c"))
    host.select(TimeWindow(every=60.0))
    found = [interval for _, interval in CaptureSource(host).select(ALL)]
    without = [n for n, interval in enumerate(found) if "sda" not in interval.loads]

    assert without == [(at - 1) // 60]
    assert any("counters went back" in event for event in found[without[0]].events)
    assert {each.loads["sdb"].read.ios for each in found} == {100.0}


@pytest.mark.parametrize("at", [45, 599, 600, 601, 1200])
def test_a_reset_is_seen_in_an_average(tmp_path, at):
    """Also where the first sample of a segment is the only one in it that is marked."""
    with RecordingHost(Reset(at), str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 1300):
            pass
    found = [interval for _, interval in CaptureSource(CapturedHost(str(tmp_path / "c"))).ends()]

    assert [interval.count for interval in found if "sda" not in interval.loads] == [1]
    assert {interval.loads["sdb"].read.ios for interval in found} == {100.0}
    assert sum(interval.count for interval in found) == 1300


def test_answers_are_those_of_each_sample():
    """Whatever samples are asked about, an answer is what the entries make of it one by one."""
    rng = random.Random(5)
    lines = [f"{n} 0" for n in range(40)]
    eager, lazy = {}, Answers(Budget("c"))
    for number in range(5 * MAX_WAITING):
        before, now = lines, [*lines]
        for place in rng.choice([range(9), rng.sample(range(40), 9), range(40)]):
            now[place] = f"{place} {number}"
        known = None if not eager or number % 50 == 0 else before
        entries = log.encode_entry("read /x", now, known) + log.encode_entry(
            "read /y", [str(number)]
        )
        lines = now
        assert lazy.take(entries, "it") == {}
        for kind, question, body in log.split_entries(entries):
            whole = kind == "="
            eager[question] = (
                body.decode().split("\n") if whole else log.patched(eager[question], body, "it")
            )
        if rng.random() < 0.1:
            assert lazy.get("read /x") == eager["read /x"] == lines
            assert lazy.get("read /y") == [str(number)]
    assert lazy.get("read /x") == lines
    assert lazy.get("read /z") is None


@pytest.mark.parametrize("body", [b"9\nx", b"-1\nx", b"0 1\nx", b"a\nx"])
def test_damaged_changes_are_an_error_when_asked_for(body):
    answers = Answers(Budget("c"))
    answers.take(b'["=", "read /q", 3]\na\nb\n', "log/1.gz")
    answers.take(b'["~", "read /q", %d]\n%b\n' % (len(body), body), "log/1.gz")

    with pytest.raises(CaptureError, match=r"log/1\.gz: damaged"):
        answers.get("read /q")


def test_selected_devices_have_the_figures_of_all(recording):
    """Looking at the rows of some devices only gives the same loads as looking at all."""
    host = CapturedHost(str(recording))
    watch = Watch(host, discover(host), discover)
    taken = [watch.snapshot(time).sample for time in host.ticks(1, None)]
    chosen = frozenset({"sda", "sdc"})
    for earlier, later in pairwise(taken):
        every = diskstats.between(earlier, later)
        some = diskstats.between(earlier, later, chosen)
        assert some.loads == {n: load for n, load in every.loads.items() if n in chosen}
