"""
Plans of one host pasted as they are printed on another, on a real kernel.

The other has volumes and arrays of the same names, sizes and disks, and other UUIDs.
"""

from __future__ import annotations

import json

import pytest

from stackmap.features.plan.strategies import STRATEGIES
from tests.lab.followed import BOOT, shared

pytestmark = pytest.mark.lab("all")


@pytest.fixture
def out(lab, method, kernel):
    return lab("plan-elsewhere", method, kernel=kernel, **shared(STRATEGIES, method, BOOT))


each = pytest.mark.parametrize("method", STRATEGIES)


@each
def test_there_is_a_plan_of_the_method(out, method):
    assert (out / "plan.err").read_text() == ""
    assert json.loads((out / "plan.json").read_text())["ways"][0]["way"] == method


@each
def test_the_guard_lets_its_own_host_pass(out):
    """With the UUIDs, sizes and hash that its tools print there."""
    assert ("0", "") == ((out / "own.status").read_text().strip(), (out / "own.txt").read_text())


@each
def test_the_guard_stops_the_other(out):
    assert "0" != (out / "other.status").read_text().strip()
    assert (out / "other.txt").read_text().startswith("STOP: ")


@each
def test_nothing_is_changed_by_the_whole_plan(out):
    """Its steps and its roll-backs, pasted whole."""
    before = (out / "before.txt").read_text()
    assert len(before.splitlines()) > 10
    assert before == (out / "after.txt").read_text()
    steps = json.loads((out / "plan.json").read_text())["ways"][0]["steps"]
    guarded = [step for step in steps if step["guard"]]
    assert len(guarded) <= (out / "pasted.txt").read_text().count("STOP: ")
