"""
A trace of this machine: what can be probed is probed for a limited time, and removed.

Without kprobes or BTF, sizes come from block tracepoints and latencies from dm's own statistics; without
tracefs, latencies alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceDenied, SourceError, SourceMissing
from stackmap.measurement.instruments import Instruments
from stackmap.measurement.overhead import Overhead
from stackmap.sources import diskstats, dm_stats, trace_probes, tracefs
from stackmap.sources.trace_record import TraceRecord, without_lines

if TYPE_CHECKING:
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

CPUS = "/sys/devices/system/cpu/online"
LONGEST = 3600.0  # seconds
TICK = 1.0  # seconds between two looks at the overhead
SILENT = "no probe fired while the counters of {} moved: the kernel does not run the probes"


class TraceOptions(NamedTuple):
    """``seconds``: the time limit. ``max_overhead``: a share of CPU time. ``slices``: of the time, 0 for none."""

    seconds: float
    max_overhead: float
    slices: int = 0


class Tracer:
    """The trace of the *chosen* devices of *topology*, all without one, and everything below them."""

    def __init__(self, host: LiveTracingHost, topology: Topology, chosen: list[str]) -> None:
        self._host = host
        names = frozenset(name for each in chosen for name in topology.with_all_below(each))
        self._names = names or topology.devices.keys()
        self._instruments = Instruments(host, topology, names)
        self._before = (0.0, "")
        self._start = 0.0
        self._overhead = Overhead(1, 0.0)
        dm = [d.number for d in topology.devices.values() if d.name.startswith("dm-")]
        self.record = TraceRecord(
            cpus=online_cpus(host), dm_major=int(dm[0].partition(":")[0]) if dm else 0
        )
        self.is_complete = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """
        Count while the context is entered.

        ``SourceError`` if nothing at all can be traced, or if no probe fired while there was I/O.
        """
        with ExitStack() as stack:
            self._instruments.install(stack)
            self.record.sources = tuple(self._instruments.sources)
            self.record.notes = tuple(self._instruments.notes)
            self._instruments.set_state("cont")
            self._before = next(self._host.ticks(0, 1)), self._host.read(diskstats.PATH)
            self._start = self._host.clock()
            self._overhead = Overhead(self.record.cpus, self._start)
            try:
                yield
            finally:
                self.finish()
            self._require_hits()

    def run(self, options: TraceOptions) -> TraceRecord:
        """Trace until the time limit, or until the probes cost too much; return what was read."""
        with self.running():
            interval, count, per_slice = _rhythm(options)
            ticks = self._host.ticks(interval, count)
            next(ticks)
            before: frozenset[str] = frozenset()
            for place, _ in enumerate(ticks, 1):
                if self.stop_above(options.max_overhead):
                    break
                has_slice = options.slices and place % per_slice == 0
                if has_slice and self._instruments.has_probes:
                    text = self._instruments.text(trace_probes.LATENCY_EVENT)
                    self.record.slices.append(without_lines(text, before))
                    before = frozenset(text.splitlines())
        return self.record

    def stop_above(self, max_overhead: float) -> bool:
        """End the trace if it took more than that share of CPU time, or too long; return whether it ends now."""
        if self.is_complete:
            return False
        spent = self._host.clock() - self._start
        note = self._look(max_overhead)
        if not note and spent > LONGEST + TICK:
            note = f"stopped after {spent:.0f} s: a trace takes at most {LONGEST:g} s"
        if not note:
            return False
        self.finish()
        self.record.notes += (note,)
        return True

    def _look(self, max_overhead: float = 1.0) -> str:
        """Note what the trace took until now; return why it must end, "" if it need not."""
        found = self._instruments.spent()
        note = self._overhead.look(self._host.clock(), found.taken, max_overhead)
        record = self.record
        record.hits, record.missed = found.hits, found.missed
        record.cost = found.taken / found.hits if found.hits else 0.0
        cost = self._instruments.cost
        record.added = (cost.request, cost.disk) if self._instruments.has_probes else None
        record.peak = self._overhead.peak
        return note

    def finish(self) -> None:
        """Stop counting, and read what was counted; the end of ``running`` does so too."""
        if self.is_complete:
            return
        record = self.record
        self._instruments.set_state("pause")
        after = self._host.read(diskstats.PATH)
        self._look()
        # The time of day may have been set meanwhile.
        record.times = self._before[0], self._before[0] + self._host.clock() - self._start
        record.counters = self._before[1], after
        record.texts = self._instruments.texts()
        record.dm_stats = self._instruments.statistics()
        self.is_complete = True

    def result(self) -> TraceRecord:
        """Stop counting; return what was counted. ``SourceError`` if no probe fired while there was I/O."""
        self.finish()
        self._require_hits()
        return self.record

    def _require_hits(self) -> None:
        """Raise ``SourceError`` if the probes saw nothing of the I/O that there was: that is no result."""
        if not self._instruments.has_probes or self.record.hits:
            return
        for name, load in interval_of(self.record).loads.items():
            if name in self._names and load.total.ios:
                raise SourceError(SILENT.format(name))


def interval_of(record: TraceRecord) -> Interval:
    """Return what the counters counted in the same time."""
    before, after = (
        diskstats.Sample(time, tuple(text.splitlines()))
        for time, text in zip(record.times, record.counters, strict=True)
    )
    return diskstats.between(before, after)


def clean(host: LiveTracingHost) -> list[str]:
    """Remove what a killed trace left, dm statistics too, and return its names."""
    refusal: SourceError | None = None
    removed: list[str] = []
    try:
        removed += tracefs.clean(host)
    except (SourceDenied, SourceMissing) as error:  # then there may be dm statistics all the same
        refusal = error
    for name in host.names_in("/sys/block"):
        if name.startswith("dm-"):
            number = host.read(f"/sys/block/{name}/dev").strip()
            count = dm_stats.delete_all(host, number)
            removed += [f"dm statistics of {name}"] * count
    if refusal is not None and not removed:
        raise refusal
    return removed


def _rhythm(options: TraceOptions) -> tuple[float, int, int]:
    """Return the seconds between two looks, how many instants there are, and looks per slice."""
    slices = options.slices or 1
    per_slice = max(1, round(options.seconds / slices / TICK))
    count = slices * per_slice
    return options.seconds / count, count + 1, per_slice


def online_cpus(host: LiveTracingHost) -> int:
    """Return how many CPUs are online: "0-3,6"."""
    parts = (part.split("-") for part in host.read(CPUS).strip().split(","))
    return sum(int(part[-1]) - int(part[0]) + 1 for part in parts)
