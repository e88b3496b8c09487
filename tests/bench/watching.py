"""
What ``top`` costs per interval beside atop and ``iostat -dx``, with 200 and 2,000 devices, which this machine has not.

The devices are files that are mounted over /sys/block, /proc/partitions, /proc/diskstats and /dev/mapper in a
namespace of their own. Each program has a terminal of 160×50 and an interval of one second. One device in ten is
busy. The CPU is the process's own, over some intervals after the first ones, reading and drawing included.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import random
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import many
from measure import in_own_mounts
from tabulate import tabulate

STACKMAP = Path(sys.executable).with_name("stackmap")
COUNTS = (200, 2000)
BUSY = 0.1  # share of the devices
SETTLE, MEASURED = 15, 20  # seconds
FIELDS = 17
KEYS = {"stackmap top, disks": b"2", "stackmap top, by cost": b"ssss"}
MOST_OF_ATOP, MOST_CPU = 1.0, 0.2  # times, and seconds in any interval


def costs() -> bool:
    """Print what an interval costs each; whether ours costs no more than atop's, and at most 0.2 s."""
    missing = [name for name in ("atop", "iostat", "dmsetup") if not which(name)]
    if os.geteuid() or missing:
        print(
            f"top: takes root and {', '.join(missing) or 'no more'}; not measured", file=sys.stderr
        )
        return True
    return in_own_mounts(__file__)


def show_and_measure() -> bool:
    """In a namespace of our own: for each number of devices, mount them and run the programs."""
    rows, fine = [], True
    for count in COUNTS:
        with TemporaryDirectory() as directory, many.mounted(Path(directory), count) as place:
            stats = place / "diskstats"
            counters = Counters(stats, count, place / "block")
            subprocess.run(["mount", "--bind", stats, "/proc/diskstats"], check=True)
            with running(counters.go_on):
                spent = {
                    name: _cpu(command, KEYS.get(name, b""))
                    for name, command in (
                        ("stackmap top", [str(STACKMAP), "top"]),
                        ("stackmap top, disks", [str(STACKMAP), "top"]),
                        ("stackmap top, by cost", [str(STACKMAP), "top"]),
                        ("atop 1", ["atop", "1"]),
                        ("iostat -dx 1", ["iostat", "-dx", "1"]),
                    )
                }
            subprocess.run(["umount", "/proc/diskstats"], check=True)
        (ours, _), (atop, _) = spent["stackmap top"], spent["atop 1"]
        worst = max(spent[name][1] for name in ("stackmap top", *KEYS))
        good = ours <= MOST_OF_ATOP * atop and worst <= MOST_CPU
        fine &= good
        rows += [
            [count, name, 1000 * cpu, 1000 * most, cpu / atop]
            for name, (cpu, most) in spent.items()
        ]
        rows[-len(spent)].append("ok" if good else "TOO SLOW")
    heading = ["devices", "program", "CPU ms per interval", "worst", "× atop", "verdict"]
    print(tabulate(rows, heading, floatfmt=".2f"))
    return fine


class Counters:
    """
    /proc/diskstats of *count* devices over one disk, written in place: each number keeps its digits.

    The same is in the file ``stat`` of each device in the directory *block*, which iostat reads.
    """

    def __init__(self, path: Path, count: int, block: Path) -> None:
        chance = random.Random(7)
        names = [(8, 0, "sda"), *((254, number, f"dm-{number}") for number in range(count))]
        self._counts = {
            name: [chance.randrange(10**9, 2 * 10**9) for _ in range(FIELDS)] for name in names
        }
        for counts in self._counts.values():
            counts[8] = 0
        self._chance = chance
        self._busy = {name for name in names if name[2] == "sda" or chance.random() < BUSY}
        self._file = os.open(path, os.O_RDWR | os.O_CREAT)
        self._block = block
        self.write(names)

    def write(self, changed: Iterable[tuple[int, int, str]]) -> None:
        text = "".join(
            f"{major:4} {minor:7} {name} {' '.join(map(str, counts))}\n"
            for (major, minor, name), counts in self._counts.items()
        )
        os.pwrite(self._file, text.encode(), 0)
        for name in changed:
            words = " ".join(map(str, self._counts[name]))
            (self._block / name[2] / "stat").write_text(f"{words}\n")

    def go_on(self) -> None:
        """Count what the busy devices and the disk did in half a second."""
        for name in self._busy:
            counts, grown = self._counts[name], self._chance.randrange(1, 60)
            for place in range(FIELDS):
                if place != 8:
                    counts[place] += grown * (16 if place in (2, 6) else 1)
        self.write(self._busy)


@contextlib.contextmanager
def running(step: Callable[[], None], every: float = 0.5) -> Iterator[None]:
    """Call *step* every so many seconds meanwhile."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(every):
            step()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _cpu(command: Sequence[str], keys: bytes) -> tuple[float, float]:
    """Return the CPU seconds per second of *command* on a terminal after *keys*: the mean, and the most."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    threading.Thread(target=_drain, args=(master,), daemon=True).start()
    time.sleep(SETTLE / 2)
    os.write(master, keys)
    time.sleep(SETTLE / 2)
    readings, start = [_spent(process.pid)], time.monotonic()
    for _ in range(MEASURED):
        time.sleep(1)
        readings.append(_spent(process.pid))
    mean = (readings[-1] - readings[0]) / (time.monotonic() - start)
    process.terminate()
    process.wait()
    return mean, max(later - earlier for earlier, later in pairwise(readings))


def _drain(master: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(master, 1 << 16):
            pass


def _spent(process: int) -> float:
    """Return the CPU seconds of *process* so far, from the scheduler's nanoseconds."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


if __name__ == "__main__":
    sys.exit(not show_and_measure())
