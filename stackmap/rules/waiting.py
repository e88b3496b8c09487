"""Where do requests wait: in which layer, behind whose requests, or in the disk? No baseline is needed."""

from collections.abc import Iterator
from typing import NamedTuple

from stackmap.ledger.blame import blame
from stackmap.model.device import Device, Role
from stackmap.model.dm_targets import is_passthrough
from stackmap.model.load import Load, ratio, sum_flows
from stackmap.model.topology import NO_TOPOLOGY
from stackmap.rules.context import Context
from stackmap.rules.disk import BULK, QUEUE_CAVEAT, UNKNOWN, expected_ms, queued
from stackmap.rules.hung import contradicts, impossible
from stackmap.rules.rule import Limits, Observation, Observations, Outcome, Rule, Severity, observe

STEPS = 3  # requests one after another that one request may become below: read, write, bitmap
FULL = 0.5  # share of nr_requests in flight on average: at times no request is free
SATURATED = 0.9  # busy share of a disk that is the bottleneck
# What a layer may do while a request waits in it, and what to do.
WORK = {
    "crypt": (
        "encryption, which needs CPU time",
        "Compare cryptsetup benchmark with its throughput. Try its --perf-no_write_workqueue.",
    ),
    "delay": ("the delay in its table", "See its table with dmsetup."),
    "thin": ("the allocation of blocks", "Check the pool's metadata device and its free space."),
    "snapshot": ("copies before the first write", "Remove snapshots that are not needed."),
    "cache": ("copies to and from the cache", "See the cache's misses and dirty blocks with lvs."),
}
OTHER = ("work of this layer", "Measure the latency inside.")


@Rule(
    "SM421",
    Severity.WARNING,
    title="Requests wait in {device}, not below it",
    sentence="Requests wait in {device}, not below it: await is {await}, and {below_wait} at most below "
    "({below}). The difference is {work}.",
    caveat=f"Awaits are means: a few very slow requests look like many slow ones. {QUEUE_CAVEAT}",
    advice="{remedy} Run `stackmap trace {device}` for the latency of each layer.",
    source="stackmap-kernel(7), Layers: await of a layer includes that of the layer below",
    thresholds={
        "own": (5.0, "ms", "{} longer"),
        "times": (2.0, "times", "and {} the await below"),
        "requests": (50, "count"),
    },
    superseded_by=("SM202", "SM411"),
)
def layer_wait(context: Context, limits: Limits) -> Observations:
    """Yield devices in which requests wait far longer than in all devices below."""
    for device in context.measured:
        total, below = context.load(device.name).total, _below(context, device)
        wait = total.await_ms
        if wait is None or not below or not context.enough(total.ios, limits["requests"]):
            continue
        waits = {name: longest_await(context.load(name)) for name in below}
        slowest = max(waits, key=lambda name: waits[name] or 0.0)
        beneath = waits[slowest]
        if beneath is None or _is_full(context, device, below):
            continue
        own = wait - beneath * (1 if is_passthrough(device) else STEPS)
        if own < limits["own"] or own < limits["times"] * beneath:
            continue
        work, remedy = WORK.get(device.target, OTHER)
        figures = {
            "await": (wait, "ms", device.name),
            "below_wait": (beneath, "ms", slowest),
            "own": (own, "ms", device.name),
            "queue": (context.load(device.name).aqu, "requests", device.name),
        }
        titles = ", ".join(context.topology[name].title for name in below[:4])
        words = {"below": titles, "work": work, "remedy": remedy}
        words |= queued(context.load(device.name))
        batches = not is_passthrough(device) and _is_bulk(context, device.name)
        severity = Severity.INFO if batches else None
        yield observe(device.name, figures, words, weight=own, severity=severity)


def _below(context: Context, device: Device) -> list[str]:
    """Return the devices directly below *device*; [] if one has no counters."""
    names = [
        edge.below
        for edge in context.topology.below(device.name)
        if edge.role not in (Role.SPARE, Role.FAILED, Role.METADATA)
    ]
    known = all(name in context.loads and not context.load(name).idle for name in names)
    return list(dict.fromkeys(names)) if known else []


def longest_await(load: Load) -> float | None:
    """Return the longest await of reads, writes and flushes; None if all are unknown."""
    waits = (flow.await_ms for flow in (load.read, load.write, load.flush, load.total))
    return max((ms for ms in waits if ms is not None), default=None)


def _is_bulk(context: Context, name: str) -> bool:
    """Whether *name* moves large requests, or small ones of which its disks make large ones."""
    names = (name, *context.topology.disks_of(name))
    return any((context.load(device).total.size or 0.0) >= BULK for device in names)


def _is_full(context: Context, device: Device, below: list[str]) -> bool:
    """Whether requests wait in *device* because a queue below is full, or a disk below is saturated."""
    queues = ((context.topology[name].queue.nr_requests, context.load(name).aqu) for name in below)
    if any(holds and (queue or 0.0) >= FULL * holds for holds, queue in queues):
        return True
    disks = context.topology.disks_of(device.name)
    return not is_passthrough(device) and any(
        (context.load(name).busy or 0.0) >= SATURATED for name in disks
    )


@Rule(
    "SM422",
    Severity.WARNING,
    title="{device} waits behind {neighbour}",
    outcome=Outcome.NEIGHBOUR,
    sentence="{device} waits behind the requests of {neighbour}: await is {await}, because {neighbour} sends "
    "{share} of the {what} of {place} (queue depth {queue}). {device} sends {own}.",
    caveat="{device} alone may also be slow on {disk}; measure without {neighbour}.",
    advice="Limit {neighbour} (io.max, `ionice`, a later time), or move it to other disks. Run "
    "`stackmap blame {disk}` for all sources.",
    source="J. Little (1961): a request waits for all that are in the queue before it",
    thresholds={
        "share": (0.5, "share", "{} of requests or bytes"),
        "own": (0.4, "share", "own share up to {}"),
        "queue": (4.0, "requests", "disk's queue depth {}"),
        "requests": (20, "count"),
    },
)
def neighbour(context: Context, limits: Limits) -> Observations:
    """Yield volumes that wait at a disk most of whose requests or bytes another volume sends."""
    by_victim: dict[str, Observation] = {}
    for disk in context.disks:
        load = context.load(disk.name)
        wait, size = load.total.await_ms, load.total.size
        if wait is None or size is None or (load.aqu or 0.0) < limits["queue"]:
            continue
        if wait <= expected_ms(disk, size) or contradicts(load, impossible.limits):
            continue
        for place, sources in _sources(context, disk.name, limits["share"]):
            for victim in (source for source in sources if len(source.tops) == 1):
                observed = _behind(context, place, sources, victim, disk, limits)
                if observed:
                    by_victim.setdefault(observed.device, observed)
    yield from by_victim.values()


class Source(NamedTuple):
    """The volumes whose I/O it is, () for none; their share of the requests and of the bytes at one place."""

    tops: tuple[str, ...]
    requests: float | None
    bytes: float | None


def _sources(context: Context, disk: str, most: float) -> Iterator[tuple[str, list[Source]]]:
    """Yield who loads *disk*, and who loads a pool or array above it that sends the share *most* of its requests."""
    sources = blame(context.ledger, disk, idle=False)
    yield disk, [Source(x.tops, sources.share(x), sources.byte_share(x)) for x in sources.loaders]
    for loader in sources.loaders:
        # sar has no merges, so what arrived at a disk is unknown, but for the bytes.
        share = sources.share(loader) or sources.byte_share(loader) or 0.0
        if loader.through and not loader.metadata and share >= most:
            loads = {top: context.load(top).total for top in loader.tops}
            requests, moved = sum_flows(loads.values()).ios, sum_flows(loads.values()).bytes
            yield (
                loader.through,
                [
                    Source((top,), ratio(load.ios, requests), ratio(load.bytes, moved))
                    for top, load in loads.items()
                ],
            )


def _behind(
    context: Context,
    place: str,
    sources: list[Source],
    victim: Source,
    disk: Device,
    limits: Limits,
) -> Observation | None:
    """Return that *victim*, one of the *sources* at *place*, waits at *disk* behind another one; None if it does not."""
    load, top = context.load(disk.name), context.load(victim.tops[0])
    shares = [
        (theirs, own, what, other)
        for other in sources
        if other is not victim
        for what in ("requests", "bytes")
        if (theirs := getattr(other, what)) is not None
        and (own := getattr(victim, what)) is not None
    ]
    if not shares or not context.enough(top.total.ios, limits["requests"]):
        return None
    share, own, what, other = max(shares, key=lambda candidate: candidate[0])
    if share < limits["share"] or own > limits["own"] or (top.aqu or 0.0) > (load.aqu or 0.0) / 2:
        return None
    slow, size = top.total.await_ms, top.total.size or load.total.size or 0.0
    wait = load.total.await_ms or 0.0
    # A disk that serves a wait longer than one request needs makes all in its queue wait.
    if slow is None or slow < min(wait / 2, expected_ms(disk, size)):
        return None
    figures = {
        "await": (slow, "ms", victim.tops[0]),
        "share": (share, "share", place),
        "own": (own, "share", place),
        "queue": (load.aqu, "requests", disk.name),
        "disk_wait": (wait, "ms", disk.name),
    }
    titles = ", ".join(context.topology[name].title for name in other.tops[:3])
    words = {
        "neighbour": titles or "a reader or writer of the disk itself",
        "place": context.topology[place].title,
        "disk": disk.title,
        "what": what,
    }
    return observe(victim.tops[0], figures, words, weight=share)


@Rule(
    "SM423",
    Severity.WARNING,
    title="{device} is slow: await {await}",
    outcome=Outcome.OVERLOADED,
    sentence="{device} is slow: await is {await} with {queue} requests in flight ({rate} of {size}). One such "
    "request needs at most {usual}.[ {where}.]",
    caveat=QUEUE_CAVEAT,
    advice="{remedy} Run `stackmap trace {device}` for the latency of each layer.",
    source="J. Little (1961): await = requests in flight ÷ rate",
    thresholds={
        "slower": (4.0, "times", "{} the expected time"),
        "queue": (4.0, "requests"),
        "requests": (50, "count"),
    },
    superseded_by=("SM305", "SM411", "SM421", "SM422", "SM701", "SM702", "SM703"),
)
def long_wait(context: Context, limits: Limits) -> Observations:
    """Yield volumes whose await is long on any disk, with requests in flight."""
    disks = {device.name for device in context.disks}
    for name in sorted(context.tops - disks):
        load = context.load(name)
        wait, size, queue = load.total.await_ms, load.total.size, load.aqu
        if wait is None or size is None or queue is None or queue < limits["queue"]:
            continue
        below = context.topology.with_all_below(name)
        media = [expected_ms(context.topology[d], size) for d in below if d in disks]
        usual = max(media, default=UNKNOWN.access_ms + size / UNKNOWN.bytes_per_ms)
        enough = context.enough(load.total.ios, limits["requests"])
        if wait < limits["slower"] * usual or not enough or contradicts(load, impossible.limits):
            continue
        figures = {
            "await": (wait, "ms"),
            "queue": (queue, "requests"),
            "rate": (load.total.ios, "requests/s"),
            "size": (size, "bytes"),
            "usual": (usual, "ms"),
        }
        where, above = _where(context, below, disks, wait)
        words = {"where": where, "remedy": ABOVE if above else FEWER, **queued(load)}
        severity = Severity.INFO if _is_bulk(context, name) else None
        yield observe(name, figures, words, weight=wait, severity=severity)


FEWER = "Fewer requests at a time wait less: lower the queue depth."
ABOVE = "Look above the disks: at the file system, md and device-mapper."


def _where(context: Context, below: list[str], disks: set[str], wait: float) -> tuple[str, bool]:
    """Return where requests spend *wait* ms, in words, and whether above the disks; "" if no disk has a known await."""
    placed = any(name in disks for name in below)
    # Without a topology, any disk of the text may be below; with one, the disks below are not in the text.
    unplaced = disks if NO_TOPOLOGY in context.topology.unknown else ()
    waits = {
        name: ms
        for name in (below if placed else unplaced)
        if name in disks and (ms := longest_await(context.load(name)))
    }
    if not waits:
        return "", False
    name = max(waits, key=lambda disk: waits[disk])
    title, queue = context.topology[name].title, context.load(name).aqu
    if waits[name] < wait / 3:
        slowest = f"the slowest, {title}, has an await of {waits[name]:.1f} ms"
        known = "They wait above the disks" if placed else "No disk in these figures is as slow"
        return f"{known}: {slowest}", True
    if not placed:
        return "", False
    depth = "" if queue is None else f" (queue depth {queue:.1f}, await {waits[name]:.1f} ms)"
    return f"They wait at {title}, behind its own requests{depth}", False
