"""A day in fast motion: memory stays flat, and no descriptor is lost."""

from __future__ import annotations

import os
import random
import resource
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from stackmap.host import live
from tests.fuzz.processes import machine_of, unpack
from tests.fuzz.running import Tally, finish, start

DAY = 86400  # samples, one second apart
SETTLED = DAY // 24  # the first ones fill buffers and caches
FLAT = 2 << 20  # bytes
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


def _fast(root: Path, journal: Path) -> None:
    """Have this process's machine count and its clock pass, and its memory written to *journal*."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    counters = _Counters(journal)
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
