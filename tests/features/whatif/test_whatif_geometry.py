"""What rows of parity cost, by the table in stackmap-kernel(7), "RAID write paths", and by hand."""

from __future__ import annotations

from random import Random

import pytest

from stackmap.features.whatif.bitmap import Hypothesis
from stackmap.features.whatif.geometry import (
    Cost,
    Geometry,
    cold_reads,
    run_of,
    scattered,
    sequential,
)
from stackmap.features.whatif.pattern import Pattern
from stackmap.features.whatif.requests import parity_costs
from stackmap.features.whatif.volume_context import volume_context
from stackmap.model.raid import layout
from tests.drawn import raid_volume, topology

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


KIB = 1024


def reads(share: float, chunk: int) -> float:
    """Pages read per page written on RAID5 of four, if *share* of the bytes is sequential."""
    pattern = Pattern(4 * KIB, 1.0, None, None, None, (Hypothesis(share, 1.0, None, share),), ())
    context = volume_context(topology(raid_volume("r", "raid10", 1)), "r")
    cost = parity_costs(pattern, context, layout("raid5", 4, chunk))[0]
    return cost.page.reads


@pytest.mark.parametrize(
    ("share", "chunk", "expected"),
    [
        (0.23, 512, 2),
        (0.29, 512, 0.71 * 2 + 0.29 * 2 / 3),
        (0.05, 64, 2),
        (0.07, 64, 0.93 * 2 + 0.07 * 2 / 3),
    ],
)
def test_a_slow_stream_finds_its_rows_gone(share, chunk, expected):
    """
    A random page reads the two others of its row; a stream of three chunks reads two pages per row.

    The cache has 256 rows, or four chunks if that is more: of 512 KiB 4 × 128. A stream returns to a
    row after a chunk, while all writes pass 128 ÷ share rows: more than 512 below a share of 1/4. Of
    64 KiB it is 16 ÷ share, more than 256 below 1/16.
    """
    assert reads(share, chunk * KIB) == pytest.approx(expected)


def test_a_page_of_raid5_of_three_reads_the_other_one():
    """d - 1 = 1 page to reconstruct, not 1 + 1 to modify; in sequence it is read once for both pages."""
    assert cold_reads(2, 1, 1) == 1
    assert sequential(2, 1, 1).reads == 1 / 2


@pytest.mark.parametrize(
    ("level", "members", "chunk", "expected"),
    [
        ("raid6", 5, 64, 1.3),
        ("raid6", 7, 64, 3),
        ("raid5", 4, 128, 2),
    ],
)
def test_measured_rows_carry_over_to_rows_of_the_same_chunks_only(level, members, chunk, expected):
    """
    RAID5 of four with chunks of 64 KiB reads 1.3 pages per one-page row, of 2 with a cold cache.

    RAID6 of five has the same three data chunks per row: 1.3 × min(1 + 2, 2) ÷ 2. Other rows show
    nothing about its cache, so their reads are cold: min(1 + 2, 4) for five data chunks, min(1 + 1, 2)
    for three chunks of 128 KiB.
    """
    rows = Cost(reads=1.3, writes=2.0, updates=1.0)
    pattern = Pattern(4 * KIB, 1.0, None, rows, None, (Hypothesis(0.0, 1.0, None, 0.0),), ())
    context = volume_context(topology(raid_volume("r", "raid5", 1)), "r")
    assert (context.present.data, context.present.chunk) == (3, 64 * KIB)

    (cost,) = parity_costs(pattern, context, layout(level, members, chunk * KIB))

    assert cost.page.reads == pytest.approx(expected)


@pytest.mark.parametrize(
    ("level", "members"), [("raid1", 2), ("raid10", 4), ("raid5", 4), ("raid6", 5)]
)
@pytest.mark.parametrize("missing", [frozenset(), frozenset({1})])
def test_a_read_takes_each_byte_once(level, members, missing):
    """Of several copies one is read. Only bytes of a lost member without a copy need all the others."""
    how = layout(level, members, 65536 if level != "raid1" else None)
    geometry, random = Geometry(how, 1 << 26, missing), Random(members)
    for _ in range(101):
        offset, size = random.randrange(1 << 25), random.randrange(1, 1 << 19)
        pieces = list(geometry.read(offset, size))
        whole = Geometry(how, 1 << 26).read(offset, size)
        for (one_of, parts), (_, healthy) in zip(pieces, whole, strict=True):
            taken = [part.size for part in (parts[:1] if one_of else parts)]
            lost = how.parity and healthy[0].member in missing
            assert taken == [healthy[0].size] * (members - 1 if lost else 1)
            assert missing.isdisjoint(part.member for part in parts)
        assert sum(parts[0].size for _, parts in pieces) == size
