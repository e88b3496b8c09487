"""A named volume has the same figures, whether unconnected devices are read or not."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.cli.record import samples
from stackmap.host.recording import RecordingHost
from stackmap.ledger import time_series
from stackmap.measurement.source import Measurement
from stackmap.model.device import Role
from stackmap.model.topology import Edge, Topology
from tests.drawn import disk, passing
from tests.long import Repeated

COMMANDS = {
    "whatif": ["whatif", "vg/lv0", "--to", "raid10", "-J"],
    "fiojob": ["fiojob", "vg/lv0", "-J"],
    "explain": ["explain", "vg/lv0", "-J"],
    "report": ["report", "vg/lv0", "--to", "raid10", "-m", "-o", "-"],
    "last": ["report", "vg/lv0", "-m", "-o", "-", "--report", "last"],
}


@pytest.fixture(scope="module")
def minute(tmp_path_factory):
    """A minute of a machine of volumes with a disk each."""
    out = tmp_path_factory.mktemp("near") / "capture"
    with RecordingHost(Repeated(30, 30), str(out)) as host:
        for _ in samples(host, 1.0, 61):
            pass
    return out


def said(capture, name):
    result = CliRunner().invoke(stackmap, ["--from", str(capture), *COMMANDS[name]])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_what_has_no_part_in_it_changes_nothing(name, minute, monkeypatch):
    """No figure, no finding, no sentence; a report's points may be finer, so they are held as coarse here."""
    monkeypatch.setattr(time_series, "MAX_STRETCHES", 24)
    near = said(minute, name)
    monkeypatch.setattr(Topology, "connected", lambda *_: None)

    assert near == said(minute, name)


def test_what_is_not_near_is_not_counted(minute, monkeypatch):
    """Of thirty volumes and their disks, one and its own."""
    seen = set()
    real = Measurement.intervals

    def watched(*words):
        for interval in real(*words):
            seen.update(interval.loads)
            yield interval

    monkeypatch.setattr(Measurement, "intervals", watched)
    said(minute, "whatif")

    assert seen == {"dm-0", "sda"}


def test_near_is_what_shares_anything():
    """The other volume of a disk and the other devices below it; not unconnected devices."""
    where = Topology(
        [*map(disk, ("sda", "sdb", "sdc")), *map(passing, ("dm-0", "dm-1", "dm-2"))],
        [
            Edge("dm-0", "sda", Role.DATA),
            Edge("dm-1", "sda", Role.DATA),
            Edge("dm-1", "sdb", Role.METADATA),
            Edge("dm-2", "sdc", Role.DATA),
        ],
    )

    assert where.connected(["dm-0"]) == {"dm-0", "dm-1", "sda", "sdb"}
    assert where.connected(["sdc"]) == {"dm-2", "sdc"}
    assert where.connected(["sdb", "dm-2"]) == set(where.devices)
    assert where.connected([]) == set()
