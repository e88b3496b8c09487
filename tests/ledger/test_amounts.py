"""Laws of amounts and shares: sums, bounds, and what stays unknown."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmap.ledger.amounts import (
    NARROW,
    NOTHING,
    UNKNOWN,
    Amount,
    Share,
    Traffic,
    join_divisions,
    share_of_all,
    sum_shares,
)
from stackmap.model.load import DIRECTIONS
from tests.drawn import did, moved

figures = st.none() | st.integers(0, 10**6).map(float)
amounts = st.tuples(figures, figures).map(lambda two: Amount(*two))
exact = st.tuples(*[figures] * 4).map(lambda four: Traffic(*four))
FIELDS = ("arrivals", "ios", "bytes", "wait")


@st.composite
def ranges(draw):
    """Traffic with bounds around its figures."""
    traffic = draw(exact)
    less, more = draw(st.integers(0, 97)), draw(st.integers(0, 89))
    low, high = (
        Amount(*(None if x is None else max(0.0, x + step) for x in traffic.amount))
        for step in (-less, more)
    )
    return traffic._replace(low=low, high=high)


traffics = exact | ranges()


@settings(max_examples=40)
@given(traffics, traffics)
def test_a_sum_is_known_where_both_are(one, other):
    """Figure by figure, and so are its bounds: they are the sums of the bounds."""
    both = one + other
    for field in FIELDS:
        parts = getattr(one, field), getattr(other, field)
        assert getattr(both, field) == (None if None in parts else sum(parts))
    for bound, ones, others in zip(both.bounds, one.bounds, other.bounds, strict=True):
        for figure, *parts in zip(bound, ones, others, strict=True):
            assert figure == (None if None in parts else sum(parts))


@settings(max_examples=40)
@given(traffics)
def test_nothing_adds_nothing_and_unknown_makes_unknown(traffic):
    assert traffic + NOTHING == traffic
    assert (traffic + UNKNOWN).amount == Amount()


@settings(max_examples=40)
@given(traffics, st.sampled_from([0.0, 0.5, 1.0, 3.0]))
def test_every_figure_is_multiplied(traffic, factor):
    product = traffic.times(factor)
    for field in FIELDS:
        figure = getattr(traffic, field)
        assert getattr(product, field) == (None if figure is None else figure * factor)
    assert product.bounds == tuple(bound.times(factor) for bound in traffic.bounds)


@settings(max_examples=40)
@given(amounts, amounts)
def test_what_is_beyond_an_amount_is_never_below_0(whole, part):
    for rest, one, other in zip(whole.beyond(part), whole, part, strict=True):
        assert rest == (None if None in (one, other) else max(0.0, one - other))


@pytest.mark.parametrize(
    ("low", "high", "is_range"), [(99.0, 100.0, False), (98.0, 100.0, True), (None, 100.0, False)]
)
@pytest.mark.parametrize("figure", ["arrivals", "bytes"])
def test_bounds_within_one_percent_are_no_range(low, high, is_range, figure):
    """Of the requests or of the bytes."""
    assert NARROW == 0.01
    bounds = [Amount(5.0, 7.0)._replace(**{figure: value}) for value in (low, high)]
    traffic = Traffic(5.0, 5.0, 7.0, 3.0, *bounds)

    assert traffic.is_range is is_range
    assert Share({"read": NOTHING, "write": traffic}).estimated is is_range
    assert not traffic.as_exact().is_range


def test_a_share_of_all_has_the_devices_counters():
    """13 reads and 2 that merged, 11 writes: 13 + 11 completed, 2 more arrived."""
    share = share_of_all(moved(did(13, 4096, 2, 17.0), did(11, 512, 0, 19.0)))

    assert share.read == Traffic(15.0, 13.0, 15 * 4096.0, 17.0)
    assert (share.total.arrivals, share.total.ios, share.total.wait) == (26.0, 24.0, 36.0)
    assert not share.estimated
    assert share.write.size == 512.0


@settings(max_examples=40)
@given(st.lists(st.booleans(), max_size=4), st.lists(st.sampled_from(["", "a", "b"]), max_size=4))
def test_a_sum_of_shares_is_an_estimate_if_one_is(divided, reasons):
    shares = [Share(divided=each) for each in divided] + [Share(reason=each) for each in reasons]
    both = sum_shares(shares)

    assert both.divided is any(divided)
    assert both.reason == next(filter(None, reasons), "")
    for direction in DIRECTIONS:
        assert both.part(direction) == (NOTHING if not shares else UNKNOWN)


names = st.frozensets(st.sampled_from("abcd"), min_size=1)


@settings(max_examples=40)
@given(st.lists(st.dictionaries(st.sampled_from("xyz"), names)))
def test_divisions_are_joined_device_by_device(several):
    """The union, whatever the order and however often one set comes."""
    expected = reduce(
        lambda known, each: known | {k: known.get(k, frozenset()) | v for k, v in each.items()},
        several,
        {},
    )
    assert join_divisions(several) == expected
    assert join_divisions([*several, *reversed(several)]) == expected
