"""Hosts with a steady load: a recorded topology whose counters advance with the clock, at each scrape."""

from __future__ import annotations

import contextlib
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from stackmap import __version__
from stackmap.discover import discover
from stackmap.features.export.families import (
    Exported,
    counted,
    families,
    textfile,
    wear_families,
)
from stackmap.features.export.weights import stacks
from stackmap.host.capture import CapturedHost
from stackmap.model.health import Health
from stackmap.rules.checks import checks
from stackmap.rules.context import Context
from stackmap.sources import diskstats
from tests.features.fleet.servers import as_file

CLOCK = "clock"  # a device whose reads are the milliseconds since the host began
INTERVAL = 2  # seconds between scrapes
SLOWER = 3.5  # times the await of its peers: the first member of the first RAID
DISKS = "sda", "nvme0n1"  # of which one tells its life
HALF_USED = Health(used=0.5, written=10**14)
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
        self.findings = tuple(checks(Context(self.topology)))
        self.loads = loads
        raids = [stack.raid for stack in self.stacks if stack.raid][:1]
        self.slow = {self.topology.below(raid.name)[0].below: SLOWER for raid in raids}
        self._text = ""
        self.begin = 0.0  # the first scrape

    def lines(self, elapsed: float) -> list[str]:
        """Return /proc/diskstats after so many seconds."""
        found = [f"   0   0 {CLOCK} {round(elapsed * 1000)}" + " 0" * 16]
        for name, rates in self.loads.items():
            numbers = [
                0 if n == GAUGE else int(1000 * (n + 1) + rate * elapsed)
                for n, rate in enumerate(rates)
            ]
            found.append(f"   8   0 {name} {' '.join(map(str, numbers))}")
        return found

    def advance(self) -> float:
        """Write /proc and the textfile for this scrape, and return its instant: the planned one, even if it is late."""
        self.begin = self.begin or time.time()
        elapsed = INTERVAL * round((time.time() - self.begin) / INTERVAL)
        now = self.begin + elapsed
        lines = self.lines(elapsed)
        counters = diskstats.parse(lines)
        exported = Exported(
            self.topology, self.stacks, self.findings, counters, now, __version__, self.slow
        )
        if not self._text:
            names = {each.name for each in counted(exported)}
            lasting = [each for each in families(exported) if each.name not in names]
            disk = next((each for each in DISKS if each in self.topology.devices), None)
            if disk is not None:
                lasting += wear_families(self.topology, {disk: HALF_USED}, now)
            self._text = "".join(textfile(lasting))
        as_file(
            self.folder / "textfile" / "stackmap.prom",
            self._text + "".join(textfile(counted(exported))),
        )
        as_file(self.folder / "proc" / "diskstats", "\n".join(lines) + "\n")
        return now

    def report(self, *scrapes: tuple[float, float]) -> str:
        """Return samples as text: each an instant, and the seconds of the host's own clock."""
        return "".join(
            f"TS {instant:.3f}\n" + "\n".join(self.lines(elapsed)) + "\n"
            for instant, elapsed in scrapes
        )


def dated(text: str, instant: float) -> str:
    """Return metrics with a timestamp on each sample."""
    return "".join(
        f"{line}\n" if line.startswith("#") else f"{line} {instant * 1000:.0f}\n"
        for line in text.splitlines()
    )


@contextlib.contextmanager
def scraped_through(host: SteadyHost, exporter: str):
    """Serve the host's node_exporter at another address, after its counters advance; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            instant = host.advance()
            with urllib.request.urlopen(f"http://{exporter}/metrics", timeout=10) as answer:
                content = dated(answer.read().decode(), instant).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def recorded_loads(lines: list[str], later: list[str], seconds: float) -> dict[str, list[float]]:
    """Return the rates per second of every field between two samples."""
    was, now = (
        {line.split()[2]: [*map(int, line.split()[3:20])] for line in part}
        for part in (lines, later)
    )
    return {
        name: [max(0, b - a) / seconds for a, b in zip(was[name], now[name], strict=True)]
        for name in now
        if name in was
    }
