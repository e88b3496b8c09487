"""Traces leave nothing: killed at random moments, one after the other, stopped, or with a reader that does not read."""

from __future__ import annotations

import json
from statistics import median

import pytest

pytestmark = pytest.mark.lab("all")

MIB = 2**20
SETTLED = 20  # runs after which the kernel has the memory that traces use again


@pytest.fixture
def out(lab, kernel):
    return lab("trace-runs", kernel=kernel, disks=4, timeout=5400, thread="single")


def lines(out, name):
    return [json.loads(line) for line in (out / name).read_text().splitlines()]


def test_nothing_is_left_of_killed_traces_after_clean(out):
    found = lines(out, "killed.jsonl")
    assert len(found) == 50
    assert all(each["status"] == 9 for each in found)  # by the kill, not before it
    assert [each["after"] for each in found if each["after"]] == []
    for mode in ("distributions", "owners", "events", "fallback"):
        assert sum(each["before"] > 0 for each in found if each["mode"] == mode) >= 3


def test_traces_in_a_row_leak_nothing(out):
    found = lines(out, "repeated.jsonl")
    assert len(found) == 100
    assert [each["after"] for each in found if each["after"]] == []
    assert all(each["children"] == [] for each in found)
    assert len({each["descriptors"] for each in found[SETTLED:]}) == 1
    # The load, udev and the page cache use some too; what a run could leak, a map of 32,768 entries, has 2 MiB.
    before, after = (typical_memory(part) for part in (found[SETTLED:40], found[80:]))
    assert after["SUnreclaim"] - before["SUnreclaim"] < 2 * MIB
    assert after["Percpu"] - before["Percpu"] < MIB
    assert after["VmallocUsed"] - before["VmallocUsed"] < MIB
    assert before["MemAvailable"] - after["MemAvailable"] < 32 * MIB
    assert after["own"] - before["own"] < 8 * MIB


def typical_memory(runs):
    return {key: median(each["memory"][key] for each in runs) for key in runs[0]["memory"]}


def test_a_trace_after_a_killed_one_says_how_to_clean(out):
    assert (out / "next.status").read_text() == "3\n"
    assert "stackmap trace --clean" in (out / "next.err").read_text()
    assert "probe stackmap/submit" in (out / "clean.out").read_text()
    assert (out / "left.txt").read_text() == ""


def test_a_stop_from_the_terminal_ends_a_trace(out):
    """A stopped process would leave its probes in place."""
    assert json.loads((out / "stopped.json").read_text())["seconds"] < 60
    assert (out / "stopped-left.txt").read_text() == ""


def test_a_reader_that_does_not_read_does_not_make_a_trace_longer(out):
    assert (out / "blocked.txt").read_text() == "waiting\n0\n"
    assert (out / "blocked-left.txt").read_text() == ""
