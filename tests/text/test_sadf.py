"""What sadf makes of sar's files: the same intervals in each of its formats."""

from __future__ import annotations

import pytest

from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Machine
from stackmap.text import intervals, sadf

LAB = Machine(host="lab")
CSV = """\
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;await;%util
lab;10;2026-11-21 07:45:50 UTC;sda;2.00;3.00;5.00;7.00;11.00
lab;10;2026-11-21 07:45:50 UTC;dm-2;13.00;17.00;19.00;23.00;29.00
lab;10;2026-11-21 07:46:00 UTC;sda;31.00;37.00;41.00;43.00;47.00
"""
ON_A_LINE = """\
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;await;%util[...]
lab;10;2026-11-21 07:45:50 UTC;sda;2.00;3.00;5.00;7.00;11.00;dm-2;13.00;17.00;19.00;23.00;29.00
lab;10;2026-11-21 07:46:00 UTC;sda;31.00;37.00;41.00;43.00;47.00
"""
TABS = "".join(
    f"lab\t10\t2026-11-21 {time} UTC\t{device}\t{metric}\t{figure}\n"
    for time, device, row in (
        ("07:45:50", "sda", "2.00 3.00 5.00 7.00 11.00"),
        ("07:45:50", "dm-2", "13.00 17.00 19.00 23.00 29.00"),
        ("07:46:00", "sda", "31.00 37.00 41.00 43.00 47.00"),
    )
    for metric, figure in zip(["tps", "rkB/s", "wkB/s", "await", "%util"], row.split(), strict=True)
)
XML = """\
<?xml version="1.0" encoding="UTF-8"?>
<sysstat>
<host nodename="lab">
<timestamp date="2026-11-21" time="07:45:50" tz="UTC" interval="10">
<disk per="second">
<disk-device dev="sda" tps="2.00" rkB="3.00" wkB="5.00" await="7.00" util-percent="11.00"/>
<disk-device dev="dm-2" tps="13.00" rkB="17.00" wkB="19.00" await="23.00" util-percent="29.00"/>
</disk>
</timestamp>
<timestamp date="2026-11-21" time="07:46:00" utc="1" interval="10">
<disk per="second">
<disk-device dev="sda" tps="31.00" rkB="37.00" wkB="41.00" await="43.00" util-percent="47.00"/>
</disk>
</timestamp>
</sysstat>
"""


def load(tps, read, write, wait, busy):
    return Load(
        Flow(bytes=read * 1024),
        Flow(bytes=write * 1024),
        whole=Flow(ios=tps, wait=tps * wait),
        busy=busy / 100,
    )


def read(text: str) -> list[Interval]:
    return list(intervals([text.encode()], "text"))


@pytest.mark.parametrize("text", [CSV, ON_A_LINE, TABS, XML], ids=["-d", "-dh", "-p", "-x"])
def test_formats(text):
    """Times are instants, lengths are known, and figures are sar's."""
    assert read(text) == [
        Interval(
            {"sda": load(2, 3, 5, 7, 11), "dm-2": load(13, 17, 19, 23, 29)},
            1795247150.0,
            10.0,
            "2026-11-21 07:45:50 UTC",
            machine=LAB,
        ),
        Interval(
            {"sda": load(31, 37, 41, 43, 47)},
            1795247160.0,
            10.0,
            "2026-11-21 07:46:00 UTC",
            machine=LAB,
        ),
    ]


def test_restart():
    """A restart between two intervals is an event of the second."""
    lines = CSV.splitlines(keepends=True)
    restart = "lab;-1;2026-11-21 07:45:55 UTC;LINUX-RESTART\t(9 CPU)\n"
    first, second = read("".join([*lines[:3], restart, *lines[3:]]))
    assert (first.events, second.events) == (
        (),
        ("2026-11-21 07:45:55 UTC LINUX-RESTART (9 CPU)",),
    )


def test_other_activities_pass_by():
    """`sadf -d -- -A` has a table for each activity; only that of devices is read."""
    cpu = "# hostname;interval;timestamp;CPU;%user\nlab;10;2026-11-21 07:45:50 UTC;-1;2.00\n"
    assert read(cpu + CSV + cpu) == read(CSV)


def test_epoch():
    """Old sadf -p, and -U, print seconds since the epoch."""
    (interval,) = read("lab\t10\t1795247143\tdev8-0\ttps\t2.00\n")
    assert interval == Interval(
        {"dev8-0": Load(whole=Flow(ios=2))}, 1795247143.0, 10.0, "1795247143", machine=LAB
    )


def test_cut():
    """XML that ends within a device gives those before it."""
    cut = XML.index("await", XML.index("dm-2"))
    assert [list(i.loads) for i in read(XML[:cut])] == [["sda"]]


HOSTS_CSV = """\
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;await;%util
db1;10;2026-11-21 07:45:50 UTC;sda;2.00;3.00;5.00;7.00;11.00
db2;10;2026-11-21 07:45:50 UTC;sda;13.00;17.00;19.00;23.00;29.00
"""
HOSTS_TABS = (
    "db1\t10\t2026-11-21 07:45:50 UTC\tsda\ttps\t2.00\n"
    "db2\t10\t2026-11-21 07:45:50 UTC\tsda\ttps\t13.00\n"
)
HOSTS_XML = "".join(
    f'<sysstat>\n<host nodename="{host}">\n'
    '<timestamp date="2026-11-21" time="07:45:50" utc="1" interval="10">\n'
    f'<disk-device dev="sda" tps="{tps}"/>\n</timestamp>\n</host>\n</sysstat>\n'
    for host, tps in (("db1", "2.00"), ("db2", "13.00"))
)


@pytest.mark.parametrize("text", [HOSTS_CSV, HOSTS_TABS, HOSTS_XML])
def test_hosts(text):
    """Rows of another host begin a report of that host, even at the same time."""
    reports = list(intervals([text.encode()], "-"))
    assert [report.machine.host for report in reports] == ["db1", "db2"]
    assert [report.loads["sda"].whole.ios for report in reports] == [2, 13]


@pytest.mark.parametrize(
    "line",
    [
        "sda\t2.00\t3.00",  # a table from a spreadsheet has fewer words
        "lab\t10\t07:45:50\tsda\ttps\t2.00\tmore",
        "lab\tten\t2026-11-21 07:45:50 UTC\tsda\ttps\t2.00",
        "lab\t10\tsome day\tsda\ttps\t2.00",
    ],
)
def test_tabs_alone_are_not_sadf(line):
    """A line of sadf -p has five or six words, a length in seconds, and a time."""
    assert not sadf.begins_tabs(line)


@pytest.mark.parametrize("time", ["2026-11-21 07:45:50 UTC", "07:45:50", "1795247143"])
@pytest.mark.parametrize("rest", ["sda\ttps\t2.00", "LINUX-RESTART\t(2 CPU)"])
@pytest.mark.parametrize("seconds", ["10", "-1"])
def test_lines_of_sadf(seconds, time, rest):
    """The time is a date, a time of day or seconds since the epoch; a restart has a word less."""
    assert sadf.begins_tabs(f"lab\t{seconds}\t{time}\t{rest}")


@pytest.mark.parametrize(("seconds", "length"), [("10", 10.0), ("0", None), ("-1", None)])
def test_length(seconds, length):
    """A length of 0 or -1 is unknown: sadf prints it for a first record."""
    (report,) = read(f"lab\t{seconds}\t2026-11-21 07:45:50 UTC\tsda\ttps\t2.00\n")

    assert report.seconds == length


def test_rows_before_a_time():
    """XML that begins within a report, as a ticket's extract does, still has a report without a time."""
    (report,) = read('<disk-device dev="sda" tps="2.00"/>\n')

    assert (report.loads["sda"].whole.ios, report.stamp, report.seconds) == (2, "", None)


def test_a_time_without_zone_or_date():
    """`utc` or `tz` says the zone; what an attribute lacks is left out."""
    device = '<disk-device dev="sda" tps="2.00"/></timestamp>\n'
    stamps = [
        '<timestamp date="2026-11-21" time="07:45:50" utc="1">',
        '<timestamp date="2026-11-21" time="07:45:50" tz="CET" interval="10">',
        '<timestamp time="07:45:50">',
    ]

    reports = [read(stamp + device)[0] for stamp in stamps]

    assert [(r.stamp, r.time, r.seconds) for r in reports] == [
        ("2026-11-21 07:45:50 UTC", 1795247150.0, None),
        ("2026-11-21 07:45:50 CET", None, 10.0),
        ("07:45:50", None, None),
    ]


TIME = "lab\t10\t2026-11-21 07:45:50 UTC\t"


def test_tabs_of_other_activities_pass_by():
    """Processors have other figures, and sar -b's tps is of no device."""
    others = f"{TIME}all\t%user\t2.00\n{TIME}-\ttps\t3.00\n{TIME}-\tproc/s\n"

    (report,) = read(f"{others}{TIME}sda\ttps\t5.00\n{others}")

    assert report.loads == {"sda": Load(whole=Flow(ios=5))}


def test_figures_belong_to_the_device_of_their_line():
    """Even where the next device has other figures than the one before."""
    (report,) = read(f"{TIME}sda\ttps\t2.00\n{TIME}dm-2\trkB/s\t3.00\n")

    assert report.loads == {
        "sda": Load(whole=Flow(ios=2)),
        "dm-2": Load(Flow(bytes=3 * 1024)),
    }


@pytest.mark.parametrize("damaged", ['tps="2.00"', 'dev="" tps="2.00"', 'dev="sdb" tps="2.00x"'])
def test_a_damaged_row_is_left_out(damaged):
    """A row without a name, or with a word that is no number."""
    text = XML.replace('dev="dm-2" tps="13.00"', damaged)

    assert [list(report.loads) for report in read(text)] == [["sda"], ["sda"]]


def test_a_tag_may_go_on_in_the_next_lines():
    assert read(XML.replace(" await=", "\nawait=").replace(" rkB=", "\n  rkB=")) == read(XML)


def test_a_tag_that_never_ends_is_dropped():
    """Else each further line would be joined to all before it."""
    device = XML[XML.index("<disk-device") : XML.index("/>") + 2]
    endless = device.replace(" tps=", ' made="' + "x\n" * 4096 + '" tps=')
    assert read(XML.replace(device, endless))[0].loads.keys() == {"dm-2"}
