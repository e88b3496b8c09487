"""Spans of intervals, against what they say of each interval alone."""

from __future__ import annotations

import itertools
from math import ceil, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmap.ledger.episodes import outside
from stackmap.ledger.time_series import Clock
from stackmap.ledger.unusual_spans import (
    BRIDGED,
    LEAST,
    VALUES,
    Level,
    _united,
    find_drift,
    joined,
    level_without,
    middle_of,
    overlap,
    quantiles,
    quiet_level,
)

spans = st.tuples(st.integers(0, 40), st.integers(0, 9)).map(lambda two: (two[0], two[0] + two[1]))
places = st.sets(st.integers(0, 60)).map(sorted)


def within(several):
    return {place for first, last in several for place in range(first, last + 1)}


@settings(max_examples=40)
@given(spans, spans)
def test_spans_overlap_if_they_share_an_interval(one, other):
    assert overlap(one, other) is bool(within([one]) & within([other]))


@settings(max_examples=40)
@given(st.lists(spans, max_size=6))
def test_what_is_outside_and_what_is_taken_is_all(taken):
    """Each once, in spans that do not touch."""
    rest = outside(50, taken)
    assert within(rest) == set(range(50)) - within(taken)
    assert sum(last + 1 - first for first, last in rest) == len(within(rest))


@settings(max_examples=40)
@given(st.lists(spans, max_size=6))
def test_united_spans_cover_the_same_and_do_not_touch(several):
    found = _united(several, Clock())
    assert within(found) == within(several)
    assert all(after[0] > before[1] + 1 for before, after in itertools.pairwise(found))


@settings(max_examples=40)
@given(places)
def test_joined_places_bridge_two_others(chosen):
    """Every chosen place is in a span; a span begins and ends with one, and has no longer hole."""
    found = joined(chosen, Clock())
    assert set(chosen) <= within(found)
    assert all({first, last} <= set(chosen) for first, last in found)
    assert all(after[0] - before[1] > BRIDGED + 1 for before, after in itertools.pairwise(found))
    for first, last in found:
        inside = [place for place in chosen if first <= place <= last]
        assert all(b - a <= BRIDGED + 1 for a, b in itertools.pairwise(inside))


@pytest.mark.parametrize(
    ("seconds", "gap"), [(10.0, False), (30.0, False), (39.0, False), (41.0, True), (-1.0, True)]
)
def test_time_that_is_missing_is_a_gap(seconds, gap):
    """Of intervals of 10 s, more than 3 that are missing; a clock that was set back is one, too."""
    clock = Clock([100.0, 100.0 + seconds], 10.0)
    assert clock.gap(0, 1) is gap
    assert Clock([100.0, 900.0], 0.0).gap(0, 1) is Clock((), 10.0).gap(0, 1) is False
    assert joined([0, 1], clock) == ([(0, 0), (1, 1)] if gap else [(0, 1)])


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=50), st.sampled_from([0.0, 0.25, 0.5, 1.0])
)
def test_quantiles_are_values_of_the_series(values, share):
    (found,) = quantiles(values, share)
    assert found == sorted(values)[round(share * (len(values) - 1))]


def test_a_part_of_very_many_values_is_enough():
    many = list(range(10 * VALUES))
    assert quantiles(many, 0.5)[0] == pytest.approx(5 * VALUES, rel=0.01)
    assert ceil(len(many) / VALUES) == 10


def test_a_level_needs_a_baseline():
    """20 values; those in spans do not count."""
    assert quiet_level([1.0] * (LEAST - 1) + [None] * 9) is None
    assert quiet_level([1.0] * LEAST).middle == pytest.approx(1.0, abs=0.1)
    logs = [1.0] * LEAST + [5.0] * 7
    assert level_without(logs, [(LEAST, LEAST + 6)]).middle == 1.0
    assert level_without(logs, [(0, 7)]) is None


def test_few_or_low_values_may_be_noise():
    """5 spreads above the middle, or the same evidence by more independent values; a long series needs more."""
    level = Level(0.0, 1.0)
    assert level.may_be_noise(4.9, 1, 100)
    assert not level.may_be_noise(5.1, 1, 100)
    assert not level.may_be_noise(2.6, 4, 100)
    assert level.may_be_noise(2.6, 4, 10**6)
    assert Level(0.0, 1.0, memory=4.0).may_be_noise(2.6, 4, 100)
    assert Level(0.0, 1.0, high=1.0, tail=2.0).may_be_noise(5.1, 1, 100)


def test_the_middle_of_a_span_is_of_what_is_known():
    assert middle_of([9.0, 1.0, None, 3.0, 9.0], 1, 3) == 2.0


def test_a_level_above_all_values_leaves_no_place_unfound():
    """The lowest values of awaits with a long lower tail are far apart: their level may be above all of them."""
    awaits = (4.8, 0.2, 7.4, 0.2, 1.3, 5.6, 4.7, 8.7, 2.6, 2.6, 3.9, 4.9, 4.7, 7.4, 0.2, 1.3, 7.3, 9.5, 6.8, 8.2, 5.7, 0.6, 5.3,
              6.5, 5.6, 4.1, 9.2, 2.8, 6.6, 2.3, 8.4, 9.4, 9.5, 2.6, 4.2, 8.6, 7.3, 8.2, 2.2, 6.1, 9.4, 2.8, 8.6, 4.4, 6.1, 4.2)  # fmt: skip
    logs = [*map(log, awaits)]
    level = quiet_level(logs)
    assert level.middle > max(logs)

    ((_, last),) = find_drift(logs, level)

    assert last == len(logs) - 1
