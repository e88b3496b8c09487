"""
What a trace installs: probes and triggers, or device-mapper's statistics where they cannot be used.

Everything is removed when the ``ExitStack`` that it was installed on ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from stackmap.errors import ParseError, SourceDenied, SourceError, SourceMissing
from stackmap.features.trace import cost, dm_stats, probes, tracefs
from stackmap.features.trace.probes import MAX_FILTERED
from stackmap.features.trace.tracefs import ProbeSet, Tracing, Trigger
from stackmap.host.tracing import KERNEL
from stackmap.model.device import Device, Kind
from stackmap.sources import diskstats, trace_text
from stackmap.sources.trace_text import device_of, without_addresses

if TYPE_CHECKING:
    from stackmap.host.tracing import LiveTracingHost
    from stackmap.model.topology import Topology

SYMBOLS = (
    probes.SUBMIT_SYMBOL,
    probes.END_SYMBOL,
    probes.ROW_SYMBOL,
    probes.MEMBER_END,
    probes.DISPATCH_SYMBOL,
)


class Spent(NamedTuple):
    """``hits`` of probes, or requests without probes; ``taken``: seconds of CPU time; ``missed``: hits that the kernel skipped."""

    hits: int
    taken: float
    missed: int


class Instruments:
    """
    The probes for the devices *names* of *topology*, all if empty.

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
        hits, skipped = (sum(each[name] for name in probes.NAMES) for each in (fired, missed))
        return Spent(hits, taken, skipped)

    def _counts(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        """Return the requests that arrived by device; the hits, and the skipped ones, by probe, those of others too."""
        counters = diskstats.parse(self._host.read(diskstats.PATH).splitlines())
        arrivals = {
            name: each.reads + each.read_merges + each.writes + each.write_merges
            for name, each in counters.items()
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
        paused = (each.in_state("pause") if each.counts else each for each in probe_set.triggers)
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
        self._remove(tracing)  # they would fire, and nothing would read what they count
        try:
            self._add(tracing, probes.sizes(self._numbers))
        except SourceError as error:  # a kernel without block events or hist triggers
            self._remove(tracing)
            self.notes.append(f"no tracepoints: {error}")
            return error
        self.sources.append("tracepoints")
        self.notes.append(note)
        return None

    def remove(self) -> None:
        """Remove all probes and triggers: what they counted was read."""
        if self._tracing is not None:
            self._remove(self._tracing)

    def _remove(self, tracing: Tracing) -> None:
        tracing.clear()
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
        count = sum(each.kind is Kind.DISK for each in self._devices)
        has_dispatch = probes.DISPATCH_SYMBOL in symbols
        disks = probes.at_disks(offsets if has_dispatch else None, self._numbers, max(1, count))
        self.cost = cost.measured(self._host, tracing, symbols.keys(), layers, disks)
        self._add(tracing, layers)
        self._add(tracing, disks)
        arrays = [each for each in self._devices if each.layout and each.layout.parity]
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
