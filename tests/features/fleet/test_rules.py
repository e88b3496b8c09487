"""The shipped rules, evaluated by promtool: what was wrong once, and stays right."""

from __future__ import annotations

import pytest

from tests.features.fleet.arrays import Array
from tests.features.fleet.promql import ruled

MINUTE = 60

FIGURES = {
    # A full stripe of 4 chunks of 64 KiB, 32 times a second: 8 MiB/s written, 10 MiB/s at the disks.
    'instance_top_layer:stackmap_written_bytes:rate5m{layer="volume"}': 8 * 2**20,
    "instance_top:stackmap_disk_bytes:rate5m": 10 * 2**20,
    "instance_top:stackmap_disk_requests:rate5m": 32 * 5,
    "instance_top:stackmap_parity_cost:ratio_rate5m": 1.25,
    "instance_level:stackmap_volumes:count": 1,
    "instance_level:stackmap_written_bytes:rate5m": 8 * 2**20,
}


@pytest.mark.parametrize("label", ["cluster", "replica", "name", "role", "level", "disk", "space"])
def test_equal_names_of_two_targets_stop_no_figure_of_another_host(label, tmp_path):
    """Host a is in two clusters, or has two targets that one of stackmap's own labels tells apart."""
    series = Array("b").series()
    for value in ("1", "2"):
        series |= Array("a", target={label: value}).series()
    found = ruled(tmp_path, series, *FIGURES, at=20 * MINUTE)

    for (expression, value), answers in zip(FIGURES.items(), found, strict=True):
        (of_b,) = [each for each in answers if each.labels["instance"] == "b"]
        assert of_b.value == pytest.approx(value), expression


@pytest.mark.parametrize("label", ["cluster", "rack"])
def test_labels_of_the_target_stay(label, tmp_path):
    """Each of two clusters has its own figures of host a, whatever label tells them apart."""
    series = Array("a", target={label: "x"}).series() | Array("a", target={label: "y"}).series()
    found = ruled(tmp_path, series, *FIGURES, at=20 * MINUTE)

    for (expression, value), answers in zip(FIGURES.items(), found, strict=True):
        assert {each.labels.get(label) for each in answers} == {"x", "y"}, expression
        assert [each.value for each in answers] == pytest.approx([value] * 2)
