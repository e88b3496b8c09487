"""
A recorded load, made again by fio from stackmap's job on another volume: the kernel counts both.

Judged by the histograms of bios sent to the one volume and to the other, never
by what stackmap or fio say of themselves; only how long each took is theirs.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.lab import truth
from tests.lab.judged import devices, measured

pytestmark = pytest.mark.lab("all")

WITHIN = 0.1
VOLUMES = {"r5": "vg/r5", "plain": "vg/plain", "test": "vg/test"}
KINDS = {"R": "read", "W": "write"}

# Workload: where it was recorded, and what it consists of.
LOADS = {
    "rand8k": ("r5", "W"),
    "mixed": ("plain", "W"),
    "seq128k": ("plain", "W"),
    "rw": ("r5", "RW"),
    "fsync": ("r5", "W"),
    "course": ("plain", "W"),
    "given": ("plain", "W"),
}


@pytest.fixture
def recorded(lab, kernel):
    folder = lab("fiojob", kernel=kernel, disks=4, timeout=1500)
    for name, workload in measured(folder).items():
        assert workload.status == 0, name
    return folder


def number(folder, volume):
    known = devices(folder / "fiojob.tar").values()
    return next(d["dev"] for d in known if d["label"] == VOLUMES[volume])


def lasted(folder, name):
    """Return the seconds between the first and the last sample."""
    times = re.findall(r"^TS ([\d.]+)", (folder / f"{name}.diskstats").read_text(), re.MULTILINE)
    return float(times[-1]) - float(times[0])


def ran(folder, name):
    """Return the seconds that fio ran, by its own clock."""
    report = (folder / f"{name}.replay.json").read_text()
    told = json.loads(report[report.index("{") :])
    return max(job["job_runtime"] for job in told["jobs"]) / 1000


def both(folder, workload):
    """Return the sizes that each volume was sent, by kind, and how long each took."""
    name = f"fiojob.{workload}"
    source, _ = LOADS.get(workload, ("plain", "W"))
    before = truth.read(folder / f"{name}.truth")
    after = truth.read(folder / f"{name}.replay.truth")
    return (
        (before, number(folder, source), lasted(folder, name)),
        (after, number(folder, "test"), ran(folder, name)),
    )


def sizes(side, kind):
    counted, device, _ = side
    return {size: n for size, n in counted.sizes(device, kind).items() if size}


def rate(side, kind):
    return sum(sizes(side, kind).values()) / side[2]


def apart(one, other):
    """Return the share of requests that would need another size for the one to be the other."""
    whole, there = sum(one.values()), sum(other.values())
    return sum(abs(one.get(s, 0) / whole - other.get(s, 0) / there) for s in {*one, *other}) / 2


@pytest.mark.parametrize("workload", LOADS)
def test_the_load_is_made_again(recorded, workload):
    """Requests a second, and how many are of which size, within a tenth; reads and writes apart."""
    assert (recorded / f"fiojob.{workload}.status").read_text() == "0\n"
    old, new = both(recorded, workload)

    for kind in LOADS[workload][1]:
        assert rate(new, kind) == pytest.approx(rate(old, kind), rel=WITHIN), KINDS[kind]
        assert apart(sizes(old, kind), sizes(new, kind)) <= WITHIN, KINDS[kind]


def test_flushes_are_made_again(recorded):
    """As often a second, within a tenth and one in all."""
    old, new = both(recorded, "fsync")
    flushes = [side[0].empty(side[1], "W") / side[2] for side in (old, new)]

    assert flushes[0] > 1
    assert flushes[1] == pytest.approx(flushes[0], rel=WITHIN, abs=1 / old[2])


def test_what_counters_do_not_tell_is_said(recorded):
    """Three sizes at once come out as means, pieces of a cut as they were counted; the job says both."""
    three, cut = (
        (recorded / f"fiojob.{name}.fio").read_text().replace("\n# ", " ")
        for name in ("three", "cut")
    )

    assert "sizes: means of intervals" in three
    assert "may be pieces of larger ones" in cut


def test_three_sizes_keep_rate_and_bytes(recorded):
    """What is told of them is right: how many, and how much together."""
    old, new = both(recorded, "three")
    carried = [sum(s * n for s, n in sizes(side, "W").items()) / side[2] for side in (old, new)]

    assert rate(new, "W") == pytest.approx(rate(old, "W"), rel=WITHIN)
    assert carried[1] == pytest.approx(carried[0], rel=WITHIN)
