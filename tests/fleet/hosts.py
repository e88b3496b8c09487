"""Hosts with a steady load: a recorded topology whose counters advance with the clock."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from stackmap import __version__
from stackmap.analysis.fleet.families import Exported, families
from stackmap.analysis.fleet.weights import stacks
from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.render.textfile import textfile
from stackmap.sources import diskstats
from tests.fleet.servers import as_file

CLOCK = "clock"  # a device whose reads are the milliseconds since the host began
PACE = 0.1  # seconds between two states of the counters
GAUGE = 8  # the field of a line that is not a counter: requests in flight


class SteadyHost:
    """A host in *folder* with the topology of the capture at *path*, and its counters' rates from *loads*."""

    def __init__(self, folder: Path, path: Path, loads: dict[str, list[float]]) -> None:
        self.path = path
        self.folder = folder
        for name in ("proc", "textfile"):
            (folder / name).mkdir(parents=True)
        (folder / "proc" / "stat").write_text("cpu  1 1 1 1 1 1 1 0 0 0\nbtime 1700000000\n")
        host = CapturedHost(str(path), print)
        self.topology = discover(host, geometry=True)
        self.stacks = tuple(stacks(self.topology))
        self.loads = loads
        self.begin = time.time()
        self.advance()

    def lines(self, elapsed: float) -> list[str]:
        """Return /proc/diskstats after so many seconds."""
        found = [f"   0   0 {CLOCK} {round(elapsed * 1000)}" + " 0" * 16]
        for name, rates in self.loads.items():
            numbers = [0 if n == GAUGE else int(1000 * (n + 1) + rate * elapsed) for n, rate in enumerate(rates)]
            found.append(f"   8   0 {name} {' '.join(map(str, numbers))}")
        return found

    def advance(self) -> None:
        """Bring /proc and the textfile to this instant."""
        now = time.time()
        lines = self.lines(now - self.begin)
        counters = diskstats.parse(lines)
        exported = Exported(self.topology, self.stacks, (), counters, now, __version__)
        as_file(self.folder / "textfile" / "stackmap.prom", "".join(textfile(families(exported))))
        as_file(self.folder / "proc" / "diskstats", "\n".join(lines) + "\n")

    def report(self, first: float, last: float) -> str:
        """Return two samples as text: those after *first* and *last* seconds."""
        return "".join(
            f"TS {self.begin + elapsed:.3f}\n" + "\n".join(self.lines(elapsed)) + "\n" for elapsed in (first, last)
        )


@contextlib.contextmanager
def advancing(hosts: list[SteadyHost]):
    """Let the counters of *hosts* advance until the end of the block."""
    end = threading.Event()

    def run() -> None:
        while not end.wait(PACE):
            for host in hosts:
                host.advance()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def recorded_loads(lines: list[str], later: list[str], seconds: float) -> dict[str, list[float]]:
    """Return the rates per second of every field between two samples."""
    was, now = ({line.split()[2]: [*map(int, line.split()[3:20])] for line in part} for part in (lines, later))
    return {
        name: [max(0, b - a) / seconds for a, b in zip(was[name], now[name], strict=True)]
        for name in now
        if name in was
    }
