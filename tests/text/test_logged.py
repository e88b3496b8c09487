"""Texts as logs and chats keep them: each line after a time, a host and a program, or a time and a name."""

from __future__ import annotations

import json

import pytest

from stackmap.text import intervals
from stackmap.text.text_lines import Lines
from tests.test_ticket_commands import run
from tests.test_tickets import MD_EDGES, MD_LVM

TABLE = """\
Linux 6.1.0-26-amd64 (kvm7)         11/14/24        _x86_64_        (64 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           3.11    0.00    1.02    8.77    0.00   87.10

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
md127          1520.10     12160.80     48643.20         0.00     121608     486432          0
nvme0n1         812.20      3040.40     24321.60         0.00      30404     243216          0

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
md127          1620.10     12960.80     51843.20         0.00     129608     518432          0
nvme0n1         852.20      3240.40     25921.60         0.00      32404     259216          0
"""
PREFIXES = {
    "syslog": "Nov 14 03:00:11 kvm7 iostat[2211]: ",
    "early in a month": "Nov  4 03:00:11 kvm7 iostat[2211]: ",
    "journalctl -o short-iso": "2024-11-14T03:00:11+0100 kvm7 iostat[2211]: ",
    "rsyslog": "2024-11-14T03:00:11.123456+01:00 kvm7 collector.sh[7]: ",
    "a mail quoted seven times": "> > > > > > > ",
    "IRC": "[14:02] <tom> ",
    "IRC with seconds": "14:02:31 <@tom> ",
}


def read(text):
    return [each for each in intervals([text.encode()], "text") if each.loads]


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_what_precedes_each_line_changes_no_figure(prefix):
    logged = "".join(f"{prefix}{line}".rstrip() + "\n" for line in TABLE.splitlines())
    assert [{**each.loads} for each in read(logged)] == [{**each.loads} for each in read(TABLE)]


def test_the_time_of_a_log_is_that_of_the_report():
    logged = "".join(f"{PREFIXES['syslog']}{line}\n" for line in TABLE.splitlines())
    assert {each.stamp for each in read(logged)} == {"Nov 14 03:00:11"}


def test_a_row_of_sar_keeps_its_own_time():
    rows = "03:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n03:10:01 sda 10.00 70.00 50.00 12.00 0.10 1.00 1.00\n"
    logged = "".join(f"{PREFIXES['syslog']}{line}\n" for line in rows.splitlines())
    assert [each.stamp for each in read(logged)] == ["03:10:01"]


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_what_precedes_each_line_changes_no_edge(prefix, tmp_path):
    logged = "".join(f"{prefix}{line}\n" for line in MD_LVM.splitlines())
    told = json.loads(run(tmp_path, logged, "tree", "-J", "--input").stdout)
    found = {(each["name"], below["name"]) for each in told["devices"] for below in each["below"]}
    assert found == MD_EDGES


def test_of_the_hosts_of_pdsh_one_is_used():
    """Their lines are mixed: those of another host are no further reports of the first one."""
    ours = TABLE.replace("kvm7", "node1").splitlines()
    theirs = TABLE.replace("kvm7", "node2").replace("812.20", "4000.00").splitlines()
    mixed = [
        f"{host}: {line}"
        for pair in zip(ours, theirs, strict=True)
        for host, line in zip(("node1", "node2"), pair, strict=True)
    ]
    warned = []
    text = "\n".join(mixed) + "\n"

    found = [each for each in intervals([text.encode()], "text", warned.append) if each.loads]

    assert [{**each.loads} for each in found] == [{**each.loads} for each in read(TABLE)]
    assert warned == [
        "text: the text is from node1 and node2: only node1 is used; give one text per host"
    ]


@pytest.mark.parametrize("form", ["{:6}\t{}", "{}:{}"], ids=["cat -n", "grep -n"])
def test_numbers_of_lines_are_no_part_of_them(form, tmp_path):
    """Neither of the tree nor of the figures; annotate keeps them."""
    text = MD_LVM + TABLE.replace("md127", "dm-1")
    numbered = "".join(form.format(n, line) + "\n" for n, line in enumerate(text.splitlines(), 1))
    for words in (("tree", "-J"), ("iostat", "-J")):
        plain = json.loads(run(tmp_path, text, *words, "--input").stdout)
        assert json.loads(run(tmp_path, numbered, *words, "--input").stdout) == plain
    annotated = run(tmp_path, numbered, "annotate").stdout.splitlines()
    (row,) = (line for line in annotated if " 12160.80 " in line)
    number = numbered.splitlines().index(next(x for x in numbered.splitlines() if "12160.80" in x))
    assert row.startswith(form.format(number + 1, "vg-md/"))


@pytest.mark.parametrize(
    "line",
    [
        " 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----",
        "0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----",
        "36001: 0 2097152 linear 8:16 0",
        "8:0    0   1G  0 disk sda",
        "   8\t0\tsda",
    ],
)
def test_other_numbers_stay(line):
    assert [*Lines([f"\n{line}\n".encode()])] == ["", line]


SAR = """\
Linux 5.14.0 (db7)  {date}  _x86_64_  (8 CPU)

20:00:00          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util
20:10:00          sda      2.00      3.00      5.00      4.00      7.00     11.00     13.00
20:20:00          sda     17.00     19.00     23.00      2.47     29.00     31.00     37.00
"""


def test_a_number_before_a_time_is_no_part_of_it():
    """`grep -n` prints "5:20:20:00 sda"."""
    text = SAR.format(date="11/16/2026")
    numbered = "".join(f"{n}:{line}\n" for n, line in enumerate(text.splitlines(), 1))
    assert [(each.stamp, each.clock, {**each.loads}) for each in read(numbered)] == [
        (each.stamp, each.clock, {**each.loads}) for each in read(text)
    ]


def test_the_date_of_a_korean_banner():
    clocks = [
        [each.clock for each in read(SAR.format(date=date))]
        for date in ("2026년 11월 16일", "11/16/2026")
    ]
    assert clocks[0] == clocks[1]


def test_a_reports_own_time_is_not_that_of_the_log():
    """A log may have been written at once, long after the measurement."""
    text = TABLE.replace("\nDevice", "\n11/13/2024 09:00:05 AM\nDevice")
    logged = "".join(f"{PREFIXES['syslog']}{line}\n" for line in text.splitlines())
    assert {each.stamp for each in read(logged)} == {"11/13/2024 09:00:05 AM"}


WRAPPED = """\
Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz
   await r_await w_await  svctm  %util
sdb               0.00     3.00   82.60   11.00   330.40    88.00     8.94     0.96
   12.09   12.09   12.00   1.02   8.43
sdc               0.00     0.00    2.50    0.00    10.00     0.00     8.00     1.00
12.10   12.10    0.00  12.12  99.99

"""


@pytest.mark.parametrize("file", ["", "collected/iostat.log:"])
def test_numbers_before_the_lines_of_a_wrapped_table(file):
    """The rest of a row begins with a figure, which is then no device."""
    numbered = "".join(f"{file}{n}:{line}\n" for n, line in enumerate(WRAPPED.splitlines(), 31))
    assert [{**each.loads} for each in read(numbered)] == [{**each.loads} for each in read(WRAPPED)]


def test_hours_that_rise_are_no_numbers_of_lines():
    rows = "00:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n" + "".join(
        f"{hour:02}:00:01 sda 10.00 70.00 50.00 12.00 0.10 1.00 1.00\n" for hour in range(1, 9)
    )
    assert [each.stamp for each in read(rows)] == [f"{hour:02}:00:01" for hour in range(1, 9)]


def test_a_time_is_no_device():
    logged = "".join(
        f"Nov 14 03:00:11 kvm7 iostat[2211]: {line}\n" for line in WRAPPED.splitlines()
    )
    assert {name for each in read(logged) for name in each.loads} <= {"sdb", "sdc"}


def test_the_border_of_a_terminal_window():
    framed = "".join(f"{line:<110}│\n" for line in TABLE.splitlines())
    assert [{**each.loads} for each in read(framed)] == [{**each.loads} for each in read(TABLE)]
