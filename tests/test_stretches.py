"""The average of a recording is the same from the ends of its stretches as from each of its intervals."""

import random
from dataclasses import replace

import pytest

from stackmap.cli.record import samples
from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.host.timeline import TimeWindow
from stackmap.ledger.averages import average
from stackmap.measurement.machines import CaptureSource
from stackmap.model.interval import MILLISECONDS_WRAP
from stackmap.sampling.snapshots import downsample, only_same_devices
from stackmap.sampling.watch import Watch
from tests.machine import DrawnHost, block

NAMES = ("sda", "sdb", "sdc", "sdd")
INTERVAL = 60.0  # seconds: ten samples a segment
COUNT = 80
WORDS = 17
IN_FLIGHT, TIMES = 8, (3, 7, 9, 10)  # places of the gauge, and of milliseconds in 32 bits
START = 1763600400.0


class Busy(DrawnHost):
    """
    Disks that do something now and then, as *seed* has it; one in *rare* ticks something happens.

    A disk is replaced under its name (told or not), goes and returns, grows, has
    counters that begin anew, or milliseconds that pass 32 bits.
    """

    def __init__(self, seed: int, rare: int) -> None:
        self.random = random.Random(seed)
        self.rare = rare
        files = {"/proc/uptime": "86400.00 86400.00\n", "/sys/kernel/uevent_seqnum": "31\n"}
        for number, name in enumerate(NAMES):
            files |= block(name, f"8:{16 * number}")
        super().__init__(files)
        self.counters = {
            name: [self.random.randrange(10**6) for _ in range(WORDS)] for name in NAMES
        }
        self.gone: list[str] = []
        self.events = []

    def read(self, path):
        if path != "/proc/diskstats":
            return super().read(path)
        rows = (f"8 {place} {name} {' '.join(map(str, c))}\n" for place, (name, c) in
                enumerate(self.counters.items()))  # fmt: skip
        return "".join(rows)

    def ticks(self, interval, count):
        for tick in range(count):
            if not self.random.randrange(self.rare):
                self.random.choice(self.happenings)()
            for counters in self.counters.values():
                if self.random.random() < 0.7:
                    self.work(counters)
            yield START + interval * tick + self.random.random()

    def work(self, counters):
        counters[:] = [value + self.random.randrange(1000) for value in counters]
        counters[IN_FLIGHT] = self.random.randrange(9)
        for place in TIMES:
            counters[place] %= MILLISECONDS_WRAP

    @property
    def happenings(self):
        return self.replaced, self.away, self.reset, self.wrapped, self.grown

    def grown(self):
        name = self.random.choice(NAMES)
        self.files[f"/sys/block/{name}/size"] = f"{self.random.randrange(10**6)}\n"
        self.events.append({"ACTION": "change", "DEVNAME": f"/dev/{name}"})

    def replaced(self):
        name = self.random.choice(NAMES)
        for action in ("remove", "add"):
            self.events.append({"ACTION": action, "DEVNAME": f"/dev/{name}"})

    def away(self):
        if self.gone:
            name = self.gone.pop()
            self.counters[name] = [0] * WORDS
        else:
            name, _ = self.counters.popitem()
            self.gone.append(name)

    def reset(self):
        self.counters["sda"] = [0] * WORDS

    def wrapped(self):
        self.counters["sdb"][self.random.choice(TIMES)] = MILLISECONDS_WRAP - 1


class Growing(Busy):
    """The same, of which only sizes change."""

    @property
    def happenings(self):
        return (self.grown,)


def recorded(path, seed, rare, machine=Busy):
    """Record a busy *machine* to *path*, and return it."""
    with RecordingHost(machine(seed, rare), str(path)) as host:
        for _ in samples(host, INTERVAL, COUNT):
            pass
    return path


@pytest.fixture(params=[(seed, rare) for seed in range(5) for rare in (3, 20, COUNT)], ids=str)
def recording(request, tmp_path):
    return recorded(tmp_path / "c", *request.param)


def opened(recording, window=None):
    host = CapturedHost(str(recording))
    if window:
        host.select(window)
    return host, discover(host)


def each(host, topology):
    """The average of each interval, as it is meant."""
    return next(
        average(only_same_devices(topology, Watch(host, topology, discover).intervals(1, None)))
    )


def close(one, other):
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(close, one, other))
    return one == other if one is None else one == pytest.approx(other, rel=1e-9, abs=1e-9)


def same(quick, slow):
    """Whether all is the same within what rounding makes of it."""
    assert quick.loads.keys() == slow.loads.keys()
    assert all(close(load, slow.loads[n]) for n, load in quick.loads.items())
    assert quick.seconds == pytest.approx(slow.seconds)
    return replace(quick, loads={}, seconds=0) == replace(slow, loads={}, seconds=0)


@pytest.mark.parametrize("window", [None, (0, 300), (61, 2000), (1234, 1900), (2900, 4700)])
def test_a_recording(recording, window):
    """Whatever happened in it, from wherever to wherever: figures, events, and how many intervals it was."""
    if window:
        window = TimeWindow(*(START + bound for bound in window))
    host, topology = opened(recording, window)
    quick = next(average(only_same_devices(topology, CaptureSource(host).ends())))

    assert same(quick, each(*opened(recording, window)))


def test_without_what_a_recording_says(recording):
    """One that is older than the marks is looked at sample by sample, and tells the same."""
    host, topology = opened(recording)
    watch = Watch(host, topology, discover)
    moments = ((watch.snapshot(time), 1) for time in host.ticks(1, None))
    quick = next(average(only_same_devices(topology, downsample(moments))))

    assert same(quick, each(*opened(recording)))


def test_where_nothing_happens_little_is_read(tmp_path):
    """Of segments in which all only counted on, no sample but the ends of the window."""
    with RecordingHost(Busy(7, 10**9), str(tmp_path / "c")) as host:
        for _ in samples(host, INTERVAL, COUNT):
            pass
    host, _ = opened(tmp_path / "c", TimeWindow(START + 130, START + 4300))
    taken = list(host.steps())
    (one,) = CaptureSource(host).ends()

    assert [round(time - START) // 60 for time, _ in taken] == [3, 71]
    assert one[1].count == sum(count for _, count in taken[1:]) == 68


def test_of_each_interval_all_are_there(recording):
    """Who asks for each gets each: only an average does without."""
    host, topology = opened(recording)
    assert len(list(Watch(host, topology, discover).intervals(1, None))) == COUNT
