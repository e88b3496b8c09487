"""
Traces in a guest, killed at random moments or one after the other; prints what each left as JSON.

``trace_runs.py kill COUNT NAME...`` and ``trace_runs.py repeat COUNT NAME...``.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import time
from itertools import cycle, islice
from pathlib import Path

from stackmap.discover import discover
from stackmap.discover.find import find_all
from stackmap.features.trace import dm_stats, tracefs
from stackmap.features.trace import measure as trace
from stackmap.features.trace.events.measure import RequestTrace
from stackmap.features.trace.owners import OwnerTrace
from stackmap.host.tracing import LiveTracingHost

LONGEST = 6.0  # seconds until a trace is killed: an installation takes about two in an emulator
NO_LIMIT = 1.0


class WithoutBtf(LiveTracingHost):
    """The machine without kprobes: dm's statistics are used."""

    def offsets(self, *_):
        return {}


def distributions(host, topology, names, seconds):
    trace.Tracer(host, topology, names).run(trace.TraceOptions(seconds, NO_LIMIT, 2))


def owners(host, _, __, seconds):
    with OwnerTrace(host, NO_LIMIT) as found:
        time.sleep(seconds)
        found.read()


def events(host, topology, names, seconds):
    for _ in RequestTrace(host, topology, names, follow=True).requests(seconds, NO_LIMIT):
        pass


def fallback(_, topology, names, seconds):
    distributions(WithoutBtf(), topology, names, seconds)


MODES = (distributions, owners, events, fallback)


def left(host):
    """Return everything of stackmap that is in the kernel."""
    found = [line for line in host.read(tracefs.PROBES).splitlines() if "stackmap" in line]
    found += [line for line in host.read(tracefs.SYNTHETIC).splitlines() if "stackmap" in line]
    found += host.names_in(f"{tracefs.ROOT}/instances")
    for path in Path("/sys/kernel/tracing/events/block").glob("*/trigger"):
        found += [line for line in path.read_text().splitlines() if not line.startswith("#")]
    for name in host.names_in("/sys/block"):
        if name.startswith("dm-"):
            number = host.read(f"/sys/block/{name}/dev").strip()
            found += host.message(number, f"@stats_list {dm_stats.GROUP}").splitlines()
    return found


def kill(host, topology, names, count):
    chance = random.Random(18)
    for number, mode in enumerate(islice(cycle(MODES), count)):
        moment = chance.uniform(0.0, LONGEST)
        child = os.fork()
        if not child:
            mode(LiveTracingHost(), topology, names, 60.0)
            os._exit(1)  # it must have been killed
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        before = left(host)
        removed = trace.clean(LiveTracingHost())
        yield {
            "number": number, "mode": mode.__name__, "moment": moment, "status": status,
            "before": len(before), "removed": len(removed), "after": left(host),
        }  # fmt: skip


def repeat(host, topology, names, count):
    for number, mode in enumerate(islice(cycle(MODES), count)):
        mode(LiveTracingHost(), topology, names, 0.2)
        yield {
            "number": number, "mode": mode.__name__, "after": left(host),
            "descriptors": len(os.listdir("/proc/self/fd")), "children": children(),
            "memory": memory(),
        }  # fmt: skip


def children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def memory():
    """Return what /proc/meminfo says of the kernel's own memory, in bytes, and this process's without garbage."""
    gc.collect()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    found = {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}
    wanted = ("MemAvailable", "SUnreclaim", "Percpu", "VmallocUsed")
    own = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    return {**{name: found[name] for name in wanted}, "own": own}


def main(what, count, *words):
    host = LiveTracingHost()
    topology = discover(host)
    names = find_all(topology, list(words))
    for found in {"kill": kill, "repeat": repeat}[what](host, topology, names, int(count)):
        print(json.dumps(found), flush=True)


main(*sys.argv[1:])
