"""
``blame --trace``: the control groups and threads whose requests reach each layer during a measurement.

A bio has the control group that is charged for it (``bi_blkg``). For a buffered write that is the group
that dirtied the page, although a kernel thread submits it. Below RAID, md's own thread submits all requests:
they have no group. The remainder of a split bio is submitted again, and is not counted twice.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from operator import add
from threading import Event, Lock, Thread
from typing import NamedTuple, Self

from stackmap.document import blocks as doc
from stackmap.document.wording import divided, kib, percent, plural
from stackmap.errors import SourceError, SourceMissing
from stackmap.features.trace import cost, probes, tracefs
from stackmap.features.trace.cost import TICK, Overhead
from stackmap.features.trace.record import entries_of, key_of
from stackmap.features.trace.tracefs import GROUP, Probe, ProbeSet, Synthetic, Tracing, Trigger
from stackmap.host.tracing import KERNEL, LiveTracingHost
from stackmap.model.device import Device, Kind
from stackmap.model.topology import Topology
from stackmap.sources import cgroup, trace_text
from stackmap.sources.trace_text import PER_BIO, Histogram, without_addresses


class Sum(NamedTuple):
    """Requests and bytes in one direction; ``took``: µs of the ``timed`` requests, which completed in the trace."""

    requests: int = 0
    bytes: int = 0
    timed: int = 0
    took: int = 0

    def plus(self, more: "Sum") -> "Sum":
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


def group_paths(host: LiveTracingHost) -> dict[int, str]:
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
    in_flight = sum(
        histogram.dropped for histogram in every if histogram.trigger.startswith(PER_BIO)
    )
    return rows, in_flight, sum(histogram.dropped for histogram in every) - in_flight


def _entries(
    histograms: Iterable[Histogram],
) -> Iterator[tuple[tuple[str, bool, int, str], tuple[int, int]]]:
    """Yield (device, whether the owner is a group, owner, direction) of each entry, and its hits and sum."""
    for entry in entries_of(histograms):
        is_group = "cg" in entry.keys
        number, direction = key_of(entry)
        owner = entry.number("cg" if is_group else "thread")
        yield (number, is_group, owner, direction), (entry.hits, sum(entry.sums.values()))


class Owner(NamedTuple):
    """
    A control group or a thread at the device ``device``, and its I/O by direction.

    ``number``: of the group or thread. ``name``: the group's path, "" for the root or unknown; the thread's name.
    """

    device: str
    is_group: bool
    number: int
    name: str
    parts: dict[str, Sum]

    @property
    def bytes(self) -> int:
        """Both directions."""
        return sum(part.bytes for part in self.parts.values())

    @property
    def title(self) -> str:
        """The name for people: "service mariadb", the path of a group without such a name, or a process with its number."""
        if not self.is_group:
            return f"{self.name} {self.number}"
        owner = " ".join(cgroup.owner(self.name) or ())
        return owner or self.name or (ROOT if self.number <= 1 else GONE)


def _counted_at(topology: Topology, device: Device) -> list[str]:
    """Return *device*, and the disk below a partition: its requests are not submitted again."""
    disks = topology.below(device.name) if device.kind is Kind.PARTITION else ()
    return [device.name, *(edge.below for edge in disks)]


COLUMNS = (
    doc.Column("OWNER", "owner", is_text=True),
    doc.Column("DEVICE", "device", ("device_label",), is_text=True),
    doc.Column("", "direction", is_text=True),
    doc.Column("requests", "requests"),
    doc.Column("KiB", "bytes"),
    doc.Column("KiB per\nrequest", "mean_bytes"),
    doc.Column("ms", "mean_ms"),
)
ROOT = "no control group: kernel threads"
GONE = "a control group that is gone"
LEGEND = (
    "Counted by kernel probes, at each layer by itself: lines of two devices must not be added. A buffered "
    "write belongs to the control group that wrote the data. Below RAID all requests are the kernel's. "
    "ms: mean time until the request was complete."
)


def _rows(topology: Topology, owner: Owner) -> list[doc.Row]:
    title = topology[owner.device].title
    return [
        (
            owner.title,
            doc.Label(title, (owner.device, title)),
            direction,
            doc.Value(part.requests, str),
            doc.Value(part.bytes, kib),
            doc.Value(part.size, kib),
            doc.Value(part.milliseconds, divided(1, 2)),
        )
        for direction, part in sorted(owner.parts.items())
    ]


def _owner(owner: Owner) -> dict[str, object]:
    parts = ((name, owner.parts.get(name, Sum())) for name in ("read", "write"))
    return {
        "device": owner.device,
        **{
            name: {
                "requests": part.requests,
                "bytes": part.bytes,
                "size": part.size,
                "latency_us": None if part.milliseconds is None else part.milliseconds * 1000,
            }
            for name, part in parts
        },
    }


class OwnerSample(NamedTuple):
    """
    What was counted since the previous sample.

    ``groups``: paths of control groups by number; a group that is not among them has no name. ``dropped``: hits
    without room. ``overhead``: the share of all CPU time so far. ``stopped``: why the trace ended, in the first
    sample after that; else "".
    """

    rows: tuple[OwnerIo, ...] = ()
    groups: dict[int, str] = {}  # noqa: RUF012 - a default that nothing changes
    dropped: int = 0
    overhead: float = 0.0
    stopped: str = ""

    def owners(self, topology: Topology, chosen: Iterable[str]) -> list[Owner]:
        """Return the owners at *chosen* and at all devices above and below, in tree order, the heaviest first."""
        owners: dict[tuple[str, bool, int], Owner] = {}
        selected = topology.select(chosen)
        names_of = {device.number: _counted_at(selected, device) for device in selected}
        for row in self.rows:
            for device in names_of.get(row.number, ()):
                name = self.groups.get(row.owner, "") if row.is_group else row.name
                key = (device, row.is_group, row.owner)
                owner = owners.setdefault(key, Owner(*key, name, {}))
                owner.parts[row.direction] = owner.parts.get(row.direction, Sum()).plus(row.io)
        place = {device.name: number for number, device in enumerate(selected)}
        return sorted(owners.values(), key=lambda one: (place[one.device], -one.bytes, one.title))

    def json(self, topology: Topology, chosen: Iterable[str]) -> dict[str, object]:
        """Return the keys that a trace adds to the object of ``blame -J``."""
        listed = self.owners(topology, chosen)
        return {
            "cgroups": [
                {"cgroup": owner.name or None, "owner": owner.title, **_owner(owner)}
                for owner in listed
                if owner.is_group
            ],
            "processes": [
                {"command": owner.name, "pid": owner.number, **_owner(owner)}
                for owner in listed
                if not owner.is_group
            ],
            "lost": {"hits": self.dropped},
            "overhead": self.overhead,
            "stopped": self.stopped or None,
        }

    def blocks(self, topology: Topology, chosen: Iterable[str]) -> list[doc.Block]:
        """Return the tables that a trace adds to ``blame``."""
        listed = self.owners(topology, chosen)
        blocks: list[doc.Block] = []
        for key, heading, is_group in (
            ("groups", "control groups and services, traced", True),
            ("processes", "processes, traced", False),
        ):
            owners = [owner for owner in listed if owner.is_group is is_group]
            if rows := tuple(row for owner in owners for row in _rows(topology, owner)):
                table = doc.Table(f"traced-{key}", COLUMNS, (doc.Rows(rows),), legend=LEGEND)
                blocks += [doc.Headline((heading,)), table]
        if not blocks:
            blocks.append(doc.Paragraph("No request was traced on these devices."))
        share = percent(self.overhead, 2)
        blocks.append(doc.Paragraph(f"overhead of the trace about {share} of all CPU time"))
        if self.dropped:
            lost = plural(self.dropped, "request")
            blocks.append(doc.Paragraph(f"{lost} could not be counted: too many owners.", "But:"))
        return blocks


class OwnerTrace:
    """
    Counts while the context is entered; raises what ``Tracing`` and ``owner_set`` raise.

    A thread looks at the overhead and ends the trace above the share *max_overhead* of CPU time, or after an hour.
    """

    def __init__(self, host: LiveTracingHost, max_overhead: float) -> None:
        self._host = host
        self._limit = max_overhead
        self._tracing = Tracing(host)
        self._groups: dict[int, str] = {}
        self._counting: tuple[Trigger, ...] = ()  # their histograms are read; none before and after
        self._cost = cost.ASSUMED
        self._fired = 0  # requests that the probes saw before
        self._dropped = 0  # hits without room so far, in the histograms that are never cleared
        self._overhead = Overhead(host)
        self._last = OwnerSample()
        self._lock = Lock()
        self._ended = Event()
        self._watch = Thread(target=self._watched, daemon=True)

    def __enter__(self) -> Self:
        self._tracing.__enter__()
        try:
            self._groups = group_paths(self._host)
            self._install()
            self._overhead = Overhead(self._host)
            self._watch.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _install(self) -> None:
        every = owner_set(self._host)
        known = trace_text.read_symbols(self._host, cost.SYMBOLS)
        self._cost = cost.measured(self._host, self._tracing, known, every)
        self._tracing.install(every)
        self._fired = fired(self._host)
        self._counting = tuple(trigger for trigger in every.triggers if trigger.counts)

    def read(self) -> OwnerSample:
        """Return the counts since the previous call; a service that ended keeps its name."""
        with self._lock:
            self._look()
            sample, self._last = self._last, OwnerSample()
            return self._sample() if self._counting else sample

    def look(self) -> None:
        """End the trace if it takes too much, or too long; what was counted is in the next sample."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        if not self._counting:
            return
        requests = fired(self._host) - self._fired
        stopped = self._overhead.look(requests * self._cost.request, self._limit)
        if stopped:
            self._last = self._sample()._replace(stopped=stopped)
            self._counting = ()
            self._tracing.clear()

    def _sample(self) -> OwnerSample:
        """Return the counts since the last call, and start again at 0."""
        events = SUBMIT_EVENT, LATENCY_EVENT
        counted, latencies = map(self._tracing.histograms, events)
        for trigger in self._counting:
            self._tracing.trigger(trigger.in_state("clear"))
        rows, in_flight, dropped = parse(counted, latencies)
        # Requests in flight are never cleared, so their drops are counted from the start.
        dropped += in_flight - self._dropped
        self._dropped = in_flight
        self._groups |= group_paths(self._host)
        return OwnerSample(tuple(rows), self._groups, dropped, self._overhead.share)

    def _watched(self) -> None:
        with suppress(SourceError):  # the next reading raises it too
            while not self._ended.wait(TICK):
                self.look()

    def _end(self) -> None:
        self._ended.set()
        with self._lock:  # not while a look is under way
            self._counting = ()
            self._tracing.__exit__()
