"""The services of the packages under a real systemd: what they may not do does not keep them from seeing anything."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.lab("all")

WRITTEN = 100 * 64 * 1024  # bytes, once before the recording, once in it


@pytest.fixture
def out(lab, kernel):
    return lab("services", kernel=kernel, disks=4, timeout=1800, env="SYSTEMD=1")


def series(text):
    """Return the value of each series, without those that name the moment."""
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: value for name, value in found.items() if "timestamp" not in name}


def test_the_textfile_is_what_root_exports(out):
    assert (out / "textfile.status").read_text() == "0\n"
    assert "Result=success" in (out / "textfile.result").read_text()
    service, command = (series((out / f"{who}.prom").read_text()) for who in ("service", "command"))
    assert any('name="t/r5"' in name for name in service)
    assert any('name="t/thin"' in name or 'name="t/pool"' in name for name in service)
    assert service == command


def test_node_exporter_may_read_it(out):
    assert re.search(
        r"^-rw-r--r-- .* root .*\.prom$", (out / "textfile.list").read_text(), re.MULTILINE
    )


def test_the_timer_writes_it(out):
    assert ".prom" in (out / "timer.list").read_text()


def test_the_recorded_machine_is_the_live_one(out):
    live, recorded = (
        json.loads((out / f"{which}.json").read_text()) for which in ("live", "recorded")
    )
    assert recorded == live


def test_a_killed_recorder_is_started_again_and_appends(out):
    assert (out / "first.pid").read_text() != (out / "second.pid").read_text()
    before, after = (int((out / f"{when}-kill.count").read_text()) for when in ("before", "after"))
    assert before >= 3
    assert after > before + 2
    assert "Result=success" in (out / "record.result").read_text(), (out / "said.txt").read_text()


def test_the_recording_is_private(out):
    modes = (out / "record.modes").read_text().splitlines()
    assert modes == ["700 root", "700 root"]
