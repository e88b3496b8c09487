"""A table is read at once only where each of its lines is a row; otherwise line by line."""

from __future__ import annotations

import pytest

from stackmap.text.headings import Heading
from stackmap.text.table_layout import TableLayout

HEADING = Heading(TableLayout(["r/s", "w/s", "rkB/s", "wkB/s"]))


def row(name, *figures):
    return " ".join([name, *figures])


GOOD = row("sda", "2.00", "3.00", "5.00", "7.00")


@pytest.mark.parametrize(
    "line",
    [
        row("sdb", "2.00", "3.00", "5.00", "1e300"),  # no device does so much
        row("sdb", "inf", "3.00", "5.00", "7.00"),
        row("sdb", "nan", "3.00", "5.00", "7.00"),
        row("sdb", "-2.00", "3.00", "5.00", "7.00"),
        row("sdb", "2.00", "3.00", "5.00", "x"),
        row("sdb", "2.00", "3.00", "5.00"),
        row("sdb", "2.00", "3.00", "5.00", "7.00", "11.00"),
        row("13.00", "2.00", "3.00", "5.00", "7.00"),  # a figure in place of a name
        row("sda", "2.00", "3.00", "5.00", "7.00"),  # the same device twice
    ],
)
def test_one_line_that_is_no_row_spoils_the_table(line):
    assert HEADING.tables([GOOD]) is not None
    assert HEADING.tables([GOOD, line]) is None
    assert HEADING.tables([line, GOOD]) is None


def test_a_table_has_the_figures_of_its_rows():
    other = row("sdb", "11.00", "13.00", "17.00", "19.00")
    ((time, _),) = HEADING.tables([GOOD, other])
    assert time == ()
    sar = Heading(TableLayout(["tps", "rkB/s", "wkB/s"]), sar=True, prefix_words=1)
    lines = ["10:00:01 sda 2 3 5", "10:00:01 sdb 7 11 13", "10:00:02 sda 17 19 23"]
    assert [time for time, _ in sar.tables(lines)] == [("10:00:01",), ("10:00:02",)]
