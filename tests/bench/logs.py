"""
Long logs of ``iostat -x``, made of the reports of a sample: its recorded counters, as sysstat prints them.

A log of a night is mostly one report again and again, with another time above; one of a busy day
has other figures in each report.
"""

from __future__ import annotations

import sys
from itertools import count, cycle
from pathlib import Path
from random import Random

from stackmap.discover import discover
from stackmap.host.capture import CapturedHost
from stackmap.model.load import ZERO, Flow, Load
from stackmap.sampling.watch import Watch

HEADING = (
    "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  "
    "%wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  "
    "aqu-sz  %util\n"
)
CPU = (
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
    "           5.79    0.00    5.79    0.00    0.00   88.42\n\n"
)
KIB = 1024
DEVICES = [f"sd{letter}" for letter in "abcd"] + [f"dm-{number}" for number in range(16)]


def reports(sample: Path) -> list[str]:
    """Return what ``iostat -x`` prints of each interval of *sample*, processors first."""
    host = CapturedHost(str(sample))
    return [
        CPU + HEADING + "".join(_row(*row) for row in sorted(report.loads.items())) + "\n\n"
        for _, report in Watch(host, discover(host), discover).intervals(1.0, None)
    ]


def write(path: Path, sample: Path, size: int) -> int:
    """Write a log of *size* bytes or a report more to *path*; return how long it is."""
    each = reports(sample)
    written = 0
    with path.open("w") as log:
        for number, report in enumerate(cycle(each)):
            stamp = f"11/21/26 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}\n"
            written += log.write(stamp + report)
            if written >= size:
                break
    return written


def write_varied(path: Path, size: int) -> int:
    """Write a log of *size* bytes or a report more, whose figures all differ, to *path*; return how long it is."""
    random = Random(1)
    written = 0
    with path.open("w") as log:
        for number in count():
            stamp = f"11/21/26 {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}\n"
            rows = "".join(_row(name, _drawn(random)) for name in DEVICES)
            cpu = CPU.replace("88.42", f"{random.uniform(0, 88):5.2f}")
            written += log.write(f"{stamp}{cpu}{HEADING}{rows}\n\n")
            if written >= size:
                return written
    return written


def _drawn(random: Random) -> Load:
    """Return any load of reads and writes."""
    flows = []
    for _ in range(2):
        ios = random.expovariate(1 / 200)
        size = random.uniform(4, 200) * KIB
        wait = ios * random.expovariate(1 / 3)
        flows.append(Flow(ios, random.expovariate(1 / 20), ios * size, wait))
    flush = Flow(random.expovariate(1 / 5), wait=random.expovariate(1 / 5))
    return Load(*flows, ZERO, flush, aqu=random.expovariate(1 / 3), busy=random.random())


def _row(name: str, load: Load) -> str:
    flows = (_flow(flow) for flow in (load.read, load.write, load.discard))
    flushes = f" {load.flush.ios or 0:7.2f} {load.flush.await_ms or 0:7.2f}"
    return (
        f"{name:<13}"
        + "".join(flows)
        + flushes
        + f" {load.aqu or 0:7.2f} {100 * (load.busy or 0):6.2f}\n"
    )


def _flow(flow: Flow) -> str:
    merged = 100 * (flow.merges or 0) / flow.arrivals if flow.arrivals else 0.0
    return (
        f" {flow.ios or 0:7.2f} {(flow.bytes or 0) / KIB:9.2f} {flow.merges or 0:8.2f} {merged:6.2f}"
        f" {flow.await_ms or 0:7.2f} {(flow.size or 0) / KIB:8.2f}"
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
