"""
A trace of this machine: probes are installed for a limited time, and removed.

Without kprobes or BTF, sizes come from block tracepoints and latencies from dm's own statistics; without
tracefs, latencies alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from stackmap.errors import ParseError, SourceDenied, SourceError, SourceMissing
from stackmap.features.trace import cost, dm_stats, probes, tracefs
from stackmap.features.trace.arrivals import ArrivalStream, watched
from stackmap.features.trace.cost import TICK, Overhead
from stackmap.features.trace.record import TraceRecord
from stackmap.features.trace.tracefs import MAX_FILTERED, ProbeSet, Tracing, Trigger
from stackmap.host.tracing import KERNEL, LiveTracingHost
from stackmap.model.device import Device, Kind
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.sources import diskstats, trace_text
from stackmap.sources.trace_text import device_of, without_addresses, without_lines

SYMBOLS = (
    probes.SUBMIT_SYMBOL,
    probes.END_SYMBOL,
    probes.ROW_SYMBOL,
    probes.MEMBER_END,
    probes.DISPATCH_SYMBOL,
)
SILENT = "no probe fired while the counters of {} moved: the kernel does not run the probes"


class Spent(NamedTuple):
    """``hits`` of probes, or requests without probes; ``taken``: seconds of CPU time; ``missed``: hits that the kernel skipped."""

    hits: int
    taken: float
    missed: int


class Instruments:
    """
    What is installed for the devices *names* of *topology*, all if empty: probes and triggers, else dm's statistics.

    ``sources`` and ``notes``: what is used, and what is missing and why. ``cost``: CPU time per request.
    Without ``has_probes`` there are only sizes and dm's statistics.
    """

    def __init__(self, host: LiveTracingHost, topology: Topology, names: frozenset[str]) -> None:
        self._host = host
        self._devices = [topology[name] for name in sorted(names)] or list(topology)
        # A disk's requests come under the numbers of its partitions too.
        partitions = (
            topology[edge.above]
            for name in names
            for edge in topology.above(name)
            if topology[edge.above].kind is Kind.PARTITION
        )
        counted = [*self._devices, *partitions] if names else []
        self._names = {device.name for device in self._devices} if names else set()
        self._numbers = tuple(sorted({device_of(device.number) for device in counted}))
        self._tracing: Tracing | None = None
        self._triggers: list[Trigger] = []
        self._stats = dm_stats.Statistics(host)
        self._before = Counter[str](), Counter[str](), Counter[str]()
        self.cost = cost.ASSUMED
        self.has_probes = False
        self.sources: list[str] = []
        self.notes: list[str] = []

    def install(self, stack: ExitStack) -> None:
        """Install what this kernel allows; ``SourceError`` if that is nothing at all."""
        refusal: SourceError | None = None
        try:
            tracing = self._tracing = stack.enter_context(Tracing(self._host))
        except (SourceDenied, SourceMissing) as error:
            refusal = error
            self.notes.append(str(error))
        else:
            refusal = self._try_triggers(tracing)
        if not self.has_probes:
            stack.enter_context(self._stats)
            for device in filter(_is_dm, self._devices):
                with suppress(SourceError):  # no right, or a kernel without histograms
                    self._stats.add(device.number)
            self.sources += ["dm-stats"] * bool(self._stats.ids)
        if refusal is not None and not self.sources:
            raise refusal

    def set_state(self, state: str) -> None:
        """Let all histograms count ("cont") or none ("pause"), as close to one instant as the kernel allows."""
        for trigger in self._triggers:
            if self._tracing is not None and trigger.counts:
                self._tracing.trigger(trigger.in_state(state))
        if state == "cont":
            self._before = self._counts()

    def spent(self) -> Spent:
        """Return the hits since "cont", and the CPU time that they took."""
        # A device that was removed takes its counters with it: differences below 0 are left out.
        arrivals, fired, missed = (
            now - before for now, before in zip(self._counts(), self._before, strict=True)
        )
        arrived = arrivals.total()
        if not self.has_probes:
            return Spent(arrived, arrived * self.cost.request, 0)
        requests = max(fired[probes.SUBMIT], fired[probes.END])
        # All devices are counted if none is named or a filter would be too long.
        counted = min(requests, arrived) if 0 < len(self._numbers) <= MAX_FILTERED else requests
        at_disks = min(fired[probes.DISPATCH], counted)
        taken = (
            (counted + fired[probes.ROW] / 2) * self.cost.request
            + at_disks * self.cost.disk
            + (requests - counted) * self.cost.other
        )
        hits, skipped = (sum(counts[name] for name in probes.NAMES) for counts in (fired, missed))
        return Spent(hits, taken, skipped)

    def _counts(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        """Return the requests that arrived by device; the hits, and the skipped ones, by probe, those of others too."""
        counters = diskstats.parse(self._host.read(diskstats.PATH).splitlines())
        arrivals = {
            name: counted.reads + counted.read_merges + counted.writes + counted.write_merges
            for name, counted in counters.items()
            if name in self._names or not self._names
        }
        none = Counter[str](), Counter[str]()
        hits = tracefs.probe_hits(self._host) if self.has_probes else none
        return Counter(arrivals), *hits

    def texts(self) -> dict[str, str]:
        """Return the histograms by event."""
        events = dict.fromkeys(trigger.event for trigger in self._triggers)
        return {event: without_addresses(text) for event in events if (text := self.text(event))}

    def text(self, event: str) -> str:
        """Return the histograms of *event*, "" without tracefs."""
        return self._tracing.histograms(event) if self._tracing is not None else ""

    def statistics(self) -> dict[str, str]:
        """Return device-mapper's statistics, by device number; a removed device has a note instead."""
        texts = {}
        for number in self._stats.ids:
            try:
                texts[number] = self._stats.read(number)
            except SourceError as error:  # the device was removed
                self.notes.append(f"no latencies: {error}")
        return texts

    def _add(self, tracing: Tracing, probe_set: ProbeSet) -> None:
        """Install *probe_set*; its histograms count nothing until "cont"."""
        paused = (t.in_state("pause") if t.counts else t for t in probe_set.triggers)
        tracing.install(probe_set._replace(triggers=tuple(paused)))
        self._triggers += probe_set.triggers

    def _try_triggers(self, tracing: Tracing) -> SourceError | None:
        """Add probes and tracepoints, or tracepoints only; return why there are none of either."""
        try:
            self._add_probes(tracing)
        except (SourceError, ParseError) as error:
            return self._try_sizes(tracing, f"no kprobes: {error}")
        self.has_probes = True
        self.sources += ["tracepoints", "kprobes"]
        return None

    def _try_sizes(self, tracing: Tracing, note: str) -> SourceError | None:
        """Add tracepoints in place of probes that cannot be used; *note*: why they cannot."""
        self.cost = cost.ASSUMED
        self.remove()  # they would fire, and nothing would read what they count
        try:
            self._add(tracing, probes.sizes(self._numbers))
        except SourceError as error:  # a kernel without block events or hist triggers
            self.remove()
            self.notes.append(f"no tracepoints: {error}")
            return error
        self.sources.append("tracepoints")
        self.notes.append(note)
        return None

    def remove(self) -> None:
        """Remove all probes and triggers."""
        if self._tracing is not None:
            self._tracing.clear()
        self._triggers = []

    def _add_probes(self, tracing: Tracing) -> None:
        """Add probes and tracepoints; the calibration shows whether probes run."""
        members = (*probes.BIO, probes.FLAGS, *probes.REQUEST)
        offsets = self._host.offsets(KERNEL, members)
        probes.require(offsets, probes.BIO)
        symbols = trace_text.read_symbols(self._host, (*SYMBOLS, *cost.SYMBOLS))
        _require_symbols(symbols, (probes.SUBMIT_SYMBOL, probes.END_SYMBOL))
        again = self._host.constant(probes.AGAIN) if probes.FLAGS in offsets else None
        layers = probes.at_layers(offsets, again, self._numbers)
        count = sum(device.kind is Kind.DISK for device in self._devices)
        has_dispatch = probes.DISPATCH_SYMBOL in symbols
        disks = probes.at_disks(offsets if has_dispatch else None, self._numbers, max(1, count))
        self.cost = cost.measured(self._host, tracing, symbols.keys(), layers, disks)
        self._add(tracing, layers)
        self._add(tracing, disks)
        arrays = [device for device in self._devices if device.layout and device.layout.parity]
        if arrays:
            try:
                self._add(tracing, self._rows(offsets, symbols, arrays))
            except (SourceError, ParseError) as error:
                self.notes.append(f"no figures of row updates: {error}")

    def _rows(
        self, bio: probes.Offsets, symbols: dict[str, int], arrays: Iterable[Device]
    ) -> ProbeSet:
        """Return the counts of row updates of *arrays*; ``SourceError`` names what this kernel lacks."""
        _require_symbols(symbols, (probes.ROW_SYMBOL, probes.MEMBER_END))
        offsets = {**bio, **self._host.offsets("raid456", probes.RAID456)}
        probes.require(offsets, probes.RAID456)
        has_dm = any(_is_dm(device) for device in arrays)
        if has_dm:
            offsets |= self._host.offsets("dm_raid", probes.DM_RAID)
            offsets |= self._host.offsets("dm_mod", probes.DM_MOD)
            probes.require(offsets, (*probes.DM_RAID, *probes.DM_MOD))
        return probes.of_rows(offsets, symbols[probes.MEMBER_END], has_dm=has_dm)


def _is_dm(device: Device) -> bool:
    return device.name.startswith("dm-")


def _require_symbols(symbols: dict[str, int], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in symbols:
            raise SourceMissing(f"{trace_text.KALLSYMS}: this kernel has no function {name}")


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
        names = frozenset(name for volume in chosen for name in topology.with_all_below(volume))
        self._names = names or topology.devices.keys()
        self._instruments = Instruments(host, topology, names)
        self._overhead = Overhead(host)
        dm = [d.number for d in topology.devices.values() if d.name.startswith("dm-")]
        self.record = TraceRecord(
            cpus=self._overhead.cpus, dm_major=int(dm[0].partition(":")[0]) if dm else 0
        )
        numbers, note = watched(topology, self._names) if arrivals else ([], "")
        self._arrivals = ArrivalStream(host, numbers)
        self._instruments.notes += [note] * bool(note)
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
