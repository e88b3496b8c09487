"""The statistics of a comparison, against their textbooks: printed tables, and brute force."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmap.features.compare.estimate import (
    MAX_BLOCKS,
    MAX_CORRELATION,
    MIN_BLOCKS,
    Change,
    Estimate,
    Spread,
    _block_sums,
    _chance,
    _combined,
    autocorrelation,
    block_length,
    change,
    influence,
    significant,
    variance_ratio,
)


@pytest.mark.parametrize(
    ("t", "freedom", "chance"),
    [(2.228, 10, 0.05), (3.169, 10, 0.01), (2.086, 20, 0.05), (2.571, 5, 0.05), (1.812, 10, 0.1), (0.0, 7, 1.0)],
)  # fmt: skip
def test_the_chance_of_a_deviation_is_that_of_students_table(t, freedom, chance):
    """Two-sided; the scale of the error does not matter."""
    for error in (1.0, 0.03):
        assert _chance(t * error, error, freedom) == pytest.approx(chance, abs=0.004)


def test_without_an_error_only_no_change_is_likely():
    assert (_chance(0.0, 0.0, 9), _chance(0.1, 0.0, 9)) == (1.0, 0.0)
    assert _combined(Spread(0.0, 3, 1), Spread(0.0, 7, 1)) == (0.0, 10)


@settings(max_examples=40)
@given(st.dictionaries(st.integers(), st.floats(0, 1), max_size=7))
def test_holm_rejects_as_many_as_all_of_them_allow(chances):
    """The k-th smallest of n is significant if it and all smaller ones are at most 5 % ÷ (n + 1 - k)."""
    ranked = sorted(chances, key=chances.__getitem__)
    count = len(ranked)
    limits = [(1 - 0.95) / (count - place) for place in range(count)]
    expected = next((n for n, key in enumerate(ranked) if chances[key] > limits[n]), count)
    assert significant(chances) == set(ranked[:expected])


@settings(max_examples=40)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=30), st.integers(1, 30))
def test_blocks_go_on_around_the_end(values, length):
    length = min(length, len(values))
    doubled = values * 2
    assert _block_sums(values, length) == [
        sum(doubled[start : start + length]) for start in range(len(values))
    ]


@settings(max_examples=40)
@given(st.floats(0, MAX_CORRELATION), st.integers(10, 5000))
def test_a_recording_has_five_to_twelve_blocks(correlation, count):
    """More similar neighbours make longer blocks."""
    length = block_length(correlation, count)
    assert 1 <= length <= count / MIN_BLOCKS
    assert MAX_BLOCKS * length >= count or length == count // MIN_BLOCKS
    assert length >= block_length(0.0, count) or length == count // MIN_BLOCKS


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8])
def test_long_blocks_show_all_of_the_variance(correlation):
    """One interval shows its own alone: (1 + r) ÷ (1 - r) of it is hidden; without correlation nothing is."""
    assert variance_ratio(correlation, 1) == pytest.approx((1 + correlation) / (1 - correlation))
    assert variance_ratio(correlation, 10**4) == pytest.approx(1.0, abs=0.01)
    ratios = [variance_ratio(correlation, block) for block in (1, 2, 5, 50)]
    assert ratios == sorted(ratios, reverse=True)


def test_neighbours_that_alternate_are_not_correlated_and_equal_ones_are():
    assert autocorrelation([1.0, 2.0] * 20) == 0.0
    assert autocorrelation([5.0] * 40) == 0.0
    # 20 of the 39 pairs are equal: 1/40 of the variance; corrected, (40/40 + 1) ÷ 37.
    assert autocorrelation([1.0, 1.0, 2.0, 2.0] * 10) == pytest.approx(2 / 37)
    assert autocorrelation([*map(float, range(400))]) == MAX_CORRELATION


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 99)), min_size=10, max_size=30))
def test_the_influence_on_a_ratio_is_its_residual(pairs):
    """Of a ratio of sums R = Σa ÷ Σb, interval i has (a_i - R b_i) × n ÷ Σb (Cochran's linearisation)."""
    ones, others = ([float(pair[place]) for pair in pairs] for place in (0, 1))
    whole, count = sum(ones) / sum(others), len(pairs)
    expected = [(a - whole * b) * count / sum(others) for a, b in zip(ones, others, strict=True)]
    found = influence([ones, others], lambda sums: sums[0] / sums[1])
    assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_change_to_or_from_nothing():
    """Its ratio is 0, or not known; the chance is that of the side that is above 0."""
    some = Estimate(4.0, Spread(0.1, 9, 1))
    absolute = Estimate(4.0, None, Spread(0.4, 9, 1))
    assert change(Estimate(0.0), Estimate(0.0)) == Change(1.0)
    for known in (some, absolute):
        gone, came = change(known, Estimate(0.0)), change(Estimate(0.0), known)
        assert (gone.ratio, came.ratio) == (0.0, None)
        assert gone.chance == came.chance == pytest.approx(_chance(10.0, 1.0, 9))
    assert change(Estimate(4.0), Estimate(0.0)) == Change(0.0)
    assert change(Estimate(4.0), Estimate(6.0)) == Change(1.5)


def test_a_change_has_its_range_around_it():
    found = change(some := Estimate(4.0, Spread(0.1, 9, 1)), some._replace(value=6.0))
    assert found.ratio == 1.5
    assert math.log(found.high / 1.5) == pytest.approx(math.log(1.5 / found.low))
    assert 0 < found.chance < 0.05
    assert change(some, some).chance == pytest.approx(1.0)
