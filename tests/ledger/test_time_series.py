"""The load over time, kept in a few stretches however long it was; by hour; by size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.features.report.figures import Hours, SizeClasses, size_class, span
from stackmap.ledger import time_series as course_of
from stackmap.ledger.time_series import TimeSeries, extremes_of
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE
from tests.drawn import did, moved

NOON = 1795262400.0  # 2026-11-21 12:00:00 UTC
KEY = ("sda", "read", "ios")


def taken(rates, seconds=2.0, start=NOON):
    """Return intervals in which sda read so often a second, one after another."""
    return [
        Interval({"sda": moved(read=did(rate, 4096))}, start + seconds * (n + 1), seconds)
        for n, rate in enumerate(rates)
    ]


def drawn(rates, **how):
    found = TimeSeries()
    for each in taken(rates, **how):
        found.add(each, each.loads)
    return found.stretches


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300))
def test_a_course_keeps_the_mean_and_the_extremes(rates):
    """However many intervals share a stretch, their mean is the whole's, and no peak is lost."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course_of, "MIN_STRETCHES", 5)
        patch.setattr(course_of, "MAX_STRETCHES", 7)
        stretches = drawn(rates)
    counts = [each.count for each in stretches]
    mean = sum(each.mean(*KEY) * each.count for each in stretches) / len(rates)

    assert len(stretches) <= 7
    assert sum(counts) == len(rates)
    assert len(set(counts[:-1])) <= 1, "all but the last are equally long"
    assert mean == pytest.approx(sum(rates) / len(rates))
    assert extremes_of(stretches, KEY) == (min(rates), max(rates))


def test_few_intervals_are_kept_as_they_were():
    """Where there is room, a stretch is the interval, to the bit."""
    every = taken([2.0, 3.0, 5.0])

    assert [each.interval for each in drawn([2.0, 3.0, 5.0])] == every


def test_stretches_follow_each_other():
    """Each begins where the one before it ends, and is as long as its intervals together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course_of, "MIN_STRETCHES", 5)
        patch.setattr(course_of, "MAX_STRETCHES", 7)
        stretches = drawn(range(101))
    ends = [each.start + each.interval.seconds for each in stretches]

    assert stretches[0].start == NOON
    assert ends[:-1] == [each.start for each in stretches[1:]]
    assert ends[-1] == NOON + 202


def test_more_devices_have_less_room(monkeypatch):
    """What is held is bounded by devices times stretches, not by stretches."""
    monkeypatch.setattr(course_of, "MAX_LOADS", 400)
    loads = {f"dm-{n}": moved(read=did(2.0, 512)) for n in range(20)}
    found = TimeSeries()
    for n in range(100):
        found.add(Interval(loads, NOON + n, 1.0), {})

    assert len(found.stretches) <= course_of.MIN_STRETCHES + 1


def test_very_many_devices_have_fewer_stretches_than_a_chart_wants(monkeypatch):
    """Of 1,000 devices and 3,000 loads two stretches are left, not ``MIN_STRETCHES``."""
    monkeypatch.setattr(course_of, "MAX_LOADS", 400)
    monkeypatch.setattr(course_of, "MOST_LOADS", 3000)
    found = TimeSeries()
    for n in range(9):
        found.add(Interval({f"dm-{d}": IDLE for d in range(1000)}, NOON + n, 1.0), {})

    assert [each.count for each in found.stretches] == [8, 1]


def test_extremes_of_single_intervals_cost_nothing():
    """They are the figures of the interval: nothing is made for 1,000 devices in 20 stretches."""
    loads = {f"dm-{n}": moved(read=did(2.0, 512)) for n in range(1000)}
    found = TimeSeries()
    for n in range(20):
        found.add(Interval(loads, NOON + n, 1.0), loads)

    assert not any(each.extremes for each in found.stretches)
    assert extremes_of(found.stretches, ("dm-7", "read", "ios")) == (2.0, 2.0)


def test_an_hour_is_that_of_the_beginning():
    """An interval that ends at 13:00:00 belongs to 12, and so does one that began at 12:59:59."""
    hours = Hours()
    for each in taken([7.0, 11.0], seconds=1800.0):
        hours.add(each, each.loads)
    hours.add(*one(13.0, NOON + 3599, 2.0))

    assert list(hours.by_hour) == [12]
    assert hours.by_hour[12].seconds == 3602
    assert hours.by_hour[12].mean(KEY) == pytest.approx((7 * 1800 + 11 * 1800 + 13 * 2) / 3602)
    assert hours.by_hour[12].most["sda"] == 13.0
    assert hours.utc


def test_all_figures_of_an_interval_are_kept():
    """Each of ``FIGURES`` reaches the extremes under its own name; the hours have those that add up."""
    load = moved(read=did(3.0, 512, wait=6.0), write=did(5.0, 4096, wait=35.0))
    interval = Interval({"sda": load}, NOON + 2, 2.0)
    found, hours = TimeSeries(), Hours()
    found.add(interval, interval.loads)
    hours.add(interval, interval.loads)
    (stretch,) = found.stretches
    expected = {
        ("sda", direction, figure): getattr(flow, figure)
        for direction, flow in (("read", load.read), ("write", load.write), ("total", load.total))
        for figure in ("ios", "bytes", "await_ms")
    }

    assert None not in expected.values()
    assert {key: stretch.ends(key) for key in expected} == {k: (v, v) for k, v in expected.items()}
    for key, value in expected.items():
        if key[2] != "await_ms":
            assert hours.by_hour[12].mean(key) == value
    assert hours.by_hour[12].most == {"sda": load.total.ios}


def one(rate, start, seconds):
    interval = taken([rate], seconds, start)[0]
    return interval, interval.loads


@pytest.mark.parametrize(
    ("stamp", "hour"),
    [
        ("07:10:01", 7),
        ("07:10:01 PM", 19),
        ("12:00:01 AM", 0),
        ("12:00:01 PM", 12),
        ("11/21/2026 19:45:50", 19),
        ("average of 3 intervals", None),
        ("25:00:00", None),
    ],
)
def test_an_hour_by_a_texts_own_clock(stamp, hour):
    """Where no instant is known, the hour is what the text prints, and not said to be UTC's."""
    hours = Hours()
    hours.add(Interval({}, stamp=stamp), {"sda": moved(read=did(2.0, 512))})

    assert list(hours.by_hour) == ([] if hour is None else [hour])
    assert hours.utc == (hour is None)


def test_a_capture_that_counts_from_zero_has_no_hour():
    """Its first second is not one o'clock in 1970."""
    hours = Hours()
    hours.add(*one(2.0, 0.0, 1.0))

    assert hours.by_hour == {}


def test_sizes_weigh_by_requests():
    """300 reads of 4 KiB and 30 of 64 KiB are 300 and 30, whatever the intervals' lengths."""
    sizes = SizeClasses()
    for rate, size, seconds in ((100.0, 4096, 3.0), (3.0, 65536, 10.0)):
        sizes.add(Interval({}, NOON, seconds), {"sda": moved(read=did(rate, size))})

    assert sizes.of("sda", "read") == {4096: 300.0, 65536: 30.0}
    assert sizes.of("sda", "write") == {}


@given(st.integers(512, 1 << 40))
def test_a_size_is_in_its_class(size):
    """The class is a power of two, and the size is less than twice that."""
    least = size_class(size)

    assert least <= size < 2 * least
    assert least in span([least])


def test_a_joined_stretch_is_no_report_to_choose():
    """Reports of different workloads are named only while each is a stretch of its own."""
    reports = [
        Interval(
            {"sda": moved(read=did(1, 4096), write=did(99, 4096)), "sdb": moved(read=did(7, 4096))}
        ),
        Interval(
            {"sda": moved(read=did(99, 4096), write=did(1, 4096)), "sdb": moved(read=did(7, 4096))}
        ),
    ] * 4
    one_each, joined = TimeSeries(limit=10), TimeSeries(limit=4)
    for each in reports:
        one_each.add(each, each.loads)
        joined.add(each, each.loads)

    assert any("--report 1 to --report 8" in note for note in one_each.average().notes)
    assert joined.stretches[0].count > 1
    assert not joined.average().notes
    assert not any(stretch.interval.notes for stretch in joined.stretches)
