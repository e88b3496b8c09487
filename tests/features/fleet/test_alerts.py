"""When alerts fire and when they do not, evaluated by promtool over the series of whole hosts."""

from __future__ import annotations

import pytest

from tests.features.fleet.arrays import Array
from tests.features.fleet.promql import firing

POOL = 'stackmap_thin_pool_data_used_ratio{job="n",instance="a",device="dm-2",name="vg/pool",team="db"}'
LONG = 16 * 60  # minutes


def severities(tmp_path, series, alert, *minutes):
    """Return the severities with which *alert* fires at each of *minutes*."""
    return [
        sorted(each.labels["severity"] for each in answers)
        for answers in firing(tmp_path, series, alert, minutes)
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # 3 % per hour from 62 %: full in 12 hours, then in 4 hours above 88 %.
        (f"0.62x60 0.62+0.0005x{LONG}", [[], ["warning"], ["critical", "warning"]]),
        # A jump of 30 % is no trend, neither at once nor while it is within the 6 hours.
        (f"0.55x240 0.85x{LONG}", [[], [], []]),
        # It grows and shrinks each hour, as a snapshot does that is removed and taken again.
        ("0.5+0.005x59 " * 16, [[], [], []]),
        (f"0.7x{LONG}", [[], [], []]),
    ],
    ids=["grows", "jumps", "saw", "flat"],
)
def test_a_pool_fills_by_its_trend(values, expected, tmp_path):
    assert severities(tmp_path, {POOL: values}, "StackmapPoolFilling", 60, 320, 820) == expected


@pytest.mark.parametrize(
    ("used", "expected"), [(0.89, []), (0.92, ["warning"]), (0.96, ["critical", "warning"])]
)
def test_a_pool_is_full_by_its_level(used, expected, tmp_path):
    assert severities(tmp_path, {POOL: f"{used}x60"}, "StackmapPoolFull", 5, 45) == [[], expected]


def test_labels_of_the_target_reach_alertmanager(tmp_path):
    (answers,) = firing(tmp_path, {POOL: "0.96x60"}, "StackmapPoolFull", [45])

    assert {each.labels["team"] for each in answers} == {"db"}


@pytest.mark.parametrize(
    ("array", "gone", "silent"),
    [
        (Array("a", file=100), True, False),
        (Array("a", file=100, up=(1,) * 100 + (0,) * 200), False, True),
        (Array("a", file=100, up=(1,) * 100), False, False),  # the target is removed
        (Array("a"), False, False),
    ],
    ids=["textfile", "host", "target", "healthy"],
)
def test_stacks_that_vanish_are_named(array, gone, silent, tmp_path):
    """While the host answers its stacks are gone; else it is silent."""
    series = array.series()

    assert severities(tmp_path, series, "StackmapStacksGone", 95, 290) == [[], ["critical"] * gone]
    assert severities(tmp_path, series, "StackmapHostSilent", 95, 290) == [[], ["warning"] * silent]


@pytest.mark.parametrize("ahead", [-3000, 300, 20])
def test_a_wrong_clock_is_named_as_that(ahead, tmp_path):
    """It is no old topology."""
    series = Array("a").series()
    for key in series:
        if key.startswith(("node_time_seconds", "stackmap_topology_timestamp")):
            series[key] = f"{ahead}+60x300"
    expected = [[], ["warning"]] if abs(ahead) > 60 else [[], []]

    assert severities(tmp_path, series, "StackmapClockWrong", 2, 30) == expected
    assert severities(tmp_path, series, "StackmapTopologyStale", 2, 60) == [[], []]
