"""
Whose each request is, at every layer: the control group and the thread of each bio.

A bio has the control group that is charged for it (``bi_blkg``). For a buffered write that is the group
that dirtied the page, although a kernel thread submits it. Below RAID md's own thread submits: those requests have no group.
The remainder of a bio that was split is submitted once more: what was traced already is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackmap.errors import SourceError, SourceMissing
from stackmap.host.tracing import KERNEL, LiveTracingHost
from stackmap.model.owner_io import OwnerIo
from stackmap.sources import (
    cgroup,
    kallsyms,
    trace_cost,
    trace_histogram,
    trace_probes,
    tracefs,
)
from stackmap.sources.trace_cost import Cost
from stackmap.sources.trace_definitions import GROUP, Probe, ProbeSet, Synthetic, Trigger
from stackmap.sources.trace_histogram import START
from stackmap.sources.trace_instance import Tracing
from stackmap.sources.trace_record import PER_BIO, device_of, number_of

GROUP_OF_BIO = (
    ("bio", "bi_blkg"),
    ("blkcg_gq", "blkcg"),
    ("blkcg", "css.cgroup"),
    ("cgroup", "kn"),
    ("kernfs_node", "id"),
)
OFFSETS = (*trace_probes.BIO, trace_probes.FLAGS, *GROUP_OF_BIO)
SUBMIT, LATENCY = "owner", f"{GROUP}_owner"
SUBMIT_EVENT, END_EVENT, LATENCY_EVENT = (
    f"{GROUP}/{SUBMIT}",
    trace_probes.END_EVENT,
    f"synthetic/{LATENCY}",
)
LATENCY_SYNTHETIC = Synthetic(LATENCY, "u32 dev; u8 op; u64 cg; s32 thread; u64 lat")
ENTRIES = 16384
DIRECTIONS = {0: "read", 1: "write"}

# A thread's name may contain anything, but has at most 15 bytes: it cannot imitate an entry.
_THREADS = re.compile(
    r"\{ dev: *(?P<dev>\d+), common_pid: (?P<name>.{0,16}?) *\[ *(?P<thread>\d+)\], op: *(?P<op>\d+) \} "
    r"hitcount: *(?P<hits>\d+) +size: *(?P<size>\d+)",
    re.DOTALL,
)
_DROPPED = re.compile(r"^ +Dropped: (\d+)$", re.MULTILINE)
_OPS = {name: op for op, name in DIRECTIONS.items()}


@dataclass(slots=True)
class Installed:
    """
    What ``install`` added to the kernel.

    ``counting``: the triggers whose histograms are read. ``cost``: CPU time per request. ``fired``: requests that
    the probes had seen before. ``dropped``: hits without room so far, in the histograms that are never cleared.
    """

    counting: tuple[Trigger, ...]
    cost: Cost
    fired: int = 0
    dropped: int = 0


def install(host: LiveTracingHost, tracing: Tracing) -> Installed:
    """Install probes and triggers. ``SourceError`` names what this kernel lacks."""
    offsets = host.offsets(KERNEL, OFFSETS)
    trace_probes.require(offsets, OFFSETS)
    again = host.constant(trace_probes.AGAIN)
    if again is None:
        raise SourceMissing(f"BTF: this kernel has no {trace_probes.AGAIN}")
    probes = submit_probe(offsets), trace_probes.end_probe(offsets)
    every = ProbeSet(probes, (LATENCY_SYNTHETIC,), tuple(triggers(again)))
    known = kallsyms.read(host, trace_cost.SYMBOLS)
    cost = trace_cost.measured(host, tracing, known, every)
    tracing.install(every)
    counting = tuple(trigger for trigger in every.triggers if trigger.counts)
    return Installed(counting, cost, _fired(host))


def spent(host: LiveTracingHost, installed: Installed) -> float:
    """Return the seconds of CPU time that the probes took so far."""
    return (_fired(host) - installed.fired) * installed.cost.request


def _fired(host: LiveTracingHost) -> int:
    """Return how many requests the probes saw: each has a hit at its arrival and one at its end."""
    fired, _ = tracefs.probe_hits(host)
    return max(fired[SUBMIT], fired[trace_probes.END])


def submit_probe(offsets: trace_probes.Offsets) -> Probe:
    """Return the probe of a bio's submission, with its control group."""
    probe = trace_probes.submit_probe(offsets)
    group = trace_probes.dereferenced("$arg1", *(offsets[member] for member in GROUP_OF_BIO))
    return probe._replace(name=SUBMIT, fields=(*probe.fields, f"cg={group}:u64"))


def triggers(again: int) -> Iterator[Trigger]:
    """Yield the counts of requests and bytes by owner, and of their latencies; *again*: see ``is_first``."""
    wanted = f"size > 0 && op < 2{trace_probes.is_first(again)}"
    start = "hist:keys=bio:started=common_timestamp.usecs,group=cg,by=common_pid"
    yield Trigger(SUBMIT_EVENT, f"{start}:size={ENTRIES} if {wanted}", counts=False)
    for key in ("cg", "common_pid.execname"):
        yield Trigger(SUBMIT_EVENT, f"hist:keys=dev,{key},op:vals=size:size={ENTRIES} if {wanted}")
    took = "hist:keys=bio:took=common_timestamp.usecs-$started"
    action = f"onmatch({GROUP}.{SUBMIT}).{LATENCY}(dev,op,$group,$by,$took)"
    yield Trigger(END_EVENT, f"{took}:{action}:size={ENTRIES} if left == 1 && op < 2", counts=False)
    for key in ("cg", "thread"):
        yield Trigger(LATENCY_EVENT, f"hist:keys=dev,{key},op:vals=lat:size={ENTRIES}")


def groups(host: LiveTracingHost) -> dict[int, str]:
    """Return the path of each control group by its number; those that vanish meanwhile are left out."""
    found = {}
    for group in cgroup.groups(host):
        try:
            found[host.inode(group.path)] = group.name
        except SourceError:
            continue
    return found


def read(tracing: Tracing, installed: Installed) -> tuple[list[OwnerIo], int]:
    """Return and clear what was counted by device, owner and direction, and how many hits had no room since the last call."""
    texts = (tracing.histograms(SUBMIT_EVENT), tracing.histograms(LATENCY_EVENT))
    for trigger in installed.counting:
        tracing.trigger(trigger.in_state("clear"))
    blocks = [block for text in texts for block in text.split(START)[1:]]
    # Requests in flight are never cleared, so their drops are counted from the start.
    kept = sum(_dropped(block) for block in blocks if PER_BIO in block)
    cleared = sum(_dropped(block) for block in blocks if PER_BIO not in block)
    since, installed.dropped = kept - installed.dropped, kept
    return parse(*texts), cleared + since


def _dropped(block: str) -> int:
    return sum(int(count) for count in _DROPPED.findall(block))


def parse(counted: str, latencies: str) -> list[OwnerIo]:
    """Return what the histograms of the two events say."""
    times = {
        (is_group, *key): (hits, sums)
        for block, is_group in (
            (_block(latencies, ",cg,"), True),
            (_block(latencies, ",thread,"), False),
        )
        for key, hits, sums in _entries(block, "cg" if is_group else "thread")
    }
    found = [
        OwnerIo(number_of(dev), True, owner, "", DIRECTIONS[op], hits, size)
        for (dev, owner, op), hits, size in _entries(_block(counted, ",cg,"), "cg")
    ]
    for match in _THREADS.finditer(_block(counted, "execname")):
        dev, thread, op, hits, size = (
            int(match[k]) for k in ("dev", "thread", "op", "hits", "size")
        )
        found.append(
            OwnerIo(number_of(dev), False, thread, match["name"], DIRECTIONS[op], hits, size)
        )
    return [
        each._replace(timed=hits, took=took)
        for each in found
        for hits, took in (
            times.get(
                (each.is_group, device_of(each.number), each.owner, _OPS[each.direction]), (0, 0)
            ),
        )
    ]


def _block(text: str, key: str) -> str:
    """Return the histogram whose trigger has *key*, "" without one."""
    blocks = (START + block for block in text.split(START)[1:])
    return next((block for block in blocks if key in block.partition("vals=")[0]), "")


def _entries(block: str, owner: str) -> Iterator[tuple[tuple[int, int, int], int, int]]:
    """Yield (device, owner, operation), hits and the sum of each entry."""
    for histogram in trace_histogram.parse(block):
        for entry in histogram.entries:
            key = entry.number("dev"), entry.number(owner), entry.number("op")
            yield key, entry.hits, sum(entry.sums.values())
