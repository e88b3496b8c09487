"""An average of a few reports with different workloads says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackmap.ledger.averages import FEW, MIXED, _sums, _whole, average
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE
from tests.drawn import did, moved


def report(reads, writes, size=8192, **more):
    return Interval({"sda": moved(did(reads, size), did(writes, size)), "sdb": IDLE}, **more)


def noted(*reports):
    (whole,) = average(reports)
    return [note for note in whole.notes if note.startswith(MIXED)]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (report(100, 0), "reads are 50 to 100 % of the bytes"),
        (report(50, 50, 65536), "requests of 8.0 to 64.0 KiB"),
        (report(500, 500), "100.0 to 1000.0 requests/s"),
    ],
)
def test_what_differs_is_said(other, words):
    """The read share, the size of requests or their rate, and how to choose one report."""
    (note,) = noted(report(50, 50), other)

    assert words in note
    assert note.endswith("use --report 1 to --report 2 for one of them")


def test_similar_reports_have_no_note():
    assert noted(report(50, 50), report(60, 45, 12288), report(90, 80)) == []


def test_a_time_series_varies():
    """A long text, counters of a machine, and averages since boot are not a few tables."""
    low, high = report(50, 50), report(500, 500)

    assert noted(*[low, high] * FEW) == []
    assert noted(replace(low, seconds=1.0), replace(high, seconds=1.0)) == []
    assert noted(replace(low, since_boot=True), high) == []


def test_an_idle_report_is_no_workload():
    assert noted(report(50, 50), Interval({"sda": IDLE})) == []


@pytest.mark.parametrize(
    "ends", [(report(5, 9), None), (None, report(11, 2)), (report(0, 1), report(3, 3, 512))]
)
def test_a_load_that_begins_or_ends_within_a_second_is_one_workload(ends):
    """The first and the last second of a text have less of it, of whatever kind."""
    first, last = ends
    steady = [report(50, 50), report(55, 47), report(52, 51)]

    assert noted(*filter(None, [first, *steady, last])) == []


def test_a_last_report_with_more_is_another_workload():
    """Few large reads after many small writes: fewer requests, more bytes."""
    steady = [report(2, 100), report(2, 97), report(2, 101)]

    assert noted(*steady, report(40, 0, 262144)) != []
    assert noted(report(2, 400), *steady) != []


def test_of_three_reports_each_counts():
    assert noted(report(50, 50), report(50, 50), report(10, 0)) != []


@pytest.mark.parametrize(
    ("first", "kept"),
    [
        (report(11, 13), 4),  # fewer requests and fewer bytes
        (report(50, 50, 4096), 5),  # smaller ones, but as many
        (report(30, 30, 65536), 5),  # fewer, but larger ones
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_a_report_at_an_end_is_partial_if_it_has_less_of_both(first, kept, is_last):
    """A load began in it or ended."""
    reports = [first, *[report(50, 50)] * 4]
    assert len(_whole([*map(_sums, reports[::-1] if is_last else reports)])) == kept
