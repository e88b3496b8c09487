"""Aligned tables within a width."""

from __future__ import annotations

import random

import pytest

from stackmap.render.text import MIN_NAME, _padded, _tabulated, aligned

NAMES = ["vghdd/vm-disk1 (dm-8)", " rimage_0 (dm-1)", "vghdd/vm-disk1-r10_rimage_3 (dm-16)"]
ROWS = [["DEVICE", *(f"column{n}" for n in range(9))], *([name, *["123.4"] * 9] for name in NAMES)]


def table(width, rows=ROWS, words=1):
    return aligned(rows, words=words, columns=len(rows[0]), width=width)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_a_table_fits(width):
    """No line is wider, no figure is lost, and each row keeps the end of its name."""
    lines = table(width)

    assert max(map(len, lines)) <= width
    assert sum(line.count("123.4") for line in lines) == 9 * len(NAMES)
    for heading in ROWS[0]:
        assert sum(heading in line.split() for line in lines) >= 1
    assert any("image_3" in line for line in lines)


def test_names_are_whole_where_there_is_room():
    text = "\n".join(table(200))

    for name in NAMES:
        assert name in text
    assert "…" not in text


def test_names_are_shortened_before_columns_are_divided():
    """One table as long as the names can keep 14 columns."""
    narrowest = MIN_NAME + 9 * len(" column0")

    assert "" not in table(narrowest)
    assert "" in table(narrowest - 1)


def test_longer_names_are_shortened_first():
    """A short text in the second column stays whole."""
    rows = [["SOURCE", "USED BY", "sent/s"], ["metadata of vghdd/vm-disk1-r10", "/srv", "1.00"]]
    (_, line) = table(34, rows, words=2)

    assert " /srv " in line
    assert line.startswith("metadata o…")


def test_titles_widen_nothing():
    rows = [["", "IOPS", "KiB/s"], ["READS AND WRITES OF ALL KINDS"], ["disks", "1.00", "4.0"]]

    assert table(40, rows)[1] == "READS AND WRITES OF ALL KINDS"
    assert len(table(40, rows)[2]) < 25


def test_whole_rows_are_neither_shortened_nor_divided():
    """For programs that read a line per row: a line per row, with every name and figure."""
    lines = aligned(ROWS, words=1, columns=len(ROWS[0]), width=40, whole=True)

    assert [line.split("  ")[0].strip().startswith(name.strip()) for line, name in zip(lines[1:], NAMES, strict=True)] == [True] * 3  # fmt: skip
    assert [line.count("123.4") for line in lines] == [0, 9, 9, 9]


@pytest.mark.parametrize("seed", range(200))
def test_ascii_cells_are_drawn_as_tabulate_draws_them(seed):
    """Titles, indented names, empty cells and columns, and rows that end early."""
    chance = random.Random(seed)
    columns = chance.randrange(1, 6)
    words = chance.randrange(columns + 1)
    cells = ["", "0.1", "12345.67", "  sda", "vg/lv (dm-3)", "{}", "%s", "-", "× top", "a…b"][
        : chance.randrange(2, 11)
    ]
    rows = [
        [
            chance.choice(cells)
            for _ in range(chance.choice((1, columns, columns, max(1, columns - 1))))
        ]
        for _ in range(chance.randrange(1, 8))
    ]
    gap = chance.choice([" ", "  "])

    assert _padded(rows, words, columns, gap) == _tabulated(rows, words, columns, gap)
