"""Rows of parity that several writes share: what sleeps, what waits, and in which order md comes to them."""

from __future__ import annotations

import pytest

from stackmap.features.whatif.disks import Service
from stackmap.features.whatif.geometry import Geometry
from stackmap.features.whatif.simulation import Arrival, Simulation, Stack
from stackmap.model.raid import PAGE, layout

CHUNK, SIZE = 64 << 10, 96 << 20
SECOND = Service((1.0,), (1.0,), servers=64)  # each request takes 1 s, however many there are
HALF = PAGE // 2


def simulated(*writes, members=4):
    """What writes of (seconds, offset, size), which one thread sends, leave."""
    return run([Arrival(at, "write", start, size) for at, start, size in writes], members)


def run(arrivals, members):
    """With an empty stripe cache: what is written twice was not written before."""
    found = layout("raid5", members, CHUNK)
    simulation = Simulation(
        Stack(found, SIZE, (SECOND,) * members, range(members), None, held=False)
    )
    simulation.geometry.remember = lambda *_: None
    return simulation.run(arrivals)


def test_a_write_alone_reads_and_writes():
    outcome = simulated((0.0, 0, PAGE))

    assert outcome.seen["write"] == pytest.approx([2.0], abs=0.01)


def test_a_program_that_writes_the_same_sectors_again_sleeps():
    """
    Until md takes the first write at 1 s, when the rest of its row is read.

    Then it writes until 2 s, and the second one until 3 s. The third begins when the second may, 0.8 s late.
    """
    outcome = simulated((0.0, 0, PAGE), (0.1, 0, PAGE), (0.2, 30 * CHUNK, PAGE))

    assert outcome.seen["write"] == pytest.approx([2.0, 2.9, 2.0], abs=0.02)
    assert sum(outcome.latencies["write"]) - sum(outcome.seen["write"]) == pytest.approx(0.8, abs=0.02)  # fmt: skip


def test_other_sectors_of_a_page_join_a_row_that_is_read():
    """Both are written once what they need is there."""
    outcome = simulated((0.0, 0, HALF), (0.5, HALF, HALF))

    assert outcome.seen["write"] == pytest.approx([2.0, 1.5], abs=0.02)
    assert outcome.below.disks == {"caused": 2, "write": 2}


def test_a_row_that_is_written_is_not_touched_meanwhile():
    """The second half comes while the first is written, and waits; nothing is read again."""
    outcome = simulated((0.0, 0, HALF), (1.5, HALF, HALF))

    assert outcome.seen["write"] == pytest.approx([2.0, 1.5], abs=0.02)
    assert outcome.below.disks == {"caused": 2, "write": 4}


def test_a_part_of_a_page_needs_its_rest():
    """Of three members: a whole page needs the other one of its row; of a half its own is needed, and the parity."""
    whole, half = simulated((0.0, 0, PAGE), members=3), simulated((0.0, 0, HALF), members=3)

    assert (whole.below.disks["caused"], half.below.disks["caused"]) == (1, 2)


def test_two_halves_are_a_page():
    """They are under one plug."""
    both = [Arrival(0.0, "write", 0, HALF, more=True), Arrival(0.0, "write", HALF, HALF)]

    assert run(both, 3).below.disks["caused"] == 1


def test_a_program_sleeps_while_all_stripes_are_in_use():
    """Sixteen chunks take 256; the next one sleeps until enough are free after 2 s, three more come then."""
    writes = [(0.0, 3 * n * CHUNK, CHUNK) for n in range(20)]

    outcome = simulated(*writes)

    late = sum(outcome.latencies["write"]) - sum(outcome.seen["write"])
    assert late == pytest.approx(3 * 2.0, rel=0.02)
    assert sorted(outcome.seen["write"]) == pytest.approx([2.0] * 19 + [4.0], rel=0.02)


def test_md_comes_to_rows_in_the_order_of_the_sectors():
    """From the end of a chunk to the beginning of the next; the pages at both ends are rows of their own."""
    geometry = Geometry(layout("raid5", 4, CHUNK), SIZE)

    rows = geometry.rows(CHUNK - 2 * PAGE - 512, 4 * PAGE)

    assert [(each.start, each.length, places) for each, places in rows] == [
        (CHUNK - 3 * PAGE, PAGE, {0}),
        (CHUNK - 2 * PAGE, 2 * PAGE, {0}),
        (0, PAGE, {1}),
        (PAGE, PAGE, {1}),
    ]
