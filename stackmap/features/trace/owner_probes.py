"""
The control group and the thread of each request, at every layer.

A bio has the control group that is charged for it (``bi_blkg``). For a buffered write that is the group
that dirtied the page, although a kernel thread submits it. Below RAID, md's own thread submits all requests:
they have no group. The remainder of a split bio is submitted again, and is not counted twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import add
from typing import NamedTuple

from stackmap.errors import SourceError, SourceMissing
from stackmap.features.trace import probes, tracefs
from stackmap.features.trace.record import entries_of, key_of
from stackmap.features.trace.tracefs import GROUP, Probe, ProbeSet, Synthetic, Trigger
from stackmap.host.tracing import KERNEL, LiveTracingHost
from stackmap.sources import cgroup, trace_text
from stackmap.sources.trace_text import PER_BIO, Histogram, without_addresses


class Sum(NamedTuple):
    """Requests and bytes in one direction; ``took``: µs of the ``timed`` requests, which completed in the trace."""

    requests: int = 0
    bytes: int = 0
    timed: int = 0
    took: int = 0

    def plus(self, more: Sum) -> Sum:
        """Return the sum with *more*."""
        return Sum(*map(add, self, more))

    @property
    def size(self) -> float | None:
        """Mean bytes per request; None without requests."""
        return self.bytes / self.requests if self.requests else None

    @property
    def milliseconds(self) -> float | None:
        """Mean latency; None if no request completed."""
        return self.took / self.timed / 1000 if self.timed else None


class OwnerIo(NamedTuple):
    """
    The I/O of a control group or a thread in one direction at the device *number*.

    ``owner``: the group's number or the thread's. ``name``: the thread's, "" for a group.
    """

    number: str
    is_group: bool
    owner: int
    name: str
    direction: str
    io: Sum


GROUP_OF_BIO = (
    ("bio", "bi_blkg"),
    ("blkcg_gq", "blkcg"),
    ("blkcg", "css.cgroup"),
    ("cgroup", "kn"),
    ("kernfs_node", "id"),
)
OFFSETS = (*probes.BIO, probes.FLAGS, *GROUP_OF_BIO)
SUBMIT, LATENCY = "owner", f"{GROUP}_owner"
SUBMIT_EVENT, END_EVENT, LATENCY_EVENT = (
    f"{GROUP}/{SUBMIT}",
    probes.END_EVENT,
    f"synthetic/{LATENCY}",
)
LATENCY_SYNTHETIC = Synthetic(LATENCY, "u32 dev; u8 op; u64 cg; s32 thread; u64 lat")
ENTRIES = 16384

# A thread's name may contain anything, but has at most 15 bytes: it cannot imitate an entry.
_THREAD = re.compile(
    r"common_pid: (.{0,16}?) *\[ *(\d+)\](?=, op: *\d+ \} hitcount: *\d+ +size: *\d+)", re.DOTALL
)


def owner_set(host: LiveTracingHost) -> ProbeSet:
    """Return the probes and triggers for this kernel; ``SourceError`` names what it lacks."""
    offsets = host.offsets(KERNEL, OFFSETS)
    probes.require(offsets, OFFSETS)
    again = host.constant(probes.AGAIN)
    if again is None:
        raise SourceMissing(f"BTF: this kernel has no {probes.AGAIN}")
    both = submit_probe(offsets), probes.end_probe(offsets)
    return ProbeSet(both, (LATENCY_SYNTHETIC,), tuple(triggers(again)))


def fired(host: LiveTracingHost) -> int:
    """Return how many requests the probes saw: each has a hit at its arrival and one at its end."""
    hits, _ = tracefs.probe_hits(host)
    return max(hits[SUBMIT], hits[probes.END])


def submit_probe(offsets: probes.Offsets) -> Probe:
    """Return the probe of a bio's submission, with its control group."""
    probe = probes.submit_probe(offsets)
    group = probes.dereferenced("$arg1", *(offsets[member] for member in GROUP_OF_BIO))
    return probe._replace(name=SUBMIT, fields=(*probe.fields, f"cg={group}:u64"))


def triggers(again: int) -> Iterator[Trigger]:
    """Yield the triggers that count requests, bytes and latencies by owner; *again*: see ``is_first``."""
    wanted = f"size > 0 && op < 2{probes.is_first(again)}"
    start = "hist:keys=bio,dev:started=common_timestamp.usecs,group=cg,by=common_pid"
    yield Trigger(SUBMIT_EVENT, f"{start}:size={ENTRIES} if {wanted}", counts=False)
    for key in ("cg", "common_pid.execname"):
        yield Trigger(SUBMIT_EVENT, f"hist:keys=dev,{key},op:vals=size:size={ENTRIES} if {wanted}")
    took = "hist:keys=bio,dev:took=common_timestamp.usecs-$started"
    action = f"onmatch({GROUP}.{SUBMIT}).{LATENCY}(dev,op,$group,$by,$took)"
    yield Trigger(END_EVENT, f"{took}:{action}:size={ENTRIES} if left == 1 && op < 2", counts=False)
    for key in ("cg", "thread"):
        yield Trigger(LATENCY_EVENT, f"hist:keys=dev,{key},op:vals=lat:size={ENTRIES}")


def groups(host: LiveTracingHost) -> dict[int, str]:
    """Return the path of each control group by its number; those that vanish meanwhile are left out."""
    paths = {}
    for group in cgroup.groups(host):
        try:
            paths[host.inode(group.path)] = group.name
        except SourceError:
            continue
    return paths


def parse(counted: str, latencies: str) -> tuple[list[OwnerIo], int, int]:
    """Return the I/O in the histograms of the two events, and the hits without room: for requests in flight, and for owners."""
    names = {int(thread): name for name, thread in _THREAD.findall(counted)}
    requests, times = (
        trace_text.parse_histograms(without_addresses(text))
        for text in (_THREAD.sub(r"thread: \2", counted), latencies)
    )
    took = dict(_entries(times))
    rows = [
        OwnerIo(
            *(number, is_group, owner, "" if is_group else names[owner], direction),
            Sum(*figures, *took.get((number, is_group, owner, direction), (0, 0))),
        )
        for (number, is_group, owner, direction), figures in _entries(requests)
    ]
    every = (*requests, *times)
    in_flight = sum(each.dropped for each in every if each.trigger.startswith(PER_BIO))
    return rows, in_flight, sum(each.dropped for each in every) - in_flight


def _entries(
    histograms: Iterable[Histogram],
) -> Iterator[tuple[tuple[str, bool, int, str], tuple[int, int]]]:
    """Yield (device, whether the owner is a group, owner, direction) of each entry, and its hits and sum."""
    for entry in entries_of(histograms):
        is_group = "cg" in entry.keys
        number, direction = key_of(entry)
        owner = entry.number("cg" if is_group else "thread")
        yield (number, is_group, owner, direction), (entry.hits, sum(entry.sums.values()))
