"""Recordings of this machine that are killed, beside an independent reader of /proc/diskstats."""

from __future__ import annotations

import os
import random
import signal
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from stackmap.errors import StackmapError
from stackmap.host import live
from stackmap.host.capture import CapturedHost
from tests.fuzz.processes import DISKSTATS, remove
from tests.fuzz.running import Tally, beside, finish, run, start

GAUGE = 11  # in a line, the word that may go down
Counts = dict[str, list[int]]  # by device
READERS = (("iostat",), ("explain",), ("tree",), ("check",), ("export", "--openmetrics"))


def beside_a_reader(tally: Tally, chance: random.Random, folder: Path) -> None:
    """
    One case: ``record`` is killed; each reading that it had begun is there, but for the last one.

    Another process increases the counters and logs them. The counters of each sample lie between
    two values that it logged, one before and one after the sample.
    """
    out, journal, seen = folder / "beside", folder / "begun", folder / "seen"
    journal.write_bytes(b"")
    arguments = ("record", str(out), chance.choice(("0.01", "0.03")))
    with beside(partial(_read, seen, folder / "written")):
        child = start(arguments, setup=partial(_with_journal, journal))
        _wait_for(journal)
        time.sleep(chance.uniform(0, 0.4))
        os.kill(child[0], signal.SIGKILL)
        finish(arguments, child, 10)
        time.sleep(0.02)
    begun = [float(line) for line in journal.read_text().splitlines()]
    try:
        host = CapturedHost(str(out))
        frames = [(at, _counts(host.read(DISKSTATS))) for at in host.ticks(0, None)]
    except StackmapError as error:
        frames, faults = [], [str(error)] if len(begun) > 3 else []
    else:
        # The first reading of all is the one for the readers of files.
        lost = len(begun) - 1 - len(frames)
        faults = [f"{lost} samples of {len(begun) - 1} are lost"] if lost > 1 else []
        faults += _impossible(frames, begun, seen)
    for reading in READERS if len(frames) > 1 else ():
        outcome = run(("--from", str(out), *reading, *(("-o", "-") if "export" in reading else ())))
        faults += outcome.faults() + ([f"{reading}: {outcome.err}"] if outcome.status == 1 else [])
    tally.case(f"record killed after {len(begun)} readings", faults)
    remove(out)


def _with_journal(journal: Path) -> None:
    """Have this process write down when it reads the counters."""
    read = live.LiveHost.read

    def noted(self: live.LiveHost, path: str) -> str:
        if path == DISKSTATS:
            with journal.open("a") as file:
                file.write(f"{time.time()}\n")
        return read(self, path)

    live.LiveHost.read = noted


def _wait_for(journal: Path) -> None:
    """Wait for the first sample, on most machines a tenth of a second."""
    end = time.monotonic() + 10
    while journal.read_bytes().count(b"\n") < 2 and time.monotonic() < end:
        time.sleep(0.002)


def _read(seen: Path, written: Path) -> None:
    """Read the counters without end, each time with its instants, and write to a disk."""
    with seen.open("w") as file, written.open("wb") as data:
        while True:
            before = time.time()
            text = Path(DISKSTATS).read_text()
            file.write(f"{before} {time.time()} {text.replace(chr(10), ';')}\n")
            file.flush()
            data.write(b"x" * 4096)
            data.flush()
            os.fsync(data.fileno())
            time.sleep(0.001)


def _counts(text: str) -> Counts:
    """Return the counters of each device that only grow."""
    rows = (line.split() for line in text.replace(";", "\n").splitlines())
    return {
        row[2]: [int(word) for word in (*row[3:GAUGE], *row[GAUGE + 1 :])] for row in rows if row
    }


def _impossible(
    frames: list[tuple[float, Counts]], begun: list[float], seen: Path
) -> Iterator[str] | list[str]:
    """Return the samples whose counters are not between those read before and after."""
    lines = [line.split(" ", 2) for line in seen.read_text().splitlines() if line.endswith(";")]
    begins, ends = ([float(line[place]) for line in lines] for place in (0, 1))
    read = [_counts(line[2]) for line in lines]
    found = []
    for (at, counts), asked in zip(frames, begun[1:], strict=False):
        before, after = bisect_left(ends, asked) - 1, bisect_right(begins, asked + 0.05)
        least = read[before] if before >= 0 else {}
        most = read[after] if after < len(read) else {}
        for name, own in counts.items():
            low, high = least.get(name, own), most.get(name, own)
            if not all(a <= b <= c for a, b, c in zip(low, own, high, strict=True)):
                found.append(f"{name} at {at}: {own}, not from {low} to {high}")
    return found[:1]
