"""What sadf makes of sar's files: the same intervals in each of its formats."""

from __future__ import annotations

import pytest

from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.machine import Machine
from stackmap.text import intervals

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
