"""
A load recorded on one layout, projected on another, and run there: the kernel's own count of it is the judge.

The table of all is printed at the end of the run. Each case is booted on one kernel: all take an hour.
"""

from __future__ import annotations

from itertools import permutations
from statistics import median

import pytest

from tests.lab import judged, predicted
from tests.lab.predicted import PREDICTION

pytestmark = pytest.mark.lab("all")

# The loads of each case in migrate.sh, and the kernel it is booted on.
CASES = {
    "rates": "6.1",
    "durable": "6.12",
    "mixes": "6.1",
    "big": "6.12",
    "sizes": "6.1",
    "md": "6.12",
    "bursts": "6.12",
    "chunks": "newest",
}
LOADS = {
    "rates": "rand4k-write rand8k-mixed rand16k-write rand32k-write seq4k-write seq128k-write",
    "durable": "seq128k-read rand8k-fsync database rand4k-deep database-deep ext4-fsync",
    "mixes": "mix-stream-random rand4k-2s rand4k-8s seq4k-full seq4k-q8 rand4k-full-q8",
    "big": "seq1m-4s buffered-stream three-jobs rand64k-q8 randread4k-q16 buffered-random",
    "sizes": "three-sizes rand4k-fsync-8s seq16k-q4 hot4k-30s bigread-smallwrite seq384k-q2",
    "md": "rand4k-8s mix-stream-random seq4k-q8 buffered-stream rand16k-q8 rand8k-fsync",
    "bursts": "bursts-64k bursts-4k zipf-4k log-8k two-streams mix-7030",
    "chunks": "bursts-64k rand24k seq256k log-8k two-streams mix-stream-random",
}
# By the digits of the volumes' names; "w" has wide chunks.
LAYOUTS = {"5": "raid5:members=4", "10": "raid10:members=4", "6": "raid6:members=5"}
WIDE = {
    "5": "raid5:members=4,chunk=128k",
    "5w": "raid5:members=4,chunk=512k",
    "10w": "raid10:members=4,chunk=512k",
}

NEAR, MOST = 0.20, 0.90  # likely is that near the truth in that share of all
WIDTH = 0.75  # of the likely figure: the median width of the band


@pytest.fixture
def booted(lab):
    """Return the runs of a case by the digits of their layout and their load."""

    def runs(case):
        disks = 13 if case == "md" else 5
        folder = lab("migrate", case=case, kernel=CASES[case], disks=disks, timeout=3000)
        found = judged.measured(folder).values()
        return {
            (run.name.partition("-")[0].lstrip("rmd"), run.name.partition("-")[2]): run
            for run in found
        }

    return runs


def layouts(case):
    """Return the layouts of a case by the digits of their volumes' names."""
    return WIDE if case == "chunks" else LAYOUTS


def predictions(runs, case):
    """Yield what each run says of each other layout, beside what the same load did there."""
    for now, then in permutations(layouts(case), 2):
        for load in LOADS[case].split():
            yield predicted.prediction(runs[now, load], runs[then, load], layouts(case)[then])


@pytest.mark.parametrize("case", CASES)
def test_every_load_ran(booted, case):
    """On each of the three layouts, to the end of the samples."""
    runs = booted(case)

    assert set(runs) == {(layout, load) for layout in layouts(case) for load in LOADS[case].split()}
    assert [key for key, run in runs.items() if run.status] == []


@pytest.mark.parametrize("case", CASES)
def test_the_truth_is_in_the_band(booted, request, case):
    """Of every load on every other layout: requests of the disks per request at the volume, and bytes per byte."""
    found = list(predictions(booted(case), case))
    request.node.user_properties.extend((PREDICTION, each.row(CASES[case])) for each in found)

    assert [each.row(CASES[case]) for each in found if not each.in_band] == []


def test_what_is_shown_as_likely_is_near(booted):
    """In nine of ten of all cases, with bands that are not so wide that they say nothing."""
    found = [each for case in CASES for each in predictions(booted(case), case)]
    near = [each for each in found if abs(each.disks.likely_off) <= NEAR]

    assert len(near) >= MOST * len(found)
    assert median(each.disks.width for each in found) <= WIDTH


@pytest.mark.parametrize("case", CASES)
def test_the_present_layout_checks_the_model(booted, case):
    """What the model makes of a load on the layout it was measured on is what was counted there."""
    for (layout, _), run in booted(case).items():
        found = predicted.prediction(run, run, layouts(case)[layout])
        assert found.in_band, found.row(CASES[case])
