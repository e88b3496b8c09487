"""
What a range is worth: drawn series of a known truth, again and again.

A range of 95 % must hold the truth in 95 of 100 recordings, also where an
interval resembles the one before it, as loads do. 300 series tell that within
2 %; the seeds are set, so each test gives the same count each time.
"""

from __future__ import annotations

import math
from random import Random

import pytest

from stackmap.features.compare.estimate import (
    DRAWS,
    MIN_INTERVALS,
    Spread,
    _chance,
    _combined,
    autocorrelation,
    block_length,
    change,
    estimate,
    significant,
    spread,
    student,
    variance_ratio,
)

RECORDINGS = 300
NOISE = 0.3
TRUTH = math.exp(NOISE**2 / 2)  # the mean of what is drawn


def drawing(seed):
    """The same series each time."""
    return Random(seed)


def correlated(random, count, correlation):
    """Normal deviates, each like the one before it."""
    found, value = [], random.gauss(0, 1)
    for _ in range(count):
        found.append(value)
        value = correlation * value + math.sqrt(1 - correlation**2) * random.gauss(0, 1)
    return found


def recording(random, count, correlation):
    """Requests at the disks and at the top: a load that varies, and what it is multiplied by."""
    load = [100 * math.exp(0.5 * each) for each in correlated(random, count, correlation)]
    noise = correlated(random, count, correlation)
    return [top * math.exp(NOISE * each) for top, each in zip(load, noise, strict=True)], load


def share(sums):
    return sums[0] / sums[1] if sums[1] else None


def held(count, correlation, measure):
    """Return how many of the ranges hold the truth."""
    random = drawing(count)
    hits = 0
    for _ in range(RECORDINGS):
        low, high = measure(recording(random, count, correlation))
        hits += low <= TRUTH <= high
    return hits / RECORDINGS


def by_blocks(columns):
    found = estimate(columns, share)
    return found.low, found.high


def by_single_intervals(columns):
    """The wrong way: as if each interval were news."""
    random = drawing(1)
    count = len(columns[0])
    drawn = []
    for _ in range(200):
        places = random.choices(range(count), k=count)
        drawn.append(share([sum(column[place] for place in places) for column in columns]))
    drawn.sort()
    return drawn[5], drawn[-6]


@pytest.mark.parametrize(("count", "correlation"), [(20, 0.0), (60, 0.5), (120, 0.8)])
def test_ranges_hold_the_truth(count, correlation):
    """In 95 of 100 recordings, give or take what 300 of them can tell and short ones lack."""
    assert held(count, correlation, by_blocks) == pytest.approx(0.95, abs=0.035)


def test_single_intervals_would_not_do():
    """What the tolerance above refuses: intervals drawn one by one hold it far too seldom."""
    assert held(120, 0.8, by_single_intervals) < 0.75


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_no_change_is_found_where_there_is_none(correlation):
    """In at most 5 of 100 pairs of recordings of one and the same load, but for chance in 300."""
    random = drawing(17)
    found = 0
    for _ in range(RECORDINGS):
        sides = [estimate(recording(random, 60, correlation), share) for _ in range(2)]
        found += change(*sides).chance < 0.05
    assert found / RECORDINGS <= 0.075


def test_of_many_figures_none_is_found_where_none_changed():
    """Twenty figures at once: with each judged alone, one of them would nearly always be."""
    random = drawing(23)
    alone = together = 0
    for _ in range(100):
        chances = {}
        for figure in range(20):
            sides = [estimate(recording(random, 40, 0.3), share) for _ in range(2)]
            chances[figure] = change(*sides).chance
        alone += min(chances.values()) < 0.05
        together += bool(significant(chances))
    assert alone > 40
    assert together <= 10


def test_a_change_that_is_there_is_found():
    """Half of what it was, under a noise of 30 %, in sixty intervals."""
    random = drawing(29)
    before, load = recording(random, 60, 0.6)
    after, other = recording(random, 60, 0.6)
    halved = [each / 2 for each in after]

    found = change(estimate([before, load], share), estimate([halved, other], share))

    assert found.low < 0.5 < found.high < 1
    assert found.chance < 0.001


def test_the_same_draws_each_time():
    columns = recording(drawing(31), 40, 0.5)

    assert spread(columns, share) == spread(columns, share)


def test_few_intervals_tell_nothing():
    """Nine have no range; the figure itself is as good as it is."""
    columns = recording(drawing(37), MIN_INTERVALS - 1, 0.0)

    assert spread(columns, share) is None
    assert (estimate(columns, share).low, estimate(columns, share).high) == (None, None)


def test_a_ratio_of_sums():
    """An interval with nearly no load counts as little as it is: 303 ÷ 101, no mean of 3 and 300."""
    found = estimate([[3.0, 300.0] * 7, [1.0, 100.0] * 7], share)

    assert found.value == 3
    assert estimate([[300.0, 3.0] * 7, [1.0, 100.0] * 7], share).value == 3


def test_an_even_series_has_no_spread():
    """Twice the requests in each interval are twice the requests, but for those in flight."""
    load = [100.0 + place for place in range(20)]
    found = estimate([[2 * each for each in load], load], share, counting_error=0.001)

    assert found.value == 2
    assert found.high == pytest.approx(2.0, rel=0.004)
    assert found.high > 2


def test_likeness_of_series():
    """A short series looks less alike than it is, a series that takes turns counts as not alike."""
    assert autocorrelation([5.0] * 30) == 0.0
    assert autocorrelation([1.0, -1.0] * 30) == 0.0
    assert autocorrelation(correlated(drawing(41), 5000, 0.7)) == pytest.approx(0.7, abs=0.05)


def test_blocks_are_a_twelfth_or_longer():
    """Longer where neighbours are alike, never so long that fewer than five are left."""
    assert block_length(0.0, 120) == 10
    assert block_length(0.9, 120) == 24
    assert block_length(0.5, 120) == 10
    assert block_length(0.97, 50) == 10
    assert block_length(0.0, MIN_INTERVALS) == 1


def test_what_blocks_miss():
    """One interval a block shows nothing of what neighbours share: (1 + r) / (1 − r) is missed."""
    assert variance_ratio(0.0, 1) == 1
    assert variance_ratio(0.5, 1) == pytest.approx(3)
    assert 1 < variance_ratio(0.5, 10) < 1.2


@pytest.mark.parametrize(("freedom", "table"), [(3, 3.182), (5, 2.571), (11, 2.201), (60, 2.0)])
def test_students_t(freedom, table):
    """As the tables have it, within a part in a hundred."""
    assert student(freedom) == pytest.approx(table, rel=0.012)


def test_nothing_has_no_logarithm():
    """What is 0 on one side is gone, or new, and its chance is that of the other being 0."""
    some = estimate([[5.0 + place % 3 for place in range(30)], [10.0] * 30], share)
    none = estimate([[0.0] * 30, [10.0] * 30], share)

    assert change(some, none).ratio == 0
    assert change(none, some).ratio is None
    assert change(none, some).chance < 1e-6
    assert change(none, none).ratio == 1


def test_draws_without_what_it_is_of():
    """A read in one interval of sixty: most draws have none, so nothing tells how sure its wait is."""
    reads = [0.0] * 59 + [1.0]

    assert spread([reads, reads], share) is None
    assert DRAWS >= 200


def test_without_any_error_only_no_change_is_by_chance():
    """Recordings that do not vary: the same figure is no change, another one is certain."""
    assert _combined(Spread(0.0, 9.0, 1), Spread(0.0, 4.0, 1)) == (0.0, 13.0)
    assert _chance(0.0, 0.0, 8.0) == 1.0
    assert _chance(0.1, 0.0, 8.0) == 0.0
    assert _chance(0.1, 0.1, 1000.0) == pytest.approx(math.erfc(1 / math.sqrt(2)), abs=0.01)
