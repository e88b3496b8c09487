"""
A trace of this machine: probes are installed for a limited time, and removed.

Without kprobes or BTF, sizes come from block tracepoints and latencies from dm's own statistics; without
tracefs, latencies alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import SourceDenied, SourceError, SourceMissing
from stackmap.features.trace import cost, dm_stats, probes, tracefs
from stackmap.features.trace.arrivals import ArrivalStream, watched
from stackmap.features.trace.cost import TICK, Overhead
from stackmap.features.trace.instruments import Instruments, Spent
from stackmap.features.trace.record import TraceRecord
from stackmap.sources import diskstats
from stackmap.sources.trace_text import without_lines

if TYPE_CHECKING:
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

SILENT = "no probe fired while the counters of {} moved: the kernel does not run the probes"


class TraceOptions(NamedTuple):
    """``seconds``: the time limit. ``max_overhead``: a share of CPU time. ``slices``: columns of the heat map, 0: none."""

    seconds: float
    max_overhead: float
    slices: int = 0


class Tracer:
    """
    A trace of the devices *chosen*, all if empty, and of everything below them.

    *arrivals*: keep when each request of a volume arrived too, as a projection of time needs it.
    """

    def __init__(
        self,
        host: LiveTracingHost,
        topology: Topology,
        chosen: list[str],
        *,
        arrivals: bool = False,
    ) -> None:
        self._host = host
        names = frozenset(name for each in chosen for name in topology.with_all_below(each))
        self._names = names or topology.devices.keys()
        self._instruments = Instruments(host, topology, names)
        self._overhead = Overhead(host)
        dm = [d.number for d in topology.devices.values() if d.name.startswith("dm-")]
        self.record = TraceRecord(
            cpus=self._overhead.cpus, dm_major=int(dm[0].partition(":")[0]) if dm else 0
        )
        self._arrivals = ArrivalStream(host, watched(topology, self._names) if arrivals else ())
        self._is_complete = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """
        Count while the context is entered.

        ``SourceError`` if nothing at all can be traced, or if no probe fired while there was I/O.
        """
        with ExitStack() as stack:
            self._instruments.install(stack)
            self.record.sources = tuple(self._instruments.sources)
            self._switch("cont")
            start = next(self._host.ticks(0, 1))
            self.record.times = start, start
            self.record.counters = self._host.read(diskstats.PATH), ""
            self._overhead = Overhead(self._host)
            if self._instruments.has_probes:
                self._arrivals.start()
            try:
                yield
            finally:
                self.finish()
                self.record.arrivals = self._arrivals.text()
            self._require_hits()

    def run(self, options: TraceOptions) -> TraceRecord:
        """Trace until the time limit, or until the probes cost too much; return what was read."""
        with self.running():
            slices = options.slices or 1
            per_slice = max(1, round(options.seconds / slices / TICK))  # looks at the overhead
            count = slices * per_slice
            ticks = self._host.ticks(options.seconds / count, count + 1)
            next(ticks)
            before: frozenset[str] = frozenset()
            for place, _ in enumerate(ticks, 1):
                if self.stop_above(options.max_overhead):
                    break
                has_slice = options.slices and place % per_slice == 0
                if has_slice and self._instruments.has_probes:
                    text = self._instruments.text(probes.LATENCY_EVENT)
                    self.record.slices.append(without_lines(text, before))
                    before = frozenset(text.splitlines())
        return self.record

    def stop_above(self, max_overhead: float) -> bool:
        """End the trace if it took more than that share of CPU time, or too long; return whether it ends now."""
        self._arrivals.look()
        if self._is_complete:
            return False
        note = self._overhead.look(self._taken(self._instruments.spent()), max_overhead)
        if not note:
            return False
        self.finish()
        self.record.notes += (note,)
        # Events of arrivals cost a small part of what the probes did, and need all the time.
        self._instruments.remove()
        self._arrivals.start()
        return True

    def finish(self) -> None:
        """Stop counting, and read what was counted; the end of ``running`` does so too."""
        if self._is_complete:
            return
        record, instruments = self.record, self._instruments
        self._switch("pause")
        record.counters = record.counters[0], self._host.read(diskstats.PATH)
        spent = instruments.spent()
        self._overhead.look(self._taken(spent))
        # The time of day may have been set meanwhile.
        record.times = record.times[0], record.times[0] + self._overhead.seconds
        record.hits, record.missed = spent.hits, spent.missed
        record.cost = spent.taken / spent.hits if spent.hits else 0.0
        record.peak = self._overhead.peak
        if instruments.cost is not cost.ASSUMED:
            record.added = instruments.cost.request, instruments.cost.disk
        record.texts = instruments.texts()
        record.dm_stats = instruments.statistics()
        record.notes = tuple(instruments.notes)
        self._is_complete = True

    def _switch(self, state: str) -> None:
        """Let all histograms count or none, and note how long that took: some count then, and others do not."""
        start = self._host.clock()
        self._instruments.set_state(state)
        self.record.switching += self._host.clock() - start

    def _taken(self, spent: Spent) -> float:
        """Return the CPU time of the probes, and of the events of arrivals."""
        return spent.taken + self._arrivals.count * self._instruments.cost.other

    def result(self) -> TraceRecord:
        """Stop counting; return what was counted. ``SourceError`` if no probe fired while there was I/O."""
        self.finish()
        self.record.arrivals = self._arrivals.text()
        self._require_hits()
        return self.record

    def _require_hits(self) -> None:
        """Raise ``SourceError`` if there was I/O and no probe fired: the figures would be wrong."""
        if not self._instruments.has_probes or self.record.hits:
            return
        for name, load in interval_of(self.record).loads.items():
            if name in self._names and load.total.ios:
                raise SourceError(SILENT.format(name))


def interval_of(record: TraceRecord) -> Interval:
    """Return the loads during the trace, by the counters of /proc/diskstats."""
    before, after = (
        diskstats.Sample(time, text.splitlines())
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
