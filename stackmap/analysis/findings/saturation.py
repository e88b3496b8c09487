"""Is a device overloaded? By its own await at a short queue, never by how busy it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.amplification import heads
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.expected_latency import medium
from stackmap.analysis.findings.finding import Rule, Seen, Severity
from stackmap.model.device import Device
from stackmap.model.load import Load, ratio


def overloaded(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield the lowest, disks or tops, that answer far slower than they did with a short queue."""
    found: dict[str, Seen] = {}
    # A volume's own queue is filled by writeback at will: only with a baseline does it tell.
    tops = heads(context.topology, context.loads) if context.baseline is not None else []
    for name in dict.fromkeys([*tops, *(disk.name for disk in context.disks)]):
        device = context.topology[name]
        pair = _pair(context, device, limits)
        seen = None if pair is None else _slower(context, device, *pair, limits)
        if seen is not None:
            found[name] = seen
    for name, seen in found.items():
        if not found.keys() & set(context.topology.stack(name)[1:]):
            yield seen


def _pair(
    context: Context, device: Device, limits: Mapping[str, float]
) -> tuple[Load, Load] | None:
    """Return a device's load at a short queue, and the one to judge; None where there is no such pair."""
    if context.baseline is not None:
        before, now = context.baseline.loads.get(device.name), context.load(device.name)
        return None if before is None else (before, now)
    parts = [part.loads[device.name] for part in context.series if device.name in part.loads]
    judged = [load for load in parts if load.aqu is not None and _many(context, load, limits)]
    if len(judged) < 2:
        return None
    quiet, loaded = (
        min(judged, key=lambda load: load.aqu or 0.0),
        max(judged, key=lambda load: load.aqu or 0.0),
    )
    short = (quiet.aqu or 0.0) <= limits["short"]
    return (quiet, loaded) if short and _of_one_kind(quiet, loaded, limits) else None


def _of_one_kind(quiet: Load, loaded: Load, limits: Mapping[str, float]) -> bool:
    """Whether the two are one load at two depths: as many reads in it, of like size, and not a trickle."""
    sizes, rates = (quiet.total.size, loaded.total.size), (quiet.total.ios, loaded.total.ios)
    mixes = [ratio(load.read.ios, load.total.ios) for load in (quiet, loaded)]
    if None in (*sizes, *rates, *mixes):
        return False
    smaller, larger = sorted(each or 0.0 for each in sizes)
    few, many = sorted(each or 0.0 for each in rates)
    return (
        larger <= limits["size"] * smaller
        and few >= limits["trickle"] * many
        and abs((mixes[0] or 0.0) - (mixes[1] or 0.0)) <= limits["mix"]
    )


def _many(context: Context, load: Load, limits: Mapping[str, float]) -> bool:
    seconds = context.series[0].seconds if context.series else None
    return (load.total.ios or 0.0) * (seconds or 1.0) >= limits["requests"]


def _slower(
    context: Context, device: Device, before: Load, now: Load, limits: Mapping[str, float]
) -> Seen | None:
    base, took = before.total.await_ms, now.total.await_ms
    if not base or took is None or now.aqu is None or before.aqu is None:
        return None
    if now.aqu < max(limits["deep"], 2 * before.aqu):
        return None  # a queue no longer than it was: what is slow then is not the load
    # Larger requests take longer without any queue.
    grown = max(0.0, (now.total.size or 0.0) - (before.total.size or 0.0))
    larger = grown / medium(device).bytes_per_ms
    if took - larger < limits["slower"] * base or took - base < limits["ms"]:
        return None
    evidence = context.evidence(
        device.name,
        **{"await": (took, "ms")},
        before=(base, "ms"),
        ratio=(took / base, "times"),
        queue=(now.aqu, "requests"),
        before_queue=(before.aqu, "requests"),
        rate=(now.total.ios, "requests/s"),
        before_rate=(before.total.ios, "requests/s"),
    )
    return Seen(device.name, evidence, weight=took / base)


OVERLOADED = Rule(
    "SM401",
    "overloaded",
    Severity.WARNING,
    says="{device} takes {await} a request with {queue} in flight, {ratio} times the {before} it took "
    "with {before_queue}: it is sent more than it can do.",
    against="A load of another kind (random instead of in sequence, writes instead of reads) takes "
    "longer at any queue; throughput went from {before_rate} to {rate}.",
    advice="Who sends it: stackmap blame. Fewer at a time get their answers sooner and lose little "
    "throughput; more needs more or faster disks.",
    source="P. Zaitsev, Why %util is meaningless (2014): three times the await of one thread",
    find=overloaded,
    limits={
        "slower": 3.0,
        "ms": 1.0,
        "short": 2.0,
        "deep": 4.0,
        "requests": 10,
        "size": 2.0,
        "mix": 0.2,
        "trickle": 0.1,
    },
    units={
        "slower": "times",
        "ms": "ms",
        "short": "requests",
        "deep": "requests",
        "requests": "count",
        "size": "times",
        "mix": "share",
        "trickle": "share",
    },
    yields_to=("SM201",),
)
RULES = (OVERLOADED,)
