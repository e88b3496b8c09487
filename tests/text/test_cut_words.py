"""Wide tables that a terminal cut at its width, within words and figures."""

from __future__ import annotations

import pytest

from stackmap.ledger.averages import average
from stackmap.model.load import Flow
from stackmap.text import intervals

HEADINGS = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util"
ROW = "{:<13} {:7.2f} 82303.17     8.18  11.41   13.55   211.03   92.89   3350.92   192.46  67.45    1.32    36.07  140.06   2453.06     0.01   0.01    0.18    17.51   15.16    0.18    1.01  95.34"
TEXT = "\n".join([HEADINGS, *(ROW.format(name, rate) for name, rate in (("sda", 390.0), ("dm-0", 391.0), ("nvme0n1", 392.0)))]) + "\n"  # fmt: skip


def cut(text, width, *, keeps_blanks):
    """Return *text* as a terminal of *width* columns shows it."""
    parts = (
        line[begin : begin + width]
        for line in text.splitlines()
        for begin in range(0, len(line), width)
    )
    return "".join((part if keeps_blanks else part.rstrip()) + "\n" for part in parts)


def read(text):
    (report,) = intervals([text.encode()], "text")
    return report.loads


@pytest.mark.parametrize("keeps_blanks", [True, False])
@pytest.mark.parametrize("width", range(72, len(ROW) + 12))
def test_no_width_changes_a_figure(width, keeps_blanks):
    """Of a last figure that is cut, nothing is known."""
    found, whole = read(cut(TEXT, width, keeps_blanks=keeps_blanks)), read(TEXT)
    assert found.keys() == whole.keys()
    for name, load in found.items():
        assert load._replace(busy=None) == whole[name]._replace(busy=None)
        assert load.busy in (None, whole[name].busy)


def test_whole_figures_are_not_joined():
    """Those of plain iostat that have no decimals stay apart."""
    text = """\
Device             tps    kB_read/s    kB_wrtn/s    kB_read
kB_wrtn
sda               2.00         3.00         5.00          7
11
sdb              13.00        17.00        19.00         23
29
"""
    loads = read(text)
    assert {name: (load.whole.ios, load.read) for name, load in loads.items()} == {
        "sda": (2, Flow(bytes=3 * 1024)),
        "sdb": (13, Flow(bytes=17 * 1024)),
    }


@pytest.mark.parametrize(
    ("cut", "known"), [("19.7", False), ("19.70", True), ("19", False), ("19.", False)]
)
def test_a_figure_that_may_be_cut_is_unknown(cut, known):
    """At the right edge of a window: 19.7 may have been 19.73."""
    text = f"Device r/s w/s rkB/s wkB/s await %util\nsda 2.00 3.00 5.00 {cut}\n\nthe end\n"
    (report,) = (each for each in intervals([text.encode()], "text") if each.loads)
    load = report.loads["sda"]
    assert (load.read.ios, load.write.ios, load.read.bytes) == (2, 3, 5 * 1024)
    assert load.write.bytes == (19.70 * 1024 if known else None)


HEAD = "Device            r/s     w/s     rkB/s     wkB/s  r_await w_await aqu-sz  %util\n"
REPORTS = "".join(
    f"{HEAD}sda             10.00    5.00     80.00     40.00     2.00    4.00   0.04   3.00\n"
    "sdb             90.00    0.00   5760.00      0.00     8.00    0.00   0.72  70.00\n"
    "sdc              0.00   60.00      0.00    480.00     0.00    1.00   0.06   6.00\n\n"
    for _ in range(2)
)


@pytest.mark.parametrize("row", [1, 2, 3])
@pytest.mark.parametrize("kept", [20, 40, 60])
@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n```\nas you see\n", "\n...\n\n"])
def test_devices_behind_the_end_of_a_text_are_not_idle(row, kept, end):
    """A paste that ends within a row is no report of `iostat -z`: what stood below the row is unknown."""
    lines = REPORTS.splitlines()
    last = lines[5 : 5 + row]
    text = "\n".join([*lines[:5], *last, lines[5 + row][:kept]]) + end
    (mean,) = average(intervals([text.encode()], "text"))
    (whole,) = average(intervals([REPORTS.encode()], "text"))
    assert mean.loads == whole.loads
    (note,) = mean.notes
    assert note.startswith(f"a report ends within the row of sd{'abc'[row - 1]}:")


def test_rows_that_are_all_cut_have_their_figures():
    """As a narrow window or `cut -c` leaves them."""
    (mean,) = average(
        intervals(["".join(f"{line[:40]}\n" for line in REPORTS.splitlines()).encode()], "text")
    )
    assert {name: load.read.ios for name, load in mean.loads.items()} == {
        "sda": 10,
        "sdb": 90,
        "sdc": 0,
    }
    assert all(note.startswith("the row of ") for note in mean.notes)
