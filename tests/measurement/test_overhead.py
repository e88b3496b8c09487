"""When a trace takes too much of the CPUs."""

from __future__ import annotations

import pytest

from stackmap.measurement.overhead import Overhead


def test_a_burst_after_idle_time_is_not_hidden_by_it():
    overhead = Overhead(cpus=2, now=100.0)
    for second in range(1, 60):
        assert overhead.look(100.0 + second, 0.0, 0.05) == ""
    assert overhead.look(160.0, 0.4, 0.05).startswith("stopped after 60.0 s: the trace took 20 %")
    assert overhead.share == pytest.approx(0.4 / 60 / 2)
    assert overhead.peak == pytest.approx(0.2)


def test_a_short_time_is_judged_as_a_second():
    overhead = Overhead(cpus=1, now=0.0)
    assert overhead.look(0.1, 0.04, 0.05) == ""
    assert overhead.look(0.2, 0.06, 0.05) == (
        "stopped after 0.2 s: the trace took 30 % of all CPU time, more than the limit of 5 %"
    )


def test_a_steady_load_below_the_limit_goes_on():
    overhead = Overhead(cpus=1, now=0.0)
    assert not any(overhead.look(n / 4, n / 4 * 0.04, 0.05) for n in range(1, 400))
    assert overhead.peak == pytest.approx(0.04)
