"""What a text has more than once is read once, and is the same as if it were read each time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.text import intervals, table_reader

TABLE = "Device            r/s     w/s     rkB/s     wkB/s   await  %util"
PARAGRAPHS = (
    f"{TABLE}\nsda 2.00 3.00 5.00 7.00 11.00 13.00\ndm-2 17.00 19.00 23.00 29.00 31.00 37.00",
    f"{TABLE}\nsda 41.00 43.00 47.00 53.00 59.00 61.00",
    f"{TABLE}\nsda 2,00 3,00 5,00 7,00 11,00 13,00",
    f"{TABLE}\nsda 2.0k 3.00 5.00 7.00 11.00 13.00",
    f"{TABLE}\nsda 2.00 3.00 5.00 1e18 11.00 13.00",
    f"{TABLE}\nsda 2.00 3.00\n5.00 7.00 11.00 13.00\nsdb 2.00 3.00",
    f"{TABLE}\nsda 2.00 3.00 5.00 7.00 11.00 13.00\nsda 17.00 19.00 23.00 29.00 31.00 37.00",
    f"{TABLE}\nsda 2.00 3.00 5.00 7.00 11.00 13.00\n{TABLE}\nsdb 17.00 19.00 23.00 29.00 31.00 37.00",
    f"{TABLE}\nsda 2.00 3.00 5.00 7.00 11.00 13.00\n```",
    f"07:10:11\n{TABLE}\nsda 2.00 3.00 5.00 7.00 11.00 13.00",
    TABLE,
    "sdb 2.00 3.00 5.00 7.00 11.00 13.00",
    "sdb\n2.00 3.00 5.00 7.00 11.00 13.00",
    "sdb",
    "Device       tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\nsda 2.00 3.00 5.00 7 11",
    "     r/s     rkB/s   r_await Device\n2.00 3.00 5.00 sda",
    "     w/s     wkB/s   w_await Device\n7.00 11.00 13.00 sda",
    "07:10:01          DEV       tps  rd_sec/s wr_sec/s\n07:10:11 sda 2.00 3.00 5.00\nAverage: sda 7.00 11.00 13.00",
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           2.00    3.00    5.00",
    "Linux 6.1.0 (lab) 11/21/26 _x86_64_ (4 CPU)",
    "07:10:31 PM",
    "...",
    "prose, and more of it than a time would have\nsda 2.00 3.00 5.00 7.00 11.00 13.00",
    "",
)  # fmt: skip


def read(*chunks: str) -> list[Interval]:
    try:
        return list(intervals((chunk.encode() for chunk in chunks), "text"))
    except InputError:
        return []


@given(
    st.lists(st.sampled_from(PARAGRAPHS), max_size=12).map(lambda some: [*some, *some]),
    st.sampled_from(["\n\n", "\n\n\n", "\n"]),
    st.sampled_from([0, 3, table_reader.MAX_KEPT]),
)
def test_a_repeated_paragraph_tells_the_same(paragraphs, between, most):
    """A line at a time no paragraph comes whole, and all are read; at once, known ones are not."""
    text = between.join(paragraphs) + "\n"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table_reader, "MAX_KEPT", most)
        at_once = read(text)

    assert read(*text.splitlines(keepends=True)) == at_once


@given(st.lists(st.sampled_from(PARAGRAPHS), max_size=9), st.data())
def test_cut_anywhere_it_tells_the_same(paragraphs, draw):
    """A chunk ends in the midst of a paragraph."""
    text = "\n\n".join([*paragraphs, *paragraphs]) + "\n"
    cut = draw.draw(st.integers(0, len(text)))

    assert read(text[:cut], text[cut:]) == read(text)


def test_repeated_tables_share_their_loads():
    """Equal reports share their loads, so averaging a long log is fast; a different report has its own."""
    text = "\n\n".join((PARAGRAPHS[1], PARAGRAPHS[0], PARAGRAPHS[1], PARAGRAPHS[0])) + "\n\n"

    _, first, other, again = read(text)

    assert first.loads is again.loads
    assert other.loads is not first.loads


def test_a_row_that_follows_changes_no_other_report():
    """Loads that are shared are copied before anything is added to them."""
    table = PARAGRAPHS[1]
    text = f"{table}\n\n{table}\n\nsdb 2.00 3.00 5.00 7.00 11.00 13.00\n\n{table}\n\n"

    assert [{"sda"}, {"sda", "sdb"}, {"sda"}] == [set(report.loads) for report in read(text)]
