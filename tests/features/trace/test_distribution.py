"""A distribution of buckets is that of its values, as far as buckets tell: against sorted lists."""

from __future__ import annotations

from collections import Counter
from math import ceil
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmap.features.trace.document import drawn
from stackmap.features.trace.figures import ENOUGH, SLOW, Distribution, Range, TracedLayer

values = st.lists(st.integers(0, 1 << 40), min_size=1, max_size=60)


def exact(numbers):
    """Each value in a bucket of its own."""
    return Distribution({(n, n + 1): count for n, count in Counter(numbers).items()})


@settings(max_examples=40)
@given(values, st.sampled_from([0.001, 0.5, 0.9, 0.99, 1.0]))
def test_a_percentile_is_the_value_at_its_rank(numbers, share):
    found = exact(numbers).percentile(share)
    assert found.low == sorted(numbers)[max(0, ceil(share * len(numbers)) - 1)]
    assert found.exact
    assert found.middle == found.low


@settings(max_examples=40)
@given(values, values)
def test_count_sum_and_largest(one, other):
    """Also of two distributions together."""
    both = Distribution.merged([exact(one).counts, exact(other).counts])
    assert both.count == len(one) + len(other)
    assert both.total == sum(one) + sum(other)
    assert both.max.low == max(*one, *other)
    assert both.counts == exact([*one, *other]).counts


@settings(max_examples=40)
@given(values)
def test_powers_of_two_hold_all(numbers):
    """A value is at least the power that counts it, and below the next."""
    powers = Counter(max(number, 1).bit_length() - 1 for number in numbers)
    found = exact(numbers).by_powers()
    assert found == powers
    assert list(found) == sorted(found)


def test_without_values_there_is_no_figure():
    empty = Distribution({})
    assert (empty.count, empty.total, empty.max, empty.percentile(0.5)) == (0, 0, None, None)


@pytest.mark.parametrize(
    ("low", "high", "is_exact"),
    [(1000, 1050, True), (1000, 1060, False), (7, 8, True), (7, 9, False)],
)
def test_a_narrow_bucket_is_one_value(low, high, is_exact):
    """Up to 5.5 % of its end, or of one unit."""
    assert Range(low, high).exact is is_exact


def layer(**medians):
    """A layer whose devices have so many times a latency: (value, count)."""
    devices = {
        name: {"read": SimpleNamespace(latency=Distribution({(value, value + 1): count}))}
        for name, (value, count) in medians.items()
    }
    return TracedLayer(None, {}, devices, {})


def test_a_device_is_slow_beside_its_peers():
    """The slowest is compared with the next; both have enough requests. In the other direction none is slow."""
    far = int(SLOW * 100)
    assert layer(a=(100, ENOUGH), b=(far, ENOUGH), c=(90, ENOUGH)).slow_device("read") == (
        "b",
        pytest.approx(SLOW),
    )
    assert layer(a=(100, ENOUGH), b=(far - 1, ENOUGH)).slow_device("read") is None
    assert layer(a=(100, ENOUGH - 1), b=(far, ENOUGH)).slow_device("read") is None
    assert layer(a=(100, ENOUGH), b=(far, ENOUGH)).slow_device("write") is None
    assert layer(b=(far, ENOUGH)).slow_device("read") is None


def test_the_columns_of_a_histogram_stand_below_their_titles():
    """Two columns, of which only the second has requests in the second line."""
    one, other = Distribution({(1 << 20, 1 << 21): 3}), Distribution({(1 << 21, 1 << 22): 5})
    head, first, second = drawn([("top", one), ("disks", other)])
    assert first.index("#") == head.index("top")
    assert second.index("#") == head.index("disks")
    assert (first.split()[-2:], second.split()[-1]) == (["3", "0"], "5")
