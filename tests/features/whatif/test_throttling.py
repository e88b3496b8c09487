"""How many writes of md the kernel lets to a disk at once: the limits of block/blk-rq-qos.c and block/blk-wbt.c."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace

import pytest

from stackmap.features.whatif.throttling import Throttle

TARGET, FAST, SLOW = 0.002, 0.001, 0.005


def room(throttle, hold="waited", now=0.0):
    """Return how many writes may be sent at once."""
    return throttle.room(hold, now)


def after(windows, depth=8, writes=3):
    """Return the limit in each of some windows: what the reads of each took, in seconds, None without reads."""
    throttle, limits, now = Throttle(depth, TARGET, cached=False), [], 0.0
    for took in windows:
        now += 0.1  # at least: of lower limits they are shorter
        throttle.took(0.0, now, is_read=False)
        limits.append(room(throttle))
        for _ in range(writes - 1):
            throttle.took(0.0, now, is_read=False)
        if took is not None:
            throttle.took(took, now, is_read=True)
    return limits


@pytest.mark.parametrize(("depth", "most"), [(1, 2), (2, 1), (8, 6), (32, 24), (128, 31)])
def test_only_writes_have_three_quarters_of_the_queue_and_twice_the_usual_depth_at_first(
    depth, most
):
    assert room(Throttle(depth, TARGET, cached=False)) == most


@pytest.mark.parametrize(
    ("depth", "limits"),
    [(1, [2, 2, 1, 1, 1]), (8, [6, 8, 4, 2, 1]), (32, [24, 16, 8, 4, 2]), (64, [31, 16, 8, 4, 2])],
)
def test_slow_reads_halve_the_limit_in_each_window(depth, limits):
    assert after([SLOW] * 5, depth) == limits


def test_fast_reads_raise_it_again():
    assert after([SLOW, SLOW, SLOW, FAST, FAST, FAST, FAST])[3:] == [2, 4, 8, 6]


@pytest.mark.parametrize(("took", "writes"), [(SLOW, 2), (None, 3)])
def test_windows_without_reads_or_with_fewer_than_three_writes_are_of_writes_only(took, writes):
    assert after([took] * 4, writes=writes) == [6, 6, 6, 6]


@pytest.mark.parametrize(("in_flight", "limit"), [(0, 8), (1, 5)])
def test_five_windows_without_requests_bring_the_usual_limit_back(in_flight, limit):
    """Writes alone have raised the step, to six of eight; with one in flight all the time, it stays."""
    throttle = Throttle(8, TARGET, cached=False)
    throttle.sent(in_flight)
    throttle.took(FAST, 0.05, is_read=False)

    assert room(throttle, now=0.45) == 6 - in_flight
    assert room(throttle, now=0.75) == limit


def test_a_write_between_pauses_raises_no_limit_for_longer():
    """As md writes superblocks some time after the last write: five windows later all is as before."""
    throttle = Throttle(8, TARGET, cached=False)
    for now in (0.05, 1.05):
        throttle.took(FAST, now, is_read=False)

    assert room(throttle, now=1.95) == 8


def test_where_the_target_is_not_known_nothing_is_lowered():
    throttle = Throttle(8, 0.0, cached=False)
    for window in range(1, 9):
        for is_read in (True, False, False, False):
            throttle.took(SLOW, window * 0.1, is_read=is_read)

    assert room(throttle) == 6


def test_without_throttling_all_may_be_sent():
    assert room(Throttle(None, TARGET, cached=False)) == inf


@pytest.mark.parametrize(("last_read", "limit"), [(0.25, 2), (0.15, 3)])
def test_background_writes_have_less_room_soon_after_a_read(last_read, limit):
    throttle = Throttle(8, TARGET, cached=False)
    throttle.read(last_read)

    assert room(throttle, "background", now=0.3) == limit


@pytest.mark.parametrize(("cached", "left_then"), [(False, 2), (True, 0)])
def test_a_volatile_cache_drains_before_what_waits_is_sent(cached, left_then):
    """Six are sent and one waits: until less than half of the limit is left, or none."""
    throttle, left, sent = Throttle(8, TARGET, cached=cached), 6, []
    throttle.sent(6)
    throttle.wait("waited", lambda: (throttle.sent(1), sent.append(left)))
    while left and not sent:
        left -= 1
        throttle.ended(lambda: None, SimpleNamespace(now=0.0))

    assert sent == [left_then]
