"""
What was staged is what the first finding says, and a healthy load has no warning.

The scenario has the expected outcome, or "-" for a healthy load.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.lab.boots import KERNELS

pytestmark = pytest.mark.lab("all")

LOUD = ("critical", "warning")


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


def outcome(recording):
    """The outcome of the first finding of the load that needs action, "-" without one."""
    result = CliRunner().invoke(stackmap, ["--from", str(recording), "explain", "-J"])
    found = json.loads(result.stdout)["findings"]
    grave = [each["outcome"] for each in found if each["severity"] in LOUD and each["load"]]
    return grave[0] if grave else "-"


def test_the_first_finding_is_what_was_staged(lab, kernel):
    out = lab("outcomes", disks=0, kernel=kernel, icount="1,sleep=off", mem=3500, timeout=1800)
    lines = [line.split() for line in (out / "staged.txt").read_text().splitlines()]
    told = {name: outcome(out / name) for name, _ in lines}

    assert told == dict(lines)
    assert len(lines) > 20
