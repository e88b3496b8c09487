"""
What a trace installs: probes and triggers, or device-mapper's statistics where they cannot be used.

Everything is removed when the ``ExitStack`` that it was installed on ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from stackmap.errors import ParseError, SourceDenied, SourceError, SourceMissing
from stackmap.host.tracing import KERNEL, delayed, uninterrupted
from stackmap.model.device import Device, Kind
from stackmap.sources import dm_stats, kallsyms, trace_probes, tracefs
from stackmap.sources.trace_record import device_of, without_addresses
from stackmap.sources.tracefs import Hits, Probe, Tracing, Trigger

if TYPE_CHECKING:
    from stackmap.host.tracing import TracingHost
    from stackmap.model.topology import Topology

CALLS, ROUNDS = 2000, 3  # of the calibration
SYMBOLS = (
    trace_probes.SUBMIT_SYMBOL,
    trace_probes.END_SYMBOL,
    trace_probes.ROW_SYMBOL,
    trace_probes.MEMBER_END,
)
CALIBRATION = ("__x64_sys_getppid", "__arm64_sys_getppid", "__s390x_sys_getppid", "sys_getppid")
COST = 3e-6  # seconds of a hit where it cannot be measured; more than any CPU of today needs
LEAST_COST = (
    1e-7  # no kprobe is cheaper; on a busy machine the difference of two short times may be 0
)
# A request has two hits, and counts in about eight histograms: of its probes, a tracepoint and synthetic events.
COUNTS_PER_HIT = 4
DISARMED = (
    "the kernel registers kprobes but does not run them (see /sys/kernel/debug/kprobes/enabled)"
)


class Instruments:
    """
    The probes for *names*, all devices without one, of *topology*.

    ``sources`` and ``notes``: what is used, and what is missing and why. ``cost``: seconds per
    hit of a probe; None without probes.
    """

    def __init__(self, host: TracingHost, topology: Topology, names: frozenset[str]) -> None:
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
        self._numbers = tuple(sorted({device_of(device.number) for device in counted}))
        self._tracing: Tracing | None = None
        self._triggers: list[Trigger] = []
        self._stats: dict[str, str] = {}
        self._earlier = Hits(0, 0)
        self.cost: float | None = None
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
        if self.cost is None and self._add_dm_stats(stack):
            self.sources.append("dm-stats")
        if refusal is not None and not self.sources:
            raise refusal

    def set_state(self, state: str) -> None:
        """Let all histograms count ("cont") or none ("pause"), as close to one instant as the kernel allows."""
        for trigger in self._triggers:
            if self._tracing is not None and trigger.counts:
                self._tracing.trigger(trigger.in_state(state))
        if state == "cont":
            self._earlier = self._all_hits()

    def hits(self) -> tuple[int, int]:
        """Return how many counts the probes caused since "cont", and how many hits the kernel skipped."""
        found, earlier = self._all_hits(), self._earlier
        return (found.fired - earlier.fired) * COUNTS_PER_HIT, found.missed - earlier.missed

    def _all_hits(self) -> Hits:
        """Return the hits of our probes since they exist; others may have probes too."""
        if self.cost is None:
            return Hits(0, 0)
        found = tracefs.probe_hits(self._host)
        ours = [found[name] for name in trace_probes.NAMES if name in found]
        return Hits(sum(each.fired for each in ours), sum(each.missed for each in ours))

    def texts(self) -> dict[str, str]:
        """Return the histograms by event."""
        events = dict.fromkeys(trigger.event for trigger in self._triggers)
        return {event: without_addresses(text) for event in events if (text := self.text(event))}

    def text(self, event: str) -> str:
        """Return the histograms of *event*, "" without tracefs."""
        return self._tracing.histograms(event) if self._tracing is not None else ""

    def statistics(self) -> dict[str, str]:
        """Return what device-mapper counted, by device number."""
        return {number: dm_stats.read(self._host, number, i) for number, i in self._stats.items()}

    def _add(self, tracing: Tracing, triggers: Iterable[Trigger]) -> None:
        for trigger in triggers:
            tracing.trigger(trigger.in_state("pause") if trigger.counts else trigger)
            self._triggers.append(trigger)

    def _try_triggers(self, tracing: Tracing) -> SourceError | None:
        """Add tracepoints and probes; return why there are none of either."""
        try:
            self._add(tracing, trace_probes.size_triggers(self._numbers))
        except SourceError as error:  # a kernel without block events or hist triggers
            self._remove(tracing)
            self.notes.append(f"no tracepoints: {error}")
            return error
        self.sources.append("tracepoints")
        self._try_probes(tracing)
        return None

    def _try_probes(self, tracing: Tracing) -> None:
        try:
            self._add_probes(tracing)
            self.sources.append("kprobes")
        except (SourceError, ParseError) as error:
            self.cost = None  # so nothing of them may stay: their cost would have no limit
            self._remove(tracing)
            self._add(tracing, trace_probes.size_triggers(self._numbers))
            self.notes.append(f"no kprobes: {error}")

    def _remove(self, tracing: Tracing) -> None:
        tracing.clear()
        self._triggers = []

    def _add_probes(self, tracing: Tracing) -> None:
        """Add what needs kprobes; the calibration shows whether they run."""
        offsets = self._host.offsets(KERNEL, (*trace_probes.BIO, trace_probes.FLAGS))
        trace_probes.require(offsets, trace_probes.BIO)
        symbols = kallsyms.read(self._host, (*SYMBOLS, *CALIBRATION))
        _require_symbols(symbols, SYMBOLS[:2])
        self.cost = self._calibrated(tracing, symbols)
        tracing.probe(trace_probes.submit_probe(offsets))
        tracing.probe(trace_probes.end_probe(offsets))
        tracing.synthetic(trace_probes.LATENCY, "u32 dev; u8 op; u64 lat")
        tracing.synthetic(trace_probes.GAP, "u32 dev; u8 op; u64 gap")
        arrays = [each for each in self._devices if each.layout and each.layout.parity]
        if arrays:
            before = list(self._triggers)
            try:
                self._add_rows(tracing, offsets, symbols, arrays)
            except (SourceError, ParseError) as error:
                self._triggers = before  # half of them would be a wrong figure
                self.notes.append(f"no figures of row updates: {error}")
        again = self._host.constant(trace_probes.AGAIN) if trace_probes.FLAGS in offsets else None
        self._add(tracing, trace_probes.sequence_triggers(self._numbers, again))
        self._add(tracing, trace_probes.latency_triggers(self._numbers, again))

    def _add_rows(
        self,
        tracing: Tracing,
        bio: trace_probes.Offsets,
        symbols: dict[str, int],
        arrays: Iterable[Device],
    ) -> None:
        _require_symbols(symbols, SYMBOLS)
        offsets = {**bio, **self._host.offsets("raid456", trace_probes.RAID456)}
        trace_probes.require(offsets, trace_probes.RAID456)
        has_dm = any(_is_dm(device) for device in arrays)
        if has_dm:
            offsets |= self._host.offsets("dm_raid", trace_probes.DM_RAID)
            offsets |= self._host.offsets("dm_mod", trace_probes.DM_MOD)
            trace_probes.require(offsets, (*trace_probes.DM_RAID, *trace_probes.DM_MOD))
        tracing.probe(trace_probes.row_probe(offsets))
        end = symbols[trace_probes.MEMBER_END]
        self._add(tracing, trace_probes.row_triggers(end, has_dm=has_dm))

    def _calibrated(self, tracing: Tracing, symbols: dict[str, int]) -> float:
        """Return the seconds that a hit takes, measured on a system call of this process."""
        symbol = next((name for name in CALIBRATION if name in symbols), None)
        if symbol is None:
            return COST
        probe = Probe("calibration", symbol, ("value=$arg1:x64",))
        before = min(self._host.seconds_of_calls(CALLS) for _ in range(ROUNDS))
        with tracing.temporary(probe, "hist:keys=common_pid:size=128"):
            after = min(self._host.seconds_of_calls(CALLS) for _ in range(ROUNDS))
            found = tracefs.probe_hits(self._host).get(probe.name)
        if found is None or found.fired < CALLS:
            raise SourceError(DISARMED)
        return max(after - before, LEAST_COST * CALLS) / CALLS

    def _add_dm_stats(self, stack: ExitStack) -> bool:
        for device in filter(_is_dm, self._devices):
            with suppress(SourceError), delayed():  # no right, or a kernel without histograms
                stats = dm_stats.create(self._host, device.number)
                stack.callback(_delete_stats, self._host, device.number, stats)
                self._stats[device.number] = stats
        return bool(self._stats)


def _is_dm(device: Device) -> bool:
    return device.name.startswith("dm-")


def _delete_stats(host: TracingHost, number: str, stats: str) -> None:
    with uninterrupted(), suppress(SourceError):  # the device may be gone
        dm_stats.delete(host, number, stats)


def _require_symbols(symbols: dict[str, int], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in symbols:
            raise SourceMissing(f"{kallsyms.PATH}: this kernel has no function {name}")
