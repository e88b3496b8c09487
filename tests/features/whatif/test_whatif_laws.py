"""Laws of the simulation, of how disks serve, and of the tables: what holds whatever the figures are."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.document.blocks import Table, Value
from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.document import blocks, comparison
from stackmap.features.whatif.services import NANO, TIMES, _quantiles
from stackmap.features.whatif.simulation import Arrival, Simulation
from stackmap.features.whatif.volume_context import SpaceBeside
from stackmap.model.raid import PAGE
from tests.features.whatif.test_whatif import RANDOM, machine, projected
from tests.features.whatif.test_whatif_simulation import SIZE, loop, stack

BUCKETS = st.dictionaries(
    st.integers(1, 50).map(lambda n: (n * 100_000, (n + 1) * 100_000)),
    st.integers(1, 500),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize(("level", "members"), [("raid1", 2), ("raid10", 4), ("raid5", 4), ("linear", 1)])  # fmt: skip
def test_an_empty_flush_is_at_every_member(level, members):
    """It ends when the last one has written out its cache, here one after the other request at each disk."""
    disk = Service((0.001,), (0.002,), flush=0.007)
    flushes = [Arrival(float(n), "flush", 0, 0) for n in range(5)]

    outcome = Simulation(stack(level, members, disk)).run(flushes)

    assert outcome.below.disks["flush"] == 5 * members
    assert outcome.latencies["flush"] == pytest.approx([0.007] * 5)


def test_a_stream_of_reads_stays_on_one_spinning_copy():
    """Its head is there, however many wait; random reads go to both (raid1.c, read_balance)."""
    disk = Service((0.004,), (0.004,), rotational=True)
    stream = [Arrival(0.001 * n, "read", n * PAGE, PAGE) for n in range(200)]
    draw = Random(1)
    random = [a._replace(offset=draw.randrange(SIZE // PAGE) * PAGE) for a in stream]

    one, both = (Simulation(stack("raid1", 2, disk)).run(each).busy for each in (stream, random))

    assert min(one) == 0.0
    assert min(both) > 0.3 * max(both)


@given(st.integers(1, 12), st.sampled_from(["raid0", "raid1", "raid10", "raid5", "raid6"]))
def test_a_loop_keeps_its_depth(depth, level):
    """Little's law: requests in flight are rate times latency, as the program sees it."""
    outcome = Simulation(stack(level, 6)).run(loop(depth, 300))

    taken = sum(map(sum, outcome.latencies.values()))
    assert taken / outcome.seconds == pytest.approx(depth, rel=0.08)
    assert all(0.0 <= share <= 1.0 + 1e-9 for share in outcome.busy)
    for way in outcome.seen:
        assert sum(outcome.seen[way]) <= sum(outcome.latencies[way]) + 1e-9


@given(BUCKETS)
def test_times_are_spread_as_they_were_counted(counts):
    """Equally likely, ascending, and each bucket has its share of them."""
    times = _quantiles(counts, None)
    every = sum(counts.values())

    assert len(times) == TIMES
    assert list(times) == sorted(times)
    for (low, high), hits in counts.items():
        inside = sum(low * NANO <= time < high * NANO for time in times)
        assert abs(inside - TIMES * hits / every) <= 1


@given(BUCKETS, st.integers(1, 50))
def test_no_time_is_longer_than_the_longest_request(counts, longest):
    """A bucket that begins above it counts nothing; without any other there are no times."""
    limit = longest * 100_000 * NANO

    times = _quantiles(counts, limit)

    assert bool(times) == any(low * NANO <= limit for low, _ in counts)
    assert all(time <= limit + 100_000 * NANO for time in times)


@pytest.mark.parametrize(("free", "suffices"), [((10, 10), True), ((10, 9), False), ((11, 3, 10), True)])  # fmt: skip
def test_room_suffices_where_enough_pvs_have_as_much_as_is_needed(free, suffices):
    assert SpaceBeside(10, 2, free).suffices == suffices


def tables(found):
    return {block.key: block for block in found if isinstance(block, Table)}


def figures(table):
    """The rows of figures, by the names that CSV has."""
    return {row[0].names[0]: row[1:] for group in table.groups for row in group.rows}


def likely(cell):
    return cell.number if isinstance(cell, Value) else None


def test_a_change_is_the_projected_figure_by_the_present_one():
    """In every row of both layers; below a bitmap its writes have a row, and the disks' requests include them."""
    rows = figures(tables(blocks(projected(machine("raid5"), RANDOM, "raid10"), "p"))["p"])

    for now, then, *_, change in rows.values():
        if likely(now):
            assert likely(change) == pytest.approx(likely(then) / likely(now) - 1)
    for place in (0, 1):
        parts = [f"disks: {each}" for each in ("reads", "writes", "bitmap writes")]
        total = sum(likely(rows[part][place]) for part in parts)
        assert likely(rows["disks: requests"][place]) == pytest.approx(total)
        assert likely(rows["disks: requests per disk"][place]) == pytest.approx(total / 4)
    assert not any(name.startswith("members: bitmap") for name in rows)


def test_percentiles_are_of_several_intervals():
    """One interval is its own median; two that are alike are, too."""
    one, two = (
        tables(blocks(projected(machine("raid5"), [RANDOM] * count, "raid10"), "p"))
        for count in (1, 2)
    )

    assert "p-percentiles" not in one
    for row in figures_of_rows(two["p-percentiles"]):
        assert len(set(row)) == 1


def figures_of_rows(table):
    return [[likely(cell) for cell in row[1:]] for group in table.groups for row in group.rows]


def test_several_layouts_have_one_load():
    """What is now is the same for all, and each has a row."""
    found = [projected(machine("raid5"), RANDOM, each) for each in ("raid10", "raid1", "raid0")]

    (table,) = tables(comparison(found)).values()

    assert len([row for group in table.groups for row in group.rows]) >= len(found)
