"""Tables that a narrow page folded by columns, and rows after a time or an author's mark: no figure is lost."""

from __future__ import annotations

import re

import pytest

from stackmap.model.interval import Interval
from stackmap.text import intervals

COLUMNS = "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util"
ROWS = {
    "sda": "0.00 0.30 2.00 151.40 8.00 80120.00 1044.70 131.72 846.51 91.20 856.49 6.51 99.90",
    "dm-0": "0.00 0.00 31.25 12.75 500.00 204.00 32.00 0.44 10.00 12.00 5.10 2.00 8.80",
    "nvme0n1": "1.00 2.00 640.00 320.00 5120.00 5120.00 21.33 0.24 0.25 0.20 0.35 0.10 9.60",
}


def read(*lines: str) -> list[Interval]:
    return [*intervals([("\n".join(lines) + "\n").encode()], "ticket")]


def table(columns: slice = slice(None), *, title: str = "Device:", named: bool = True) -> list[str]:
    """Return the lines of the table with some of its columns."""
    rows = (" ".join([name] * named + figures.split()[columns]) for name, figures in ROWS.items())
    return [" ".join([*[title] * bool(title), *COLUMNS.split()[columns]]), *rows]


WHOLE = dict(read(*table())[0].loads)


@pytest.mark.parametrize("cut", range(2, 13))
@pytest.mark.parametrize("between", [(), ("",), ("```", "", "```")])
@pytest.mark.parametrize(("title", "named"), [("", False), ("", True), ("Device:", True)])
def test_a_table_folded_anywhere_has_the_figures_of_the_whole(
    cut: int, between: tuple[str, ...], title: str, named: bool
) -> None:
    first, rest = table(slice(cut)), table(slice(cut, None), title=title, named=named)
    (report,) = read(*first, *between, *rest)
    assert dict(report.loads) == WHOLE


def test_a_table_may_be_folded_twice_and_the_next_report_begins_anew() -> None:
    parts = [slice(5), slice(5, 9), slice(9, None)]
    lines = [
        line
        for part in parts
        for line in table(part, title="Device:" * (part.start is None), named=part.start is None)
    ]
    reports = read(*lines, "", *lines)
    assert [dict(report.loads) for report in reports] == [WHOLE, WHOLE]


@pytest.mark.parametrize("change", ["less", "more"])
def test_rest_without_names_counts_only_with_one_row_per_device(change: str) -> None:
    rest = table(slice(5, None), title="", named=False)
    rest = rest[:-1] if change == "less" else [*rest, rest[-1]]
    (report,) = read(*table(slice(5)), *rest)
    assert report.loads["sda"].read.ios == 2.0
    assert report.loads["sda"].aqu is None
    assert any(note.startswith("not used: wkB/s avgrq-sz") for note in report.notes)


SAR_COLUMNS = "tps rkB/s wkB/s areq-sz aqu-sz await %util"
SAR_ROWS = {
    "dev8-0": "153.40 8.00 80120.00 522.35 131.72 846.51 99.90",
    "dev253-0": "44.00 500.00 204.00 16.00 0.44 10.00 8.80",
}


def sar(
    columns: slice = slice(None), *, title: str = "08:15:00 DEV", time: str = "08:15:10"
) -> list[str]:
    rows = (f"{time} {name} " + " ".join(row.split()[columns]) for name, row in SAR_ROWS.items())
    return [" ".join([title, *SAR_COLUMNS.split()[columns]]), *rows]


@pytest.mark.parametrize("cut", range(2, 7))
@pytest.mark.parametrize("between", [(), ("",), ("```", "", "```")])
@pytest.mark.parametrize("named", [True, False])
def test_a_table_of_sar_folded_anywhere_has_the_figures_of_the_whole(
    cut: int, between: tuple[str, ...], named: bool
) -> None:
    """Its rows have their time, with or without the name."""
    rest = sar(slice(cut, None))
    if not named:
        rest = [re.sub(r"DEV |dev\d+-\d+ ", "", line) for line in rest]
        rest[0] = rest[0].removeprefix("08:15:00 ")
    (report,) = read(*sar(slice(cut)), *between, *rest)
    assert dict(report.loads) == dict(read(*sar())[0].loads)
    assert report.stamp == "08:15:10"


def test_two_whole_tables_are_two_reports() -> None:
    plain = ["Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn", "sda 10.00 20.00 30.00 200 300"]
    extended = ["Device r/s w/s rkB/s wkB/s r_await %util", "sda 4.00 6.00 20.00 30.00 1.00 5.00"]
    assert len(read(*plain, "", *extended)) == 2


@pytest.mark.parametrize("mark", ["<KEY>", "-->", "**", "=>", ">>>>", "[slow]", "|||"])
def test_a_mark_before_a_row_does_not_hide_it(mark: str) -> None:
    lines = [f"{mark} {line}" if line.startswith("dm-0") else line for line in table()]
    (report,) = read(*lines)
    assert dict(report.loads) == WHOLE


@pytest.mark.parametrize("heading", ["", "08:15:00 "])
@pytest.mark.parametrize("date", ["", "2024-03-05 "])
def test_rows_after_a_time_are_a_report_each_time(heading: str, date: str) -> None:
    title, *rows = table()
    lines = [f"{date}08:15:{second} {row}" for second in ("00", "10", "20") for row in rows]
    reports = read(date * bool(heading) + heading + title, *lines)
    assert [dict(report.loads) for report in reports] == [WHOLE] * 3
    assert [report.stamp for report in reports] == [f"{date}08:15:{n}" for n in ("00", "10", "20")]
    assert (reports[2].clock or 0) - (reports[0].clock or 0) == 20


def test_rows_after_a_time_may_be_wrapped_as_their_heading() -> None:
    title, *rows = table()
    lines = []
    for line in (title, *(f"08:15:{second} {row}" for second in ("00", "10") for row in rows)):
        words = line.split()
        lines += ["> " + " ".join(words[:8]), "> " + " ".join(words[8:])]
    reports = read(*lines)
    assert [dict(report.loads) for report in reports] == [WHOLE, WHOLE]


def test_prose_with_a_time_is_no_row() -> None:
    row = "at 08:15:00 we had 1.00 2.00 3.00"
    (report,) = read("Device: tps kB_read/s kB_wrtn/s", "sda 1.00 2.00 3.00", row)
    assert [*report.loads] == ["sda"]


@pytest.mark.parametrize("remark", ["<<< the backup starts", "<--", "# slow", "← here"])
def test_a_remark_behind_a_row_does_not_hide_it_and_those_below(remark: str) -> None:
    title, *rows = table()
    lines = [rows[0] + "  " + remark, *rows[1:]]
    assert dict(read(title, *lines)[0].loads) == WHOLE
    wrapped = []
    for line in (title, *lines):
        words = line.split()
        wrapped += [" ".join(words[:8]), " ".join(words[8:])]
    assert dict(read(*wrapped)[0].loads) == WHOLE


def test_rows_that_no_heading_fits_are_counted_on_stderr() -> None:
    said: list[str] = []
    lines = [
        *table(),
        "",
        "Disk  load   reads/s writes/s",
        "sdb   99.00  12.00  3.50",
        "> 08:15:00 md3 1.00 2 3.5",
    ]
    text = "\n".join([*lines, "sdc is slow since 1.5 days", "sdd 8:0 0 1.8T 0 disk"]) + "\n"
    assert len([*intervals([text.encode()], "ticket", said.append)]) == 1
    assert said == [
        "ticket: 2 lines look like rows of devices and were not used, for no heading above fits: line 7, 8"
    ]
