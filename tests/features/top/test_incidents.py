"""What ``top`` remembers of slow times, of nights whose truth is known."""

from __future__ import annotations

import pytest

from stackmap.features.top import incidents
from stackmap.features.top.incidents import Incidents
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
    monkeypatch.setattr(incidents, "MOST_LOADS", 60)
    found = watched(night(2, slower=[(30, 44, 9)]))

    (event,) = found.events
    assert abs(event.time - (BEGIN + 30 * PACE)) <= 2 * PACE
    assert len(found._kept) == 60
    assert NIGHT > 44 + 60


def test_a_replaced_device_has_no_past():
    """Its name is that of another disk now, which is ten times as slow."""
    before, after = [*night(3, 60)], [*night(4, 40, mean=70)]
    found = watched(before)
    found.forget(set(STACK.devices))
    for each, then in zip(after, [*night(3, 100)][60:], strict=True):
        found.take(STACK, each.__class__(each.loads, time=then.time, seconds=PACE))

    assert found.events == []
