"""Pressure stall information: what tasks waited for, of the machine and of control groups."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.document.blame import WAITED, BlameReport, matrix
from stackmap.document.blocks import Table
from stackmap.host.recording import RecordingHost
from stackmap.ledger.device_state import readings_of, stalled_share
from stackmap.model.cgroup_io import CgroupLoad
from stackmap.model.device import Device, Kind, Stalled, StatusReading
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.sources import pressure
from tests.drawn import did, moved
from tests.features.top.watched import watch
from tests.machine import DrawnHost
from tests.test_readings import intervals, replayed
from tests.test_watch import Machine

TEXT = "some avg10=1.00 avg60=0.50 avg300=0.10 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"


class Waiting(Machine):
    """Some task waits three tenths of the time, and all of them one tenth."""

    def ticks(self, interval, count):
        for tick, time in enumerate(super().ticks(interval, count)):
            text = TEXT.format(7_000_000 + 300_000 * tick, 5_000_000 + 100_000 * tick)
            self.files = {**self.files, pressure.PATH: text}
            yield time


@pytest.mark.parametrize(
    "text", ["", "some\n", "full avg10=0 total=1\n", "some total=-1\n", "some total=x\n"]
)
def test_a_strange_text_is_unknown(text):
    assert pressure.parse(text) is None


def test_the_root_group_and_old_kernels_have_no_full_line():
    assert pressure.parse("some avg10=0.00 total=1500000\n") == Stalled(1.5, None)


def test_only_groups_with_the_file_are_known():
    host = DrawnHost({"/sys/fs/cgroup/a.service/io.pressure": TEXT.format(2_000_000, 0)})
    assert pressure.read_groups(host, ["/a.service", "/b.service"]) == {"/a.service": 2.0}


def test_the_share_of_time_live_and_replayed(tmp_path):
    machine = Waiting()
    machine.files = {**machine.files, pressure.PATH: TEXT.format(7_000_000, 5_000_000)}
    with RecordingHost(machine, str(tmp_path / "c")) as host:
        live = stalled_share(readings_of(intervals(host, 30)))
    again = stalled_share(readings_of(replayed(tmp_path / "c")))
    for share in (live, again):
        assert share == (pytest.approx(0.3, abs=0.01), pytest.approx(0.1, abs=0.01))

    words = ["--from", str(tmp_path / "c"), "explain"]
    said = CliRunner().invoke(stackmap, words, catch_exceptions=False).stdout
    found = json.loads(CliRunner().invoke(stackmap, [*words, "-J"]).stdout)["pressure"]
    assert "Who waits: tasks waited for I/O 30.0 % of the time, all of them 10.0 %." in said
    assert (found["some"], found["full"]) == (
        pytest.approx(0.3, abs=0.01),
        pytest.approx(0.1, abs=0.01),
    )


def test_top_shows_it_too(tmp_path):
    machine = Waiting()
    machine.files = {**machine.files, pressure.PATH: TEXT.format(7_000_000, 5_000_000)}
    with RecordingHost(machine, str(tmp_path / "c")) as host:
        intervals(host, 30)
    _, display = watch(tmp_path / "c", size=(100, 24))
    assert "tasks waited 30.0 %" in display.text


def test_a_machine_that_was_started_again_has_no_share():
    readings = [
        StatusReading(0.0, {}, stalled=Stalled(9.0)),
        StatusReading(10.0, {}, stalled=Stalled(1.0)),
    ]
    assert stalled_share(readings) is None
    assert stalled_share(readings[:1]) is None


@pytest.mark.parametrize(("waited", "column"), [(0.43, True), (None, False)])
def test_blame_shows_who_waited_where_the_kernel_says(waited, column):
    disk = Topology([Device("vda", Kind.DISK, "254:0")], [])
    group = CgroupLoad("/system.slice/db.service", "254:0", 75.0, 75 * 4096.0, None, waited)
    interval = Interval({"vda": moved(None, did(100, 4096))}, 1000.0, 1.0)
    blocks = matrix(BlameReport(disk, ["vda"], interval, groups=[group]))
    (table,) = (block for block in blocks if isinstance(block, Table))

    assert (WAITED in table.columns) == column
    (row,) = table.groups[0].rows
    assert len(row) == len(table.columns)
    assert not column or str(row[-1]) == "43.0 %"
