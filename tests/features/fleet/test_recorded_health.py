"""What was wrong when recordings end: full, sick, silent, a wrong clock; and since when."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.features.export.recording import write_recording
from stackmap.features.fleet.recordings import AHEAD
from stackmap.host.capture import CapturedHost
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Topology
from tests.paths import ROOT

pytest.importorskip("duckdb")
DAY = 86400
BEGIN = 20_000 * DAY  # a midnight of 2024
HOURS = 3600.0
LOAD = Load(Flow(7.0, 0.0, 28672.0, 3.0), Flow(11.0, 0.0, 45056.0, 5.0), aqu=0.1, busy=0.1)


@pytest.fixture(scope="module")
def machine():
    """A machine with a thin pool."""
    host = CapturedHost(str(ROOT / "sample_topologies" / "cold-cache"), print)
    return discover(host, geometry=True)


def pool_of(machine):
    return next(each for each in machine if "data_total" in each.counts)


def written(place, machine, host, hours, *, used=None):
    """Write a recording of *host* with an interval that ends at each of *hours*; *used*: share of its pool."""
    pool = pool_of(machine)
    counts = dict(pool.counts)
    if used is not None:
        counts["data_used"] = round(used * counts["data_total"])
    devices = [each._replace(counts=counts) if each.name == pool.name else each for each in machine]
    topology = Topology(devices, machine.edges, machine=machine.machine._replace(host=host))
    reports = [
        (topology, topology, Interval({each.name: LOAD for each in topology}, time=BEGIN + hour * HOURS, seconds=HOURS))
        for hour in hours
    ]  # fmt: skip
    write_recording(str(place), reports, host, force=False)


def health(place, *words):
    result = CliRunner().invoke(stackmap, ["fleet", "--recordings", str(place), "-J", *words])
    assert result.exit_code in (0, 64), result.output
    answer = json.loads(result.stdout)
    return answer, {(each["what"], each["host"]): each for each in answer["health"]}


def test_a_full_pool_is_named_with_its_share(tmp_path, machine):
    """Above the share of the alert; the fuller of data and metadata."""
    written(tmp_path, machine, "full", range(1, 5), used=0.97)
    written(tmp_path, machine, "near", range(1, 5), used=0.94)
    _, found = health(tmp_path)

    full = found["full", "full"]
    assert full["value"] == pytest.approx(0.97, abs=0.01)
    assert (full["device"], full["space"]) == (pool_of(machine).name, "data")
    assert full["since"] == "2024-10-04T00:00:00Z"
    assert ("full", "near") not in found


def test_a_trouble_that_ended_is_not_told(tmp_path, machine):
    """The pool was extended: the next day of the same host is fine."""
    written(tmp_path, machine, "h", range(1, 5), used=0.97)
    written(tmp_path, machine, "h", range(25, 29), used=0.5)

    assert health(tmp_path)[1] == {}


def test_since_is_the_begin_of_the_latest_time(tmp_path, machine):
    """It was full, then not, then again: since the second time. A gap of minutes between recordings ends nothing."""
    written(tmp_path, machine, "h", range(1, 5), used=0.97)
    written(tmp_path, machine, "h", range(25, 29), used=0.5)
    written(tmp_path, machine, "h", range(49, 53), used=0.97)
    written(tmp_path, machine, "h", [each + 0.1 for each in range(53, 55)], used=0.98)
    _, found = health(tmp_path)

    assert found["full", "h"]["since"] == "2024-10-06T00:00:00Z"
    assert found["full", "h"]["value"] == pytest.approx(0.98, abs=0.01)


def test_a_host_that_stopped_is_silent(tmp_path, machine):
    """More than three of its intervals before the end; the figures are doubtful, so the answer is partial."""
    written(tmp_path, machine, "whole", range(1, 21))
    written(tmp_path, machine, "late", range(1, 18))
    written(tmp_path, machine, "stopped", range(1, 11))
    answer, found = health(tmp_path)

    assert set(found) == {("silent", "stopped")}
    assert found["silent", "stopped"]["since"] == "2024-10-04T10:00:00Z"
    assert any("stopped" in each for each in answer["partial"])


def test_a_host_of_before_the_window_is_not_silent(tmp_path, machine):
    """It may be gone for good."""
    written(tmp_path, machine, "whole", range(1, 121))
    written(tmp_path, machine, "gone", range(1, 11))

    assert health(tmp_path, "--window", "1d")[1] == {}
    assert set(health(tmp_path)[1]) == {("silent", "gone")}


def test_a_clock_ahead_of_the_files_is_wrong(tmp_path, machine):
    """Its recording ends after its file was written; the window ends with the others'."""
    written(tmp_path, machine, "right", range(1, 21))
    written(tmp_path, machine, "ahead", range(24, 45))
    for path in tmp_path.glob("devices/host=ahead/*/*.parquet"):
        os.utime(path, (BEGIN, BEGIN + 42 * HOURS))
    answer, found = health(tmp_path)

    assert found["clock", "ahead"]["value"] == pytest.approx(2 * HOURS)
    assert answer["time"] == "2024-10-04T20:00:00Z"
    assert ("silent", "right") not in found


def test_a_minute_is_no_wrong_clock(tmp_path, machine):
    written(tmp_path, machine, "h", range(1, 5))
    for path in tmp_path.glob("devices/*/*/*.parquet"):
        os.utime(path, (BEGIN, BEGIN + 4 * HOURS - AHEAD))

    assert health(tmp_path)[1] == {}
