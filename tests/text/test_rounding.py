"""Requests, bytes and mean size where the text rounds them: what the kernel counted decides."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stackmap.text.table_layout import TableLayout, refined, refined_columns

UNITS = {"rMB/s": 1 << 20, "rkB/s": 1 << 10, "rsec/s": 512}


def read(row, name="rMB/s"):
    return TableLayout(["r/s", name, "r_await", "rareq-sz"]).table(["sda"], row)["sda"].read


def test_a_mean_beside_no_bytes_is_the_mean():
    """``iostat -m`` of one request of 3 KiB in three seconds."""
    flow = read([0.33, 0.0, 1.5, 3.14])
    assert 3.14 * 1024 == pytest.approx(flow.size)
    assert 0.33 == flow.ios
    assert 1.5 == pytest.approx(flow.await_ms)


def test_bytes_that_are_more_precise_than_the_mean_stay():
    flow = read([1000.0, 4000.4, 1.0, 4.0], "rkB/s")
    assert 4000.4 * 1024 == flow.bytes


def test_figures_that_agree_stay_as_printed():
    flow = read([0.3, 1.6, 1.0, 5.33], "rkB/s")
    assert (0.3, 1.6 * 1024) == (flow.ios, flow.bytes)


def test_a_unit_that_is_not_the_heading_s_changes_nothing():
    """Sectors under rkB/s are no rounding."""
    flow = read([0.5, 4.0, 1.0, 4.0], "rkB/s")
    assert (0.5, 4096) == (flow.ios, flow.bytes)


@pytest.mark.parametrize("name", UNITS)
@given(
    count=st.integers(1, 20_000),
    seconds=st.sampled_from([3, 7, 11, 13, 60]),
    pages=st.integers(1, 256),
)
def test_the_mean_is_the_kernels(name, count, seconds, pages):
    """
    For requests of one size, within 1 %, in any unit; rates round to the printed figures.

    Figures of which none has a second decimal are taken for those of --dec=1, and are less precise.
    """
    size = pages * 4096
    rate = round(count / seconds, 2)
    bytes_shown = round(count * size / seconds / UNITS[name], 2)
    assume(any(round(figure * 100) % 10 for figure in (rate, bytes_shown)))
    flow = read([rate, bytes_shown, 1.0, round(size / 1024, 2)], name)

    assert size == pytest.approx(flow.size, rel=0.01)
    assert rate == pytest.approx(flow.ios, abs=0.005)
    assert bytes_shown == pytest.approx(flow.bytes / UNITS[name], abs=0.005)


def test_a_mean_of_reads_and_writes_together():
    """``iostat -xm`` before 12.1: avgrq-sz in sectors is all that says how small the requests were."""
    names = ["r/s", "w/s", "rMB/s", "wMB/s", "avgrq-sz"]
    load = TableLayout(names).table(["sda"], [0.2, 0.2, 0.0, 0.0, 8.0])["sda"]
    assert 4096 == pytest.approx(load.total.size)


def test_a_figure_that_no_device_can_have_is_no_error():
    """Near the largest number there is, ten times a figure is infinite."""
    assert read([1.5e308, 1.0, 1.5, 4.0]).ios == 1.5e308


@pytest.mark.parametrize(
    ("requests", "shown", "mean", "expected"),
    [
        (2.0, 8.0, None, (2.0, 8192)),
        (None, 8.0, 4.0, (None, 8192)),
        (2.0, None, 4.0, (2.0, 8192)),
        (2.0, None, None, (2.0, None)),
        (None, None, 4.0, (None, None)),
        (2.0, 8.0, 4.0, (2.0, 8192)),
    ],
)
def test_a_cut_row_has_what_follows_from_its_figures(requests, shown, mean, expected):
    """Two requests of 4 KiB, beside a row that lacks all figures."""
    sent, moved = refined_columns((requests, None), (shown, None), (mean, None), 1024, 1024)
    assert ((sent[0], moved[0]), (sent[1], moved[1])) == (expected, (None, None))


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ((0.0, 0.0, 0.0), (0.0, 0.0)),
        ((0.0, 5.0, 0.0), (0.0, 5 * 1024.0)),
        ((7.0, 0.0, 0.0), (7.0, 0.0)),
        ((0.0, 0.0, 4.0), (0.0, 0.0)),
    ],
)
def test_two_figures_of_0_tell_nothing_of_the_third(figures, expected):
    """Requests, KiB and KiB per request: they stay as they were printed."""
    assert refined(*figures, 1024, 1024) == expected
