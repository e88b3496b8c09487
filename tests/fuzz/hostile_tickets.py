"""
Texts of ``--input`` that would take much: outputs of tools in tickets, figures of every tool, and figures of which
stacks are inferred.

``python -m tests.fuzz.hostile_tickets FILE NAME SIZE…`` writes the first SIZE bytes of each, in a process of its own:
otherwise its memory would be measured with that of the next command.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fuzz.running import Tally
from tests.paths import ROOT

SIZE = 10_000_000  # bytes at most
HEADING = "Device r/s w/s rkB/s wkB/s await aqu-sz"
LSBLK = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n"


def _reports(count: int, names: list[str]) -> str:
    """Reports in which each device has the figures of every other."""
    rows = "\n".join(f"{name} {{0}} {{1}} {{2}} {{3}} 1.0 0.1" for name in names)
    figures = ((10 + n, 20 + n, 40 + n, 80 + n) for n in range(count))
    return "".join(f"{HEADING}\n{rows.format(*each)}\n\n" for each in figures)


def _lines(line: str, count: int) -> str:
    """Lines with a number in each."""
    return "".join(line.replace("%d", str(number)) for number in range(count))


def _slow_times(devices: int, reports: int, is_slow: Callable[[int, int], bool]) -> str:
    """Reports of busy disks of which each is slow in some: *is_slow* of the number of a report and of a disk."""
    chance = random.Random(7)
    tables = []
    for report in range(reports):
        rows = [HEADING]
        for disk in range(devices):
            rate, usual = chance.randrange(100, 120), chance.uniform(1, 1.2)
            wait = usual * chance.uniform(10, 10 + report) if is_slow(report, disk) else usual
            rows.append(
                f"sd{disk}x {rate} {rate} {rate * 8} {rate * 8} {wait:.2f} {wait * rate / 500:.2f}"
            )
        tables.append("\n".join(rows))
    return "\n\n".join(tables)


def _named_disks(count: int) -> str:
    return LSBLK + _lines("sd%dx 8:%d 0 10G 0 disk\n", count) + "\n"


TICKETS: Mapping[str, Callable[[], str]] = {
    "lsblk rows": lambda: LSBLK + _lines("d%d 8:%d 0 10G 0 disk\n", 200_000),
    "lsblk -J": lambda: json.dumps({"blockdevices": [{"name": f"d{n}", "type": "disk"} for n in range(200_000)]}),
    "lsblk -J, deep": lambda: '{"blockdevices":[' + '{"name":"a","children":[' * 200_000 + "]}" * 200_001,
    "lsblk -J, one below all": lambda: '{"blockdevices":[' + ",".join(
        f'{{"name":"a{n}","children":[{{"name":"m","type":"raid5"}}]}}' for n in range(180_000)) + "]}",
    "lsblk -P": lambda: _lines('NAME="d%d" PKNAME="d1%d" TYPE="lvm" SIZE="1"\n', 200_000),
    "lvs as JSON": lambda: json.dumps({"report": [{"lv": [{"lv_name": f"l{n}", "vg_name": "g", "devices": "/dev/sda(0)"}
                                                          for n in range(130_000)]}]}),
    "mdstat": lambda: "Personalities : [raid1]\n" + _lines("md%d : active raid1 sda%d[0] sdb%d[1]\n  8 blocks [2/2] [UU]\n\n", 130_000),
    "members of an array": lambda: "Personalities : [raid1]\nmd0 : active raid1" + _lines(" sd%d[%d]", 600_000),
    "tables": lambda: _lines("v%d: 0 8 linear 8:0 %d\n", 350_000),
    "segments": lambda: _lines("v: %d 1 linear 8:%d 0\n", 350_000),
    "contradictions": lambda: "".join(json.dumps({"blockdevices": [{"name": f"a{n}", "size": k} for n in range(19_000)]}) + "\n"
                                      for k in range(15)),
    "JSON, many": lambda: '{"blockdevices":[{"name":"a"}]}\n' * 320_000,
    "JSON, half": lambda: '{"blockdevices":[{"name":"a"\n' * 340_000,
    "braces": lambda: "{" * SIZE,
    "lines of braces": lambda: "{\n" * (SIZE // 2),
    "disks with a long bad time": lambda: _named_disks(1500)
    + _slow_times(1500, 80, lambda report, disk: 10 + disk < report < 40 + disk),
    "disks in few reports": lambda: _named_disks(6000)
    + _slow_times(6000, 20, lambda report, disk: disk % 3 + 8 < report < disk % 3 + 12),
    "disks with spikes": lambda: _slow_times(60, 1950, lambda report, disk: (report + 7 * disk) % 7 < 2),
    "a disk with spikes": lambda: _slow_times(10, 15_000, lambda report, disk: (report + 7 * disk) % 8 < 2),
    "equal devices": lambda: _reports(60, [f"{kind}{n}" for n in range(1000) for kind in ("sda", "dm-")]),
}  # fmt: skip
TITLES = "rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util"
COLUMNS = TITLES.split()
CELLS = " 1.0" * len(COLUMNS)


def _folded() -> str:
    """A table in three parts, each with some of the columns, again and again."""
    parts = (COLUMNS[:5], COLUMNS[5:9], COLUMNS[9:])
    table = "".join(
        f"{' '.join(['DEV', *part])}\n"
        + "".join(f"sd{n} {' '.join(['1.5'] * len(part))}\n" for n in range(9))
        for part in parts
    )
    return f"{table}\n" * 30_000


STATISTICS: Mapping[str, Callable[[], str]] = {
    "few columns": lambda: "Device r/s w/s\n" + "sda 1 2\n" * 1_200_000,
    "few columns of many": lambda: ("Device r/s w/s\n" + _lines("s%d 1 2\n", 1000)) * 900,
    "reports of one device": lambda: "Device r/s w/s\nsda 1 2\n\n" * 400_000,
    "idle devices": lambda: ("Device r/s w/s\n" + _lines("s%d 0 0\n", 30_000) + "\n") * 30,
    "tables of sar": lambda: _lines(f"07:00:01 DEV {TITLES}\n07:00:01 sda{CELLS}\n\n", 70_000),
    "folded tables": _folded,
    "parts of names": lambda: "DEV tps rkB/s\n" + _lines(f"{'x' * 60}%d\n1.0 2.0\n", 120_000),
    "sadf with tabs": lambda: _lines("l\t1\t2026-11-21 07:45:50 UTC\tsd%d\ttps\t1.0\n", 230_000),
    "sadf as CSV": lambda: "# hostname;interval;timestamp;DEV;tps\n" + _lines(
        "l;1;2026-11-21 07:45:50 UTC;sd%d;2.0\n", 260_000),
    "sadf in one line": lambda: "# hostname;interval;timestamp;DEV;tps[...]\nl;1;2026-11-21 07:45:50 UTC"
    + _lines(";sd%d;2.0", 800_000),
    "sadf as XML": lambda: '<?xml version="1.0"?>\n<sysstat>\n' + _lines('<disk-device dev="sd%d" tps="1"/>\n', 260_000),
    "sysstat's JSON": lambda: '{"sysstat":{"hosts":[{"statistics":[{"disk":['
    + _lines('{"disk_device":"sd%d","r/s":1},', 280_000),
    "sysstat's JSON, deep": lambda: '{"sysstat":{"hosts":' + "[" * 5_000_000,
    "/proc/diskstats": lambda: _lines("8 %d sd%d 1 1 1 1 1 1 1 1 1 1 1\n", 220_000),
    "/proc/diskstats with times": lambda: _lines("TS %d\n8 0 sda 1 1 1 1 1 1 1 1 1 1 1\n", 220_000),
    "vmstat -d": lambda: "disk- ----reads---- ----writes---- --IO--\n total merged sectors ms total merged sectors ms cur sec\n"
    + _lines("sd%d 1 1 1 1 1 1 1 1 1 1\n", 250_000),
    "node_exporter": lambda: _lines('node_disk_reads_completed_total{device="sd%d"} 1\n', 190_000),
    "node_exporter's scrapes": lambda: _lines(
        'node_disk_reads_completed_total{device="sda"} %d\nnode_time_seconds %d\n', 110_000),
    "node_exporter's labels": lambda: _lines('node_disk_info{a%d="1",device="sda"} 1\n', 230_000),
    "labels of one metric": lambda: "node_disk_info{" + _lines('a%d="1",', 80_000) + 'device="sda"} 1\n',
    "atop": lambda: "ATOP - h  2024/03/05  10:00:10  ---  10s elapsed\n" + _lines(
        "DSK | sd%d | busy 50% | read 70 | write 50 | avio 0.23 ms |\n", 160_000),
    "atop's samples": lambda: "ATOP - h  2024/03/05  10:00:10  ---  10s elapsed\nDSK | sda | busy 1% | read 7 | write 5 |\n" * 100_000,
    "atop's cells": lambda: "ATOP - h  2024/03/05  10:00:10  ---  10s elapsed\nDSK | sda |" + " read 1 |" * 110_000 + "\n",
    "atop -P": lambda: "RESET\n" + _lines("DSK h 1709632800 2024/03/05 10:00:00 10 sd%d 1 1 1 1 1 -1 -1 0 0.5\nSEP\n", 130_000),
    "dstat": lambda: " --dsk/sda-- \n read  writ\n" + "1439k 5303k\n" * 800_000,
    "dstat's columns": lambda: _lines(" --dsk/sd%d--", 60_000) + "\n" + " read  writ:" * 60_000 + "\n",
    "nmon": lambda: "AAA,progname,nmon\n" + _lines("ZZZZ,T%d,19:33:51,27-NOV-2026\nDISKBUSY,T%d,1.0\n", 200_000),
    "nmon's columns": lambda: "AAA,progname,nmon\nDISKBUSY,Disk %Busy h" + _lines(",sd%d", 100_000) + "\n"
    + "ZZZZ,T1,19:33:51,27-NOV-2026\nDISKBUSY,T1" + ",1.0" * 100_000 + "\n",
    "nmon's lsblk": lambda: "AAA,progname,nmon\n" + _lines('BBBP,%d,lsblk,"sd%d 8:%d 0 1G 0 disk"\n', 230_000),
    "fio": lambda: "Disk stats (read/write):\n" + _lines("  sd%d: ios=1/2, merge=0/0, ticks=3/4, in_queue=7, util=9%\n", 160_000),
    "biosnoop": lambda: "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n" + _lines("0.%d a 1 sd%d R 1 4096 0.1\n", 320_000),
    "biolatency": lambda: _lines("disk = 'sd%d'\n usecs : count distribution\n 0 -> 1 : 5 |**|\n", 130_000),
    "numbers of 1 MB": lambda: "Device r/s\nsda " + "9" * 1_000_000 + "\n",
    "blanks of 1 MB": lambda: "Device r/s\n" + ("sda" + " " * 900_000 + "1\n") * 10,
    "pipes": lambda: "| " * 5_000_000,
    "quotes": lambda: "> " * 4_999_000 + "Device r/s\n",
    "a page": lambda: "<table><tr><td>Device</td><td>r/s</td></tr>" + _lines("<tr><td>sd%d</td><td>1</td></tr>", 300_000),
    "entities": lambda: "Device&nbsp;r/s\n" + "&amp;" * 1_900_000,
}  # fmt: skip
REPORT = ("report", "-o", "-")
COMMANDS = (("tree",), ("explain",), ("iostat", "-l"), REPORT)
AVERAGE = ("iostat", "-l", "--report", "average")  # without it, each report is printed
OF_FIGURES = (("tree",), ("explain",), AVERAGE, ("annotate",))
OTHER_COMMANDS = (AVERAGE, REPORT, ("blame",), ("annotate",))


def named(tally: Tally, folder: Path) -> None:
    """Each of ``TICKETS`` and ``STATISTICS``, with each command."""
    place = folder / "ticket.txt"
    for what in TICKETS | STATISTICS:
        _write(place, what, SIZE)
        for command in COMMANDS if what in TICKETS else OF_FIGURES:
            _measured(tally, what, command, place)


def generated(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: parts of up to three of them in one text."""
    sizes = [10_000, 100_000, 1_000_000, SIZE // 3]
    chosen = [
        (chance.choice([*TICKETS, *STATISTICS]), chance.choice(sizes))
        for _ in range(chance.randint(1, 3))
    ]
    place = folder / "ticket.txt"
    _write(place, *(word for pair in chosen for word in pair))
    what = " + ".join(name for name, _ in chosen)
    for command in (chance.choice(COMMANDS), chance.choice(OTHER_COMMANDS)):
        _measured(tally, what, command, place)


def _write(place: Path, *what: str | int) -> None:
    made = [sys.executable, "-m", "tests.fuzz.hostile_tickets", str(place), *map(str, what)]
    subprocess.run(made, check=True, cwd=ROOT)


def _measured(tally: Tally, what: str, command: tuple[str, ...], place: Path) -> None:
    given = () if command == ("annotate",) else ("--input",)
    tally.attack(f"text: {what}", (*command, *given, str(place)))


if __name__ == "__main__":
    texts = TICKETS | STATISTICS
    pairs = zip(sys.argv[2::2], map(int, sys.argv[3::2]), strict=True)
    Path(sys.argv[1]).write_text("\n".join(texts[name]()[:size] for name, size in pairs))
