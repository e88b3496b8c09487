"""
Texts of ``--input`` that would take much: outputs of tools in tickets, and figures of which stacks are inferred.

``python -m tests.fuzz.hostile_tickets FILE NAME`` makes one, in a process of its own: what it needs would count for
the commands that are measured after it.
"""

from __future__ import annotations

import json
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
    "equal devices": lambda: _reports(60, [f"{kind}{n}" for n in range(1000) for kind in ("sda", "dm-")]),
}  # fmt: skip
COMMANDS = (("tree",), ("explain",), ("iostat", "-l"))


def named(tally: Tally, folder: Path) -> None:
    """Each of ``TICKETS``, with each command."""
    place = folder / "ticket.txt"
    for what in TICKETS:
        made = [sys.executable, "-m", "tests.fuzz.hostile_tickets", str(place), what]
        subprocess.run(made, check=True, cwd=ROOT)
        for command in COMMANDS:
            tally.attack(f"ticket: {what}", (*command, "--input", str(place)))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(TICKETS[sys.argv[2]]()[:SIZE])
