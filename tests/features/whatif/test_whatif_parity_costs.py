"""The cost of a page on parity layouts, by hand: whether a stream finds its rows in the stripe cache."""

from __future__ import annotations

import pytest

from stackmap.features.whatif.geometry import Cost, cold_reads, sequential
from stackmap.features.whatif.pattern import Hypothesis, Pattern
from stackmap.features.whatif.requests import parity_costs
from stackmap.features.whatif.volume_context import volume_context
from stackmap.model.raid import layout
from tests.drawn import raid_volume, topology

KIB = 1024


def reads(share: float, chunk: int) -> float:
    """Pages read per page written on RAID5 of four, if *share* of the bytes is sequential."""
    pattern = Pattern(4 * KIB, 1.0, None, None, None, (Hypothesis(share, 1.0, None, share),), ())
    context = volume_context(topology(raid_volume("r", "raid10", 1)), "r")
    (cost,) = parity_costs(pattern, context, layout("raid5", 4, chunk))
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
