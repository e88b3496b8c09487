"""
A machine whose load is a few real samples over and over: what a long recording is made from.

``python tests/long.py OUT SECONDS [DEVICES [ACTIVE]]`` records it, as fast as it goes, and says on standard
output which samples it has begun to take. ``python tests/long.py -`` does that for each line on standard input
in a process of its own, whose number it tells, with its output in OUT.told and its complaints in OUT.said; and
tells its status when it has ended. A word after ACTIVE is the most bytes that a file may have. A line "stackmap
ARGUMENT... OUT" runs the command so.
"""

from __future__ import annotations

import os
import resource
import sys
from itertools import pairwise

from stackmap.cli import main
from stackmap.cli.output import tell
from stackmap.cli.record import samples
from stackmap.errors import StackmapError
from stackmap.host.capture import CapturedHost
from stackmap.host.recording import RecordingHost
from stackmap.sources.diskstats import PATH
from tests.machine import DrawnHost, block, lvm_uuid, mapped
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies" / "vghdd"
START = 1763600400.0
SPAN = 2000  # seconds of a recording of four segments
DISKS = 20
NAMED = 3  # words before a line's counters
GAUGE = 11  # requests in flight


def growths() -> list[list[int]]:
    """What each counter grew by, of each device of the sample that did anything, from frame to frame."""
    host = CapturedHost(str(SAMPLE))
    taken = [host.read(PATH).splitlines() for _ in host.ticks(1.0, None)]
    found = []
    for earlier, later in pairwise(taken):
        for before, after in zip(earlier, later, strict=True):
            pairs = zip(before.split()[NAMED:], after.split()[NAMED:], strict=True)
            growth = [int(now) - int(then) for then, now in pairs]
            growth[GAUGE - NAMED] = 0
            if any(growth):
                found.append(growth)
    return found


class Repeated(DrawnHost):
    """*devices* of which *active* do, tick after tick, what the sample's did; its clock does not wait."""

    def __init__(self, devices: int = 200, active: int = 60) -> None:
        disks = [f"sd{chr(97 + number)}" for number in range(DISKS)]
        volumes = [f"dm-{number}" for number in range(devices - DISKS)]
        files = {"/proc/uptime": "86400.00 86400.00\n", "/sys/kernel/uevent_seqnum": "1000\n"}
        for number, name in enumerate(disks):
            files |= block(name, f"8:{16 * number}")
        for number, _ in enumerate(volumes):
            below = (disks[number % DISKS],)
            files |= mapped(number, f"vg-lv{number}", lvm_uuid(number), below=below)
        super().__init__(files)
        self.events = []
        names = [f"   8 {16 * number:7d} {name}" for number, name in enumerate(disks)]
        names += [f" 254 {number:7d} {name}" for number, name in enumerate(volumes)]
        self._growths = growths()
        self._counters = [[0] * len(self._growths[0]) for _ in names[:active]]
        self._lines = [f"{name} " + " ".join(["0"] * 17) for name in names]
        self._names = names
        self._tick = 0

    def read(self, path):
        return self.text() if path == PATH else super().read(path)

    def text(self):
        return "\n".join(self._lines) + "\n"

    def ticks(self, interval, count):
        for tick in range(count):
            yield START + interval * tick
            self._grow(tick)

    def _grow(self, tick):
        for place, counters in enumerate(self._counters):
            growth = self._growths[(tick + 7 * place) % len(self._growths)]
            counters[:] = [a + b for a, b in zip(counters, growth, strict=True)]
            self._lines[place] = f"{self._names[place]} {' '.join(map(str, counters))}"


def record(out: str, seconds: int, devices: int = 200, active: int = 60) -> None:
    """Record it as ``stackmap record`` would."""
    with RecordingHost(Repeated(devices, active), out) as host:
        for time in samples(host, 1.0, seconds):
            os.write(1, b"%d\n" % (time - START))


def forked(words: list[str]) -> None:
    """Do what a line says in this process, which ends with it; what is imported already is not paid for."""
    place = words[-1] if words[0] == "stackmap" else words[0]
    for number, name in ((1, ".told"), (2, ".said")):
        os.dup2(os.open(place + name, os.O_WRONLY | os.O_CREAT), number)
    if words[0] == "stackmap":
        sys.argv = words
        main()
        sys.exit(0)
    out, *numbers = words[0], *map(int, words[1:])
    if len(numbers) > 3:
        sys.dont_write_bytecode = True  # Python would keep half a compiled file
        resource.setrlimit(resource.RLIMIT_FSIZE, (numbers[3],) * 2)
    try:
        record(out, *numbers[:3])
    except StackmapError as error:
        tell(str(error))
        sys.exit(error.exit_code)
    sys.exit(0)


def serve() -> None:
    """Do what each line on standard input says, one after another; tell the process, then its status."""
    for line in sys.stdin:
        process = os.fork()
        if not process:
            forked(line.split())
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        serve()
    else:
        record(sys.argv[1], *map(int, sys.argv[2:]))
