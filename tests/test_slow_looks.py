"""A topology that takes many samples to be read: they go on, and none of their figures is another device's."""

import contextlib
import random
import signal
import threading
import time
from functools import partial
from itertools import pairwise

import pytest

from stackmap.cli.record import UNREAD, samples
from stackmap.discover import discover
from stackmap.errors import ParseError, SourceError, SourceMissing
from stackmap.host.background import ThreadedAnswer
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.sampling import watch as watch_module
from stackmap.sampling.snapshots import IDENTITY_UNKNOWN
from stackmap.sampling.watch import Watch
from stackmap.sources import uevent
from stackmap.sources.diskstats import PATH
from stackmap.sources.mountinfo import PATH as MOUNTS
from tests.test_watch import Machine, nothing, replace_quickly

TICKS = 60


class Later:
    """What *ask* returned when it was asked, or returns when it is taken; ready when the machine's *due* is come."""

    def __init__(self, machine, ask, due, *, early):
        self.machine, self.due = machine, due
        self.ask = self.asked(ask) if early else ask

    def asked(self, ask):
        """Ask now; return what gives the answer, or raises the refusal."""
        try:
            found = ask()
        except SourceError as error:
            refusal = error
        else:
            return lambda: found

        def refused():
            raise refusal

        return refused

    def ready(self, _):
        return self.machine.tick >= self.due

    def result(self):
        return self.ask()


class Slow(Machine):
    """Each look takes *delay* ticks; it sees what there is when it begins (*early*), or when it ends."""

    def __init__(self, steps=(), *, delay=5, early=False, listens=True):
        super().__init__(steps, listens=listens)
        self.delay, self.early, self.tick = delay, early, 0
        self.add_volume(0, "vg/lv")
        self.files = {**self.files, PATH: "", MOUNTS: ""}

    def mount(self, number):
        line = f"31 1 254:0 / /mnt/{number} rw - ext4 /dev/mapper/vg-lv rw\n"
        self.files = {**self.files, MOUNTS: line}

    def in_background(self, ask):
        return Later(self, partial(ask, self), self.tick + self.delay, early=self.early)

    def ticks(self, interval, count):
        for self.tick, at in enumerate(super().ticks(interval, count)):
            yield at


def rows(host, count):
    """Return each interval's topology, rates by name, and events."""
    with contextlib.suppress(SourceMissing):
        uevent.read(host)
    watch = Watch(host, discover(host), discover)
    return [
        (topology, {n: load.read.ios for n, load in interval.loads.items()}, interval.events)
        for topology, interval in watch.intervals(1.0, count)
    ]


def at(number, step):
    return [*[nothing] * number, step]


def test_samples_go_on_while_it_is_read():
    """A device that stays has its rate in every interval of one second."""
    found = rows(Slow(at(3, replace_quickly), delay=7), 20)
    assert [rates["sda"] for _, rates, _ in found] == [7] * 20


@pytest.mark.parametrize("early", [True, False])
def test_who_was_told_of_has_no_figures_until_it_is_known(early):
    """Replaced at the fourth sample, known at the eleventh; its counters are higher than the other's."""
    found = rows(Slow(at(3, replace_quickly), delay=7, early=early), 20)
    rates = [rates.get("dm-0") for _, rates, _ in found]

    assert rates[:2] == [7, 7]
    assert rates[2:9] == [None] * 7
    assert rates[-5:] == [7] * 5
    assert set(rates) == {7, None}
    assert [t["dm-0"].title for t, _, _ in found[:10]] == ["vg/lv"] * 10
    assert found[-1][0]["dm-0"].title == "vg/other"


def test_one_that_is_replaced_while_it_is_read_is_read_again():
    """An interval that began before the change has the old topology."""
    steps = at(3, lambda m: m.rename("dm-0", "vg/named"))
    steps += at(2, replace_quickly)
    found = rows(Slow(steps, delay=6, early=True), 30)
    rates = [rates.get("dm-0") for _, rates, _ in found]

    assert {*rates[:5]} == {*rates[-5:]} == {7}
    assert rates[5:12] == [None] * 7
    assert found[-1][0]["dm-0"].title == "vg/other"


def test_a_newcomer_is_not_called_by_the_name_of_who_went():
    """vg/lv goes, and vg/other comes under its number, while the topology is read that knows of neither."""
    steps = at(3, lambda machine: machine.remove("dm-0"))
    steps += at(2, lambda machine: machine.add_volume(0, "vg/other"))
    said = [event for _, _, events in rows(Slow(steps, delay=9), 30) for event in events]

    assert "dm-0 (vg/lv) went away" in said
    assert [event for event in said if "appeared" in event] == ["dm-0 appeared"]


def test_what_takes_a_command_is_asked_aside():
    """A mount causes no uevent: it appears after the next poll, and no figure is lost."""
    steps = at(45, lambda machine: machine.mount(1))
    machine = Slow(steps, delay=7)
    found = rows(machine, 90)

    assert [rates for _, rates, _ in found] == [{"sda": 7, "dm-0": 7}] * 90
    mounted = [[use.name for use in t["dm-0"].uses] for t, _, _ in found]
    assert mounted == [[]] * 67 + [["/mnt/1"]] * 23
    assert machine.asked.count(MOUNTS) < 12


def test_a_mount_without_a_device_is_no_reason_to_read_the_topology_again():
    """Containers come and go with overlays; their file systems have no device of their own."""

    def overlay(machine):
        line = "32 1 0:99 / /run/c rw - overlay overlay rw,lowerdir=/a\n"
        machine.files = {**machine.files, MOUNTS: line}

    machine = Slow(at(45, overlay), delay=7)
    found = rows(machine, 90)

    assert len({id(topology) for topology, _, _ in found}) == 1


def test_one_that_is_replaced_while_that_is_asked_has_no_rate_across():
    steps = at(31, replace_quickly)
    found = rows(Slow(steps, delay=9), 70)
    rates = [rates.get("dm-0") for _, rates, _ in found]
    assert set(rates) == {7, None}
    assert rates[29:31] == [7, None]
    assert rates[-5:] == [7] * 5


def test_where_nobody_tells_who_none_has_figures():
    """The count of events changed: until the survey ends, there are no rates."""
    found = rows(Slow(at(3, replace_quickly), delay=4, listens=False), 20)
    blank = [number for number, (_, rates, _) in enumerate(found) if not rates]

    assert blank == [2, 3, 4, 5, 6]
    assert all(IDENTITY_UNKNOWN in found[number][2] for number in blank)
    assert set(found[-1][1]) == {"sda", "dm-0"}


def churn(seed):
    """Volumes that come, go, are renamed and replaced at random."""
    rng = random.Random(seed)

    def step(machine):
        if rng.random() < 0.2:
            machine.mount(machine.born)
        if rng.random() < 0.6:
            return
        number = rng.randrange(1, 5)
        name = f"dm-{number}"
        if name not in machine.reads:
            machine.add_volume(number, f"vg/new{machine.born}")
        elif rng.random() < 0.3:
            machine.rename(name, f"vg/named{machine.born}")
        else:
            machine.remove(name)
            if rng.random() < 0.5:
                machine.add_volume(number, f"vg/other{machine.born}")

    return [*[step] * (TICKS - 25), *[nothing] * 25]


@pytest.mark.parametrize("listens", [True, False])
@pytest.mark.parametrize("delay", [0, 1, 3, 9])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_no_rate_is_ever_of_two_devices(seed, early, delay, listens, tmp_path, monkeypatch):
    """
    Each does 7 a second, whatever happens; another's counters would make thousands.

    At the end all there are have figures. The replay of its recording, up to
    wherever that was ended, says what was said live.
    """
    monkeypatch.setattr(watch_module, "COMMAND_INTERVAL", 4.0)
    machine = Slow(churn(seed), delay=delay, early=early, listens=listens)
    with RecordingHost(machine, str(tmp_path / "c")) as host:
        live = rows(host, TICKS)

    assert {rate for _, rates, _ in live for rate in rates.values()} == {7}
    assert set(live[-1][1]) == set(machine.reads)
    assert {d.name: d.title for d in live[-1][0]} == {d.name: d.title for d in discover(machine)}

    replayed = rows(CapturedHost(str(tmp_path / "c")), None)
    assert [(t.devices, rates, set(said)) for t, rates, said in replayed] == [
        (t.devices, rates, set(said)) for t, rates, said in live
    ]


def test_a_recording_that_is_killed_meanwhile_has_no_wrong_rate(tmp_path):
    """In a recording cut at any point, a device of an uevent has no figures from then on: no answer was recorded."""
    with RecordingHost(Slow(at(5, replace_quickly), delay=9), str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 12):
            pass
    (segment,) = (tmp_path / "c" / "log").iterdir()
    content = segment.read_bytes()
    for cut in range(len(content) // 8, len(content), 31):
        segment.write_bytes(content[:cut])
        host = CapturedHost(str(tmp_path / "c"))
        watch = Watch(host, discover(host), discover)
        for _, interval in watch.intervals(1.0, None):
            assert {load.read.ios for load in interval.loads.values()} <= {7}


def test_a_window_that_begins_while_it_is_read_knows_it_at_last(tmp_path):
    """The interval begins with the topology before the change; the topology is read again when the answers have arrived."""
    from stackmap.host.timeline import TimeWindow

    with RecordingHost(Slow(at(5, replace_quickly), delay=9), str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 30):
            pass
    host = CapturedHost(str(tmp_path / "c"))
    host.select(TimeWindow(since=1008.0))
    found = rows(host, None)
    assert found[0][0]["dm-0"].title == "vg/lv"
    assert found[-1][0]["dm-0"].title == "vg/other"


def test_a_recording_says_where_its_answers_are_outdated(tmp_path):
    """A device is replaced after the topology was read for another one: a window that skips that event knows."""
    from stackmap.host.timeline import TimeWindow

    steps = [*at(3, lambda machine: machine.remove("dm-5")), replace_quickly]
    machine = Slow(steps, delay=1, early=True)
    machine.add_volume(5, "vg/five")
    with RecordingHost(machine, str(tmp_path / "c")) as host:
        for _ in samples(host, 1.0, 12):
            pass
    host = CapturedHost(str(tmp_path / "c"))
    host.select(TimeWindow(every=2.0))
    found = rows(host, None)

    assert {rate for _, rates, _ in found for rate in rates.values()} == {7}
    assert found[-1][0]["dm-0"].title == "vg/other"


def test_the_last_sample_waits_for_it(tmp_path, capsys):
    """A recording that ends during a survey waits for it; if that takes too long, a message says so."""

    class Waits(Later):
        def ready(self, seconds):
            return seconds >= 10 or super().ready(seconds)

    class Patient(Slow):
        def in_background(self, ask):
            return Waits(self, partial(ask, self), self.tick + self.delay, early=False)

    for kind, title in ((Patient, "vg/other"), (Slow, "vg/lv")):
        out = str(tmp_path / kind.__name__)
        with RecordingHost(kind(at(5, replace_quickly), delay=99), out) as host:
            for _ in samples(host, 1.0, 9):
                pass
        topologies = [topology for topology, _, _ in rows(CapturedHost(out), None)]
        assert topologies[-1]["dm-0"].title == "vg/lv"
        host = CapturedHost(out)
        for _ in host.ticks(1.0, None):
            pass
        assert discover(host)["dm-0"].title == title
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if "no answer" not in line] == [f"stackmap: {UNREAD}"]


def test_what_goes_wrong_there_is_not_lost():
    """The error is raised when the answer is taken."""
    machine = Slow(at(3, replace_quickly), delay=4)
    taken = []

    def again(_):
        raise ParseError("what no kernel says")

    watch = Watch(machine, discover(machine), again)
    with pytest.raises(ParseError, match="no kernel"):
        taken.extend(watch.snapshots(1.0, 20))
    assert len(taken) >= 4


def test_a_thread_that_works_blocks_no_signal_of_ours():
    """It returns the answer or raises its error, and receives no signal that the main thread blocks."""
    go = threading.Event()

    def ask():
        go.wait()
        return signal.pthread_sigmask(signal.SIG_BLOCK, [])

    answer = ThreadedAnswer(ask)
    assert not answer.ready(0.01)
    go.set()
    assert answer.ready(5)
    assert {signal.SIGINT, signal.SIGTERM} <= answer.result()

    failed = ThreadedAnswer(lambda: 1 // 0)
    assert failed.ready(5)
    with pytest.raises(ZeroDivisionError):
        failed.result()


def test_record_goes_on_sampling(tmp_path):
    """With a real thread and a real clock: a look that takes a second costs no sample of a tenth."""

    class Clocked(Slow):
        def in_background(self, ask):
            return ThreadedAnswer(partial(self.slowly, ask))

        def slowly(self, ask):
            time.sleep(1.0)
            return ask(self)

        def ticks(self, interval, count):
            for at in super().ticks(interval, count):
                time.sleep(interval)
                yield at

    started = time.monotonic()
    with RecordingHost(Clocked(at(3, replace_quickly)), str(tmp_path / "c")) as host:
        times = [time.monotonic() - started for _ in samples(host, 0.1, 40)]
    gaps = [b - a for a, b in pairwise(times)]
    assert max(gaps) < 0.9
    host = CapturedHost(str(tmp_path / "c"))
    assert rows(host, None)[-1][0]["dm-0"].title == "vg/other"
