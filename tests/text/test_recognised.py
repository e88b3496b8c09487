"""Any text of statistics: which format it is, and what it says."""

from __future__ import annotations

import gzip

import pytest

from stackmap.errors import InputError
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.model.topology import Machine
from stackmap.text import (
    FORMATS,
    diskstats_copies,
    exposition,
    intervals,
    io_tools,
    monitors,
    sadf,
    sysstat_json,
)
from tests.text import test_dstat_csv, test_other_tools, test_sadf

# Every figure is another prime, so none can pass for another.
IOSTAT_X = b"""\
Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
dm-89             2.00     3.00    5.00    7.00    11.00    13.00    17.00    19.00   23.00   29.00   31.00  37.00  41.00
"""

SAR_D = b"""\
07:10:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
07:10:11    dev253-89      2.00      3.00      5.00      7.00     11.00     13.00     17.00     19.00
"""

SADF_JSON = """{"sysstat": {"hosts": [{"nodename": "lab", "statistics": [{"timestamp":
{"date": "2026-11-21", "time": "07:45:50", "utc": 1, "interval": 10},
"disk": [{"disk-device": "sda", "tps": 2.0, "rkB": 3.0, "wkB": 5.0}]}]}]}}
"""
DISKSTATS = "   8       0 sda 2 3 5 7 11 13 17 19 0 23 29\n"


def read(text: bytes) -> list[Interval]:
    return list(intervals([text], "text"))


def test_iostat_extended():
    """Rates, KiB to bytes, percent to share; the wait of all requests is their count times await."""
    load = Load(
        read=Flow(ios=5, merges=2, bytes=11 * 1024, wait=5 * 29),
        write=Flow(ios=7, merges=3, bytes=13 * 1024, wait=7 * 31),
        aqu=19,
        busy=0.41,
    )
    assert read(IOSTAT_X) == [Interval({"dm-89": load})]


def test_sar():
    """Only reads and writes together have requests and a wait; sizes are in sectors, and say so."""
    load = Load(
        read=Flow(bytes=3 * 512),
        write=Flow(bytes=5 * 512),
        whole=Flow(ios=2, wait=2 * 13),
        aqu=11,
        busy=0.19,
    )
    assert read(SAR_D) == [
        Interval(
            {"dev253-89": load},
            stamp="07:10:11",
            notes=("the input has sizes in 512-byte sectors; here they are in KiB",),
        )
    ]


def test_packed():
    """A text that was packed with gzip is the same text."""
    assert read(gzip.compress(IOSTAT_X)) == read(IOSTAT_X)


def test_chunks_do_not_matter():
    """Read a byte at a time, as from a slow pipe, a text is the same."""
    bytewise = [IOSTAT_X[n : n + 1] for n in range(len(IOSTAT_X))]
    assert list(intervals(bytewise, "pipe")) == read(IOSTAT_X)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "log.txt: empty"),
        (b"hello\nworld\n", "log.txt: no device statistics in its 2 lines: give the output of"),
        (
            b" L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name\n    0     17      3     88    2.1     14    411    3.3    4.1| ada0\n",
            "log.txt: line 1: iostat of another system than Linux",
        ),
        (
            b"hdisk0         xfer:  %tm_act      bps      tps      bread      bwrtn\n",
            "log.txt: line 1: iostat of another system than Linux",
        ),
        (
            b"                    extended device statistics\n    r/s    w/s   kr/s   kw/s\n",
            "log.txt: line 1: iostat of another system than Linux",
        ),
        (
            b"device     r/s   w/s     kr/s     kw/s\nada0 1 2 3 4\n",
            "log.txt: line 1: iostat of an",
        ),
        (b"Requested activities not available in file sa29\n", "log.txt: line 1: sar has no disks"),
        (
            (
                b"12:10:00 AM       tps      rtps      wtps      dtps   bread/s   bwrtn/s   bdscd/s\n"
                b"12:20:00 AM     17.20     10.57      6.63      0.00    338.19    159.24      0.00\n"
            ),
            "log.txt: line 1: sar -b has the totals of all disks: use `sar -d -p`",
        ),
        (
            (
                b"02:10:05 PM   UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command\n"
                b"02:10:10 PM    26      2211      0.00   5120.40      0.00      12  postgres\n"
            ),
            "log.txt: line 1: pidstat has figures of processes",
        ),
        (
            (
                b"    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND\n"
                b"    411 be/3 root        0.00 B/s    3.76 K/s  0.00 % 92.11 % [jbd2/sda1-8]\n"
            ),
            "log.txt: line 1: iotop has figures of processes",
        ),
        (
            (
                b"procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
                b" r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
                b" 1 12  20480 102400  20480 901120    0    0   120  8200 1200 3400  4  3 20 73  0\n"
            ),
            "log.txt: line 1: vmstat has no figures per device",
        ),
        (
            (
                b"      sda1           reads      read sectors      writes  requested writes\n"
                b"                     12034           443200      991230          30012040\n"
            ),
            "log.txt: line 1: vmstat has no figures per device",
        ),
        (
            (
                b"              capacity     operations     bandwidth\npool        alloc   free   read\n"
                b"tank        4.21T  3.04T    120  1.10K  1.20M  88.3M\n"
            ),
            "log.txt: line 1: zpool iostat is not supported",
        ),
        (
            (
                b"# DISK STATISTICS (/sec)\n#Name       KBytes Merged  IOs Size  Wait\n"
                b"sda              0      0    0    0     0    1211     12   98   12     4\n"
            ),
            "log.txt: line 1: collectl is not supported",
        ),
        (
            b"  #ts device    rd_s rd_avkb rd_mb_s rd_mrg rd_cnc   rd_rt\n  1.0 sdk       71.0    24.0     1.7     0%    0.2     3.0\n",
            "log.txt: line 1: pt-diskstats is not supported",
        ),
        (
            b"DISK I/O      R/s     W/s\nsdk          7.1M   24.0M\n",
            "log.txt: line 1: glances has no times of requests",
        ),
        (
            b"[/dev/sdb].write_io_errs    0\n[/dev/sdb].read_io_errs     12\n",
            "log.txt: line 1: btrfs device stats has errors, no load",
        ),
    ],
)
def test_nothing_in_it(text, reason):
    """A text without devices is refused in one line: what, where, and what to do."""
    with pytest.raises(InputError) as refusal:
        list(intervals([text], "log.txt"))
    assert str(refusal.value).startswith(reason)


@pytest.mark.parametrize(
    "text",
    [
        b"Linux 6.1.0 (lab) \t11/21/26 \t_x86_64_\t(4 CPU)\n\n" + IOSTAT_X,
        b"Linux 6.1.0 (lab) \t11/21/26 \t_x86_64_\t(4 CPU)\n\n" + SAR_D,
        (
            b'{"sysstat": {"hosts": [{"nodename": "lab", "sysname": "Linux", "release": "6.1.0",\n'
            b'"statistics": [{"disk": [{"disk_device": "sda", "r/s": 2.00}]}]}]}}\n'
        ),
    ],
    ids=["iostat", "sar", "JSON"],
)
def test_the_machine_is_told(text):
    """A text names its machine before its first report."""
    assert [Machine(host="lab", kernel="6.1.0")] == [report.machine for report in read(text)]


# By the reader of each format: a text that only it may read.
OF_EACH_FORMAT = {
    sysstat_json.read: SADF_JSON,
    sadf.read_csv: test_sadf.CSV,
    sadf.read_tabs: test_sadf.TABS,
    sadf.read_xml: test_sadf.XML,
    diskstats_copies.read_timed: f"TS 10\n{DISKSTATS}TS 20\n{DISKSTATS}",
    diskstats_copies.read_untimed: DISKSTATS * 2,
    diskstats_copies.read_vmstat: test_other_tools.VMSTAT,
    exposition.read: test_other_tools.scrape(0),
    monitors.read_atop: test_other_tools.ATOP,
    monitors.read_dstat: test_other_tools.DSTAT,
    monitors.read_dstat_csv: test_dstat_csv.PCP,
    monitors.read_nmon: test_other_tools.NMON,
    io_tools.read_fio: test_other_tools.FIO,
    io_tools.read_biosnoop: test_other_tools.BIOSNOOP,
    io_tools.read_biolatency: test_other_tools.BIOLATENCY,
}


@pytest.mark.parametrize("format_", FORMATS, ids=lambda each: each[1].__name__)
def test_every_format_reads_its_text(format_):
    """It begins in that text, before any other, and gets intervals with devices from it."""
    begins, reader = format_
    reader = getattr(reader, "__wrapped__", reader)
    assert reader in OF_EACH_FORMAT, f"{reader.__name__}: no text of it here"
    text = OF_EACH_FORMAT[reader]
    first = next(r for line in text.splitlines() for b, r in FORMATS if b(line))

    assert getattr(first, "__wrapped__", first) is reader
    assert any(begins(line) for line in text.splitlines())
    assert all(interval.loads for interval in read(text.encode()))
    assert read(text.encode())
