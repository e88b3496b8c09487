"""Each interval of a series is got back as it was given, held or not; idle devices cost next to nothing."""

from __future__ import annotations

import tracemalloc
from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.ledger import time_series
from stackmap.ledger.time_series import IntervalSeries
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Flow, Load

number = st.sampled_from([0.0, 0.0, 1.5, 4096.0])
flow = st.builds(Flow, number, number, number, number)
unknown = st.just(Flow())
load = st.just(IDLE) | st.builds(
    Load,
    flow,
    flow,
    flow | unknown,
    flow | unknown,
    whole=flow | st.none(),
    aqu=number | st.none(),
    busy=number,
)
series = st.lists(
    st.dictionaries(st.sampled_from(["sda", "sdb", "dm-0"]), load | st.just(IDLE)), max_size=12
)


def given_intervals(loads: list[dict[str, Load]]) -> list[Interval]:
    return [Interval(each, time=1e9 + n, seconds=1.0) for n, each in enumerate(loads)]


def figures(load: Load) -> Load:
    """A load without what a series does not keep; unknown figures are None one by one."""
    return load._replace(in_flight_at_ends=None, whole=None if load.whole == Flow() else load.whole)


@pytest.fixture
def few(monkeypatch):
    """Nothing is held, and loads become columns after a few."""
    monkeypatch.setattr(time_series, "HELD_LOADS", 3)
    monkeypatch.setattr(time_series, "MAX_NEWEST", 4)


@given(series)
def test_each_interval_comes_back(loads):
    """Figures that were 0 for long, and devices that come and go, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_series, "HELD_LOADS", 3)
        patch.setattr(time_series, "MAX_NEWEST", 4)
        whole = IntervalSeries(given_intervals(loads))
        again = whole.intervals([(n, n) for n in range(len(loads))])

    assert len(again) == len(loads)
    for back, told in zip(again, loads, strict=True):
        for name, each in told.items():
            assert figures(back.loads.get(name, Load())) == figures(each)
        assert back.loads.keys() <= told.keys()


@given(series)
def test_a_figure_is_that_of_each_interval(loads):
    """One value an interval from the device's first one on; NaN where the device was absent."""
    whole = IntervalSeries(given_intervals(loads))
    for name, columns in whole.devices.items():
        told = [nan if name not in each else each[name].read.ios for each in loads][columns.first :]
        values = columns.figure("read", "ios")
        assert len(values) in (0, len(told))
        for value, expected in zip(values, told, strict=False):
            assert value == expected or (isnan(value) and isnan(expected))


@pytest.mark.usefixtures("few")
def test_idle_devices_cost_next_to_nothing():
    """2,000 idle devices in 300 more intervals: less than 4 bytes for each of the 600,000 loads."""
    idle = {f"sd{n}": IDLE for n in range(2000)}
    whole = IntervalSeries(given_intervals([idle] * 300))
    assert whole.devices
    tracemalloc.start()
    for interval in given_intervals([idle] * 300):
        whole.add(interval)
    assert whole.devices
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert grown < 2_400_000
    assert len(whole.devices["sd7"].figure("write", "bytes")) == 600


def test_many_devices_come_back_as_fewer_intervals(monkeypatch):
    """Of 100 devices 50 intervals would be 5,000 loads; where 400 are examined, 4 of them come back, or stretches."""
    monkeypatch.setattr(time_series, "HELD_LOADS", 3)
    monkeypatch.setattr(time_series, "MAX_LOADS", 200)
    monkeypatch.setattr(time_series, "MOST_LOADS", 200)
    monkeypatch.setattr(time_series, "EXAMINED_LOADS", 400)
    busy = {f"sd{n}": Load(Flow(2.0, 0.0, 512.0, 1.0)) for n in range(100)}
    whole = IntervalSeries(given_intervals([busy] * 50))

    assert len(whole.intervals([(3, 6)])) == 4
    assert len(whole.intervals([(0, 49)])) <= 5


def test_where_no_intervals_are_asked_for_none_are_held():
    """A report needs the columns alone, 8 bytes per figure: 200,000 loads beside them took 200 MB."""
    whole = IntervalSeries(whole=False)
    tracemalloc.start()
    for n in range(300):
        loads = {f"sd{d}": Load(Flow(n + 0.5, 0.0, n * 512.0, n + 0.25)) for d in range(100)}
        whole.add(Interval(loads, time=1e9 + n, seconds=1.0))
    assert whole.devices["sd7"].figure("read", "ios")[299] == 299.5
    for columns in whole.devices.values():
        columns.flush()
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert grown < 300 * 100 * 60
