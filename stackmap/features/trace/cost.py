"""
What a trace takes of the CPUs while it runs, and the CPU time per request, measured before it.

Copies of the trace's probes and histograms are installed on two system calls. This process makes these calls
many times: without probes, with probes that count nothing, and with all histograms.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.features.trace import tracefs
from stackmap.features.trace.tracefs import GROUP, Probe, ProbeSet, Tracing, Trigger
from stackmap.host.tracing import LiveTracingHost
from stackmap.sources import trace_text

CPUS = "/sys/devices/system/cpu/online"
LONGEST = 3600.0  # seconds
TICK = 1.0  # seconds between two looks; a shorter time is judged as if it were as long


class Overhead:
    """
    CPU time that a trace on *host* takes from now on.

    ``taken``: seconds so far. ``peak``: the highest share of all CPU time in any second. ``share``: the mean.
    """

    def __init__(self, host: LiveTracingHost) -> None:
        self._clock = host.clock
        online = (part.split("-") for part in host.read(CPUS).strip().split(","))  # "0-3,6"
        self.cpus = sum(int(part[-1]) - int(part[0]) + 1 for part in online)
        self._start = self._since = self._now = host.clock()
        self._before = 0.0
        self.taken = 0.0
        self.peak = 0.0

    @property
    def seconds(self) -> float:
        """How long the trace has run, as of the last look."""
        return self._now - self._start

    @property
    def share(self) -> float:
        """The share of all CPU time, on average."""
        return self.taken / self.cpus / max(self.seconds, 0.001)

    def look(self, taken: float, limit: float = 1.0) -> str:
        """
        Note that *taken* seconds of CPU time were taken until now.

        Return why the trace must end: the last second is above *limit*, or an hour has passed. "" if it may go on.
        """
        self._now, self.taken = self._clock(), taken
        spent = self._now - self._since
        used = (taken - self._before) / self.cpus
        share = used / max(spent, TICK)
        self.peak = max(self.peak, share)
        if spent >= TICK:
            self._since, self._before = self._now, taken
        if share > limit and limit < 1:  # 1: no limit; the share is an estimate
            return (
                f"stopped after {self.seconds:.1f} s: the trace took {used / max(spent, 0.001) * 100:.3g} % of all CPU time, "
                f"more than the limit of {limit * 100:.3g} %"
            )
        if self.seconds >= LONGEST + TICK:
            return f"stopped after {self.seconds:.0f} s: a trace takes at most {LONGEST:g} s"
        return ""


CALLS, ROUNDS = 1000, 4
ARCHITECTURES = ("__x64_sys_", "__arm64_sys_", "__s390x_sys_", "sys_")
ARRIVAL, END = "getppid", "getuid"  # the calls in place of a request's arrival and its end
SYMBOLS = tuple(f"{word}{call}" for word in ARCHITECTURES for call in (ARRIVAL, END))
AT_END = frozenset({"end", "dispatch", "block_rq_issue"})  # the others are at its arrival
PREFIX = "cost_"
DISARMED = (
    "the kernel registers kprobes but does not run them (see /sys/kernel/debug/kprobes/enabled)"
)
# Fields with values that pass the conditions of all triggers. The stack holds the address of the caller.
VALUES = {
    "bio": "$arg1:x64",
    "dev": "@linux_banner:u32",  # the same at both calls: it is a key
    "op": "+0($stack):b1@0/8",
    "size": "+0($stack):u32",
    "nr_sector": "+0($stack):u32",
    "sector": "+8($stack):u64",
    "flags": "+0($stack):b1@0/16",
    "left": r"\1:s32",
    "rwbs": r'\"W":string',
}
OTHER = "+0(+0($stack)):u64"
TRACEPOINT = (
    "dev",
    "sector",
    "nr_sector",
    "rwbs",
)  # the fields of a block tracepoint that are used
# Seconds; no probe is cheaper, but on a busy machine the difference of two times may be 0.
LEAST = 1e-7

_ACTION = re.compile(r"onmatch\(\w+\.(\w+)\)\.(\w+)\(")
_SIZE = re.compile(r":size=\d+")
_FILTER = re.compile(r" (?:if|&&) \(dev == [^)]*\)")  # of devices: the calls have none

NONE = ProbeSet()


class Cost(NamedTuple):
    """
    Seconds of CPU time per request, at each device that it is sent to.

    ``request``: at a device that is counted. ``disk``: in addition at a disk, whose dispatches are counted too.
    ``other``: at a device that is filtered out.
    """

    request: float
    disk: float
    other: float


# Used where it cannot be measured: more than any CPU of today needs.
ASSUMED = Cost(10e-6, 5e-6, 3e-6)


def measured(
    host: LiveTracingHost,
    tracing: Tracing,
    known: Collection[str],
    layers: ProbeSet,
    disks: ProbeSet = NONE,
) -> Cost:
    """
    Return the CPU time per request with *layers*, installed for every device, and *disks*, for disks in addition.

    *known*: those of ``SYMBOLS`` that the kernel has. All that is installed in *tracing* is removed.
    ``SourceError`` if the kernel does not run probes.
    """
    symbols = _chosen(known)
    if symbols is None:
        return ASSUMED
    at_layers, at_disks = (_copied(probe_set, symbols) for probe_set in (layers, disks))
    names = [probe.name for probe in at_layers.probes]
    idle = (Trigger(f"{GROUP}/{name}", "hist:keys=common_pid:size=128:pause") for name in names)
    before = _seconds(host)
    tracing.install(at_layers._replace(triggers=tuple(idle)))
    passed = _seconds(host)
    tracing.install(ProbeSet(triggers=at_layers.triggers))
    counted = _seconds(host)
    tracing.install(at_disks)
    dispatched = _seconds(host)
    fired, _ = tracefs.probe_hits(host)
    tracing.clear()
    if any(fired[name] < CALLS for name in names):
        raise SourceError(DISARMED)
    return Cost(
        max(counted - before, LEAST), max(dispatched - counted, 0.0), max(passed - before, LEAST)
    )


def of_event(host: LiveTracingHost, tracing: Tracing) -> float:
    """Return the seconds that one event in the instance's buffer costs; ``SourceError`` without probes."""
    symbols = _chosen(trace_text.read_symbols(host, SYMBOLS))
    if symbols is None:
        return ASSUMED.other
    probe = _copy("event", TRACEPOINT, symbols)
    before = _seconds(host)
    try:
        tracing.install(ProbeSet((probe,)))
        tracing.enable(f"{GROUP}/{probe.name}")
        after = _seconds(host)
    finally:
        tracing.clear()
    return max(after - before, LEAST)


def _seconds(host: LiveTracingHost) -> float:
    """Return how long the two system calls take."""
    return min(host.seconds_of_calls(CALLS) for _ in range(ROUNDS)) / CALLS


def _chosen(known: Collection[str]) -> dict[str, str] | None:
    """Return the kernel's functions of the two calls; None where they have other names."""
    for word in ARCHITECTURES:
        symbols = {call: f"{word}{call}" for call in (ARRIVAL, END)}
        if all(name in known for name in symbols.values()):
            return symbols
    return None


def _copied(original: ProbeSet, symbols: Mapping[str, str]) -> ProbeSet:
    """Return *original* under other names on the two calls, a probe there in place of each block tracepoint."""
    fields = {
        probe.name: [field.partition("=")[0] for field in probe.fields] for probe in original.probes
    }
    for trigger in original.triggers:
        group, _, event = trigger.event.partition("/")
        if group == "block":
            fields[event] = [*TRACEPOINT]
    return ProbeSet(
        tuple(_copy(name, wanted, symbols) for name, wanted in fields.items()),
        tuple(s._replace(name=_other_name(s.name)) for s in original.synthetic),
        tuple(map(_renamed, original.triggers)),
    )


def _copy(name: str, fields: Iterable[str], symbols: Mapping[str, str]) -> Probe:
    symbol = symbols[END if name in AT_END else ARRIVAL]
    return Probe(
        f"{PREFIX}{name}", symbol, tuple(f"{field}={VALUES.get(field, OTHER)}" for field in fields)
    )


def _renamed(trigger: Trigger) -> Trigger:
    group, _, event = trigger.event.partition("/")
    if group == "synthetic":
        event = f"{group}/{_other_name(event)}"
    else:
        event = f"{GROUP}/{PREFIX}{event}"
    text = _ACTION.sub(
        lambda action: f"onmatch({GROUP}.{PREFIX}{action[1]}).{_other_name(action[2])}(",
        trigger.text,
    )
    return Trigger(event, _SIZE.sub(":size=128", _FILTER.sub("", text)))


def _other_name(synthetic: str) -> str:
    return synthetic.replace(f"{GROUP}_", f"{GROUP}_{PREFIX}")
