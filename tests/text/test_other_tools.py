"""
Figures of vmstat -d, node_exporter, atop, dstat, nmon, fio, biosnoop and biolatency.

The texts have the form of real outputs; their figures are primes, or quotients that can be checked by hand.
"""

from __future__ import annotations

import re
import textwrap
from itertools import pairwise

import pytest

from stackmap.errors import InputError
from stackmap.ledger.averages import average
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load
from stackmap.text import intervals

KIB, MIB = 1024, 1024**2

VMSTAT = """\
disk- ------------reads------------ ------------writes----------- -----IO------
       total merged sectors      ms  total merged sectors      ms    cur    sec
sda        2      3       5       7     11     13      17      19      0     23
dm-0      29      0      31      37     41      0      43      47      0     53
"""
VMSTAT_LATER = VMSTAT.replace("    2      3       5       7 ", "   12      8      21      27 ")

METRICS = {
    "reads_completed": (2, 102), "reads_merged": (3, 13), "read_bytes": (512, 1.0752e4), "read_time_seconds": (0.007, 0.107),
    "writes_completed": (11, 61), "writes_merged": (13, 13), "written_bytes": (1024, 52224), "write_time_seconds": (0.019, 0.269),
    "io_time_seconds": (0.023, 2.523), "io_time_weighted_seconds": (0.029, 5.029),
    "discards_completed": (0, 0), "discards_merged": (0, 0), "discarded_sectors": (0, 0), "discard_time_seconds": (0, 0),
}  # fmt: skip


def scrape(later: int, *, clocks: bool = True, labels: str = "") -> str:
    """Return node_exporter's text of one of the two instants of ``METRICS``."""
    lines = [f"node_boot_time_seconds{labels and '{' + labels + '}'} 1.7e+09"] * clocks
    for name, values in METRICS.items():
        lines += [
            f"# HELP node_disk_{name}_total Some words.",
            f"# TYPE node_disk_{name}_total counter",
        ]
        lines += [
            f'node_disk_{name}_total{{device="sda"{labels and "," + labels}}} {values[later]}'
        ]
    lines += [
        'node_disk_io_now{device="sda"} 0',
        'node_filesystem_size_bytes{device="/dev/sda1"} 7',
    ]
    return "\n".join([*lines, *[f"node_time_seconds{labels and '{' + labels + '}'} {1.7e9 + 100 + 5 * later}"] * clocks]) + "\n"  # fmt: skip


ATOP = """\
ATOP - web3            2024/03/05  10:00:10            -----------------             10s elapsed
PRC | sys    3.64s | user  49.69s | #proc     78 | #zombie    0 | #exit      0 |
CPU | sys      22% | user    151% | irq       0% | idle     25% | wait      1% |
LVM |      vg-data | busy     40% | read     100 | write    200 | avio 13.3 ms |
MDD |          md0 | busy      0% | read      30 | write   59e2 | avio 0.00 ms |
DSK |          sda | busy     50% | read     70  | write   50/s | KiB/r     15 | KiB/w     31 | MBr/s    0.1 | MBw/s   21.0 | avq   4.00 | avio 0.23 ms |
NET | transport    | tcpi 1048502 | tcpo  989747 | udpi    3240 | udpo    3245 |

  PID SYSCPU USRCPU  VGROW  RGROW  RDDSK  WRDSK  ST EXC S  CPU CMD     1/600
 1234  4.46s 37.90s   4.6G 816.2M   2.9M  64.1M  --   -  R 151% mysqld
ATOP - web3            2024/03/05  10:00:20            -----------------           1m10s elapsed
DSK |          sda | busy     10% | read    700  | write    140 | avio 0.23 ms |
"""
ATOP_LOADS = [
    {
        "vg-data": Load(Flow(10.0), Flow(20.0), busy=0.4),
        "md0": Load(Flow(3.0), Flow(590.0), busy=0.0),
        # Its queue of 4 while it is busy is 2 on average: 2 s of waits per second.
        # 15 KiB per read is 15 to 16, and tells more than 0.05 to 0.15 MiB/s; 21.0 MiB/s tells more than 31 to 32 KiB per write.
        "sda": Load(
            Flow(7.0, bytes=7 * 15.5 * KIB),
            Flow(50.0, bytes=21 * MIB),
            whole=Flow(wait=2000.0),
            aqu=2.0,
            busy=0.5,
        ),
    },
    {"sda": Load(Flow(10.0), Flow(2.0), busy=0.1)},
]

PARSEABLE = """\
RESET
DSK web3 1709632800 2024/03/05 10:00:00 86400 sda 864000 86400 172800 43200 691200 -1 -1 0 0.50
SEP
DSK web3 1709632810 2024/03/05 10:00:10 10 sda 5000 100 2000 200 6400 50 800 2 3.00
LVM web3 1709632810 2024/03/05 10:00:10 10 vg-data 1000 10 20 30 40
MDD web3 1709632810 2024/03/05 10:00:10 10 md0 0 10 20 30 40 0 0
SEP
"""

DSTAT = """\
You did not select any stats, using -cdngy by default.
----system---- --dsk/sda-- -dsk/dm-0-- -dsk/total- ---io/sda-- -net/total-
     time     | read  writ: read  writ: read  writ| read  writ| recv  send
27-11 19:33:47|1439k 5303k:   0     0 :1439k 5303k|97.4  89.4 |   0     0
27-11 19:33:48|  20k 4096B:   3M    0 :  20k  104k|5.00  1.5k | 112B   74B
27-11 19:33:49|   0  6472k:   -     0 :4096B 6472k|   0  32.0 |   0     0
"""

NMON = """\
AAA,progname,nmon
AAA,host,web3
AAA,interval,10
BBBP,000,lsblk
BBBP,001,lsblk,"NAME  MAJ:MIN RM  SIZE RO TYPE MOUNTPOINTS"
BBBP,002,lsblk,"sda     8:0    0    1G  0 disk "
BBBP,003,lsblk,"└─dm-0 253:0    0   1G  0 lvm  /srv"
BBBP,004,/proc/diskstats
BBBP,005,/proc/diskstats,"   8       0 sda 2 3 5 7 11 13 17 19 0 23 29"
DISKBUSY,Disk %Busy web3,sda,dm-0
DISKREAD,Disk Read KB/s web3,sda,dm-0
DISKWRITE,Disk Write KB/s web3,sda,dm-0
DISKXFER,Disk transfers per second web3,sda,dm-0
DISKBSIZE,Disk Block Size web3,sda,dm-0
ZZZZ,T0001,19:33:51,27-NOV-2026
DISKBUSY,T0001,41.0,43.0
DISKREAD,T0001,2.0,3.0
DISKWRITE,T0001,5.0,7.0
DISKXFER,T0001,11.0,13.0
DISKBSIZE,T0001,0.6,0.8
ZZZZ,T0002,19:34:01,27-NOV-2026
DISKBUSY,T0002,0.0,47.0
DISKREAD,T0002,17.0,0.0
DISKWRITE,T0002,19.0,23.0
DISKXFER,T0002,29.0,31.0
"""


def nmon(read: float, write: float, transfers: float, busy: float) -> Load:
    return Load(Flow(bytes=read * KIB), Flow(bytes=write * KIB), whole=Flow(transfers), busy=busy)


NMON_LOADS = [
    {"sda": nmon(2, 5, 11, 0.41), "dm-0": nmon(3, 7, 13, 0.43)},
    {"sda": nmon(17, 19, 29, 0), "dm-0": nmon(0, 23, 31, 0.47)},
]

FIO = """\
Run status group 0 (all jobs):
  WRITE: bw=31.8MiB/s (33.3MB/s), 31.8MiB/s-31.8MiB/s (33.3MB/s-33.3MB/s), io=63.6MiB (66.7MB), run=2001-2001msec

Disk stats (read/write):
    dm-0: ios=2/3, merge=0/0, ticks=5/7, in_queue=11, util=98.12%, aggrios=2/3, aggrmerge=1/1, aggrticks=5/7, aggrin_queue=11, aggrutil=98.10%
  sda: ios=13/17, sectors=19/23, merge=29/31, ticks=37/41, in_queue=43, util=47.50%
"""
BIOSNOOP = """\
TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)
0.000000    supervise      1950   sda       W 13092560   4096      0.50
0.500000    Web Content    27     sda       R 13092568   8192      1.50
1.000000    jbd2/sda1-8    33     nvme0n1   W 1309256    16384     2.25
2.000000    ?              0      sda       W -1         0         4.00
"""
QUEUED = (
    BIOSNOOP.replace("LAT(ms)", "QUE(ms) LAT(ms)").replace("  0.50\n", " 0.25 0.50\n").replace("  1.50\n", " 0.25 1.50\n")
    .replace("  2.25\n", " 0.25 2.25\n").replace("  4.00\n", " 0.25 4.00\n")
)  # fmt: skip
BIOLATENCY = """\
Tracing block device I/O... Hit Ctrl-C to end.
^C
disk = 'sda'
     usecs               : count     distribution
         0 -> 1          : 0        |                                        |
       512 -> 1023       : 4        |********************                    |
      1024 -> 2047       : 2        |**********                              |

disk = 'nvme0n1'
     usecs               : count     distribution
        64 -> 127        : 3        |****************************************|
"""

# What each text says: the loads of its intervals.
SAID: dict[str, tuple[str, list[dict[str, Load]]]] = {
    "vmstat": (
        VMSTAT,
        [{"sda": Load(Flow(2, 3, 5 * 512, 7), Flow(11, 13, 17 * 512, 19)), "dm-0": Load(Flow(29, 0, 31 * 512, 37), Flow(41, 0, 43 * 512, 47))}],
    ),
    "vmstat twice": (
        VMSTAT + VMSTAT_LATER,
        [{"sda": Load(Flow(10, 5, 16 * 512, 20), Flow(0, 0, 0, 0)), "dm-0": Load(Flow(0, 0, 0, 0), Flow(0, 0, 0, 0))}],
    ),
    "scrapes": (
        scrape(0) + scrape(1),
        [{"sda": Load(Flow(20, 2, 2048, 20), Flow(10, 0, 10240, 50), Flow(0, 0, 0, 0), aqu=1.0, busy=0.5)}],
    ),
    "atop": (ATOP, ATOP_LOADS),
    "atop -P": (
        PARSEABLE,
        [
            {"sda": Load(Flow(1.0, bytes=1024.0), Flow(0.5, bytes=4096.0), whole=Flow(wait=5.0), aqu=0.005, busy=0.01)},
            {
                # The queue has discards, too: the await of reads and writes is unknown.
                "sda": Load(Flow(10, bytes=200 * 512), Flow(20, bytes=640 * 512), Flow(5, bytes=80 * 512), aqu=1.5, busy=0.5),
                "vg-data": Load(Flow(1, bytes=1024), Flow(3, bytes=2048), busy=0.1),
                "md0": Load(Flow(1, bytes=1024), Flow(3, bytes=2048), Flow(0, bytes=0), busy=0),
            },
        ],
    ),
    "dstat": (
        DSTAT,
        [
            {"sda": Load(Flow(97.4, bytes=1439 * KIB), Flow(89.4, bytes=5303 * KIB)), "dm-0": Load(Flow(bytes=0), Flow(bytes=0))},
            {"sda": Load(Flow(5, bytes=20 * KIB), Flow(1500, bytes=4096)), "dm-0": Load(Flow(bytes=3 * MIB), Flow(bytes=0))},
        ],
    ),
    "nmon": (NMON, NMON_LOADS),
    "fio": (
        FIO,
        [
            {
                "dm-0": Load(Flow(2, 0, None, 5), Flow(3, 0, None, 7), busy=0.9812),
                "sda": Load(Flow(13, 29, 19 * 512, 37), Flow(17, 31, 23 * 512, 41), busy=0.475),
            }
        ],
    ),
    "biosnoop": (
        BIOSNOOP,
        [
            {
                "sda": Load(Flow(0.5, None, 4096, 0.75), Flow(1, None, 2048, 2.25), Flow(0, None, 0, 0), Flow(0, None, 0, 0)),
                "nvme0n1": Load(Flow(0, None, 0, 0), Flow(0.5, None, 8192, 1.125), Flow(0, None, 0, 0), Flow(0, None, 0, 0)),
            }
        ],
    ),
    "biolatency": (
        BIOLATENCY,
        [{"sda": Load(whole=Flow(6, wait=4 * 0.7675 + 2 * 1.5355)), "nvme0n1": Load(whole=Flow(3, wait=3 * 0.0955))}],
    ),
}  # fmt: skip


def read(text: str) -> list[Interval]:
    return [*intervals([text.encode()], "ticket")]


def figures(load: Load) -> list[float | None]:
    flows = (load.read, load.write, load.discard, load.flush, load.whole or Flow())
    return [*(x for flow in flows for x in flow), load.aqu, load.busy]


def assert_says(reports: list[Interval], loads: list[dict[str, Load]]) -> None:
    assert [[*report.loads] for report in reports] == [[*each] for each in loads]
    for report, each in zip(reports, loads, strict=True):
        for name, load in each.items():
            assert figures(report.loads[name]) == pytest.approx(figures(load)), name


@pytest.mark.parametrize("tool", SAID)
def test_the_figures_of_each_tool(tool: str) -> None:
    assert_says(read(SAID[tool][0]), SAID[tool][1])


DAMAGES = {
    "crlf": lambda line: line + "\r",
    "mail": lambda line: "> " + line,
    "colour": lambda line: re.sub(r"(sda|read)", "\x1b[1;34m\\1\x1b[0;0m", line),
    "trailing": lambda line: line + "   ",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("tool", sorted(SAID.keys() - {"nmon"}))  # a file, which nobody quotes
def test_quotes_line_ends_and_colours_change_nothing(tool: str, damage: str) -> None:
    text, loads = SAID[tool]
    assert_says(read("\n".join(map(DAMAGES[damage], text.splitlines())) + "\n"), loads)


@pytest.mark.parametrize("tool", ["vmstat", "atop", "atop -P", "dstat", "fio"])
def test_a_cut_text_has_no_other_figures(tool: str) -> None:
    """Cut at any line, each device has the figures that it has in the whole text, or none."""
    text, loads = SAID[tool]
    whole = [{name: figures(load) for name, load in each.items()} for each in loads]
    complete = 0
    for end in re.finditer("\n", text):
        try:
            reports = read(text[: end.end()])
        except InputError:
            continue
        for report, each in zip(reports, whole, strict=False):
            for name, load in report.loads.items():
                assert figures(load) == pytest.approx(each[name])
                complete += 1
    assert complete


@pytest.mark.parametrize(("one", "other"), [*pairwise(["atop", "dstat", "fio", "vmstat", "biosnoop", "atop -P", "biolatency", "scrapes"])])  # fmt: skip
def test_texts_of_two_tools_after_each_other(one: str, other: str) -> None:
    """With iostat between them or not, each has its own figures."""
    iostat = "Device  r/s  w/s  rkB/s  wkB/s\nsda  2.00  3.00  5.00  7.00\n"
    of_iostat = [{"sda": Load(Flow(2, bytes=5 * KIB), Flow(3, bytes=7 * KIB))}]
    (first, said), (second, then) = SAID[one], SAID[other]
    assert_says(read(f"{first}\nand\n{second}\n"), said + then)
    assert_says(read(f"{first}\n{iostat}\n{second}\n"), said + of_iostat + then)


# When, how long, and what is to be known


def test_times_and_lengths() -> None:
    atop, parseable, scrapes = (read(SAID[name][0]) for name in ("atop", "atop -P", "scrapes"))
    assert [report.seconds for report in atop] == [10, 70]
    assert (atop[1].clock or 0) - (atop[0].clock or 0) == 10
    assert [(report.time, report.seconds, report.since_boot) for report in parseable] == [(1709632800, 86400, True), (1709632810, 10, False)]  # fmt: skip
    assert [(report.time, report.seconds) for report in scrapes] == [(1.7e9 + 105, 5)]
    assert [report.since_boot for report in read(DSTAT)] == [True, False]
    assert [report.stamp for report in read(DSTAT)] == ["27-11 19:33:47", "27-11 19:33:48"]
    assert [report.machine.host for report in (*atop, *parseable, *read(NMON))] == ["web3"] * 6
    assert {report.seconds for report in read(NMON)} == {10.0}
    assert (read(NMON)[1].clock or 0) - (read(NMON)[0].clock or 0) == 10
    assert [report.seconds for report in read(BIOSNOOP)] == [2.0]


def test_atops_first_report_is_since_boot() -> None:
    text = ATOP.replace(
        "NET | transport", "*** System and Process Activity since Boot ***\nNET |", 1
    )
    assert [report.since_boot for report in read(text)] == [True, False]


def test_one_scrape_is_since_boot() -> None:
    """With both clocks it has rates, without them totals."""
    (report,) = read(scrape(1))
    assert (report.since_boot, report.seconds, report.notes) == (True, 105, ())
    assert report.loads["sda"].write == pytest.approx(
        Flow(61 / 105, 13 / 105, 52224 / 105, 269 / 105)
    )
    (report,) = read(scrape(1, clocks=False))
    assert report.loads["sda"].write == Flow(61, 13, 52224, 269)
    assert (report.loads["sda"].aqu, report.seconds) == (None, None)
    assert report.notes[0].startswith("totals since boot, not rates")


def test_two_hosts_are_not_subtracted_from_each_other() -> None:
    """Prometheus' label instance tells hosts apart."""
    one, other = (scrape(n, labels=f'instance="web{n}:9100"') for n in (0, 1))
    reports = read(one + other)
    assert [(report.machine.host, report.since_boot) for report in reports] == [("web0", True), ("web1", True)]  # fmt: skip


def test_a_counter_that_went_back_has_no_figures() -> None:
    other = 'node_disk_reads_completed_total{device="sdb"} 5\n'
    (report,) = read(scrape(1, clocks=False) + other + scrape(0, clocks=False) + other)
    assert [*report.loads] == ["sdb"]
    assert report.events == ("sda: its counters went back; no figures for it",)


def test_metrics_that_are_missing_are_unknown() -> None:
    text = "\n".join(line for line in scrape(1).splitlines() if "writ" not in line and "io_time" not in line)  # fmt: skip
    (report,) = read(text + "\n")
    load = report.loads["sda"]
    assert (load.write, load.aqu, load.busy) == (Flow(), None, None)
    assert load.read.ios == pytest.approx(102 / 105)


def test_totals_are_no_rates() -> None:
    for text in (
        FIO,
        VMSTAT,
        VMSTAT * 2,
        BIOLATENCY,
        BIOSNOOP.replace("2.000000", "0.900000").replace("1.000000", "0.800000"),
    ):
        (report,) = read(text)
        assert re.match(r"totals(?: since boot)?, not rates", report.notes[0])
        assert report.seconds is None


@pytest.mark.parametrize("width", [50, 60, 72])
def test_rows_of_fio_that_a_mail_wrapped(width: int) -> None:
    lines = [f"> {part}" for line in FIO.splitlines() for part in textwrap.wrap(line, width)]
    assert_says(read("\n".join(lines) + "\n"), SAID["fio"][1])


DSTAT_LOADS = SAID["dstat"][1]


@pytest.mark.parametrize("width", [40, 50, 60, 72])
def test_lines_of_dstat_that_a_mail_wrapped(width: int) -> None:
    """Blanks before the figures may be lost, and non-breaking ones doubled."""
    lines = [re.sub(r"  +", "\xa0 ", line) for line in DSTAT.splitlines()]
    wrapped = [
        part for line in lines for part in textwrap.wrap(line, width, break_on_hyphens=False)
    ]
    assert_says(read("\n".join(f"> {part}" for part in wrapped) + "\n"), DSTAT_LOADS)


def test_a_title_of_dstat_without_the_line_below_it() -> None:
    title, _, *rows = DSTAT.splitlines()[1:]
    bare = [re.sub(r"\|[^|]*$", "", line) for line in (title.replace(" -net/total-", "|"), *rows)]
    assert_says(read("\n".join(bare) + "\n"), DSTAT_LOADS)


def test_dstats_repeated_title_is_no_new_run() -> None:
    """It prints the title again below a screen of rows; a title elsewhere begins another run, since boot."""
    _, title, subtitle, *rows = DSTAT.splitlines()
    again = [title, subtitle, rows[1]]
    reports = read(
        "\n".join([title, subtitle, rows[0], rows[1], *again, "", "later:", *again, rows[1]]) + "\n"
    )
    assert [report.since_boot for report in reports] == [True, False, False, True, False]
    assert [any("first line of dstat" in note for note in report.notes) for report in reports] == [
        True,
        False,
        False,
        True,
        False,
    ]


def test_rows_of_atop_without_the_line_above_them() -> None:
    """Counts per second (atop -1) need no length; other counts are totals."""
    first, second = read(
        "DSK |  sda | busy 0% | read 0 | write 8002/s | MBw/s 32.1 |\n\nDSK |  sda | busy 84% | read 700 | write 59e2 | MBr/s 94.0 |\n"
    )
    assert first.loads["sda"].write == Flow(8002, bytes=32.1 * MIB)
    assert second.loads["sda"].write == Flow(5900)
    assert any(note.startswith("totals, not rates") for note in second.notes)
    assert not any(note.startswith("totals, not rates") for note in first.notes)


def test_totals_do_not_count_beside_rates() -> None:
    """The average of iostat and fio's whole run would be neither."""
    iostat = "Device  r/s  w/s  rkB/s  wkB/s\nsda  2.00  3.00  5.00  7.00\n"
    for text in (FIO + iostat, iostat + VMSTAT * 2, BIOLATENCY + iostat, iostat + BIOSNOOP):
        (whole,) = average(read(text))
        assert whole.loads["sda"].read.ios == 2.0
        assert not whole.totals
    (alone,) = average(read(FIO))
    assert alone.totals


def test_rows_of_sar_without_a_heading_below_those_of_another_tool() -> None:
    """Their columns are inferred, as without the other tool."""
    rows = "".join(f"08:15:{s} {name} 20.00 400.00 80.00 0.00 24.00 0.10 5.00 2.00\n" for s in (10, 20) for name in ("sda", "sdb"))  # fmt: skip
    for text in (FIO, VMSTAT, "DSK |  sda | busy 84% | read 700 | write 59e2 | MBr/s 94.0 |\n"):
        (_, first, second) = read(text + "\nand sar shows:\n\n" + rows)
        assert [*first.loads] == [*second.loads] == ["sda", "sdb"]
        assert first.loads["sda"].total.ios == 20


def test_cut_names_are_noted() -> None:
    (report,) = read(DSTAT.replace("--dsk/sda--", "dsk/nvme0n1"))[1:]
    assert any("nvme0n1 may be a partition" in note for note in report.notes)
    assert any(
        "12 characters" in note
        for note in read(ATOP.replace("     vg-data", "roup00-lvtmp"))[0].notes
    )


def test_time_in_the_queue_counts() -> None:
    assert read(QUEUED)[0].loads["sda"].write.wait == 2.25 + 0.25
    assert "latency begins" in read(BIOSNOOP)[0].notes[0]
    assert "latency begins" not in read(QUEUED)[0].notes[0]


def test_a_sorted_file_of_nmon() -> None:
    """Its manual says to sort it: the times come last."""
    assert_says(read("\n".join(sorted(NMON.splitlines())) + "\n"), NMON_LOADS)


def test_many_disks_have_sections_of_their_own() -> None:
    text = re.sub(
        r"DISK(BUSY|READ|WRITE|XFER),(T\d+|Disk[^,]*),([^,]*),(.*)",
        r"DISK\1,\2,\3\nDISK\g<1>1,\2,\4",
        NMON,
    )
    assert_says(read(text), NMON_LOADS)


def test_nmon_of_aix_is_refused() -> None:
    with pytest.raises(InputError, match="nmon of AIX"):
        read("AAA,progname,topas_nmon\nAAA,AIX,7.1.0.0\n" + NMON)


def test_a_flag_per_disk_is_the_same_disk() -> None:
    text = "".join(
        f"\ndisk = sda\tflags = {flag}\n     msecs               : count     distribution\n"
        f"         2 -> 3          : {count}        |*****|\n"
        for flag, count in (("Read", 3), ("Write", 5), ("Read", 7))
    )
    assert [report.loads["sda"].total for report in read(text)] == [
        Flow(8, wait=20),
        Flow(7, wait=17.5),
    ]


def test_requests_of_dstat_disk_tps() -> None:
    """They stand below the title of bytes, and are no bytes."""
    text = """\
vda- --dsk/vda-- --dsk/vda--
util|#read #writ: read  writ
2.40| 557    17 :  23k   29k
"""
    (report,) = intervals([text.encode()], "text")
    assert report.loads["vda"] == Load(Flow(557, bytes=23 * KIB), Flow(17, bytes=29 * KIB))


PMREP = """\
             Device     r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util
10:44:24        vda     N/A       N/A     N/A     N/A       N/A     N/A     N/A    N/A
10:44:24        vdb     N/A       N/A     N/A     N/A       N/A     N/A     N/A    N/A
10:44:25        vda    2.00      3.00    5.00    7.00     11.00   13.00   17.00  19.00
10:44:25        vdb   23.00     29.00   31.00   37.00     41.00   43.00   47.00  53.00
10:44:26        vda    3.00      3.00    5.00    7.00     11.00   13.00   17.00  19.00
10:44:26        vdb   24.00     29.00   31.00   37.00     41.00   43.00   47.00  53.00
"""


def test_the_first_report_of_pmrep_has_no_figures() -> None:
    """It has the columns of iostat; the rows without figures do not end the table."""
    reports = [each for each in intervals([PMREP.encode()], "text") if each.loads]
    assert [(each.stamp, [load.read.ios for load in each.loads.values()]) for each in reports] == [
        ("10:44:25", [2, 23]),
        ("10:44:26", [3, 24]),
    ]
    assert not any(each.notes for each in reports)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("          d.d.read  d.d.write\n               vda        vda\n10:43:53    22.996      0.000\n", "PCP's metrics"),
        ('Time,"disk.dev.read-vda"\n2026-11-28 10:43:56,24.991\n', "PCP's metrics"),
        ("           26 disks\n      4171051 total reads\n      3539944 milli reading\n", "vmstat has no figures per device without -d"),
    ],
    ids=["pmrep", "pmrep -o csv", "vmstat -D"],
)  # fmt: skip
def test_tables_without_devices_are_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        list(intervals([text.encode()], "text"))
