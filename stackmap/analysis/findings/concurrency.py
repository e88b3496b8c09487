"""How many requests are in flight, how many are of use, and what holds them together?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import mean, pstdev

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.model.interval import Interval
from stackmap.model.load import Load, ratio


def busy(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield the lowest devices that were busy nearly always, with how much they had in flight."""
    found = {d.name for d in context.measured if _busy(context.load(d.name), limits["busy"])}
    for name in sorted(found):
        load = context.load(name)
        if found & set(context.topology.stack(name)[1:]) or load.idle:
            continue
        if load.aqu is None or load.total.await_ms is None:
            continue
        yield Seen(
            name,
            context.evidence(
                name,
                busy=(load.busy, "share"),
                queue=(load.aqu, "requests"),
                rate=(load.total.ios, "requests/s"),
                **{"await": (load.total.await_ms, "ms")},
            ),
            weight=load.aqu,
        )


def _busy(load: Load, least: float) -> bool:
    return load.busy is not None and load.busy >= least


def knee(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield disks that gave no more when more was in flight, with the queue from which on."""
    for device in context.disks:
        points = sorted(_points(context.series, device.name))
        if len(points) < limits["intervals"] or points[-1][0] < limits["spread"] * points[0][0]:
            continue
        most = max(rate for _, rate in points)
        queue, rate = next(point for point in points if point[1] >= limits["flat"] * most)
        if points[-1][0] >= limits["beyond"] * queue:
            evidence = context.evidence(
                device.name,
                knee=(queue, "requests"),
                rate=(rate, "requests/s"),
                deepest=(points[-1][0], "requests"),
                deepest_rate=(points[-1][1], "requests/s"),
            )
            yield Seen(device.name, evidence, weight=points[-1][0] / queue)


def _points(series: tuple[Interval, ...], name: str) -> Iterator[tuple[float, float]]:
    """Yield the queue and the rate of each interval in which *name* did something."""
    for part in series:
        load = part.loads.get(name)
        if load is not None and load.aqu and load.total.ios:
            yield load.aqu, load.total.ios


def coupled(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield volumes that are read and written in lockstep, while reads alone would be answered sooner."""
    for stack in context.stacks:
        name = stack.top.name
        loads = [part.loads[name] for part in context.series if name in part.loads]
        mixes = [ratio(load.write.ios, load.read.ios) for load in loads]
        known = [mix for mix in mixes if mix]
        load = context.load(name)
        read, write = load.read.await_ms, load.write.await_ms
        if len(known) < max(len(loads), limits["intervals"]) or not read or not write:
            continue
        spread = pstdev(known) / mean(known)
        if spread <= limits["spread"] and write >= limits["slower"] * read:
            evidence = context.evidence(
                name,
                mix=(mean(known), "times"),
                spread=(spread, "share"),
                intervals=(len(known), "count"),
                read_await=(read, "ms"),
                write_await=(write, "ms"),
                reads=(load.read.ios, "requests/s"),
            )
            yield Seen(name, evidence)


BUSY = Rule(
    "SM402",
    "busy-is-not-full",
    Severity.INFO,
    says="{device} was busy {busy} of the time. That says only that something was in flight: on "
    "average {queue} requests ({rate} x {await}). It is no sign that it is full.",
    against="A single disk that turns does one request at a time, and busy is nearly full for it.",
    advice="Judge by await against its own at a short queue (--baseline), and by whether more in "
    "flight still gives more.",
    source="iostat(1); P. Zaitsev (2014); S. Garland, On Being Wrong (2024). Little: in flight = rate "
    "x await",
    find=busy,
    limits={"busy": 0.9},
    units={"busy": "share"},
    yields_to=("SM201", "SM401"),
)
KNEE = Rule(
    "SM403",
    "knee",
    Severity.INFO,
    says="{device} gave {rate} with {knee} in flight, and no more than {deepest_rate} with {deepest}: "
    "what waits beyond that only waits.",
    against="The load may have changed in kind between these intervals.",
    advice="Keep about {knee} in flight (queue depth, threads, nr_requests): the same throughput, with "
    "less waiting.",
    source="Little's law: once the rate no longer grows, await grows with the queue",
    find=knee,
    limits={"intervals": 6, "spread": 4.0, "flat": 0.9, "beyond": 2.0},
    units={"intervals": "count", "spread": "times", "flat": "share", "beyond": "times"},
)
COUPLED = Rule(
    "SM404",
    "coupled",
    Severity.INFO,
    says="{device} was written {mix} times for each time it was read, within {spread} in all "
    "{intervals} intervals, while a read takes {read_await} and a write {write_await}: one waits "
    "for the other, so the {reads} of reads are the mix's limit, not the device's.",
    against="A steady load of many programs can have a steady mix too.",
    advice="If this is a benchmark, measure reads and writes with a rate of their own (fio rate_iops, "
    "not rwmixread).",
    source="Mixups with rwmixread (2023): 57 k reads/s in a fixed mix, 515 k without",
    find=coupled,
    limits={"intervals": 5, "spread": 0.02, "slower": 2.0},
    units={"intervals": "count", "spread": "share", "slower": "times"},
)
RULES = (BUSY, KNEE, COUPLED)
