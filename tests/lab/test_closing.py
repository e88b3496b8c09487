"""
Closure at intervals of a second: what arrives at each layer is what was sent to it, within 1 %.

Where it is not, the report suspects something, and the kernel's own counts show
that it was right: what was in flight at the edges, who else read the disk, how
often a request was cut.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.lab import judged, truth

pytestmark = pytest.mark.lab("all")

EXACT = 0.01
STEADY = ("r5", "r10", "crypt", "linears", "three", "thins", "striped", "bent", "partitions")
# What was staged, and the words of the suspicion.
STAGED = {
    "delayed": "in flight",
    "beside": "something else reads or writes there",
    "pieces": "split on the way",
}
# 6.12 counts what a device took when it has ended, so that what is under way is nowhere counted yet.
UNSEEN = {("6.12", "delayed")}


@pytest.fixture
def workloads(lab, kernel):
    return judged.measured(lab("sharing", kernel=kernel, disks=7, timeout=1800))


def intervals(workload, top):
    """Return the stack of *top* in each interval, with its seconds."""
    samples = workload.folder / f"{workload.stack}.{workload.name}.diskstats"
    machine = workload.folder / f"{workload.stack}.tar"
    words = ["iostat", "--per-layer", "-J", "--input", str(samples), "--report", "all", top]
    result = CliRunner().invoke(stackmap, ["--from", str(machine), *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    reports = map(json.loads, result.stdout.splitlines())
    return [{**report["stacks"][0], "seconds": report["seconds"]} for report in reports]


@dataclass(frozen=True)
class Closed:
    """A layer in an interval: how far from 1, how much arrived, and what is suspected."""

    role: str
    off: float
    doubt: str | None


def closed(stack):
    for layer in stack["layers"]:
        ratio = layer["closure"]["total"]
        if ratio is not None:
            yield Closed(layer["role"], abs(ratio - 1), layer["doubt"])


@pytest.mark.parametrize("name", STEADY)
def test_every_interval_closes_or_says_what_is_suspected(workloads, name):
    """At a steady rate, at every layer; each interval is a second or more."""
    workload = workloads[f"sharing.{name}"]
    assert workload.status == 0
    for top in workload.tops:
        stacks = intervals(workload, top)
        assert len(stacks) >= 3
        assert min(stack["seconds"] for stack in stacks) >= 1
        found = [each for stack in stacks for each in closed(stack)]
        assert found
        assert [each for each in found if each.off > EXACT and not each.doubt] == []


def test_enough_was_looked_at(workloads):
    """However slow the machine: layers of intervals that had something to close."""
    looked = [
        each
        for name in STEADY
        for top in workloads[f"sharing.{name}"].tops
        for stack in intervals(workloads[f"sharing.{name}"], top)
        for each in closed(stack)
    ]
    assert len(looked) > 30


@pytest.mark.parametrize("name", STEADY)
def test_what_is_suspected_at_a_steady_rate_was_in_flight(workloads, name):
    """By the kernel's gauge of each device at the two edges; over the whole span nothing is missing."""
    workload = workloads[f"sharing.{name}"]
    for top in workload.tops:
        doubts = {each.doubt for stack in intervals(workload, top) for each in closed(stack)}
        for doubt in doubts - {None}:
            assert "in flight" in doubt
            assert most_in_flight(workload) > 0
        layers = workload.said(top)["layers"]
        ratios = (layer["closure"]["total"] for layer in layers)
        assert [r for r in ratios if r is not None and abs(r - 1) > EXACT] == []


def most_in_flight(workload):
    """Return the most requests that any sample saw under way on one device."""
    lines = (workload.folder / f"{workload.stack}.{workload.name}.diskstats").read_text()
    return max(int(f[11]) for f in map(str.split, lines.splitlines()) if len(f) >= 14)


@pytest.mark.parametrize("name", STAGED)
def test_what_was_staged_is_suspected(workloads, kernel, name):
    """And nothing else, but what was in flight where the interval has hardly any of it."""
    workload = workloads[f"sharing.{name}"]
    assert workload.status == 0
    (top,) = workload.tops
    found = [each for stack in intervals(workload, top) for each in closed(stack)]
    doubts = [each.doubt for each in found if each.doubt]
    right = [doubt for doubt in doubts if STAGED[name] in doubt]
    assert all("in flight" in doubt for doubt in doubts if doubt not in right)
    assert bool(right) == ((kernel, name) not in UNSEEN)
    assert [each for each in found if each.off > EXACT and not each.doubt] == []


def test_what_was_in_flight_arrived_later(workloads):
    """Over all that was counted nothing is missing; the kernel's gauge saw it under way."""
    workload = workloads["sharing.delayed"]
    assert most_in_flight(workload) > 10
    for layer in workload.said("patient")["layers"][1:]:
        assert layer["closure"]["total"] == pytest.approx(1, abs=EXACT)


def test_somebody_else_read_what_nobody_above_sent(workloads):
    """The kernel passed on less to that disk than arrived there, and to the others all."""
    workload = workloads["sharing.beside"]
    known = judged.devices(workload.folder / "sharing.tar")
    counted = workload.counted
    beyond = {}
    for name in ("sda", "sdb", "sdc", "sdd"):
        number = known[name]["dev"]
        sent = (
            each.count
            for (_, to, kind), each in counted.remaps.items()
            if (to, kind) == (number, "R")
        )
        beyond[name] = counted.arrived(number, "R").count - sum(sent)
    assert beyond["sda"] > 100
    assert set(beyond.values()) == {beyond["sda"], 0}


def test_pieces_were_cut_by_the_disk(workloads):
    """The kernel counted a cut for each request more than was sent."""
    workload = workloads["sharing.pieces"]
    known = judged.devices(workload.folder / "sharing.tar")
    volume, disk = (next(d["dev"] for d in known.values() if d["label"] == label or d["name"] == label)
                    for label in ("lab/one", "sde"))  # fmt: skip
    counted = workload.counted
    sent = counted.remapped(volume, disk, "W").count
    assert counted.splits[disk, "W"] == 3 * sent > 0
    assert counted.issued(disk, "W").count <= 4 * sent


def test_reads_of_a_member_are_told_as_nobodys(workloads):
    """A member that was read directly: the disks below close, and the members got more than was asked."""
    workload = workloads["sharing.member"]
    samples = workload.folder / "sharing.member.diskstats"
    words = ["--from", str(workload.folder / "sharing.tar"), "iostat", "--per-layer"]
    result = CliRunner().invoke(
        stackmap, [*words, "--input", str(samples), "lab/r10"], catch_exceptions=False
    )
    assert "of the reads at the members did not come from lab/r10" in result.output.replace(
        "\n  ", " "
    )
    known = judged.devices(workload.folder / "sharing.tar")
    numbers = {device["label"] or device["name"]: device["dev"] for device in known.values()}
    read = sum(
        workload.counted.arrived(numbers[f"lab/r10_rimage_{n}"], "R").bytes for n in range(4)
    )
    asked = workload.counted.arrived(numbers["lab/r10"], "R").bytes
    assert read > 1.1 * asked
    assert truth.read(samples.with_suffix(".truth")).remaps
