"""What rows of parity cost: the table in stackmap-kernel(7), "RAID write paths", measured page by page, and its averages."""

from __future__ import annotations

import pytest

from stackmap.features.whatif.geometry import (
    Cost,
    cold_reads,
    run_of,
    scattered,
    sequential,
)

# (data, parity): pages read for k = 1, 2 ... pages written, as tests/lab/test_rows.py measures them.
READS = {
    (2, 1): [1, 0],
    (3, 1): [2, 1, 0],
    (4, 1): [2, 2, 1, 0],
    (7, 1): [2, 3, 4, 3, 2, 1, 0],
    (2, 2): [1, 0],
    (4, 2): [3, 2, 1, 0],
    (6, 2): [3, 4, 3, 2, 1, 0],
}
SHAPES = pytest.mark.parametrize("shape", READS, ids=str)


@SHAPES
def test_a_cold_row_reads_what_was_measured(shape):
    """The fewer of what will be written, with parity, and what will not; between, in proportion."""
    expected = READS[shape]

    assert expected == [cold_reads(*shape, k) for k in range(1, shape[0] + 1)]
    assert cold_reads(*shape, 1.5) == (expected[0] + expected[1]) / 2


@SHAPES
def test_a_run_of_a_chunk_updates_each_row_for_one_page(shape):
    """Wherever it begins: parity is written once a page."""
    data, parity = shape

    assert scattered(data, parity, 1) == Cost(READS[shape][0], 1 + parity, 1)


@SHAPES
def test_a_run_of_a_stripe_in_sequence_reads_nothing(shape):
    """And writes parity once a row."""
    data, parity = shape

    assert sequential(data, parity, data) == Cost(0, (data + parity) / data, 1 / data)


@pytest.mark.parametrize(
    ("run", "reads", "writes"), [(1, 2 / 3, 2), (2, 3 / 6, 10 / 6), (3, 0, 4 / 3), (6, 0, 4 / 3)]
)
def test_a_stream_finds_what_it_left(run, reads, writes):
    """
    On RAID5 of four, by hand. Chunk by chunk: the first reads the two others, which then are known.
    By twos, over two stripes: ab reads c; c, and A of the next, which reads BC; BC. So 3 for 6 pages.
    """
    found = sequential(3, 1, run)

    assert (found.reads, found.writes) == pytest.approx((reads, writes))


@pytest.mark.parametrize(("run", "reads", "writes"), [(2, 6 / 6, 10 / 6), (3, 6 / 9, 14 / 9)])
def test_a_scattered_run_begins_anywhere_in_a_stripe(run, reads, writes):
    """Of two chunks: ab reads 1, bc 1, c and a 2 each: 6 for 6 pages; parity 1, 1, 2."""
    found = scattered(3, 1, run)

    assert (found.reads, found.writes) == pytest.approx((reads, writes))


@SHAPES
@pytest.mark.parametrize("run", [1.0, 1.25, 1.5, 2.0, 2.75])
def test_the_run_is_told_from_its_updates(shape, run):
    """As long as longer runs take fewer."""
    assert run_of(*shape, scattered(*shape, run).updates) == pytest.approx(run, abs=0.01)


@SHAPES
def test_longer_runs_never_cost_more_updates(shape):
    """Nor do fractions of a chunk make a jump."""
    updates = [scattered(*shape, 1 + step / 7).updates for step in range(60)]

    assert updates == sorted(updates, reverse=True)


@SHAPES
def test_a_row_per_page_is_a_run_of_one_chunk(shape):
    """No run takes more updates than a single page, so the answer is exact."""
    assert run_of(*shape, 1.0) == 1.0
