"""Laws of bands, streams and levels."""

from __future__ import annotations

from itertools import chain, repeat
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackmap.features.whatif.document import _change
from stackmap.features.whatif.json import _range
from stackmap.features.whatif.project import Projector
from stackmap.features.whatif.projection import Projection
from stackmap.features.whatif.quantities import (
    Band,
    Levels,
    Stream,
    exact,
    levels,
    solve,
    spanned,
    spanning,
)
from stackmap.features.whatif.volume_context import SINGLE_DEVICE
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import layout

numbers = st.integers(0, 10**6).map(float)
bands = st.tuples(numbers, numbers, numbers).map(lambda three: Band(*sorted(three)))


@settings(max_examples=40)
@given(bands, bands, numbers, st.sampled_from([0.0, 0.25, 0.5]))
def test_a_band_stays_in_order(one, other, most, share):
    """Sums, products and limits are those of its three figures; a widened one holds itself."""
    assert one + other == Band(
        one.low + other.low, one.likely + other.likely, one.high + other.high
    )
    assert one.scaled(2.0) == one + one
    limited = one.limited(most)
    assert limited == Band(*(min(figure, most) for figure in (one.low, one.likely, one.high)))
    wider = one.widened(share)
    assert (wider.low, wider.likely, wider.high) == (
        one.low * (1 - share),
        one.likely,
        one.high * (1 + share),
    )
    assert wider.low <= one.low <= one.likely <= one.high <= wider.high


@settings(max_examples=40)
@given(st.lists(bands, min_size=1, max_size=5))
def test_a_band_of_bands_holds_each(several):
    """The first one is likely."""
    whole = spanned(several)
    assert whole.low == min(each.low for each in several)
    assert whole.high == max(each.high for each in several)
    assert whole.likely == several[0].likely
    assert spanning([], 7.0) == exact(7.0) == Band(7.0, 7.0, 7.0)
    assert spanning([3.0, 11.0], 13.0) == Band(3.0, 13.0, 13.0)


def test_streams_add_up():
    both = Stream(3.0, 3 * 4096.0) + Stream(5.0, 5 * 512.0)
    assert both == Stream(8.0, 14848.0)
    assert both.size == 1856.0
    assert both.scaled(0.5) == Stream(4.0, 7424.0)
    assert Stream(0.0, 0.0).size == 0.0


@settings(max_examples=40)
@given(st.lists(st.tuples(numbers, st.integers(1, 30)), min_size=1, max_size=9))
def test_levels_are_nearest_ranks(weighted):
    """As of a list in which each value is as often as it counts."""
    listed = sorted(chain.from_iterable(repeat(value, count) for value, count in weighted))

    def at(percent):
        return listed[max(0, -(-percent * len(listed) // 100) - 1)]

    assert levels(*zip(*weighted, strict=True)) == Levels(at(50), at(95), listed[-1])


@pytest.mark.parametrize("goal", [1e-6, 0.5, 7.0, 9e5])
def test_a_rising_function_is_solved(goal):
    """Also from 0; a goal that is not reached gives the end."""
    assert solve(lambda x: x, goal, 0.0, 1e6) == pytest.approx(goal, rel=1e-6)
    assert solve(lambda x: x * x, goal, 1e-9, 1e6) == pytest.approx(goal**0.5, rel=1e-6)
    assert solve(lambda x: -x, goal, 0.0, 13.0) == 13.0


@pytest.mark.parametrize(
    ("shape", "request_"),
    [
        (layout("raid5", 4, 65536), LayoutRequest("raid5", 4, 65536, None, None)),
        (layout("raid10", 6, 131072), LayoutRequest("raid10", 6, 131072, 2, None)),
        (layout("raid10", 4, 65536, variant="far"), LayoutRequest("raid10", 4, 65536, 2, "far")),
    ],
)
def test_the_present_layout_is_a_request_like_any(shape, request_):
    """With all that it is; one device without a layout is a single one."""
    given = SimpleNamespace(context=SimpleNamespace(present=shape))
    assert Projector.present.fget(given) == request_
    alone = Projector.present.fget(SimpleNamespace(context=SimpleNamespace(present=None)))
    assert (alone.level, alone.members) == (SINGLE_DEVICE.level, 1)


@pytest.mark.parametrize(
    ("need", "now", "then", "larger"),
    [(4, 600, 400, True), (4, 600, 600, False), (6, 600, 400, False), (None, 600, 400, False), (4, None, 400, False), (4, 600, None, False)],
)  # fmt: skip
def test_larger_members_are_needed_where_more_of_them_do_not_help(need, now, then, larger):
    """The layout has all members that it needs, and still holds less than the present one."""
    given = SimpleNamespace(
        now=SimpleNamespace(usable=now),
        projected=SimpleNamespace(usable=then, members=SimpleNamespace(count=4)),
        need=None if need is None else SimpleNamespace(members=need),
    )
    assert Projection.needs_larger.fget(given) is larger


def test_json_has_the_three_figures_of_a_band():
    assert _range(Band(3.0, 5.0, 7.0)) == {"low": 3.0, "likely": 5.0, "high": 7.0}
    assert _range(None) is None


def test_a_change_is_a_signed_percentage():
    assert (_change(0.5), _change(-0.25), _change(0.0)) == ("+50 %", "-25 %", "0 %")
    assert _change(None) == "-"
