"""A table of situation × finding: what was staged is told first, every time; of a healthy machine nothing is."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from tests.lab.boots import KERNELS

pytestmark = pytest.mark.lab("all")

LOUD = ("critical", "warning")

# What each situation's first finding must be; "-" where there may be none above info.
STAGED = {
    "idle": "-",
    "random": "-",
    "sequential": "-",
    "mixed": "-",
    "small-chunk": "small-chunk",
    "bitmap": "metadata-writes",
    "thin": "thin-first-touch",
    "delay": "slow-member",
    "misaligned": "misaligned",
    "degraded": "broken",
    "resync": "background-work",
    "throttle": "throttled",
}
TURNS = (1, 2, 3)


def explained(out, situation, turn):
    """Return what ``explain`` finds in one turn, the worst first."""
    words = ["--from", str(out / f"{situation}.tar"), "explain", "-J"]
    words += ["--input", str(out / f"{situation}.{turn}.diskstats")]
    result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
    return json.loads(result.stdout)["findings"]


def loud(found):
    return [each["name"] for each in found if each["severity"] in LOUD]


@pytest.fixture(params=KERNELS)
def kernel(request):
    return request.param


@pytest.fixture
def out(lab, kernel):
    return lab("explain", disks=4, timeout=3000, kernel=kernel)


@pytest.fixture
def slow(lab, kernel):
    return lab("explain-slow", disks=4, iops=500, slow="2:100", timeout=1200, kernel=kernel)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("situation", STAGED)
def test_what_was_staged_comes_first(out, situation, turn):
    """Each of three times; what follows may be what it causes."""
    found = loud(explained(out, situation, turn))

    assert (found[0] if found else "-") == STAGED[situation]


@pytest.mark.parametrize("turn", TURNS)
def test_a_disk_with_a_fifth_of_its_siblings_rate(slow, turn):
    """
    The second may do 100 a second, the others 500: it is told, and told first.

    Which name it has is the kernel's choice, which probes disks side by side.
    """
    first = explained(slow, "slow-disk", turn)[0]
    disk = discover(CapturedHost(str(slow / "slow-disk.tar")))[first["device"]]

    assert (first["name"], disk.serial) == ("slow-member", "LABSCSI2")


def test_every_situation_was_staged(out):
    """The scenario and this table agree."""
    lines = [line.split() for line in (out / "situations.txt").read_text().splitlines()]

    assert {name: first for name, _, first in lines} == STAGED
