"""Flows and loads: what is unknown stays unknown."""

from hypothesis import example, given
from hypothesis import strategies as st

from stackmap.model.load import IDLE, ZERO, Flow, Load, sum_flows, sum_in_order

AMOUNT = st.none() | st.integers(0, 10**9).map(float)
FLOWS = st.builds(Flow, AMOUNT, AMOUNT, AMOUNT, AMOUNT)


def test_arrivals_are_completions_and_merges():
    """What was sent from above: 13 completed and 29 merged into them make 42."""
    assert Flow(ios=13, merges=29).arrivals == 42


def test_a_size_is_of_what_was_completed():
    """2,730 bytes in 13 requests are 210 each, however many were merged into them."""
    assert Flow(ios=13, merges=29, bytes=2730).size == 210


def test_nothing_completed_has_no_size_and_no_await():
    """A mean of nothing is unknown, not 0."""
    assert (None, None) == (ZERO.size, ZERO.await_ms)


@given(st.lists(st.floats(0, 1e12)), st.integers(0, 50))
@example([1e16, 1.0, 1.0], 2)  # sum() of Python 3.12 and later: 2 more, and in two parts none
def test_a_sum_in_parts_is_the_sum_to_the_last_digit(figures, cut):
    assert sum_in_order(figures[cut:], sum_in_order(figures[:cut])) == sum_in_order(figures)


@given(st.lists(FLOWS))
def test_a_sum_knows_what_all_its_parts_know(flows):
    """One part that lacks a figure takes it from the sum; else it is the sum of all."""
    total = sum_flows(flows)

    for place, value in enumerate(total):
        column = [flow[place] for flow in flows]
        expected = None if None in column else sum(column)
        assert value == expected


def test_a_total_said_outright_fills_what_its_parts_lack():
    """sar says 37 requests a second of both kinds, and the bytes of each apart."""
    load = Load(read=Flow(bytes=3.0), write=Flow(bytes=5.0), whole=Flow(ios=37.0))

    assert Flow(ios=37.0, merges=None, bytes=8.0, wait=None) == load.total


def test_only_a_known_zero_is_idle():
    """A load that says nothing is not idle."""
    assert (True, False) == (IDLE.idle, Load().idle)
