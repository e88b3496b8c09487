"""What requests and bytes of intervals tell of sizes, and what they do not."""

from __future__ import annotations

from random import Random

import pytest

from stackmap.features.fiojob.sizes import PAGE, Sizes, SizeSource, sizes_of

KIB = 1024


def drawn(sizes, intervals=20, requests=37, seed=3):
    """Intervals of *requests*, give or take some, each of a size drawn from *sizes* (size → weight)."""
    random = Random(seed)
    rows = []
    for _ in range(intervals):
        n = requests + random.randrange(-7, 8)
        rows.append((float(n), float(sum(random.choices([*sizes], [*sizes.values()], k=n)))))
    return rows


def shares(found):
    whole = sum(found.requests.values())
    return {size: n / whole for size, n in found.requests.items()}


@pytest.mark.parametrize("size", [512, 4096, 12288, 131072])
def test_one_size_is_told(size):
    found = sizes_of(drawn({size: 1}))

    assert (found.source, [*found.requests]) == (SizeSource.ONE, [size])


@pytest.mark.parametrize(
    "sizes",
    [{4: 7, 64: 3}, {8: 1, 128: 1}, {4: 97, 256: 3}, {4: 1, 8: 30, 9: 0}, {16: 1, 64: 1}],
    ids=str,
)
def test_two_sizes_are_told_exactly(sizes):
    """Mixed in every interval: the bytes are whole numbers of both, of no two others less alike."""
    sizes = {size * KIB: weight for size, weight in sizes.items() if weight}
    rows = drawn(sizes)
    found = sizes_of(rows)
    small, large = sizes
    many = sum((size - small * n) / (large - small) for n, size in rows)

    if large - small <= PAGE and small == PAGE:  # one page apart: any bytes would fit
        assert found.source is SizeSource.MEANS
        return
    assert found.source is SizeSource.TWO
    assert found.requests == {small: sum(n for n, _ in rows) - many, large: many}


def test_sizes_as_far_apart_as_their_grain_are_means():
    """16 and 24 KiB: any number of 8 KiB would be so, too."""
    assert sizes_of(drawn({16 * KIB: 1, 24 * KIB: 1})).source is SizeSource.MEANS


def test_strays_do_not_hide_two_sizes():
    """A probe of udev's in one interval of twenty."""
    rows = drawn({4 * KIB: 7, 64 * KIB: 3})
    rows[7] = (rows[7][0] + 3, rows[7][1] + 3 * 2560)

    found = sizes_of(rows)

    assert found.source is SizeSource.TWO
    assert [*found.requests] == [4 * KIB, 64 * KIB]


def test_three_sizes_at_once_are_their_means():
    """And said to be: nothing of what counters hold tells them apart."""
    found = sizes_of(drawn({4 * KIB: 5, 16 * KIB: 3, 64 * KIB: 2}))

    assert found.source is SizeSource.MEANS
    assert max(found.requests) < 64 * KIB


def test_sizes_that_follow_each_other_are_told():
    """Half an hour of 4 KiB, then of 32, then of 256: each interval is of one."""
    rows = [(40.0, 40.0 * size * KIB) for size in (4, 32, 256) for _ in range(10)]
    found = sizes_of(rows)

    assert shares(found) == {size * KIB: pytest.approx(1 / 3) for size in (4, 32, 256)}


def test_bytes_stay_what_they_were():
    """A mean between two pages is so many of the one and so many of the other."""
    rows = drawn({4 * KIB: 5, 16 * KIB: 3, 64 * KIB: 2}, intervals=200)
    found = sizes_of(rows)

    assert found.mean == pytest.approx(sum(b for _, b in rows) / sum(n for n, _ in rows), rel=0.02)
    assert sum(found.requests.values()) == pytest.approx(sum(n for n, _ in rows))
    assert all(size % PAGE == 0 for size in found.requests)


def test_rates_that_were_rounded_are_no_evidence():
    """A text's requests a second with two decimals: only means are taken from them."""
    rows = [(n + 0.37, size + 0.4) for n, size in drawn({4 * KIB: 7, 64 * KIB: 3})]

    assert sizes_of(rows).source is SizeSource.MEANS


def test_few_intervals_are_no_evidence():
    """Two intervals fit many pairs of sizes by chance."""
    assert sizes_of(drawn({4 * KIB: 7, 64 * KIB: 3}, intervals=2)).source is SizeSource.MEANS


def test_nothing_has_no_size():
    assert sizes_of([(0.0, 0.0)] * 5) is None
    assert sizes_of([]) is None


@pytest.mark.parametrize(
    "requests", [{4096: 1, 8192: 1, 16384: 1}, {4096: 995, 65536: 5}, {512: 7, 1024: 11, 2048: 13}]
)
def test_percents_are_a_hundred(requests):
    found = Sizes(requests, SizeSource.MEANS).percents()

    assert sum(found.values()) == 100
    assert all(percent > 0 for percent in found.values())


@pytest.mark.parametrize(
    ("size", "boundary", "expected"),
    [
        (1024 * KIB, 192 * KIB, 1024 * KIB),
        (256 * KIB, 192 * KIB, 256 * KIB),
        (512 * KIB, 640 * KIB, 512 * KIB),
        (4 * KIB, 192 * KIB, None),  # never cut
        (1024 * KIB, 256 * KIB, None),  # the pieces of all larger ones are alike
    ],
)
def test_pieces_are_put_together_where_their_sizes_say_so(size, boundary, expected):
    """Requests one after the other, cut as md does it: at each multiple of the boundary."""
    rows = []
    for second in range(5):
        starts = range(second * 60 * size, (second + 1) * 60 * size, size)
        pieces = sum((at + size - 1) // boundary - at // boundary + 1 for at in starts)
        rows.append((pieces, 60 * size))

    found = sizes_of(rows, boundary)

    if expected is None:
        assert found.source is not SizeSource.PIECES
    else:
        assert found.source is SizeSource.PIECES
        assert found.requests == {expected: 300}
