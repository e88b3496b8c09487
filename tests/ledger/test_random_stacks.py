"""Laws of the ledger on random stacks under random loads, against the traffic that was really sent."""

import math
from itertools import pairwise

import pytest

from stackmap.ledger.amounts import NOTHING
from stackmap.ledger.blame import blame, targets
from stackmap.ledger.ledger import Ledger
from tests.ledger.simulated import machine

SEEDS = range(240)
EPSILON = 1e-6  # a share: sums of floats
FIGURES = ("arrivals", "bytes")


@pytest.fixture(scope="module")
def measured():
    """Random machines, each with the ledger of its counters."""
    machines = [machine(seed) for seed in SEEDS]
    return [(drawn, Ledger(drawn.topology(), drawn.loads(), 1.0)) for drawn in machines]


def in_order(*figures: float | None) -> bool:
    """Whether the known figures do not fall."""
    known = [figure for figure in figures if figure is not None]
    return all(
        a <= b or math.isclose(a, b, rel_tol=EPSILON, abs_tol=1e-6) for a, b in pairwise(known)
    )


def bounds(traffic, figure):
    low, high = traffic.bounds
    return getattr(low, figure), getattr(high, figure)


def sent(drawn, top: str, name: str, direction: str) -> dict[str, float]:
    """What *top* really sent to a device: the data, or for a device of metadata the metadata."""
    kept = drawn.metadata if "_rmeta_" in name else drawn.truth
    return dict(zip(FIGURES, kept[top, name][direction], strict=True))


def all_traffic(ledger):
    """Every figure of a ledger with its place: shares, rows and causes."""
    for top in ledger.tops:
        for name, share in ledger.shares(top).items():
            for direction in ("read", "write", "total"):
                yield (top, name, direction), share.part(direction)
        for row in ledger.rows(top):
            yield (top, row.edge, row.direction, row.cause), row.traffic
        for key, traffic in ledger.disk_traffic_by_cause(top).items():
            yield (top, *key), traffic


def test_what_was_sent_is_in_the_range(measured):
    """At every device, for every volume: what it really sent there is the figure, or within its range."""
    for drawn, ledger in measured:
        for top in ledger.tops:
            for name, share in ledger.shares(top).items():
                for direction in ("read", "write"):
                    part = share.part(direction)
                    for figure, truth in sent(drawn, top, name, direction).items():
                        low, high = bounds(part, figure)
                        assert in_order(low, truth, high), (top, name, direction, truth, part)


def test_ranges_are_known_and_narrow_somewhere(measured):
    """The law above is not kept by knowing nothing: most figures are exact, and some are ranges."""
    parts = [t for _, ledger in measured for _, t in all_traffic(ledger) if t.arrivals]
    ranges = [part for part in parts if part.is_range]
    assert 0.02 < len(ranges) / len(parts) < 0.5


def test_a_value_is_within_its_bounds(measured):
    """0 ≤ low ≤ value ≤ high."""
    for _, ledger in measured:
        for place, traffic in all_traffic(ledger):
            for figure in FIGURES:
                low, high = bounds(traffic, figure)
                assert in_order(0.0, low, getattr(traffic, figure), high), (place, traffic)


def test_causes_sum_to_what_was_sent_to_the_disks(measured):
    """All that a volume really caused at its disks, data and metadata, is the sum of its causes."""
    for drawn, ledger in measured:
        for top in ledger.tops:
            disks = [name for name in ledger.shares(top) if not ledger.topology.below(name)]
            causes = ledger.disk_traffic_by_cause(top)
            for direction in ("read", "write"):
                total = sum((t for (_, d), t in causes.items() if d == direction), start=NOTHING)
                for place, figure in enumerate(FIGURES):
                    truth = sum(
                        kept[top, disk][direction][place]
                        for kept in (drawn.truth, drawn.metadata)
                        for disk in disks
                    )
                    low, high = bounds(total, figure)
                    assert in_order(low, truth, high), (top, direction, truth, total)


def test_shares_are_from_0_to_1(measured):
    """The shares of a disk sum to 1; a volume has no more of a disk than all of it."""
    for _, ledger in measured:
        for disk in (d.name for d in ledger.topology if not ledger.topology.below(d.name)):
            blamed = blame(ledger, disk)
            for share in (blamed.share, blamed.byte_share):
                shares = [share(loader) for loader in blamed.loaders]
                known = [value for value in shares if value is not None]
                assert all(in_order(0.0, value, 1.0) for value in known)
                assert not known or sum(known) == pytest.approx(1.0)
        for top in ledger.tops:
            for target in targets(ledger, top):
                assert in_order(0.0, target.of_volume, 1.0), target
                assert in_order(0.0, target.of_device, 1.0), target
