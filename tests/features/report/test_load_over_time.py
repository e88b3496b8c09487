"""The charts and tables of the load over time, of measurements drawn by hand: each point is a mean of its seconds."""

from __future__ import annotations

import csv
import re
from types import SimpleNamespace

import pytest

from stackmap.document.blocks import Chart, Paragraph, Table
from stackmap.features.report.figures import Hours, Measuring, Period
from stackmap.features.report.load_over_time import (
    MOST_DISKS,
    _await_per_disk,
    _axis,
    _by_hour,
    _charts,
    _mean_sizes,
    _resolution,
    load_section,
)
from stackmap.features.report.page import _layers_csv, _series, when
from stackmap.ledger.time_series import Stretch
from stackmap.model.device import Role
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Flow
from stackmap.model.topology import Edge, Topology
from stackmap.rules.rule import Severity
from tests.drawn import did, disk, moved, passing

NOON = 1763726400.0  # 2025-11-21 12:00 UTC
HOUR = 3600.0
SIZE = 4096
DISKS = ("sda", "sdb")
TREE = Topology(
    [*map(disk, DISKS), passing("one")], [Edge("one", name, Role.DATA) for name in DISKS]
)


def interval(at, writes, seconds=10.0, tree=DISKS, **more):
    """*writes* per second to "one", half on each disk; each waits 2 ms there, and on the last disk 7 ms more."""
    loads = {"one": moved(did(3.0, SIZE, wait=15.0), did(writes, SIZE, wait=writes * 11))}
    for place, name in enumerate(tree):
        share = writes / len(tree)
        loads[name] = moved(None, did(share, SIZE, wait=share * (2 + 7 * (place == len(tree) - 1))))
    return Interval(loads, at, seconds, **more)


def reported(*intervals, tree=TREE, named=()):
    measuring = Measuring(tree, named)
    for each in intervals:
        measuring.add(each)
    return measuring.report()


def charts(report):
    """The charts of the only stack, by the first word of their keys."""
    (stack,) = report.stacks
    return {each.key.rpartition("-")[0]: each for each in _charts(report, stack, ())}


def values(chart):
    return {line.label: line.values for line in chart.lines}


def test_a_point_per_interval_at_its_beginning():
    """13 and 29 writes per second, 3 reads each time: requests, bytes and awaits."""
    report = reported(interval(NOON + 10, 13.0), interval(NOON + 20, 29.0))
    found = charts(report)

    assert (found["ios"].axis, found["ios"].x) == ("time", (NOON, NOON + 10))
    assert values(found["ios"]) == {"reads": (3.0, 3.0), "writes": (13.0, 29.0)}
    assert values(found["bytes"]) == {
        "reads": (3.0 * SIZE, 3.0 * SIZE),
        "writes": (13.0 * SIZE, 29.0 * SIZE),
    }
    assert values(found["await_ms"]) == {"reads": (5.0, 5.0), "writes": (11.0, 11.0)}
    assert re.findall(r"[\d.]+", found["ios"].words.rstrip(".")) == [
        *("3.00", "3.00", "3.00"),
        *("13.00", "29.00", "21.00"),
    ]
    assert all(line.low == line.high == () for chart in found.values() for line in chart.lines)


def test_the_awaits_of_disks_are_of_all_their_users():
    """2 ms on one, 9 ms on the other; the slower is named first."""
    report = reported(interval(NOON + 10, 13.0), interval(NOON + 20, 29.0))
    (chart,) = _await_per_disk(report, report.stacks[0])

    assert values(chart) == {"sda": (2.0, 2.0), "sdb": (9.0, 9.0)}
    assert chart.words == "Means: sdb 9.0 ms to sda 2.0 ms. Reads and writes of all users together."


def test_of_many_disks_the_slowest_have_a_line():
    """Of 11 disks, 8; with one disk there is nothing to compare."""
    names = [f"sd{letter}" for letter in "abcdefghijk"]
    tree = Topology(
        [*map(disk, names), passing("one")], [Edge("one", name, Role.DATA) for name in names]
    )
    report = reported(*(interval(NOON + n, 11.0, tree=names) for n in (10, 20)), tree=tree)
    (chart,) = _await_per_disk(report, report.stacks[0])
    assert len(chart.lines) == MOST_DISKS == 8
    assert "sdk" in values(chart)
    assert chart.words.endswith("together. The 8 slowest of 11 disks.")

    alone = Topology([disk("sda"), passing("one")], [Edge("one", "sda", Role.DATA)])
    report = reported(*(interval(NOON + n, 11.0, tree=["sda"]) for n in (10, 20)), tree=alone)
    assert list(_await_per_disk(report, report.stacks[0])) == []


def test_an_hour_has_the_mean_of_its_seconds_over_all_days():
    """At 12:00: 10 seconds with 13 writes and, a day later, 30 seconds with 29; at 13:00 one of 7."""
    report = reported(
        interval(NOON + 10, 13.0),
        interval(NOON + HOUR + 10, 7.0),
        interval(NOON + 86400 + 30, 29.0, 30.0),
    )
    chart, table = _by_hour(report, report.stacks[0])
    mean = (10 * 13 + 30 * 29) / 40

    assert isinstance(chart, Chart)
    assert isinstance(table, Table)
    assert (chart.axis, chart.x) == ("hour", (12.0, 13.0))
    assert values(chart) == {"reads": (3.0, 3.0), "writes": (mean, 7.0)}
    rows = [[row[0], *(cell.number for cell in row[1:])] for row in table.groups[0].rows]
    assert rows == [
        ["12:00", 40.0, 3.0, mean, 3.0 * SIZE, mean * SIZE, 32.0],
        ["13:00", 10.0, 3.0, 7.0, 3.0 * SIZE, 7.0 * SIZE, 10.0],
    ]


def test_one_hour_is_no_day():
    """It is named, with the clock that it is on."""
    report = reported(interval(NOON + 10, 13.0), interval(NOON + 20, 29.0))
    (said,) = _by_hour(report, report.stacks[0])
    assert isinstance(said, Paragraph)
    assert "in the hour from 12:00 UTC" in said.text


@pytest.mark.parametrize(
    ("stamp", "hour"),
    [
        ("03:10:07 PM", 15), ("12:10:07 AM", 0), ("12:10:07 PM", 12), ("11:59:59 AM", 11),
        ("15:10:07", 15), ("11/21/26 09:10:07", 9), ("", None),
    ],
)  # fmt: skip
def test_the_hour_of_a_text_is_its_own(stamp, hour):
    hours = Hours()
    hours.add(Interval({"sda": IDLE}, stamp=stamp), {"sda": IDLE})
    assert [*hours.by_hour] == ([] if hour is None else [hour])
    assert hours.utc is (hour is None)


@pytest.mark.parametrize(
    ("start", "end", "seconds", "missing", "short"),
    [
        (NOON, NOON + 100, 93.0, 7.0, True),
        (NOON, NOON + 100, 101.0, 0.0, True),
        (None, NOON, 93.0, 0.0, True),
        (NOON, None, 93.0, 0.0, True),
        (NOON, NOON + 100, None, 0.0, False),
        (NOON, NOON + 86400, 86400.0, 0.0, False),
    ],
)
def test_what_no_interval_covers_is_missing(start, end, seconds, missing, short):
    period = Period(start, end, seconds=seconds)
    assert period.missing == missing
    assert period.is_short is short


def resolution(*course, count):
    kept = SimpleNamespace(period=SimpleNamespace(count=count))
    return _resolution(SimpleNamespace(course=course, kept=kept))


def test_the_resolution_is_said():
    """The first point stands for all; a last one may be shorter."""
    one = Stretch(interval(NOON, 3.0), 1, NOON)
    seven = Stretch(interval(NOON, 3.0, 70.0), 7, NOON)
    rest = Stretch(interval(NOON, 3.0, 20.0), 2, NOON + 70)
    untimed = Stretch(Interval({}), 1)

    assert resolution(one, count=1).startswith("Nothing to plot: only one interval.")
    assert resolution(one, one, count=2) == "Each point is one of 2 intervals. Times are UTC."
    assert resolution(seven, rest, count=9).startswith(
        "9 intervals; each point is the mean of 7 (70 s)."
    )
    assert "the axis counts its reports" in resolution(untimed, untimed, count=2)


def test_intervals_that_are_missing_and_devices_that_went_are_named():
    """100 seconds with two intervals of 10; sdb is in the first one only."""
    first, last = interval(NOON + 10, 13.0), interval(NOON + 100, 29.0, tree=["sda"])
    old = interval(NOON, 3.0, 5000.0, since_boot=True)
    left = reported(old, first, last).left_out

    assert left[0] == "1 averages since boot: they are not current rates"
    assert left[1].startswith("80 seconds between start and end")
    assert left[2].startswith("sdb: missing from some intervals")
    assert reported(first, interval(NOON + 20, 29.0)).left_out == ()


def test_the_worst_finding_of_a_stack_counts():
    """A volume with a critical finding is before a busier one with a warning, and before one with less load."""
    names = ("a", "b", "c", "d")
    disks = [f"sd{name}" for name in names]
    tree = Topology(
        [*map(disk, disks), *map(passing, names)],
        [Edge(name, below, Role.DATA) for name, below in zip(names, disks, strict=True)],
    )
    rates = {"a": 7.0, "b": 11.0, "c": 5.0, "d": 3.0}
    loads = {n: moved(None, did(rates[n[-1]], SIZE)) for n in (*names, *disks)}
    judged = tuple(
        SimpleNamespace(device=device, severity=severity)
        for device, severity in [
            ("sdd", Severity.INFO),
            ("sdd", Severity.CRITICAL),
            ("sdb", Severity.WARNING),
            ("sdb", Severity.INFO),
        ]
    )
    measuring = Measuring(tree)
    assert measuring._chosen(Interval(loads), judged)[0] == ["d", "b", "a", "c"]

    loads["a"] = loads["sda"] = IDLE
    assert measuring._chosen(Interval(loads), ()) == (["b", "c", "d"], [], ["a"])
    assert measuring._chosen(Interval(dict.fromkeys(loads, IDLE)), ())[0] == ["a"]


@pytest.mark.parametrize(
    ("every", "count", "words"), [(28, 5, "worst first"), (20, 7, "5 worst of 7")]
)
def test_episodes_are_counted(every, count, words):
    """The five worst are listed; the sentence says of how many."""
    night = []
    for place in range(143):
        wait = 60.0 if place % every in (15, 16, 17, 18) else 6.0
        rate = 50.0 + place % 3
        flow = Flow(rate, 0.0, rate * SIZE, rate * wait)
        load = moved(None, flow, aqu=rate * wait / 1000)
        night.append(Interval({"sda": load}, NOON + 600 * (place + 1), 600.0))
    report = reported(*night, tree=Topology([disk("sda")], []))
    texts = [block.text for block in load_section(report).blocks if isinstance(block, Paragraph)]

    assert len(report.episodes) == count
    (said,) = (text for text in texts if text.startswith("The charts shade"))
    assert said.startswith(f"The charts shade episodes of slow I/O ({words}): ")
    assert said.count("; ") == min(count, 5) - 1


def test_mean_sizes_per_layer_as_they_arrive_and_complete():
    """29 writes of 8 KiB at the top; 10 of 39 merge at its disk, which completes 29 of 11 KiB."""
    tree = Topology([disk("sda"), passing("one")], [Edge("one", "sda", Role.DATA)])
    top, below = did(29.0, 2 * SIZE), did(29.0, 2 * SIZE, 10.0)
    measuring = Measuring(tree)
    measuring.add(Interval({"one": moved(None, top), "sda": moved(None, below)}, NOON, 10.0))
    table = _mean_sizes(measuring.report().stacks[0])

    rows = [[row[0], *(cell.number for cell in row[1:])] for row in table.groups[0].rows]
    (top_sizes, below_sizes) = (row[-2:] for row in rows)
    assert top_sizes == [2.0 * SIZE, 2.0 * SIZE]
    assert below_sizes == [2.0 * SIZE, pytest.approx(39 * 2 * SIZE / 29)]
    assert len(table.columns) == len(rows[0])


def test_the_files_of_a_page_have_each_layer_and_each_point():
    """The CSV of the layers has a row per layer and direction, that of the load one per point and direction."""
    report = reported(interval(NOON + 10, 13.0), interval(NOON + 20, 29.0))
    layers = list(csv.DictReader(_layers_csv(report).splitlines()))
    series = list(csv.DictReader(_series(report).splitlines()))

    assert [(row["layer"], row["direction"]) for row in layers] == [
        (layer.layer.role, direction)
        for layer in report.stacks[0].layers
        for direction in ("read", "write", "total")
    ]
    assert {row["device"] for row in layers} == {"one"}
    assert [float(row["requests_per_s"]) for row in layers[:3]] == [3.0, 21.0, 24.0]
    assert [(row["direction"], float(row["ios"])) for row in series] == [
        ("read", 3.0),
        ("write", 13.0),
        ("read", 3.0),
        ("write", 29.0),
    ]
    assert {(row["seconds"], row["intervals"]) for row in series} == {("10.0", "1")}


@pytest.mark.parametrize(
    ("intervals", "words"),
    [
        ([interval(NOON + 10, 3.0)], ["2025-11-21", "1 interval"]),
        ([interval(NOON + 10, 3.0, since_boot=True)], ["since boot"]),
        (
            [Interval({"sda": moved(None, did(3.0, SIZE))}, stamp="10:00:07")],
            ["10:00:07", "time zone"],
        ),
        ([Interval({"sda": moved(None, did(3.0, SIZE))})], ["unknown time"]),
    ],
)
def test_when_it_was_measured(intervals, words):
    """By the clock, by a text's own time, or not known."""
    said = when(reported(*intervals, tree=Topology([disk("sda")], [])))
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("starts", "axis"),
    [((NOON, NOON + 60), "time"), ((1.5 * 86400, NOON), "time"), ((0.0, 60.0), "number"), ((3600.0, NOON), "number"), ((None, NOON), "number")],
)  # fmt: skip
def test_the_first_day_of_the_epoch_is_no_time(starts, axis):
    """A capture without a clock counts seconds from 0."""
    assert _axis(tuple(Stretch(Interval({}), 1, start) for start in starts)) == axis
