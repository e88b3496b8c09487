"""
What a request costs while it is traced, measured on this machine.

The probes and histograms of a trace are installed once more, under other names, on two system calls. This
process makes them many times: without probes, with probes that count nothing, and with all that a trace counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.errors import SourceError
from stackmap.host.tracing import LiveTracingHost
from stackmap.sources import kallsyms, tracefs
from stackmap.sources.probe_sets import ProbeSet
from stackmap.sources.tracefs import GROUP, Probe, Synthetic, Tracing, Trigger

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
    "dev": "+0(+0($stack)):u32",
    "op": "+0($stack):b1@0/8",
    "size": "+0($stack):u32",
    "nr_sector": "+0($stack):u32",
    "sector": "+8($stack):u64",
    "flags": "+0($stack):b1@0/16",
    "left": r"\1:s32",
    "rwbs": "$comm:string",
}
OTHER = "+0(+0($stack)):u64"
TRACEPOINT = (
    "dev",
    "sector",
    "nr_sector",
    "rwbs",
)  # the fields of a block tracepoint that are used
LEAST = (
    1e-7  # seconds; no probe is cheaper, but on a busy machine the difference of two times may be 0
)

_ACTION = re.compile(r"onmatch\(\w+\.(\w+)\)\.(\w+)\(")
_SIZE = re.compile(r":size=\d+")


class Cost(NamedTuple):
    """
    Seconds of CPU time, for each device that a request passes.

    ``request``: of a request that is counted; ``disk``: what is added where a driver gets it. ``other``: of a request
    whose device is filtered out.
    """

    request: float
    disk: float
    other: float


# Where it cannot be measured: more than any CPU of today needs.
ASSUMED = Cost(10e-6, 5e-6, 3e-6)


def measured(
    host: LiveTracingHost,
    tracing: Tracing,
    known: Collection[str],
    synthetic: Iterable[Synthetic],
    layers: ProbeSet,
    disks: ProbeSet,
) -> Cost:
    """
    Return what a request costs with the probes and triggers of *layers*, and those of *disks* at a disk.

    *known*: the kernel's functions among ``SYMBOLS``.
    ``SourceError`` if the kernel does not run probes.
    """
    symbols = _chosen(known)
    if symbols is None:
        return ASSUMED
    counting, more = ([_renamed(each) for each in part.triggers(())] for part in (layers, disks))
    copies = _by_name((*_copies(layers.probes, symbols), *_tracepoints(counting, symbols)))
    added = _by_name((*_copies(disks.probes, symbols), *_tracepoints(more, symbols)))
    idle = [Trigger(f"{GROUP}/{name}", "hist:keys=common_pid:size=128:pause") for name in copies]
    events = [each._replace(name=_other_name(each.name)) for each in synthetic]
    before = _seconds(host)
    with tracing.temporary(copies.values(), events, idle):
        passed = _seconds(host)
        with tracing.temporary((), (), counting):
            counted = _seconds(host)
            with tracing.temporary(added.values(), (), more):
                dispatched = _seconds(host)
        hits = tracefs.probe_hits(host)
    if any(name not in hits or hits[name].fired < CALLS for name in copies):
        raise SourceError(DISARMED)
    return Cost(
        max(counted - before, LEAST), max(dispatched - counted, 0.0), max(passed - before, LEAST)
    )


def of_event(host: LiveTracingHost, tracing: Tracing) -> float:
    """Return the seconds that one event in the instance's buffer costs; ``SourceError`` without probes."""
    symbols = _chosen(kallsyms.read(host, SYMBOLS))
    if symbols is None:
        return ASSUMED.other
    fields = tuple(f"{name}={VALUES[name]}" for name in TRACEPOINT)
    probe = Probe(f"{PREFIX}event", symbols[ARRIVAL], fields)
    before = _seconds(host)
    with tracing.temporary((probe,), (), ()):
        tracing.enable(f"{GROUP}/{probe.name}", is_on=True)
        after = _seconds(host)
        tracing.enable(f"{GROUP}/{probe.name}", is_on=False)
    return max(after - before, LEAST)


def _seconds(host: LiveTracingHost) -> float:
    """Return how long the two system calls take."""
    return min(host.seconds_of_calls(CALLS) for _ in range(ROUNDS)) / CALLS


def _chosen(known: Collection[str]) -> dict[str, str] | None:
    """Return the kernel's functions of the two calls; None where they have other names."""
    for word in ARCHITECTURES:
        found = {call: f"{word}{call}" for call in (ARRIVAL, END)}
        if all(name in known for name in found.values()):
            return found
    return None


def _by_name(probes: Iterable[Probe]) -> dict[str, Probe]:
    return {probe.name: probe for probe in probes}


def _copies(probes: Iterable[Probe], symbols: Mapping[str, str]) -> Iterator[Probe]:
    for probe in probes:
        names = (field.partition("=")[0] for field in probe.fields)
        yield _copy(probe.name, names, symbols)


def _tracepoints(triggers: Iterable[Trigger], symbols: Mapping[str, str]) -> Iterator[Probe]:
    """Yield a probe in place of each block tracepoint that *triggers*, renamed already, use."""
    for name in dict.fromkeys(each.event.rpartition(PREFIX)[2] for each in triggers):
        if name.startswith("block_"):
            yield _copy(name, TRACEPOINT, symbols)


def _copy(name: str, fields: Iterable[str], symbols: Mapping[str, str]) -> Probe:
    symbol = symbols[END if name in AT_END else ARRIVAL]
    return Probe(
        f"{PREFIX}{name}", symbol, tuple(f"{each}={VALUES.get(each, OTHER)}" for each in fields)
    )


def _renamed(trigger: Trigger) -> Trigger:
    group, _, event = trigger.event.partition("/")
    if group == "synthetic":
        event = f"{group}/{_other_name(event)}"
    else:
        event = f"{GROUP}/{PREFIX}{event}"
    text = _ACTION.sub(
        lambda found: f"onmatch({GROUP}.{PREFIX}{found[1]}).{_other_name(found[2])}(", trigger.text
    )
    return Trigger(event, _SIZE.sub(":size=128", text))


def _other_name(synthetic: str) -> str:
    return synthetic.replace(f"{GROUP}_", f"{GROUP}_{PREFIX}")
