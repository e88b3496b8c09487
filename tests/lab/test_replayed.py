"""
What ``whatif`` projects with a trace: each load was run on every layout, its latencies traced and its disks counted.

Half of the loads were looked at only after the model was finished (``UNSEEN``), ``LATER`` after it was mended.
"""

from __future__ import annotations

from itertools import permutations, product
from statistics import median

import pytest

from tests.lab import judged, replayed

pytestmark = pytest.mark.lab("all")

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
LATER = ["q3w", "mix12", "two", "think", "fs4", "prw"]  # on two layouts of each manager
FULL = {"p4w": "h4w", "p16mix": "h16mix", "p64w": "h64w"}  # the same load with 64 in flight
PAIRS = ("r5", "r10"), ("md5", "md10")
NEAR, WIDTH, HEADROOM = 0.10, 0.30, 0.15


@pytest.fixture(scope="module", params=["6.12", "newest"])
def runs(lab, request):
    """Return the runs by volume and load."""
    return runs_of(lab, request.param)


@pytest.fixture(scope="module", params=["6.1", "6.12", "newest"])
def counted(lab, request):
    """Return runs of other loads, on two layouts of each manager."""
    return runs_of(lab, request.param, "counted")


def runs_of(lab, kernel, case=""):
    folder = lab("replayed", case, kernel=kernel, disks=0, virtual="yes", mem=4096, timeout=3900)
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
    later = {
        (volume, load) for pair in PAIRS for volume in pair for load in (*LATER, *FULL.values())
    }
    assert set(runs) == later | {(v, load) for v in LAYOUTS for load in (*SEEN, *UNSEEN)}


@pytest.mark.parametrize(
    ("loads", "groups", "refused"),
    [((*SEEN, *UNSEEN), GROUPS, 0.15), (LATER, PAIRS, 0.0)],
    ids=["seen", "later"],
)
def test_latencies_are_near_and_in_their_band(runs, loads, groups, refused):
    """Those that were not refused: mean and median within 20 %, p95 within 30 %."""
    found = [
        each
        for group in groups
        for now, then in permutations(group, 2)
        for load in loads
        for each in replayed.times(runs[now, load], runs[then, load], LAYOUTS[then])
    ]
    known = [each for each in found if each.band is not None]
    assert len(known) >= (1 - refused) * len(found)
    for statistic, share, least in (("mean", 0.2, 0.9), ("p50", 0.2, 0.9), ("p95", 0.3, 0.85)):
        judged_ones = [each for each in known if each.statistic == statistic]
        far = [each.what for each in judged_ones if not each.is_within(share)]
        assert len(far) <= (1 - least) * len(judged_ones), far
        bands = [(each.band.low <= each.true <= each.band.high) for each in judged_ones]
        assert sum(bands) >= 0.88 * len(bands)


def test_latencies_from_counters_alone(counted):
    """Means within 35 % in most cases, and in the range in nearly all; a refusal is a miss."""
    loads = sorted({load for _, load in counted})
    assert len(loads) >= 20
    means = [
        each
        for pair in PAIRS
        for now, then in permutations(pair)
        for load in loads
        for each in replayed.times(
            counted[now, load], counted[then, load], LAYOUTS[then], traced=False
        )
        if each.statistic == "mean"
    ]
    far = [each.what for each in means if not each.is_within(0.35)]
    assert len(far) <= 0.2 * len(means), far
    known = [(each, each.band) for each in means if each.band is not None]
    inside = [each for each, band in known if band.low <= each.true <= band.high]
    assert len(inside) >= 0.9 * len(means), [e.what for e in means if e not in inside]


def test_headroom_is_what_a_full_queue_did(runs):
    """On the present layout and the other one: in most cases within 15 %, and within 15 % of the range in all but a few."""
    found = [
        replayed.headroom(runs[now, load], runs[then, full], LAYOUTS[then])
        for pair in PAIRS
        for now, then in product(pair, repeat=2)
        for load, full in FULL.items()
    ]

    far = [each.what for each in found if abs(each.off) > HEADROOM]
    assert len(far) <= 0.25 * len(found), far
    ranges = [each.band.widened(HEADROOM) for each in found]
    outside = [
        each.what
        for each, band in zip(found, ranges, strict=True)
        if not band.low <= each.true <= band.high
    ]
    assert len(outside) <= 0.1 * len(found), outside


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
