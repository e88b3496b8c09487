"""How long the events of requests are read."""

from __future__ import annotations

import json
import re

import pytest

from stackmap.features.trace.command import EventOptions, print_events
from stackmap.features.trace.document import drawn
from stackmap.features.trace.events.measure import RequestTrace
from stackmap.features.trace.figures import Distribution
from stackmap.features.trace.measure import TraceOptions
from stackmap.features.trace.tracefs import INSTANCE
from tests.features.trace.test_trace import TOPOLOGY, Machine, is_clean


class Streaming(Machine):
    """A machine on which reading takes *load* CPUs."""

    def __init__(self, load):
        super().__init__()
        self.load = load
        self.text = ""
        self.begin = self.now

    def names_in(self, path):
        return ["cpu0"] if path == f"{INSTANCE}/per_cpu" else super().names_in(path)

    def make_directory(self, path):
        super().make_directory(path)
        self.files[f"{path}/per_cpu/cpu0/stats"] = ["overrun: 0"]
        self.files[f"{path}/events/block/block_bio_queue/enable"] = []

    def drain(self, *_):
        text, self.text = self.text, ""
        return text

    def cpu_seconds(self):
        return 7 + (self.now - self.begin) * self.load


@pytest.mark.parametrize("seconds", [0.1, 0.6, 5.0])
def test_it_lasts_as_long_as_asked(seconds):
    machine = Streaming(0.09)
    trace = RequestTrace(machine, TOPOLOGY, ["dm-0"], follow=True)
    assert not [each for batch in trace.requests(seconds, 0.05) for each in batch]
    assert seconds <= machine.now - machine.begin < seconds + 0.25
    assert trace.stopped == ""
    assert is_clean(machine)


@pytest.mark.parametrize("name", ["a\x0cb", "a\x85b\u2028", "x] [y", "-1 [0] {", "a\rb", "a\nb"])
def test_a_process_of_any_name_is_counted(name):
    machine = Streaming(0.0)
    line = f" {name}-812 [001] ..... 97.2: block_bio_queue: 253,0 WS 2048 + 8 [{name}]"
    machine.text = f"{line}\n{line.replace('2048', '4096')}\n"
    trace = RequestTrace(machine, TOPOLOGY, ["dm-0"], follow=False)
    found = [each for batch in trace.requests(1.0, 0.05) for each in batch]
    assert [(each.sector, each.pid) for each in found] == [(2048, 812), (4096, 812)]


def test_times_begin_at_the_first_event_whichever_request_completes_first(monkeypatch, capsys):
    machine = Streaming(0.0)
    machine.stop = None
    monkeypatch.setattr("signal.signal", lambda *_: None)
    events = ("97.2: block_bio_queue", "97.5: block_bio_queue", "97.6: block_bio_complete")
    texts = [
        f" fio-8 [001] ..... {event}: 253,0 WS {sector} + 8 [0]\n"
        for event, sector in zip(events, (8, 64, 64), strict=True)
    ]
    machine.text = "".join(texts)
    print_events(
        machine,
        TOPOLOGY,
        ["dm-0"],
        TraceOptions(3.0, 0.05),
        EventOptions(),
        as_json=True,
        heading=True,
    )
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    times = {each["offset"]: each["time"] for each in found if "offset" in each}
    assert times == pytest.approx({8 * 512: 0.0, 64 * 512: 0.3})


def test_it_ends_above_the_limit_of_cpu_time():
    """0.2 of two CPUs are 10 %."""
    machine = Streaming(0.2)
    trace = RequestTrace(machine, TOPOLOGY, ["dm-0"], follow=True)
    assert not [each for batch in trace.requests(60.0, 0.05) for each in batch]
    assert machine.now - machine.begin < 1.0
    assert trace.stopped == (
        "stopped after 0.8 s: the trace took 10 % of all CPU time, more than the limit of 5 %"
    )
    assert is_clean(machine)


@pytest.mark.parametrize(("columns", "longest"), [(1, 16), (2, 22), (4, 11), (7, 6), (12, 6)])
def test_bars_share_the_width_of_a_line(columns, longest):
    """And are never too short to compare."""
    found = Distribution({(1_000_000, 1_040_000): 4, (3_000_000, 3_100_000): 1})
    first, _, _ = [*drawn([(f"layer {n}", found) for n in range(columns)])][1:]
    assert [len(bar) for bar in re.findall("#+", first)] == [longest] * columns
