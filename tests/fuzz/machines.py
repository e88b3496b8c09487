"""
Machines whose true counts are known, recorded while everything possible happens to them.

Clocks jump, the machine sleeps, counters wrap, names and numbers are used again. Each rate, live and
from the recording, is the true one of one device or absent.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from stackmap.cli.record import samples
from stackmap.discover import discover
from stackmap.discover.rediscovery import Rediscovery
from stackmap.errors import StackmapError
from stackmap.host import live
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.host.timeline import TimeWindow
from stackmap.measurement.machines import CaptureSource
from stackmap.model.interval import Interval
from stackmap.sampling.watch import Watch
from stackmap.sources import uevent
from stackmap.sources.diskstats import PATH
from tests.fuzz.rates import GAUGE, MILLISECONDS, WRAP, is_right
from tests.fuzz.running import Tally
from tests.machine import DrawnHost, block, lvm_uuid, mapped

SEQNUM = "/sys/kernel/uevent_seqnum"
FIELDS = (11, 15, 17)  # of kernels without discards, with them, and with flushes
TIMES = (*MILLISECONDS, 14, 16)
States = dict[float, dict[str, tuple[int, list[int]]]]  # life and counts by instant and name


class Kernel:
    """What a kernel reports: word length, fields, diskseq, uevents."""

    def __init__(self, chance: random.Random) -> None:
        self.wraps = chance.random() < 0.3  # every count has 32 bits
        self.fields = chance.choice(FIELDS)
        self.diskseq = chance.random() < 0.6
        # Without a diskseq, only uevents tell a disk from another under its name.
        self.listens = not self.diskseq or chance.random() < 0.6
        self.loses = self.diskseq and chance.random() < 0.3


class Machine(DrawnHost):
    """A machine with a clock of its own; ``states`` are its true counts at each sample."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__({SEQNUM: "31\n", "/proc/uptime": "86400.00 86400.00\n"})
        self.chance = chance
        self.kernel = Kernel(chance)
        self.states: States = {}
        self.clock, self.date = 1000.0, 1_763_732_400.0  # seconds since boot; what time.time() says
        self.tick = self.lives = 0
        self.present: dict[str, tuple[int, list[int]]] = {}
        self.events = [] if self.kernel.listens else None
        self.late: list[dict[str, str]] = []
        self.delay, self.early = chance.choice((0, 0, 1, 4)), chance.random() < 0.5
        for name in ("sda", "sdb", "dm-0", "dm-1"):
            self.add(name)

    def add(self, name: str) -> None:
        """Add a device; its number is that of its name."""
        self.lives += 1
        if name.startswith("dm-"):
            number = int(name.removeprefix("dm-"))
            label = f"vg-lv{self.lives if self.chance.random() < 0.5 else 0}"
            files = mapped(number, label, lvm_uuid(self.lives), below=("sda",))
        else:
            files = block(name, f"8:{16 * (ord(name[-1]) - ord('a'))}")
        path = f"/sys/block/{name}/uevent"
        seq = f"DISKSEQ={self.lives}" if self.kernel.diskseq else ""
        files[path] = files[path].replace("DISKSEQ=1", seq)
        self.files = {**self.files, **files, f"/sys/class/block/{name}/uevent": files[path]}
        begin = self.chance.choice((0, 0, 1000 * self.lives, WRAP - 900, 10**12))
        counts = [begin + self.chance.randrange(900) for _ in range(self.kernel.fields)]
        counts[GAUGE] = 0
        self.present[name] = self.lives, counts
        self.tell("add", name)

    def remove(self, name: str) -> None:
        """Remove a device."""
        gone = (f"/sys/block/{name}/", f"/sys/class/block/{name}/")
        self.files = {p: text for p, text in self.files.items() if not p.startswith(gone)}
        del self.present[name]
        self.tell("remove", name)

    def tell(self, action: str, name: str) -> None:
        """Send an event; that of an addition may come a sample late, and one may get lost."""
        self.files = {**self.files, SEQNUM: f"{int(self.files[SEQNUM]) + 1}\n"}
        if self.events is None:
            return
        event = {"ACTION": action, "DEVNAME": f"/dev/{name}"}
        if self.kernel.loses and self.chance.random() < 0.2:
            event = {"ACTION": "lost"}
        late = action == "add" and self.chance.random() < 0.2
        (self.late if late else self.events).append(event)

    def happen(self) -> None:
        """Pass the time until the next sample, with random events in it."""
        if self.events is not None:
            self.events += self.late
            self.late = []
        for _, counts in self.present.values():
            if self.chance.random() < 0.8:
                self.count(counts)
        for name in ("sda", "sdb", "dm-0", "dm-1", "dm-2"):
            if self.chance.random() > 0.06:
                continue
            if name in self.present:
                self.remove(name)
            if name not in self.present and self.chance.random() < 0.7:
                self.add(name)
        self.date += self.chance.choice((0, 0, 0, -3600, 3600, 86400, -(10**8), 10**9))

    def count(self, counts: list[int]) -> None:
        """Give a device some load."""
        most = self.chance.choice((5, 400, 400, 400, 1 << 20))
        counts[:] = [count + self.chance.randrange(most) for count in counts]
        counts[GAUGE] = self.chance.randrange(9)

    def read(self, path: str) -> str:
        """Return the file's text."""
        if path != PATH:
            return super().read(path)
        self.clock += 0.0001
        rows = []
        for name, (_, counts) in self.present.items():
            shown = [
                count % WRAP if self.kernel.wraps or place in TIMES else count
                for place, count in enumerate(counts)
            ]
            rows.append(f" 8 0 {name} {' '.join(map(str, shown))}\n")
        return "".join(rows)

    def in_background(self, ask: Callable[[Machine], object]) -> _Later:
        """Ask now or later; the answer comes some samples later."""
        return _Later(self, partial(ask, self))

    def ticks(self, interval: float, count: int | None) -> Iterator[float]:
        """Yield the instants of a live host, by this machine's clocks."""
        for time in live.LiveHost().ticks(interval, count):
            self.tick += 1
            if self.tick > 1:
                self.happen()
            self.states[round(time, 6)] = {
                name: (life, [*counts]) for name, (life, counts) in self.present.items()
            }
            yield time

    def sleep(self, seconds: float) -> None:
        """Sleep; some of the time the whole machine is suspended, or busy with something else."""
        self.clock += seconds + self.chance.choice((0, 0, 0, 0.001, 0.7, 3600))

    def clocks(self) -> SimpleNamespace:
        """Return the stand-in for the module ``time``."""
        return SimpleNamespace(
            time=lambda: self.date + self.clock,
            sleep=self.sleep,
            clock_gettime=lambda _: self.clock,
            CLOCK_BOOTTIME=0,
        )


class _Later:
    """An answer that arrives some samples after its question."""

    def __init__(self, machine: Machine, ask: Callable[[], object]) -> None:
        self._machine, self._due = machine, machine.tick + machine.delay
        self.result = ask
        if machine.early:
            with ThreadPoolExecutor(1) as thread:  # keeps what was raised, as a live host does
                self.result = thread.submit(ask).result

    def ready(self, _: float) -> bool:
        """Whether the answer has arrived."""
        return self._machine.tick >= self._due


def known_machines(tally: Tally, chance: random.Random, folder: Path) -> None:
    """One case: a machine is recorded, and the recording read in every way; each rate is right."""
    machine = Machine(chance)
    out = folder / "known"
    faults: list[str] = []
    interval = chance.choice((0.01, 1.0, 1.0, 60.0))
    count = chance.choice((3, 12, 60))
    silent = contextlib.redirect_stderr(io.StringIO())
    with mock.patch.object(live, "time", machine.clocks()), silent:
        with RecordingHost(machine, str(out)) as host:
            for _ in samples(host, interval, count):
                pass
        seen = _watched(machine, interval, count)
    faults += [f"live: {fault}" for fault in _wrong(machine.states, seen)]
    for how, read in _READINGS.items():
        try:
            found = list(read(CapturedHost(str(out)), interval * chance.choice((3, 20))))
        except StackmapError as error:
            faults.append(f"{how}: {error}")
            continue
        faults += [f"{how}: {fault}" for fault in _wrong(machine.states, found)]
    shutil.rmtree(out)
    tally.case("machine", faults[:1])


def _watched(machine: Machine, interval: float, count: int) -> list[Interval]:
    if machine.kernel.listens:
        uevent.read(machine)
    again = Rediscovery()
    watch = Watch(machine, again.whole(machine), again.whole, update=again.update)
    return [found for _, found in watch.intervals(interval, count)]


def _each(host: CapturedHost, _: float) -> Iterator[Interval]:
    watch = Watch(host, discover(host), discover, replayed=lambda: None)
    return (found for _, found in watch.intervals(1.0, None))


def _ends(host: CapturedHost, _: float) -> Iterator[Interval]:
    return (found for _, found in CaptureSource(host).ends())


def _every(host: CapturedHost, seconds: float) -> Iterator[Interval]:
    host.select(TimeWindow(every=seconds))
    return _each(host, seconds)


_READINGS = {"replay": _each, "average": _ends, "every": _every}


def _wrong(states: States, intervals: list[Interval]) -> Iterator[str]:
    """Yield each load that is not that of one device between two samples."""
    for interval in intervals:
        begin = states.get(round((interval.time or 0.0) - (interval.seconds or 0.0), 6))
        end = states.get(round(interval.time or 0.0, 6))
        if begin is None or end is None:
            yield f"no samples at the ends of {interval.time}, {interval.seconds} s"
            continue
        for name, load in interval.loads.items():
            if name not in begin or name not in end or begin[name][0] != end[name][0]:
                yield f"{name} at {interval.time}: a rate of two devices: {load}"
            elif load.in_flight_at_ends not in (None, begin[name][1][GAUGE] + end[name][1][GAUGE]):
                yield f"{name} at {interval.time}: {load.in_flight_at_ends} in flight"
            elif not is_right(load, begin[name][1], end[name][1], interval.seconds or 0.0):
                yield f"{name} at {interval.time}: {load} from {begin[name]} to {end[name]}"
