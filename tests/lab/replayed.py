"""
Counts that ``whatif`` projects from a recorded trace, beside what the disks of the other layout then did.

A run leaves samples of /proc/diskstats, and the events of its volume: where the requests of a trace come from.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import stackmap
from stackmap.discover.find import find_all
from stackmap.features.trace.arrivals import line_of
from stackmap.features.trace.probes import STEPS
from stackmap.features.trace.record import Trace, TraceRecord, parse
from stackmap.features.whatif.disks import READ, WRITE
from stackmap.features.whatif.fitting import LEAST, Figures, figures_of
from stackmap.features.whatif.project import Projector
from stackmap.features.whatif.timing import Scenario
from stackmap.model.layout_request import parse as layout_of
from stackmap.model.units import SECTOR
from stackmap.sampling.snapshots import with_first_topology
from stackmap.sources import trace_text
from stackmap.sources.trace_text import BlockEvent, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from stackmap.features.whatif.projection import Projection
    from stackmap.features.whatif.quantities import Band
    from tests.lab.judged import Workload

RUNS = (
    0.02  # share: by how much two runs of a random load differ in reads and writes, and so in bytes
)
READS, READ_SECTORS, WRITES, WRITTEN_SECTORS = 3, 5, 7, 9  # of a line of /proc/diskstats


@dataclass(frozen=True)
class Run:
    """A load on one layout."""

    workload: Workload

    @cached_property
    def _measured(self):
        """The machine, and its intervals."""
        folder = self.workload.folder
        machine = stackmap.open(str(folder / f"{self.workload.stack}.tar"))
        with closing(stackmap.open(str(self._file("diskstats")), machine)) as source:
            topology, intervals = with_first_topology(source.intervals())
            return topology, list(intervals)

    def _file(self, kind: str) -> Path:
        return self.workload.folder / f"{self.workload.stack}.{self.workload.name}.{kind}"

    @cached_property
    def device(self):
        """The volume."""
        topology = self._measured[0]
        (top,) = self.workload.tops
        return topology[find_all(topology, [top])[0]]

    @cached_property
    def trace(self) -> Trace:
        """The requests of the volume, as ``record --trace`` keeps them."""
        lines = self._file("events").read_text(errors="replace").splitlines()
        events = list(trace_text.parse_events(lines))
        own = (each for each in events if each.number == self.device.number)
        kept = sorted(filter(None, map(line_of, own)), key=lambda line: int(line.split()[2]))
        trace = parse(TraceRecord(arrivals="\n".join(kept)))
        return dataclasses.replace(trace, served=_served(events))

    @cached_property
    def requests(self) -> int:
        """Its requests with data."""
        return sum(bool(each.size) for each in self.trace.requests(self.device.number))

    @cached_property
    def rate(self) -> float:
        """Requests per second, while it was traced."""
        sent = self.trace.requests(self.device.number)
        return (len(sent) - 1) / (sent[-1].time - sent[0].time)

    def projected(self, layout: str, *, traced: bool, timed: bool = True) -> Projection:
        """Return what is projected of *layout*, from counters alone or with the trace; with times if *timed*."""
        topology, intervals = self._measured
        trace = self.trace if traced else None
        projector = Projector(topology, intervals, self.device.name, trace)
        return projector.project(layout_of(layout), Scenario() if timed else None)

    def latencies(self, operation: str) -> Figures | None:
        """Milliseconds that its requests took, by statistic; None if there were too few."""
        sent = self.trace.requests(self.device.number)
        taken = [r.done - r.time for r in sent if r.operation == operation and r.done is not None]
        return figures_of(taken) if len(taken) >= LEAST else None

    @cached_property
    def counted(self) -> tuple[float, float]:
        """What its disks completed per request of the volume, as the kernel counted it: requests and bytes."""
        first, *_, last = self._file("diskstats").read_text().split("TS ")[1:]
        before, after = (
            {words[2]: words for words in map(str.split, text.splitlines()[1:])}
            for text in (first, last)
        )
        topology = self._measured[0]
        below = topology.with_all_below(self.device.name)
        disks = [name for name in below if not topology.below(name)]

        def done(*fields: int) -> int:
            return sum(int(after[d][n]) - int(before[d][n]) for d in disks for n in fields)

        moved = SECTOR * done(READ_SECTORS, WRITTEN_SECTORS)
        return done(READS, WRITES) / self.requests, moved / self.requests


def _served(
    events: Iterable[BlockEvent],
) -> Mapping[tuple[str, str], Mapping[tuple[int, int], int]]:
    """Return how many requests of each disk and direction took how long in it, in buckets as those of a trace."""
    counts: defaultdict[tuple[str, str], Counter[tuple[int, int]]] = defaultdict(Counter)
    begun: dict[tuple[str, int], float] = {}
    for each in events:
        place = each.number, each.sector
        if each.step is Step.ISSUE and each.sectors:
            begun[place] = each.time
        elif each.step is Step.COMPLETE and place in begun:
            taken = round((each.time - begun.pop(place)) * 1e9)
            step = max(1, 8 ** (len(f"{taken:o}")) // STEPS)
            low = taken // step * step
            counts[each.number, each.operation][low, low + step] += 1
    return counts


@dataclass(frozen=True)
class Count:
    """A projected count per request of the volume, and the true one."""

    what: str
    band: Band
    true: float
    is_replayed: bool

    @property
    def off(self) -> float:
        """The likely value's difference as a share of the truth."""
        return self.band.likely / self.true - 1

    @property
    def in_band(self) -> bool:
        """Whether the truth is in the range, but for the difference between two runs of one load."""
        return self.band.low * (1 - RUNS) <= self.true <= self.band.high * (1 + RUNS)

    @property
    def width(self) -> float:
        """The range as a share of the likely value."""
        return (self.band.high - self.band.low) / self.band.likely


@dataclass(frozen=True)
class Time:
    """A projected latency and the true one, in milliseconds; ``band``: None if the projection was refused."""

    what: str
    statistic: str
    band: Band | None
    true: float

    def is_within(self, share: float) -> bool:
        """Whether the likely value is so near to the truth."""
        return self.band is not None and abs(self.band.likely / self.true - 1) <= share


def times(recorded: Run, ran: Run, layout: str, *, traced: bool = True) -> list[Time]:
    """Return the latencies that *recorded* projects of *layout*, which *ran* has; *traced*: with its trace."""
    found = recorded.projected(layout, traced=traced).time
    name = f"{recorded.workload.name} → {ran.workload.name.partition('-')[0]}"
    return [
        Time(
            f"{name}: {operation} {key}",
            key,
            None if found is None or found.reason else found.projected[operation][key],
            value,
        )
        for operation in (READ, WRITE)
        for key, value in (ran.latencies(operation) or {}).items()
    ]


def headroom(recorded: Run, ran: Run, layout: str) -> Count:
    """Return the factor by which *recorded* may grow on *layout*; *ran*: the same load there with a full queue."""
    time = recorded.projected(layout, traced=True).time
    name = f"{recorded.workload.name} → {ran.workload.name}"
    is_present = recorded.workload.tops == ran.workload.tops
    return Count(
        name, time.headroom_now if is_present else time.headroom, ran.rate / recorded.rate, False
    )


def counts(recorded: Run, ran: Run, layout: str, *, traced: bool) -> list[Count]:
    """Return the requests and the bytes at the disks that *recorded* projects of *layout*, which *ran* has."""
    found = recorded.projected(layout, traced=traced, timed=traced)
    load = found.read.bytes + found.write.bytes
    sent = sum(each.size for each in recorded.trace.requests(recorded.device.number))
    scale = sent / recorded.requests / load  # seconds per request
    disks = found.projected.disks
    name = f"{recorded.workload.name} → {ran.workload.name.partition('-')[0]}"
    replayed = found.replayed is not None and not found.replayed.reason
    bands = zip(("requests", "bytes"), (disks.requests, disks.moved), ran.counted, strict=True)
    return [
        Count(f"{name}: {what}", band.scaled(scale), true, replayed) for what, band, true in bands
    ]
