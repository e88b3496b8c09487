"""When a trace takes too much of the CPUs."""

from __future__ import annotations

import pytest

from stackmap.features.trace.cost import Overhead


class Machine:
    """A machine with a clock that is set."""

    def __init__(self, cpus):
        self.cpus, self.now = cpus, 100.0

    def read(self, _):
        return {1: "0\n", 2: "0,2\n"}[self.cpus]

    def clock(self):
        return self.now


def looker(cpus):
    """Return an overhead, and a function that looks at it so many seconds after its start."""
    machine = Machine(cpus)
    overhead = Overhead(machine)

    def look(second, taken, limit):
        machine.now = 100.0 + second
        return overhead.look(taken, limit)

    return overhead, look


def test_a_burst_after_idle_time_is_not_hidden_by_it():
    overhead, look = looker(cpus=2)
    for second in range(1, 60):
        assert look(second, 0.0, 0.05) == ""
    assert look(60, 0.4, 0.05).startswith("stopped after 60.0 s: the trace took 20 %")
    assert overhead.share == pytest.approx(0.4 / 60 / 2)
    assert overhead.peak == pytest.approx(0.2)


def test_a_short_time_is_judged_as_a_second():
    _, look = looker(cpus=1)
    assert look(0.1, 0.04, 0.05) == ""
    assert look(0.2, 0.06, 0.05) == (
        "stopped after 0.2 s: the trace took 30 % of all CPU time, more than the limit of 5 %"
    )


def test_a_steady_load_below_the_limit_goes_on():
    overhead, look = looker(cpus=1)
    assert not any(look(n / 4, n / 4 * 0.04, 0.05) for n in range(1, 400))
    assert overhead.peak == pytest.approx(0.04)
