"""Ranges of few intervals are those of Student's t, by its printed tables."""

from __future__ import annotations

import math

import pytest

from stackmap.features.compare.comparison import AWAIT, RATIOS, FigureComparison
from stackmap.features.compare.document import _row, value_of
from stackmap.features.compare.estimate import Change, Estimate, Spread, change, estimate, spread


@pytest.mark.parametrize(("freedom", "t"), [(5, 2.571), (7, 2.365), (11, 2.201), (13, 2.160)])
def test_an_estimate_reaches_t_errors_each_way(freedom, t):
    """The two-sided 95 % points; 1.96 is only that of infinitely many."""
    found = Estimate(17.0, Spread(0.1, freedom, 1))

    assert math.log(found.high / 17) / 0.1 == pytest.approx(t, rel=0.01)
    assert math.log(17 / found.low) / 0.1 == pytest.approx(t, rel=0.01)


def test_a_change_has_welchs_degrees_of_freedom():
    """
    Errors of 0.03 with 3 degrees of freedom and 0.04 with 7 are 0.05 together.

    Welch, in hundredths: 25² ÷ (9² / 3 + 16² / 7) = 625 ÷ 63.57 = 9.83, and t there is 2.233.
    """
    found = change(Estimate(11.0, Spread(0.03, 3, 1)), Estimate(13.0, Spread(0.04, 7, 1)))

    assert found.ratio == pytest.approx(13 / 11)
    assert math.log(found.high / found.ratio) / 0.05 == pytest.approx(2.233, rel=0.005)
    assert math.log(found.ratio / found.low) / 0.05 == pytest.approx(2.233, rel=0.005)


def test_a_row_has_both_ends_of_the_range():
    """For CSV, beside the change; without a change all three are unknown."""
    sides = Estimate(4.0), Estimate(8.0)
    known = FigureComparison(AWAIT, "top", "read", *sides, Change(2.0, 1.5, 2.5, 0.01))
    value = _row(known)[3]
    assert (value.number, value.low, value.high) == (2.0, 1.5, 2.5)

    assert str(_row(known)[-1]) == ""
    assert str(_row(known._replace(significant=True))[-1]) == "*"

    value = _row(known._replace(change=None))[3]
    assert (value.number, value.low, value.high) == (None, None, None)


@pytest.mark.parametrize("count", range(13))
def test_ten_intervals_are_needed_for_a_range(count):
    """The similarity of neighbours cannot be estimated from fewer."""
    columns = [[float(1 + place % 3) for place in range(count)], [1.0] * count]
    found = spread(columns, lambda sums: sums[0] / sums[1])
    assert (found is not None) == (count >= 10)


def test_a_figure_of_0_has_no_relative_error():
    """Whatever its intervals are: no factor leads to 0."""
    quotient = [[0.0] * 12, [7.0, 11.0, 13.0] * 4]
    assert estimate(quotient, lambda sums: sums[0] / sums[1]) == Estimate(0.0)
    assert estimate(quotient, lambda _: None) is None


def test_equal_intervals_have_the_error_of_what_was_in_flight():
    """The counters of requests under way at an end are on one side only."""
    same = [[3.0] * 12, [7.0] * 12]
    found = estimate(same, lambda sums: sums[0] / sums[1], 0.01)
    assert found.value == pytest.approx(3 / 7)
    assert found.spread.error == 0.01


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0512, "0.051"), (0.0987, "0.099"), (0.1512, "0.15"), (3.999, "4.00")]
)
def test_small_ratios_have_a_digit_more(value, shown):
    each = FigureComparison(RATIOS[0], "disks", "write", None, None, None)
    assert value_of(each, Estimate(value)) == shown
