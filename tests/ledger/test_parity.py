"""The cost of parity: its identities, and each row of the table in stackmap-kernel(7), "RAID write paths"."""

from dataclasses import fields

import pytest

from stackmap.ledger.parity import full_stripe_bounds, parity
from stackmap.model.load import Flow, Load
from stackmap.model.raid import layout

PAGE = 4096.0

# level, members, k pages a row → pages read and written a row, cold: measured on 6.1 and 6.12.
MEASURED = [
    ("raid5", 3, 1, 1, 2), ("raid5", 3, 2, 0, 3),
    ("raid5", 4, 1, 2, 2), ("raid5", 4, 2, 1, 3), ("raid5", 4, 3, 0, 4),
    ("raid5", 5, 1, 2, 2), ("raid5", 5, 2, 2, 3), ("raid5", 5, 3, 1, 4), ("raid5", 5, 4, 0, 5),
    ("raid6", 4, 1, 1, 3), ("raid6", 4, 2, 0, 4),
    ("raid6", 6, 1, 3, 3), ("raid6", 6, 2, 2, 4), ("raid6", 6, 3, 1, 5), ("raid6", 6, 4, 0, 6),
]  # fmt: skip


def cost(level, members, rows):
    """The parity of a mix of rows, each (count, k, pages read, pages written)."""
    written = sum(n * k for n, k, _, _ in rows) * PAGE
    return parity(
        layout(level, members, 65536),
        Load(read=Flow(bytes=0.0), write=Flow(bytes=written)),
        (
            Flow(bytes=sum(n * r for n, _, r, _ in rows) * PAGE),
            Flow(bytes=sum(n * w for n, _, _, w in rows) * PAGE),
        ),
    )


@pytest.mark.parametrize(("level", "members", "pages", "read", "written"), MEASURED)
def test_rows_of_one_kind_are_told_exactly(level, members, pages, read, written):
    """A pure load: pages a row and cost come out as they went in; a cold cache hits nothing."""
    found = cost(level, members, [(7, pages, read, written)])

    assert found.reason == ""
    assert found.pages_per_row == pytest.approx(pages)
    assert found.cost_bytes_per_byte == pytest.approx((read + written) / pages)
    assert found.write_amplification == pytest.approx(written / pages)
    assert found.cache_hit in (None, pytest.approx(0.0))


@pytest.mark.parametrize(("level", "members"), sorted({(row[0], row[1]) for row in MEASURED}))
def test_the_range_holds_the_true_share_of_full_stripes(level, members):
    """Any two kinds of rows mixed: the share of bytes in full ones lies between the bounds."""
    kinds = [row[2:] for row in MEASURED if row[:2] == (level, members)]
    data = layout(level, members).data
    for a in kinds:
        for b in kinds:
            rows = [(11, *a), (5, *b)]
            found = cost(level, members, rows)
            full = sum(n * k for n, k, _, _ in rows if k == data)
            true = full / sum(n * k for n, k, _, _ in rows)

            assert found.full_stripe_low - 1e-9 <= true <= found.full_stripe_high + 1e-9


def test_the_range_is_exact_at_both_ends_and_for_two_data_members():
    """All one-page rows: none full; all full rows: all; with two data members, anywhere."""
    assert full_stripe_bounds(3, 1.0) == (0.0, 0.0)
    assert full_stripe_bounds(3, 1 / 3) == (pytest.approx(1.0), pytest.approx(1.0))
    for pace in (0.5, 0.6, 0.83, 1.0):
        low, high = full_stripe_bounds(2, pace)
        assert low == pytest.approx(high)


def test_reads_that_a_warm_cache_spared():
    """RAID5 of 4, one-page rows, 3 of every 8 reads found in the cache: 0.375."""
    found = cost("raid5", 4, [(4, 1, 1.25, 2)])

    assert found.cache_hit == pytest.approx(0.375)


def test_reads_beyond_those_for_parity():
    """RAID5 of 4, one-page rows that read 2.5 pages where reconstruction needs 2: 0.5 per page written."""
    found = cost("raid5", 4, [(4, 1, 2.5, 2)])

    assert found.surplus_read_bytes_per_byte == pytest.approx(0.5)
    assert cost("raid5", 4, [(4, 1, 1.25, 2)]).surplus_read_bytes_per_byte == 0.0


@pytest.mark.parametrize(("read", "mixed"), [(1.25, 0), (2.0, 5), (2.5, 5)])
def test_a_cost_does_not_depend_on_how_much_is_written(read, mixed):
    """All figures are shares of what is written: the same load 31 times as large has the same ones."""
    once, often = (cost("raid5", 4, [(11 * n, 1, read, 2), (mixed * n, 3, 0, 4)]) for n in (1, 31))

    assert figures_of(often) == pytest.approx(figures_of(once))


def figures_of(found):
    """Return the known figures of a cost by name."""
    values = {field.name: getattr(found, field.name) for field in fields(found)}
    return {name: value for name, value in values.items() if isinstance(value, float)}


def test_what_contradicts_is_not_rated():
    """Less parity than full stripes need, or more than a page a row: no figure, and a reason."""
    for written in (1.1, 2.3):
        found = cost("raid5", 4, [(10, 1, 2, written)])

        assert found.cost_bytes_per_byte is None
        assert found.reason


def test_reads_that_writes_cannot_explain_are_not_rated():
    """A check reads every member while the volume writes: the cost would be the check's."""
    found = cost("raid5", 4, [(10, 1, 9, 2)])

    assert found.cost_bytes_per_byte is None
    assert "check" in found.reason


@pytest.mark.parametrize("trouble", ["a resync is running"])
def test_trouble_is_passed_on(trouble):
    """Where the state says that the members do other work, that is the answer."""
    found = parity(layout("raid5", 4, 65536), Load(), (Flow(), Flow()), trouble)

    assert (trouble, None) == (found.reason, found.write_amplification)


def test_the_articles_first_table():
    """
    Seed 004, 07:10:01: 3.123 disk bytes a written byte where full stripes cost 1.333.

    Sectors a second: the volume read 3496.57 and wrote 2559.05, its four legs 6903.70 and 4585.36.
    """
    found = parity(
        layout("raid5", 4, 65536),
        Load(read=Flow(bytes=3496.57 * 512), write=Flow(bytes=2559.05 * 512)),
        (Flow(bytes=6903.70 * 512), Flow(bytes=4585.36 * 512)),
    )

    assert found.cost_bytes_per_byte == pytest.approx(3.123, abs=5e-4)
    assert found.ideal_bytes_per_byte == pytest.approx(4 / 3)
    assert found.one_page_by_writes == pytest.approx(0.688, abs=5e-4)
    assert found.one_page_by_reads == pytest.approx(0.666, abs=5e-4)
    assert 1 / found.pages_per_row == pytest.approx(0.792, abs=5e-4)


@pytest.mark.parametrize(("reads", "explained"), [(28, True), (31, False)])
def test_a_row_reads_at_most_its_other_pages_in_vain(reads, explained):
    """7 one-page rows of 4 members: 14 reads by reconstruction, and 2 per row in vain; not 3."""
    found = cost("raid5", 4, [(7, 1, reads / 7, 2)])

    assert (found.reason == "") is explained


def test_bitmap_writes_of_raid6_are_two_parity_pages_less():
    """
    170 pages of row updates per 100 written, of which 20 can be bitmap: g between 0.6 and 0.7.

    The bitmap's pages count half, for each row update has two parity pages.
    """
    raid6, volume = layout("raid6", 6, 65536), Load(Flow(bytes=0.0), Flow(bytes=100 * PAGE))
    members = (Flow(bytes=200 * PAGE), Flow(bytes=240 * PAGE))
    found = parity(raid6, volume, members, bitmap=20 * PAGE)

    assert found.full_stripe_high == pytest.approx(0.4 / 0.75)
    assert found.least_cost_bytes_per_byte == pytest.approx(2.2 + 2.0)


def test_a_page_on_three_members_reads_one_other():
    """11 one-page writes on RAID5 of 3 read 11 pages: each was a one-page write."""
    assert cost("raid5", 3, [(11, 1, 1, 2)]).one_page_by_reads == pytest.approx(1)
