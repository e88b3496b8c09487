"""
A trace of this machine: what can be probed is probed for a limited time, and removed.

Without kprobes or BTF, sizes come from block tracepoints and latencies from dm's own statistics; without
tracefs, latencies alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import ParseError, SourceDenied, SourceError, SourceMissing
from stackmap.host.tracing import KERNEL, uninterrupted
from stackmap.model.device import Kind
from stackmap.sources import diskstats, dm_stats, kallsyms, trace_probes, tracefs
from stackmap.sources.trace_record import TraceRecord, device_of, without_addresses
from stackmap.sources.tracefs import Probe, Tracing, Trigger

if TYPE_CHECKING:
    from stackmap.host.tracing import TracingHost
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology

CPUS = "/sys/devices/system/cpu/online"
TICK = 1.0  # seconds between two looks at the overhead
CALLS, ROUNDS = 2000, 3  # of the calibration
SYMBOLS = (
    trace_probes.SUBMIT_SYMBOL,
    trace_probes.END_SYMBOL,
    trace_probes.ROW_SYMBOL,
    trace_probes.MEMBER_END,
)
CALIBRATION = ("__x64_sys_getppid", "__arm64_sys_getppid", "__s390x_sys_getppid", "sys_getppid")
COST = 3e-6  # seconds of a hit where it cannot be measured; more than any CPU of today needs
# Each hit of a probe counts in a histogram of its own, and causes one more of a tracepoint or synthetic event.
COUNTS_PER_HIT = 2
DISARMED = (
    "the kernel registers kprobes but does not run them (see /sys/kernel/debug/kprobes/enabled)"
)
LEFT_OUT = "no figures of row updates"


class TraceOptions(NamedTuple):
    """``seconds``: the time limit. ``max_overhead``: a share of CPU time. ``slices``: of the time, 0 for none."""

    seconds: float
    max_overhead: float
    slices: int = 0


class Tracer:
    """The trace of the *chosen* devices of *topology*, all without one, and everything below them."""

    def __init__(self, host: TracingHost, topology: Topology, chosen: list[str]) -> None:
        self._host = host
        self._topology = topology
        self.record = TraceRecord()
        self.is_complete = False
        self._before = (0.0, "")
        self._tracing: Tracing | None = None
        self._triggers: list[Trigger] = []
        self._stats: dict[str, str] = {}
        names = {name for each in chosen for name in topology.with_all_below(each)}
        self._names = sorted(names) or [device.name for device in topology]
        # A disk's requests come under the numbers of its partitions too.
        partitions = {
            edge.above
            for name in names
            for edge in topology.above(name)
            if topology[edge.above].kind is Kind.PARTITION
        }
        shown = sorted(names | partitions)
        self._numbers = tuple(device_of(topology[name].number) for name in shown)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is missing, and why."""
        return self.record.notes

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count while the context is entered; ``SourceError`` if nothing at all can be traced."""
        with ExitStack() as stack:
            self._install(stack)
            self._begin()
            try:
                yield
            finally:
                self._end()

    def run(self, options: TraceOptions) -> TraceRecord:
        """Trace until the time limit, or until the probes cost too much; return what was read."""
        with self.running():
            ticks = self._host.ticks(*_rhythm(options))
            next(ticks)
            for now in ticks:
                if self.stop_above(now, options.max_overhead):
                    break
                self._take_slice(options)
        return self.record

    def stop_above(self, now: float, max_overhead: float) -> bool:
        """End the trace if the probes took more than that share of CPU time; return whether they do so now."""
        record = self.record
        if record.cost is None or self.is_complete:
            return False
        record.hits, record.missed = self._hits()
        spent = max(now - self._before[0], 0.001)
        share = record.hits * record.cost / spent / record.cpus
        if share <= max_overhead:
            return False
        self._end()
        took = f"stopped after {spent:.1f} s: the probes took {share:.1%} of all CPU time"
        record.notes += (f"{took}, more than the limit of {max_overhead:.1%}",)
        return True

    def _take_slice(self, options: TraceOptions) -> None:
        if options.slices and self._tracing is not None and self.record.cost is not None:
            self.record.slices.append(self._tracing.histograms(trace_probes.LATENCY_EVENT))

    def _install(self, stack: ExitStack) -> None:
        host = self._host
        record = self.record
        record.cpus = _cpus(host)
        dm = [d.number for d in self._topology.devices.values() if d.name.startswith("dm-")]
        record.dm_major = int(dm[0].split(":")[0]) if dm else 0
        sources, notes = [], []
        refusal: SourceError | None = None
        try:
            self._tracing = stack.enter_context(Tracing(host))
        except (SourceDenied, SourceMissing) as error:
            refusal = error
            notes.append(str(error))
        if self._tracing is not None:
            self._add(trace_probes.size_triggers(self._numbers))
            sources.append("tracepoints")
            try:
                self._add_probes(self._tracing, notes)
                sources.append("kprobes")
            except (SourceError, ParseError) as error:
                notes.append(f"no kprobes: {error}")
        if "kprobes" not in sources and self._add_dm_stats(stack):
            sources.append("dm-stats")
        if refusal is not None and not sources:
            raise refusal
        record.sources, record.notes = tuple(sources), tuple(notes)

    def _add(self, triggers: Iterator[Trigger]) -> None:
        for trigger in triggers:
            if self._tracing is not None:
                self._tracing.trigger(trigger.in_state("pause") if trigger.counts else trigger)
                self._triggers.append(trigger)

    def _add_probes(self, tracing: Tracing, notes: list[str]) -> None:
        """Add what needs kprobes; the calibration shows whether they run."""
        offsets = self._host.offsets(KERNEL, (*trace_probes.BIO, trace_probes.FLAGS))
        trace_probes.require(offsets, trace_probes.BIO)
        symbols = kallsyms.read(self._host, (*SYMBOLS, *CALIBRATION))
        _require_symbols(symbols, SYMBOLS[:2])
        self.record.cost = self._calibrated(tracing, symbols)
        tracing.probe(trace_probes.submit_probe(offsets))
        tracing.probe(trace_probes.end_probe(offsets))
        tracing.synthetic(trace_probes.LATENCY, "u32 dev; u8 op; u64 lat")
        tracing.synthetic(trace_probes.GAP, "u32 dev; u8 op; u64 gap")
        arrays = [self._topology[name] for name in self._names]
        arrays = [device for device in arrays if device.layout and device.layout.parity]
        if arrays:
            has_dm = any(device.name.startswith("dm-") for device in arrays)
            try:
                self._add_rows(tracing, offsets, symbols, has_dm=has_dm)
            except (SourceError, ParseError) as error:
                notes.append(f"{LEFT_OUT}: {error}")
        again = self._host.constant(trace_probes.AGAIN) if trace_probes.FLAGS in offsets else None
        self._add(trace_probes.sequence_triggers(self._numbers, again))
        self._add(trace_probes.latency_triggers(self._numbers, again))

    def _add_rows(
        self,
        tracing: Tracing,
        bio: trace_probes.Offsets,
        symbols: dict[str, int],
        *,
        has_dm: bool,
    ) -> None:
        _require_symbols(symbols, SYMBOLS)
        offsets = {**bio, **self._host.offsets("raid456", trace_probes.RAID456)}
        trace_probes.require(offsets, trace_probes.RAID456)
        if has_dm:
            offsets |= self._host.offsets("dm_raid", trace_probes.DM_RAID)
            offsets |= self._host.offsets("dm_mod", trace_probes.DM_MOD)
            trace_probes.require(offsets, (*trace_probes.DM_RAID, *trace_probes.DM_MOD))
        tracing.probe(trace_probes.row_probe(offsets))
        self._add(trace_probes.row_triggers(symbols[trace_probes.MEMBER_END], has_dm=has_dm))

    def _calibrated(self, tracing: Tracing, symbols: dict[str, int]) -> float:
        """Return the seconds that a hit takes, measured on a system call of this process."""
        symbol = next((name for name in CALIBRATION if name in symbols), None)
        if symbol is None:
            return COST
        probe = Probe("calibration", symbol, ("value=$arg1:x64",))
        before = min(self._host.seconds_of_calls(CALLS) for _ in range(ROUNDS))
        with tracing.temporary(probe, "hist:keys=common_pid:size=128"):
            after = min(self._host.seconds_of_calls(CALLS) for _ in range(ROUNDS))
            fired = tracefs.probe_hits(self._host)[probe.name].fired
        if fired < CALLS:
            raise SourceError(DISARMED)
        return max(after - before, 0.0) / CALLS

    def _add_dm_stats(self, stack: ExitStack) -> bool:
        for name in reversed(self._names):
            if not name.startswith("dm-"):
                continue
            number = self._topology[name].number
            stack.callback(_delete_stats, self._host, number)
            with suppress(SourceError):  # no right, or a kernel without histograms
                self._stats[number] = dm_stats.create(self._host, number)
        return bool(self._stats)

    def _hits(self) -> tuple[int, int]:
        found = tracefs.probe_hits(self._host).values()
        fired = sum(each.fired for each in found)
        return fired * COUNTS_PER_HIT, sum(each.missed for each in found)

    def _begin(self) -> None:
        self._set("cont")
        self._before = next(self._host.ticks(0, 1)), self._host.read(diskstats.PATH)

    def _set(self, state: str) -> None:
        """Let all histograms count, or none, as close to one instant as the kernel allows."""
        for trigger in self._triggers:
            if self._tracing is not None and trigger.counts:
                self._tracing.trigger(trigger.in_state(state))

    def _end(self) -> None:
        """Stop counting, and read what was counted."""
        if self.is_complete:
            return
        record = self.record
        self._set("pause")
        after = next(self._host.ticks(0, 1)), self._host.read(diskstats.PATH)
        record.times = self._before[0], after[0]
        record.counters = self._before[1], after[1]
        if self._tracing is not None:
            if record.cost is not None:
                record.hits, record.missed = self._hits()
            for event in dict.fromkeys(trigger.event for trigger in self._triggers):
                record.texts[event] = without_addresses(self._tracing.histograms(event))
        for number, stats in self._stats.items():
            record.dm_stats[number] = dm_stats.read(self._host, number, stats)
        self.is_complete = True


def interval_of(record: TraceRecord) -> Interval:
    """Return what the counters counted in the same time."""
    before, after = (
        diskstats.Sample(time, tuple(text.splitlines()))
        for time, text in zip(record.times, record.counters, strict=True)
    )
    return diskstats.between(before, after)


def clean(host: TracingHost) -> list[str]:
    """Remove what a killed trace left, dm statistics too; return what it was."""
    removed = tracefs.clean(host)
    for name in host.names_in("/sys/block"):
        if name.startswith("dm-"):
            number = host.read(f"/sys/block/{name}/dev").strip()
            count = dm_stats.delete_all(host, number)
            removed += [f"dm statistics of {name}"] * count
    return removed


def _rhythm(options: TraceOptions) -> tuple[float, int]:
    """Return the seconds between two looks, and how many instants there are."""
    count = options.slices or max(1, round(options.seconds / TICK))
    return options.seconds / count, count + 1


def _delete_stats(host: TracingHost, number: str) -> None:
    with uninterrupted(), suppress(SourceError):  # the device may be gone
        dm_stats.delete_all(host, number)


def _require_symbols(symbols: dict[str, int], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in symbols:
            raise SourceMissing(f"{kallsyms.PATH}: this kernel has no function {name}")


def _cpus(host: TracingHost) -> int:
    """Return how many CPUs are online: "0-3,6"."""
    parts = (part.split("-") for part in host.read(CPUS).strip().split(","))
    return sum(int(part[-1]) - int(part[0]) + 1 for part in parts)
