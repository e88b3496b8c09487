"""A table of load × finding: a healthy stack has nothing above info; a staged cause is named first."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap

pytestmark = pytest.mark.lab("all")

KERNELS = ("6.1", "6.12")
LOUD = ("critical", "warning")
QUIET = ("idle", "trickle", "light", "mixed", "sequential", "fsync")
SATURATED = ("reads", "writes")

# The first finding of each staged cause, by its recording.
STAGED = {
    "degraded": "broken",
    "failed": "broken",
    "narrow": "request-limit",
    "nosync": "never-synced",
    "md-bound": "md-bound",
}
TARGETS = {"pool": "thin-pool-data", "cold": "cache-misses"}


def explained(out, name, *words):
    """Return what ``explain`` says of the recording *name*, as its JSON document."""
    asked = ["--from", str(out / f"{name}.tar"), "explain", "-J", *words]
    return json.loads(CliRunner().invoke(stackmap, asked, catch_exceptions=False).stdout)


def loud(out, name, *words):
    """Return the findings above info, the worst first."""
    found = explained(out, name, *words)["findings"]
    return [each["name"] for each in found if each["severity"] in LOUD]


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


@pytest.fixture
def healthy(lab, kernel):
    return lab("verdicts", disks=14, size="300M", iops=150, timeout=1500, kernel=kernel)


@pytest.fixture
def staged(lab, kernel):
    return lab("verdicts-staged", disks=5, size="300M", iops=400, timeout=1500, kernel=kernel)


@pytest.fixture
def targets(lab, kernel):
    return lab("targets", disks=6, size="600M", timeout=1200, kernel=kernel)


@pytest.mark.parametrize("load", QUIET)
def test_a_healthy_stack_needs_no_action(healthy, load):
    """Five stacks at once at a load that they can serve."""
    assert loud(healthy, load) == []


@pytest.mark.parametrize("load", SATURATED)
def test_a_saturated_stack_is_at_most_overloaded(healthy, load):
    """The queue grows from one request to 32 while it is recorded."""
    found = loud(healthy, load)

    assert found
    assert set(found) == {"overloaded"}


@pytest.mark.parametrize("name", STAGED)
def test_what_was_staged_comes_first(staged, name):
    assert loud(staged, name)[0] == STAGED[name]


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_target_says_comes_first(targets, name):
    device = {"pool": "lab/thin", "cold": "lab/slow"}[name]

    assert loud(targets, name, device)[0] == TARGETS[name]


def test_a_warm_cache_is_no_problem(targets):
    assert "cache-misses" not in loud(targets, "warm", "lab/slow")
