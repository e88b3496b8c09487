"""Tables of iostat and sar: what is printed is read back, however it was printed, sent and pasted."""

from __future__ import annotations

import dataclasses
import textwrap

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.text import intervals

UNITS = {"sec": 512, "kB": 1024, "MB": 1024**2}

# Headings as sysstat printed them, oldest first; * is the unit.
IOSTAT = {
    "X2": "rrqm/s wrqm/s r/s w/s r*/s w*/s avgrq-sz avgqu-sz await svctm %util",
    "X3": "rrqm/s wrqm/s r/s w/s r*/s w*/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "X4": "r/s w/s r*/s w*/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util",
    "X6": "r/s r*/s rrqm/s %rrqm r_await rareq-sz w/s w*/s wrqm/s %wrqm w_await wareq-sz"
    " d/s d*/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util",
    "X6s": "tps */s rqm/s await areq-sz aqu-sz %util",
    "B1": "tps *_read/s *_wrtn/s *_read *_wrtn",
}
SAR = {
    "D1": "tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
    "D3": "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
}

# 0, or with a digit in the second place: figures of one decimal are taken for those of --dec=1.
figures = st.integers(0, 1_000_00).map(lambda n: (n * 10 + n % 9 + 1) / 100 if n else 0.0)
names = st.from_regex(
    r"(dm-|sd[a-z]|md|nvme0n)[0-9]{1,3}|vg[a-z]{1,20}-lv--[a-z]{1,9}", fullmatch=True
)
tables = st.dictionaries(names, st.lists(figures, min_size=22, max_size=22), min_size=1, max_size=4)


def told(row: dict[str, float], unit: str) -> Load:
    """Return the figures of a row by column."""
    size = UNITS[unit]

    def flow(letter: str, total: str) -> Flow:
        bytes_ = row.get(f"{letter}{unit}/s", row.get(f"{unit}_{total}/s"))
        ios, wait = row.get(f"{letter}/s"), row.get(f"{letter}_await")
        return Flow(
            ios,
            row.get(f"{letter}rqm/s"),
            None if bytes_ is None else bytes_ * size,
            None if wait is None or ios is None else ios * wait,
        )

    read, write = flow("r", "read"), flow("w", "wrtn")
    whole = None
    if "tps" in row:
        total = row.get(f"{unit}/s")
        wait = row["tps"] * row["await"] if "await" in row else None
        whole = Flow(row["tps"], row.get("rqm/s"), None if total is None else total * size, wait)
    elif "await" in row and "r_await" not in row:
        whole = Flow(wait=(row["r/s"] + row["w/s"]) * row["await"])
    return Load(
        read,
        write,
        flow("d", "dscd"),
        Flow(row.get("f/s"), wait=row["f/s"] * row["f_await"]) if "f/s" in row else Flow(),
        whole,
        row.get("aqu-sz", row.get("avgqu-sz")),
        row["%util"] / 100 if "%util" in row else None,
    )


def as_printed(load: Load, unit: str) -> Load:
    """Return *load* with two decimals and milliseconds per request; what is read may be more precise."""

    def flow(part: Flow | None) -> Flow | None:
        if part is None or part.ios is None:
            return part
        ios = round(part.ios, 2)
        size = None if part.bytes is None else round(part.bytes / UNITS[unit], 2)
        each = part.wait and (round(part.wait / part.ios, 2) if ios else 0.0)
        return part._replace(ios=ios, bytes=size, wait=each)

    names_ = ("read", "write", "discard", "flush", "whole")
    return load._replace(**{name: flow(getattr(load, name)) for name in names_})


def printed(names_: list[str], rows: dict[str, list[float]], title: str = "Device") -> str:
    """Return a table as iostat prints it."""
    lines = [f"{title:13}" + "".join(f" {name:>8}" for name in names_)]
    for device, row in rows.items():
        lines.append(f"{device:13}" + "".join(f" {figure:8.2f}" for figure in row[: len(names_)]))
    return "\n".join(lines) + "\n"


def read(text: str) -> list[Interval]:
    return list(intervals([text.encode()], "text"))


@settings(deadline=None)
@given(tables, st.sampled_from(sorted(IOSTAT)), st.sampled_from(["kB", "MB"]))
@example({"dm-0": [0.0, 0.01, 0.0, 0.0, 0.0, 0.01, *[0.0] * 16]}, "X6", "kB")
@example({"dm-0": [0.0, 0.01, 0.0, 0.0, 0.0, 4.0, *[0.0] * 16]}, "X6", "kB")
def test_iostat_round_trip(rows, heading, unit):
    """Output of iostat under any heading and in any unit is read with the right figures."""
    columns = IOSTAT[heading].replace("*", unit).split()
    (interval,) = read(printed(columns, rows))
    found = {device: as_printed(load, unit) for device, load in interval.loads.items()}
    assert found == {
        device: as_printed(told(dict(zip(columns, row, strict=False)), unit), unit)
        for device, row in rows.items()
    }


@settings(deadline=None)
@given(tables, st.sampled_from(sorted(SAR)), st.booleans())
@example(rows={"dm-0": [0.78, 26.11, 96.31, 157.84, *[0.0] * 18]}, heading="D1", last=False)
def test_sar_round_trip(rows, heading, last):
    """The same of sar, with the name before the figures or after them; its average is a summary."""
    columns = SAR[heading].split()
    title = ["07:10:01", *columns, "DEV"] if last else ["07:10:01", "DEV", *columns]
    lines = [" ".join(title)]
    for stamp in ("07:10:11", "Moyenne :"):
        for device, row in rows.items():
            shown = [f"{figure:.2f}" for figure in row[: len(columns)]]
            lines.append(" ".join([stamp, *shown, device] if last else [stamp, device, *shown]))
    now, average = read("\n".join(lines))
    unit = "kB"
    meant = {}
    for device, row in rows.items():
        said = dict(zip(columns, row, strict=False))
        said = {n.replace("rd_sec", "rsec").replace("wr_sec", "wsec"): v for n, v in said.items()}
        unit = "sec" if "rsec/s" in said else "kB"
        meant[device] = as_printed(told(said, unit), unit)
    assert now.loads == average.loads
    assert {device: as_printed(load, unit) for device, load in now.loads.items()} == meant
    assert (now.stamp, now.summary) == ("07:10:11", False)
    assert (average.stamp, average.summary) == ("Moyenne :", True)


def with_commas(text: str) -> str:
    return text.replace(".", ",")


def coloured(text: str) -> str:
    return "".join(f"\x1b[34;1m{line}\x1b[0m\n" for line in text.splitlines())


def wrapped(text: str) -> str:
    return "".join(textwrap.fill(line, 80) + "\n" for line in text.splitlines())


@settings(max_examples=20, deadline=None)
@given(tables, st.sampled_from(["X3", "X4", "X6", "X6s"]))
@pytest.mark.parametrize(
    "changed",
    [
        with_commas,
        coloured,
        wrapped,
        lambda text: wrapped(with_commas(text)),
        lambda text: textwrap.indent(text, "    "),
        lambda text: textwrap.indent(text, "> > "),
        lambda text: textwrap.indent(text, "# "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" ", "\0 "),
        lambda text: "\n".join(" ".join(line.split()) for line in text.splitlines()),
        lambda text: f"So I ran iostat:\n```\n{text}```\nWhat now?\n",
        lambda text: f"avg-cpu:  %user   %nice\n           2.00    3.00\n{text}",
        lambda text: text.replace("\n", "\n\n", 1),
        lambda text: text.replace("Device ", "Device:"),
    ],
)
def test_how_it_came_does_not_matter(changed, rows, heading):
    """Locale, colours, mail, Markdown, line ends and damage by pasting leave the figures as they are."""
    text = printed(IOSTAT[heading].replace("*", "kB").split(), rows)
    assert read(changed(text)) == read(text)


@settings(deadline=None)
@given(tables)
def test_name_on_its_own_line(rows):
    """`iostat -h` of 10.0 to 11.7 put names on lines of their own."""
    text = printed(IOSTAT["X3"].replace("*", "kB").split(), rows)
    heading, *lines = text.splitlines()
    apart = [f"{line.split()[0]}\n{' ' * 13}{line[len(line.split()[0]) :]}" for line in lines]
    assert read("\n".join([heading, *apart])) == read(text)


@settings(deadline=None)
@given(tables)
def test_pretty_report_in_parts(rows):
    """`iostat --pretty -x` prints a report as four tables with the name last."""
    columns = IOSTAT["X6"].replace("*", "kB").split()
    parts = []
    for start, end in ((0, 6), (6, 12), (12, 18), (18, 22)):
        parts.append(" ".join([*columns[start:end], "Device"]))
        for device, row in rows.items():
            parts.append(" ".join([*(f"{figure:.2f}" for figure in row[start:end]), device]))
        parts.append("")
    assert read("\n".join(parts * 2)) == read(printed(columns, rows) * 2)


def test_first_report_after_the_banner_is_since_boot():
    """iostat's first report is of all time since boot, unless -y or the author left it out."""
    banner = "Linux 6.1.0 (lab) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n"
    table = printed(["r/s", "w/s"], {"sda": [2, 3]})
    assert [i.since_boot for i in read(banner + table + "\n" + table)] == [True, False]
    assert [i.since_boot for i in read("$ iostat -xy 5\n" + banner + table)] == [False]
    assert [i.since_boot for i in read("$ iostat -xy\n" + banner + table)] == [True]
    assert [i.since_boot for i in read(banner + "...\n" + table)] == [False]
    assert [i.since_boot for i in read(table + table)] == [False, False]


@pytest.mark.parametrize(
    ("stamp", "time"),
    [
        ("11/21/2026 07:44:26 AM", None),
        ("21.11.2026 07:44:27", None),
        ("2026年11月21日 07時44分27秒", None),
        ("2026년 11월 21일 07시 44분 30초", None),
        ("2026-11-21T07:43:44+0000", 1795247024.0),
        ("1795247061", 1795247061.0),
    ],
)
def test_times(stamp, time):
    """A time is kept as printed; it is an instant only if it is unambiguous."""
    table = printed(["r/s", "w/s"], {"sda": [2, 3]})
    found = read(f"{stamp}\n{table}\n{stamp}\n{table}")
    assert [(i.stamp, i.time) for i in found] == [(stamp, time)] * 2


def test_no_rows_is_a_report_too():
    """With -z a report may have no device: that is an idle interval, not a missing one."""
    table = printed(["r/s", "w/s"], {"sda": [2, 3]})
    heading = table.splitlines(keepends=True)[0]
    assert [list(i.loads) for i in read(table + "\n" + heading + "\n" + table)] == [
        ["sda"],
        [],
        ["sda"],
    ]


def test_rounded_figures_are_said_to_be():
    """--human prints one decimal and a unit per figure, independent of the heading."""
    (interval,) = read("Device r/s rkB/s r_await %util\nsda 2.00 3.5M 5.00 7.0%\n")
    assert interval.loads == {"sda": Load(Flow(2, None, 3.5 * 1024**2, 10), busy=0.07)}
    assert interval.notes == (
        "the input was printed with --human: figures are rounded to one decimal",
    )


def test_cut_row():
    """A row that was cut has the figures it has; one without decimals may itself have been cut."""
    (interval,) = read("Device r/s w/s rkB/s wkB/s %util\nsda 2.00 3.00 5.00 7")
    assert interval.loads == {"sda": Load(Flow(2, bytes=5 * 1024), Flow(3))}
    assert interval.notes == ("the row of sda was cut: 3 of 5 figures",)


def test_a_row_cut_behind_zeros_is_not_idle():
    """What was cut off is unknown, even if all before it is 0."""
    (interval,) = read("Device r/s w/s rkB/s wkB/s %util\nsda 0.00 0.00 0.00 7")
    assert interval.loads == {"sda": Load(Flow(0, bytes=0), Flow(0))}


def test_a_line_with_two_rows_does_not_pass_for_two():
    """Even if another row of the table is wrapped, so that lines and words are as many as in a whole table."""
    rows = "sda 2.00 3.00\nsdb 5.00\n7.00\nsdc 11.00 13.00 sdd 17.00 19.00\n"
    (interval,) = read(f"Device r/s w/s\n{rows}\n")
    assert set(interval.loads) == {"sda", "sdb"}


def test_counters_that_went_back():
    """Old sysstat printed the rest of 2⁶⁴: the device existed, and its figures are unknown."""
    (interval,) = read("Device tps kB_read/s kB_wrtn/s\nsda 3689348814741910528.00 2.00 3.00\n")
    assert interval.loads == {"sda": Load()}
    assert interval.events == ("sda: its counters went back; no figures for it",)


def test_restart_between_reports():
    """sar prints a line when the machine was restarted; the next interval has that event."""
    text = "07:10:01 DEV tps rkB/s\n07:10:11 sda 2.00 3.00\n\n07:15:00  LINUX RESTART\t(2 CPU)\n\n"
    text += "07:20:01 DEV tps rkB/s\n07:20:11 sda 5.00 7.00\n"
    assert [i.events for i in read(text)] == [(), ("07:15:00 LINUX RESTART (2 CPU)",)]


def test_extremes():
    """`sar -x` adds the smallest and largest value of each column, which are not of one instant."""
    text = "07:10:01 DEV tps rkB/s\n07:10:11 sda 2.00 3.00\n\nSummary: DEV tps rkB/s\n"
    text += "Minimum: sda 2.00 3.00\nMaximum: sda 5.00 7.00\nAverage: sda 3.00 5.00\n"
    found = read(text)
    assert [(i.stamp, i.summary, bool(i.notes)) for i in found] == [
        ("07:10:11", False, False),
        ("Minimum:", True, True),
        ("Maximum:", True, True),
        ("Average:", True, False),
    ]


def test_other_tables_pass_by():
    """`sar -A` has many tables, of processors and networks; only those of devices are read."""
    text = "07:10:01 IFACE rxpck/s txpck/s rxkB/s\n07:10:11 eth0 2.00 3.00 5.00\n\n"
    disks = "07:10:01 DEV tps rkB/s wkB/s\n07:10:11 sda 7.00 11.00 13.00\n\n"
    assert read(text + disks + text) == read(disks)


def test_article_with_both():
    """Tables of sar and iostat in one text are reports of their own."""
    sar = "07:10:01 DEV tps rkB/s wkB/s\n07:10:11 dev253-2 7.00 11.00 13.00\n"
    table = printed(["r/s", "w/s"], {"dm-2": [2, 3]})
    assert read(sar + "and then\n" + table) == read(sar) + read(table)


def test_end_of_a_cut_heading():
    """Rows that do not fit the end of a cut heading are no report without devices, which would count as idle."""
    rows = "sda 2.00 3.00 5.00 7.00\n\n"
    text = f"w/s rkB/s wkB/s\n{rows}Device r/s w/s rkB/s wkB/s\n{rows}"
    (report,) = intervals([text.encode()], "-")
    assert report.loads["sda"].read.ios == 2


def shape(interval: Interval) -> str:
    """An interval, its loads made; nan equals itself."""
    return repr((dataclasses.replace(interval, loads={}), dict(interval.loads)))


def read_or_refused(chunks) -> list[str]:
    """The intervals of a text, or why it has none."""
    try:
        return [*map(shape, intervals(chunks, "t"))]
    except InputError as error:
        return [str(error)]


ORDINARY = ["0.00", "3.14", "17"]
SAR_TIMES = ["00:10:01", "00:20:01", "12:10:01 AM", "Average:", "> 00:20:01"]


def sar_rows(times: list[str], printed: list[str]):
    """Rows of a device at a time, now and then with a figure too many."""
    names = st.sampled_from(["sda", "dm-0", "8", "nvme0n1"])
    figures = st.lists(st.sampled_from(printed), min_size=7, max_size=7 + (printed != ORDINARY))
    return st.lists(st.tuples(st.sampled_from(times), names, figures), max_size=12)


@given(
    st.lists(
        sar_rows(SAR_TIMES[:2], ORDINARY)
        | sar_rows(SAR_TIMES, [*ORDINARY, "-1.00", "nan", "1e300", "0,5"]),
        max_size=3,
    ),
    st.sampled_from(["00:00:01", "12:00:01 AM"]),
)
@example(
    [[("00:10:01", name, ["1.00"] * 7) for name in names] for names in (["sda"], ["dm-0", "sda"])],
    "00:00:01",
)
def test_rows_of_sar_read_together_are_those_read_one_by_one(blocks, time):
    """A block of rows has the same reports as its lines do when each comes by itself."""
    text = "Linux 6.1.0 (db1) 11/24/26 _x86_64_ (8 CPU)\n\n"
    for rows in blocks:
        text += f"{time} DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n"
        text += (
            "".join(" ".join([when, name, *figures]) + "\n" for when, name, figures in rows) + "\n"
        )

    together = read_or_refused(iter([text.encode()]))
    one_by_one = read_or_refused(line.encode() for line in text.splitlines(keepends=True))

    assert together == one_by_one
