"""What ``top`` remembers of slow times, of nights whose truth is known."""

from __future__ import annotations

import pytest

from stackmap.features.top import incidents
from stackmap.features.top.incidents import Incidents
from stackmap.features.whatif.additions import headroom_blocks
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from tests.ledger.test_episodes import NIGHT, PACE, STACK, night

BEGIN = 1e9 + PACE  # the end of the first interval


def watched(intervals):
    found = Incidents()
    for each in intervals:
        found.take(STACK, each)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_slow_time_is_one_event_at_its_begin(seed):
    """It goes on beyond a search, so it is found twice."""
    (event,) = watched(night(seed, slower=[(70, 95, 9)])).events

    assert abs(event.time - (BEGIN + 70 * PACE)) <= 2 * PACE
    assert event.text.startswith("web await ")


def test_a_slow_time_is_an_event_while_it_goes_on():
    assert watched([*night(1, slower=[(70, 142, 9)])][:100]).events


@pytest.mark.parametrize("seed", range(4))
def test_an_even_load_has_no_event(seed):
    assert watched(night(seed)).events == []


def test_an_event_stays_when_its_intervals_are_forgotten(monkeypatch):
    """What is kept has a bound: of intervals, and of loads."""
    monkeypatch.setattr(incidents, "MOST_LOADS", 4 * 60)
    found = watched(night(2, slower=[(30, 44, 9)]))

    (event,) = found.events
    assert abs(event.time - (BEGIN + 30 * PACE)) <= 2 * PACE
    assert len(found._kept) == 60
    assert NIGHT > 44 + 60


def test_the_rest_of_the_later_of_two_slow_times_is_no_event(monkeypatch):
    """A search finds both, the worse one first; at the next, the begin of both is forgotten."""
    monkeypatch.setattr(incidents, "MOST_LOADS", 4 * 60)
    events = watched(night(1, slower=[(44, 47, 9), (54, 72, 12)])).events

    begins = sorted((event.time - BEGIN) / PACE for event in events)
    assert begins == [pytest.approx(44, abs=2), pytest.approx(54, abs=2)]


def test_a_replaced_device_has_no_past():
    """Its name is that of another disk now, which is ten times as slow."""
    before, after = [*night(3, 60)], [*night(4, 40, mean=70)]
    found = watched(before)
    found.forget(set(STACK.devices))
    for each, then in zip(after, [*night(3, 100)][60:], strict=True):
        found.take(STACK, each.__class__(each.loads, time=then.time, seconds=PACE))

    assert found.events == []


def test_the_loads_of_disks_show_their_headroom():
    """web's disk sda serves at most 100 requests per second; its mean is 75."""
    rates = (20.0, 50.0, 80.0, 100.0, 100.0, 100.0)
    queues = (0.2, 0.5, 0.9, 2.0, 4.0, 8.0)
    idle = Flow(0.0, 0.0, 0.0, 0.0)
    found = Incidents()
    for number, (rate, queue) in enumerate(zip(rates, queues, strict=True)):
        flow = Flow(rate, 0.0, rate * 4096, queue * 1000)
        load = Load(idle, flow, aqu=queue, busy=min(1.0, rate / 100))
        found.take(STACK, Interval({"web": load, "sda": load}, time=1.0 + number, seconds=1.0))
    table, *_ = headroom_blocks(STACK, found.intervals, ["web"])
    ((_, factor, disk, rate, knee),) = table.groups[0].rows

    assert (disk, rate.number, knee.number) == ("sda", pytest.approx(75), pytest.approx(100))
    assert factor.number == pytest.approx(100 / 75)
