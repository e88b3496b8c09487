"""A day in fast motion: memory stays flat, no descriptor is lost, and a bounded recording stays bounded."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

from stackmap.features.top import command as top
from stackmap.features.top import program, terminal
from stackmap.host import live
from stackmap.host.capture import CapturedHost
from tests.features.top.watched import PaperDisplay
from tests.fuzz.processes import machine_of, unpack
from tests.fuzz.running import Tally, finish, start

DAY = 86400  # samples, one second apart
SETTLED = DAY // 24  # the first ones fill buffers and caches
FLAT = 2 << 20  # bytes
LIMIT = 2 << 20  # bytes, of --max-size
STEP = 600  # samples between two looks at memory
COMMANDS = (("iostat",), ("iostat", "-l"), ("record", "OUT"))
WATCHED = 3600  # intervals of top
DISKS = ("vda", "sda", "sdb", "dm-0", "dm-1", "dm-2")


def steady(tally: Tally, folder: Path, samples: int = DAY) -> None:
    """Run each command that may run for days for one day of a simulated clock."""
    journal = folder / "memory"
    for words in COMMANDS:
        out = folder / "day"
        journal.write_text("")
        arguments = [str(out) if word == "OUT" else word for word in words]
        arguments += ["1", str(samples)]
        _run(tally, arguments, partial(_fast, unpack(folder), journal), journal, samples)
        shutil.rmtree(out, ignore_errors=True)
    journal.write_text("")
    watched = min(WATCHED, samples)
    _run(tally, ["top", "1"], partial(_watched, unpack(folder), journal, watched), journal, watched)


def _run(
    tally: Tally, arguments: list[str], setup: Callable[[], object], journal: Path, samples: int
) -> None:
    child = start(arguments, setup=setup, cpu=3600)
    outcome = finish(arguments, child, 3600)
    faults = [fault for fault in outcome.faults() if not fault.endswith(" s")]
    tally.case(" ".join(arguments[:-1]), faults + grown(journal, samples), outcome)


def trimmed(tally: Tally, folder: Path, samples: int = 26 * 3600) -> None:
    """Record 26 hours with ``--max-size``: never more than that and one segment. Then read all of it."""
    out, journal = folder / "bounded", folder / "sizes"
    journal.write_text("0 0\n")
    arguments = ["record", "--max-size", "2M", str(out), "1", str(samples)]
    child = start(
        arguments, setup=partial(_fast, unpack(folder), journal, _Measured(journal, out)), cpu=3600
    )
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


def looks(journal: Path) -> list[tuple[int, ...]]:
    """Return the looks at a process: samples or seconds so far, resident bytes, descriptors."""
    return [tuple(map(int, line.split())) for line in journal.read_text().splitlines()]


def grown(journal: Path, samples: int) -> list[str]:
    """Return what grew after the first samples."""
    rows = looks(journal)
    late = [
        (memory, files) for sample, memory, files in rows if sample >= min(SETTLED, samples // 4)
    ]
    if len(late) < 2:
        return [f"only {len(rows)} looks at memory"]
    memory, files = zip(*late, strict=True)
    found = []
    if max(memory) - min(memory) > 2 * FLAT or memory[-1] - memory[0] > FLAT:
        found.append(f"memory from {memory[0] >> 10} to {memory[-1] >> 10} KiB")
    # One look may see a file that is just being read; one that is lost stays open.
    half = len(files) // 2
    first, last = min(files[:half]), min(files[half:])
    if last > first:
        found.append(f"from {first} to {last} descriptors")
    return found


def _fast(root: Path, journal: Path, counters: _Counters | None = None) -> _Counters:
    """Simulate the counters and the clock of this process, and write its memory to *journal*."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    counters = counters or _Counters(journal)
    machine_of(root, None, counters.text)
    live.time = SimpleNamespace(
        time=lambda: 1_763_732_400.0 + counters.clock,
        sleep=counters.sleep,
        clock_gettime=lambda _: counters.clock,
        CLOCK_BOOTTIME=0,
    )
    return counters


def _watched(root: Path, journal: Path, samples: int) -> None:
    """The same for ``top``: the keys of all views are pressed, and q at the end."""
    counters = _fast(root, journal, _Counters(journal, samples // 60))
    pressed = iter(range(samples))

    class Display(PaperDisplay):
        @contextlib.contextmanager
        def __call__(self):
            yield self

        def key(self, seconds):
            if not seconds:  # all is done for this interval
                return None
            counters.sleep(seconds)
            number = next(pressed, None)
            return "q" if number is None else str(number // 60 % 5 + 1)

    screen = SimpleNamespace(isatty=lambda: True)
    top.sys = SimpleNamespace(stdin=screen, stdout=screen)
    terminal.is_usable = lambda: True
    terminal.Terminal = lambda: Display((160, 50))
    program.time = SimpleNamespace(monotonic=lambda: counters.clock, time=live.time.time)


class _Counters:
    """A clock, and counters that grow with it; most devices are busy now and then."""

    def __init__(self, journal: Path, step: int = STEP) -> None:
        self._step = step
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
        if self._samples % self._step == 0:
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
    """It also measures the folder of a recording at each sample."""

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
        """Do nothing: the memory is not measured here."""
