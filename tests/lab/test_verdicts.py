"""A table of load × finding: a healthy stack has nothing above info; a staged cause is named first."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.lab.boots import KERNELS

pytestmark = pytest.mark.lab("all")

LOUD = ("critical", "warning")
QUIET = ("idle", "trickle", "light", "mixed", "sequential", "fsync")

SATURATED = ("reads", "writes")

# The first finding on each volume with a staged cause.
STAGED = {
    "lost": "broken",
    "broke": "broken",
    "narrow": "request-limit",
    "lab/unsynced": "never-synced",
    "lab/thin": "thin-pool-data",
}


def told(words):
    """Return the name and severity of each finding, the worst first."""
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    return [(each["name"], each["severity"]) for each in json.loads(result.stdout)["findings"]]


def explained(words):
    """Return the findings above info."""
    return [name for name, severity in told(words) if severity in LOUD]


def sampled(out, name, *words):
    """The same of the samples *name* on the stacks of a scenario."""
    text = str(out / f"{name}.diskstats")
    return explained(["--from", str(out / "stacks.tar"), "explain", "-J", "--input", text, *words])


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


@pytest.fixture
def healthy(lab, kernel):
    return lab("verdicts", disks=14, size="300M", iops=150, timeout=3000, kernel=kernel)


@pytest.fixture
def staged(lab, kernel):
    return lab("verdicts-staged", disks=18, size="200M", iops=400, timeout=3000, kernel=kernel)


@pytest.mark.parametrize("load", QUIET)
def test_a_healthy_stack_needs_no_action(healthy, load):
    """Five stacks at once at a load that they can serve."""
    assert sampled(healthy, load) == []


@pytest.mark.parametrize("load", SATURATED)
def test_a_saturated_stack_is_overloaded(healthy, load):
    """The queue grows from one request to 32 on each stack while it is sampled."""
    assert set(sampled(healthy, load)) == {"overloaded"}


@pytest.mark.parametrize("volume", STAGED)
def test_what_was_staged_comes_first(staged, volume):
    """All at once, each asked for by its name."""
    assert sampled(staged, "staged", volume)[0] == STAGED[volume]


@pytest.mark.parametrize(
    ("name", "volume", "first"),
    [
        # Its members are in memory and idle.
        ("md-bound", "bound", ("md-bound", "warning")),
        ("cold", "lab/cached", ("cache-misses", "warning")),
        ("warm", "lab/cached", ("cache-hits", "good")),
    ],
)
def test_what_takes_a_recording(staged, name, volume, first):
    """The status of targets and the time that threads used are in recordings only."""
    assert told(["--from", str(staged / f"{name}.tar"), "explain", "-J", volume])[0] == first
