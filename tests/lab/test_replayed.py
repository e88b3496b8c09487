"""
Requests and bytes that ``whatif`` projects with a trace: each load was run on every layout, and the disks counted.

Half of the loads were looked at only after the model was finished (``UNSEEN``).
"""

from __future__ import annotations

from itertools import permutations
from statistics import median

import pytest

from tests.lab import judged, replayed

pytestmark = pytest.mark.lab("all")

KERNEL = "6.12"
LAYOUTS = {
    "r5": "raid5:members=4,chunk=64k",
    "r10": "raid10:members=4,chunk=64k",
    "r6": "raid6:members=5,chunk=64k",
    "r5w": "raid5:members=4,chunk=256k",
    "md5": "raid5:members=4,chunk=64k",
    "md10": "raid10:members=4,chunk=64k",
    "md11": "raid10:members=4,chunk=256k",
}
GROUPS = ("r5", "r10", "r6", "r5w"), ("md5", "md10", "md11")
SEEN = ["p4w", "p16mix", "c1mix", "c8w", "s4", "b64s", "f8", "hot", "mix"]
UNSEEN = ["p64w", "c32mix", "s64q4", "b4r", "db", "buf", "bufr"]
NEAR, WIDTH = 0.10, 0.30


@pytest.fixture(scope="module")
def runs(lab):
    """Return the runs by volume and load."""
    folder = lab("replayed", kernel=KERNEL, disks=0, virtual="yes", mem=4096, timeout=3000)
    found = judged.measured(folder).values()
    return {tuple(each.name.split("-")): replayed.Run(each) for each in found if not each.status}


def counts(runs, loads, *, traced):
    return [
        count
        for group in GROUPS
        for now, then in permutations(group, 2)
        for load in loads
        for count in replayed.counts(
            runs[now, load], runs[then, load], LAYOUTS[then], traced=traced
        )
    ]


def test_every_load_ran(runs):
    assert set(runs) == {(volume, load) for volume in LAYOUTS for load in (*SEEN, *UNSEEN)}


@pytest.mark.parametrize("loads", [SEEN, UNSEEN], ids=["seen", "unseen"])
def test_the_truth_is_near_and_in_a_narrow_band(runs, loads):
    """A refusal leaves the range of the counters, and counts like any other."""
    found = counts(runs, loads, traced=True)
    near = [each for each in found if abs(each.off) <= NEAR]

    assert len(near) >= 0.9 * len(found), [each.what for each in found if each not in near]
    outside = [each.what for each in found if not each.in_band]
    assert len(outside) <= 0.05 * len(found), outside
    assert median(each.width for each in found) <= WIDTH


def test_a_trace_is_narrower(runs):
    """Than counters alone, in the median and for most requests."""
    with_trace, without = (counts(runs, SEEN, traced=traced) for traced in (True, False))
    requests = [n for n, each in enumerate(without) if each.what.endswith("requests")]

    assert median(with_trace[n].width for n in requests) < median(
        without[n].width for n in requests
    )
