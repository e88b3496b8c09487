"""A day in fast motion: memory stays flat, no descriptor is lost, and a bounded recording stays bounded."""

from __future__ import annotations

import os
import random
import resource
import shutil
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

from stackmap.host import live
from stackmap.host.capture import CapturedHost
from tests.fuzz.processes import machine_of, unpack
from tests.fuzz.running import Tally, finish, start

DAY = 86400  # samples, one second apart
SETTLED = DAY // 24  # the first ones fill buffers and caches
FLAT = 2 << 20  # bytes
LIMIT = 2 << 20  # bytes, of --max-size
STEP = 600  # samples between two looks at memory
COMMANDS = (("iostat",), ("iostat", "-l"), ("record", "OUT"))
DISKS = ("vda", "sda", "sdb", "dm-0", "dm-1", "dm-2")


def steady(tally: Tally, folder: Path, samples: int = DAY) -> None:
    """Each command that may run for days, for a day of a clock that does not wait."""
    for words in COMMANDS:
        out = folder / "day"
        journal = folder / "memory"
        journal.write_text("")
        arguments = [str(out) if word == "OUT" else word for word in words]
        arguments += ["1", str(samples)]
        child = start(arguments, setup=partial(_fast, unpack(folder), journal), cpu=3600)
        outcome = finish(arguments, child, 3600)
        faults = [fault for fault in outcome.faults() if not fault.endswith(" s")]
        tally.case(" ".join(words), faults + _grown(journal, samples), outcome)
        shutil.rmtree(out, ignore_errors=True)


def trimmed(tally: Tally, folder: Path, samples: int = 26 * 3600) -> None:
    """26 hours with ``--max-size``: after no sample more than it and a segment; then, all is read."""
    out, journal = folder / "bounded", folder / "sizes"
    journal.write_text("0 0\n")
    arguments = ["record", "--max-size", "2M", str(out), "1", str(samples)]
    child = start(arguments, setup=partial(_fast, unpack(folder), journal, out), cpu=3600)
    outcome = finish(arguments, child, 3600)
    faults = [fault for fault in outcome.faults() if not fault.endswith(" s")]
    most, largest = map(int, journal.read_text().split())
    if not LIMIT // 2 < most <= LIMIT + largest:
        faults.append(f"{most} bytes with a segment of {largest}, limit {LIMIT}")
    times = list(CapturedHost(str(out)).ticks(0, None))
    if len(times) < 3600 or max(b - a for a, b in pairwise(times)) > 1.5:
        faults.append(f"{len(times)} samples are left, or samples between them are lost")
    tally.case(" ".join(arguments), faults, outcome)
    shutil.rmtree(out, ignore_errors=True)


def _grown(journal: Path, samples: int) -> list[str]:
    """Return what grew after the first samples."""
    lines = [line.split() for line in journal.read_text().splitlines()]
    rows = [tuple(map(int, line)) for line in lines]
    late = [
        (memory, files) for sample, memory, files in rows if sample >= min(SETTLED, samples // 4)
    ]
    if len(late) < 2:
        return [f"only {len(rows)} looks at memory"]
    memory, files = zip(*late, strict=True)
    found = []
    if max(memory) - min(memory) > 2 * FLAT or memory[-1] - memory[0] > FLAT:
        found.append(f"memory from {memory[0] >> 10} to {memory[-1] >> 10} KiB")
    if len(set(files)) > 1:
        found.append(f"from {min(files)} to {max(files)} descriptors")
    return found


def _fast(root: Path, journal: Path, out: Path | None = None) -> None:
    """
    Have this process's machine count and its clock pass, and its memory written to *journal*.

    With *out*, the most bytes in that folder and in a segment are written instead.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    counters = _Counters(journal) if out is None else _Measured(journal, out)
    machine_of(root, None, counters.text)
    live.time = SimpleNamespace(
        time=lambda: 1_763_732_400.0 + counters.clock,
        sleep=counters.sleep,
        clock_gettime=lambda _: counters.clock,
        CLOCK_BOOTTIME=0,
    )


class _Counters:
    """A clock, and counters that grow with it; most devices are busy now and then."""

    def __init__(self, journal: Path) -> None:
        self.clock = 1000.0
        self._chance = random.Random(24)
        self._counts = {name: [0] * 17 for name in DISKS}
        self._samples = 0
        self._journal = journal

    def sleep(self, seconds: float) -> None:
        """Pass the time."""
        self.clock += seconds + 0.0001

    def text(self) -> str:
        """Return /proc/diskstats, and note the memory now and then."""
        self._samples += 1
        if self._samples % STEP == 0:
            self._note()
        for counts in self._counts.values():
            if self._chance.random() < 0.6:
                grown = self._chance.randrange(1, 500)
                counts[:] = [count + grown for count in counts]
                counts[8] = grown % 5
        return "".join(
            f" 8 {number} {name} {' '.join(map(str, counts))}\n"
            for number, (name, counts) in enumerate(self._counts.items())
        )

    def _note(self) -> None:
        with open("/proc/self/statm", encoding="ascii") as file:
            memory = int(file.read().split()[1]) * resource.getpagesize()
        with self._journal.open("a") as file:
            file.write(f"{self._samples} {memory} {len(os.listdir('/proc/self/fd'))}\n")


class _Measured(_Counters):
    """Beside each sample it measures the folder of a recording."""

    def __init__(self, journal: Path, out: Path) -> None:
        super().__init__(journal)
        self._out = out
        self._most = self._largest = 0

    def text(self) -> str:
        """Return /proc/diskstats, and note the size of the folder if it has grown."""
        sizes = [entry.stat().st_size for entry in self._entries("log")]
        used = sum(sizes) + sum(e.stat().st_size for e in self._entries("") if e.is_file())
        if used > self._most or max(sizes, default=0) > self._largest:
            self._most = max(used, self._most)
            self._largest = max(self._largest, *sizes, 0)
            self._journal.write_text(f"{self._most} {self._largest}\n")
        return super().text()

    def _entries(self, name: str) -> list[os.DirEntry[str]]:
        folder = self._out / name
        return [*os.scandir(folder)] if folder.is_dir() else []

    def _note(self) -> None:
        """Leave the memory alone."""
