"""A sosreport of a machine shows the stacks of the machine itself, as far as it goes."""

from __future__ import annotations

import shutil

import pytest

from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.model.device import Kind

KIB = 1024

pytestmark = [
    pytest.mark.lab("all"),
    pytest.mark.skipif(shutil.which("sos") is None, reason="needs Debian's sosreport"),
]


@pytest.fixture(scope="module")
def out(lab, kernel):
    return lab("sosreport", kernel=kernel, timeout=1800)


@pytest.fixture(scope="module")
def live(out):
    return discover(CapturedHost(str(out / "recorded"), warn=lambda _: None))


@pytest.fixture(scope="module")
def report(out):
    (archive,) = (out / "report").glob("sosreport-*.tar.xz")
    return discover(CapturedHost(str(archive)))


def test_the_same_devices(live, report):
    """Names, kinds, layouts, states and mounts; sizes to the KiB of /proc/partitions."""
    assert set(report.devices) == set(live.devices)
    for device in live:
        other = report[device.name]
        for field in ("title", "kind", "number", "target", "layout", "uuid", "mounts"):
            assert getattr(other, field) == getattr(device, field), (device.name, field)
        assert 0 <= device.size - other.size < KIB
        if device.layout is not None:
            assert other.state == device.state


def test_the_same_edges(live, report):
    """With their roles and, of mapped devices and arrays, the place below; of partitions, if a command told."""
    found = {(edge.above, edge.below, edge.role): edge for edge in report.edges}
    assert found.keys() == {(edge.above, edge.below, edge.role) for edge in live.edges}
    for edge in live.edges:
        other = found[edge.above, edge.below, edge.role]
        if live[edge.above].kind is Kind.PARTITION:
            assert other.start in (None, edge.start)
            assert 0 <= edge.length - other.length < KIB
        else:
            assert other == edge


def test_nothing_is_unknown(report):
    assert not report.unknown
