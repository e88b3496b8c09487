"""Reading a stream of events: buffers, filters, order, and what was lost."""

from __future__ import annotations

import pytest

from stackmap.features.trace.events.measure import EventStream
from stackmap.features.trace.tracefs import EVENTS, INSTANCE
from stackmap.sources.trace_text import Step


class Kernel:
    """An instance of two CPUs whose pipe gives one text per reading."""

    def __init__(self, *texts, events=tuple(f"block_{step}" for step in Step), cpus=2):
        self.texts = list(texts)
        self.events = events
        self.cpus = [f"cpu{number}" for number in range(cpus)]
        self.written = []

    def names_in(self, path):
        return self.cpus if path == f"{INSTANCE}/per_cpu" else sorted(self.events)

    def write(self, path, text):
        self.written.append((path, text))

    def drain(self, path, most):
        assert path == f"{INSTANCE}/trace_pipe"
        assert most > 0
        return self.texts.pop(0) if self.texts else ""

    def read(self, path):
        number = int(path.split("/cpu")[1][0])
        return f"entries: 5\noverrun: {number}\ncommit overrun: 9\ndropped events: 2\n"


def line(time, sector=0):
    return f"  fio-1  [000] .....  {time:.6f}: block_bio_queue: 8,0 W {sector} + 8 [fio]\n"


def test_all_events_begin_at_one_instant():
    """The switch is off while they are enabled: enabling each takes a while."""
    kernel = Kernel()
    EventStream(kernel, ["8:0", "253:1"]).start()
    switch = [
        place for place, (path, _) in enumerate(kernel.written) if path.endswith("tracing_on")
    ]
    assert [kernel.written[place][1] for place in switch] == ["0", "1"]
    assert switch == [0, len(kernel.written) - 1]
    filters = {text for path, text in kernel.written if path.endswith("/filter")}
    assert filters == {f"dev == {8 << 20} || dev == {253 << 20 | 1}"}
    assert (f"{EVENTS}/block/block_rq_issue/enable", "1") in kernel.written


def test_a_kernel_without_an_event_is_traced_without_it():
    kernel = Kernel(events=["block_bio_queue"])
    EventStream(kernel, ["8:0"]).start()
    assert [path for path, _ in kernel.written if path.endswith("/enable")] == [
        f"{EVENTS}/block/block_bio_queue/enable"
    ]


def test_too_many_devices_are_not_filtered():
    kernel = Kernel()
    EventStream(kernel, [f"253:{minor}" for minor in range(1000)]).start()
    assert not [path for path, _ in kernel.written if path.endswith("/filter")]


@pytest.mark.parametrize(("cpus", "size"), [(1, "4096"), (16, "2048"), (512, "256")])
def test_buffers_are_bounded(cpus, size):
    kernel = Kernel(cpus=cpus)
    EventStream(kernel, ["8:0"]).start()
    assert (f"{INSTANCE}/buffer_size_kb", size) in kernel.written


def test_events_of_two_readings_are_in_order():
    """An event of one CPU may be read before an earlier one of another CPU."""
    kernel = Kernel(line(1.0) + line(2.0) + line(2.01, 8), line(2.005, 16) + line(3.0))
    stream = EventStream(kernel, ["8:0"])
    first = stream.read()
    second = stream.read()
    rest = stream.stop()
    assert [event.time for event in first] == [1.0]
    assert [event.sector for event in second] == [0, 16, 8]
    assert [event.time for event in rest] == [3.0]


def test_the_end_is_read_until_nothing_is_left():
    kernel = Kernel(line(1.0), line(2.0), line(3.0))
    assert len(EventStream(kernel, ["8:0"]).stop()) == 3


def test_lost_events_are_those_overwritten_and_those_without_room():
    assert EventStream(Kernel(), ["8:0"]).lost() == 0 + 1 + 2 + 2


def test_the_last_moment_is_not_held_back_when_it_is_quiet():
    stream = EventStream(Kernel(line(1.0), ""), ["8:0"])
    assert [len(stream.read()) for _ in range(3)] == [0, 1, 0]
