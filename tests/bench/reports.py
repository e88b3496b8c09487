"""
CPU time per report, compared with ``iostat -dx``: with 1,000 and 4,000 devices, and while devices come and go.

Drawn machines as in ``watching``, with one device in ten busy. Between the reports of the second kind a device is
added or removed: a real loop device without a file, so that the kernel announces it. In the drawn machine it has a size.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import many
from measure import UNWANTED, compare, in_own_mounts
from tabulate import tabulate
from watching import Counters, running

STACKMAP = Path(sys.executable).with_name("stackmap")
COUNTS = (1000, 4000)
SETTLE, MEASURED = 8, 20  # seconds, of a report each where the machine is not busy
TICKS = os.sysconf("SC_CLK_TCK")
CPU_TIMES = slice(
    11, 15
)  # of the words after the name in /proc/PID/stat: ended threads and children too
MOST = 0.5  # of what iostat takes per report
WITH_EVENTS = (
    1.0  # the same, for an interval in which a device came or went, with the fewest devices
)
START_MOST, FILES_MOST = 2000, 10  # milliseconds of CPU, and files
STARTS = 5

LOOP = 77777  # no other program uses this number
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81


@dataclass(frozen=True)
class Program:
    """*budget* and *events*: at most so many times what ``iostat -dx`` takes per report; None: not judged."""

    name: str
    command: tuple[str, ...]
    budget: float | None = None
    events: float | None = None


IOSTAT = Program("iostat -dx 1", ("iostat", "-dx", "1"))
OURS = (
    Program("stackmap iostat 1", (str(STACKMAP), "iostat", "1"), MOST, WITH_EVENTS),
    Program(
        "stackmap record", (str(STACKMAP), "record", "{place}/recorded", "1"), None, WITH_EVENTS
    ),
)


def costs() -> bool:
    """Print what a report costs each; whether ours is within its budgets."""
    missing = [name for name in ("iostat", "dmsetup") if not which(name)]
    if os.geteuid() or missing:
        print(
            f"reports: takes root and {', '.join(missing) or 'no more'}; not measured",
            file=sys.stderr,
        )
        return True
    return in_own_mounts(__file__)


def measure_in_mounts() -> bool:
    """In a namespace of our own: for each number of devices, mount them and run the programs."""
    rows, fine = [], True
    for devices in COUNTS:
        with _machine(devices) as place:
            iostat = _per_second(IOSTAT, place, None)
            rows.append([devices, IOSTAT.name, iostat, 1.0, None, ""])
            coming = _Coming(place)
            for program in OURS:
                kinds = [(program.budget, "", None)] if program.budget else []
                if devices == COUNTS[0]:
                    kinds.append((program.events, ", an event each", coming.step))
                for budget, what, step in kinds:
                    taken = _per_second(program, place, step)
                    good = budget is None or taken <= budget * iostat
                    fine &= good
                    verdict = "" if budget is None else "ok" if good else "TOO MUCH"
                    rows.append(
                        [
                            devices,
                            program.name + what,
                            taken,
                            taken / iostat,
                            budget,
                            verdict,
                        ]
                    )
            coming.end()
    heading = ["devices", "program", "CPU ms per report", "× iostat", "at most", "verdict"]
    print(tabulate(rows, heading, floatfmt=".2f"))
    with _machine(COUNTS[0]) as place:
        return _starts(place) and fine


def _starts(place: Path) -> bool:
    """Print the CPU time to start ``record`` and take two samples, and that of lsblk; return whether it is within the budget."""
    out = place / "started"
    begin = ["sh", "-c", 'rm -rf "$1" && exec "$0" record "$1" 0.1 1', str(STACKMAP), str(out)]
    costs = compare({"record, 2 samples": begin, "lsblk": ["lsblk"]}, STARTS)
    files = sum(path.is_file() for path in out.rglob("*"))
    fine = costs["record, 2 samples"].median <= START_MOST and files <= FILES_MOST
    rows = [[name, cost.median, cost.memory / 1e6] for name, cost in costs.items()]
    rows[0] += [START_MOST, files, FILES_MOST, "ok" if fine else "TOO MUCH"]
    heading = [f"{COUNTS[0]} devices", "CPU ms", "RSS MB", "at most", "files", "at most", "verdict"]
    print(tabulate(rows, heading, floatfmt=".0f"))
    return fine


@contextlib.contextmanager
def _machine(devices: int) -> Iterator[Path]:
    with TemporaryDirectory() as directory, many.mounted(Path(directory), devices) as place:
        stats = place / "diskstats"
        counters = Counters(stats, devices, place / "block")
        subprocess.run(["mount", "--bind", stats, "/proc/diskstats"], check=True)
        with running(counters.go_on):
            yield place
        subprocess.run(["umount", "/proc/diskstats"], check=True)


class _Coming:
    """A loop device that is added and removed by turns."""

    def __init__(self, place: Path) -> None:
        self._place, self._there = place, place / "block" / f"loop{LOOP}"
        self._control = os.open("/dev/loop-control", os.O_RDWR)
        self._turns = count()

    def end(self) -> None:
        """Remove the device if it is there."""
        if self._there.exists():
            self.step()

    def step(self) -> None:
        """Add it, or remove it."""
        if next(self._turns) % 2:
            shutil.rmtree(self._there)
            (self._place / "numbers" / f"7:{LOOP}").unlink()
            fcntl.ioctl(self._control, LOOP_CTL_REMOVE, LOOP)
        else:
            many.draw_device(self._place, self._there.name, f"7:{LOOP}", many.SECTORS)
            fcntl.ioctl(self._control, LOOP_CTL_ADD, LOOP)


def _per_second(program: Program, place: Path, step: Callable[[], None] | None) -> float:
    """Return the CPU milliseconds per second, of threads and children too; *step* is called each second."""
    shutil.rmtree(place / "recorded", ignore_errors=True)
    command = [word.format(place=place) for word in program.command]
    environment = {key: text for key, text in os.environ.items() if key not in UNWANTED}
    with (place / "out").open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        with running(step, 1.0) if step else contextlib.nullcontext():
            time.sleep(SETTLE)
            before, begun = _cpu(process.pid), time.monotonic()
            time.sleep(MEASURED)
            return 1000 * (_cpu(process.pid) - before) / (time.monotonic() - begun)
    finally:
        process.terminate()
        process.wait()


def _cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[CPU_TIMES])) / TICKS


if __name__ == "__main__":
    sys.exit(not measure_in_mounts())
