"""How many requests are in flight, how many of them help, and are reads and writes coupled?"""

from collections.abc import Mapping
from functools import partial
from math import sqrt
from operator import itemgetter

from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.unusual_spans import LEAST
from stackmap.model.device import Device
from stackmap.model.far_side import far_side
from stackmap.model.load import Load, ratio
from stackmap.model.topology import computed_once
from stackmap.rules.context import Context
from stackmap.rules.disk import BULK, QUEUE_CAVEAT, busy_share, expected_ms, medium, queued
from stackmap.rules.hung import contradicts, impossible
from stackmap.rules.rule import (
    Figure,
    Limits,
    Observation,
    Observations,
    Outcome,
    PerStack,
    Rule,
    Severity,
    observe,
)
from stackmap.rules.saturation import kind_of, lasting_load, same_kind

LIKE_DISKS, SAME_RATE = 3, 0.05  # that transfer as much: a pair may do so by chance

_rule = partial(Rule, outcome=Outcome.OVERLOADED, joins_peers=True)


@_rule(
    "SM402",
    Severity.INFO,
    title="{device} is busy, which proves no overload",
    sentence="{device} was busy {busy} of the time, which does not prove saturation: await is "
    "{await} at queue depth {queue} ({rate}), no longer than one request alone may take.",
    caveat="A single spinning disk serves one request at a time: busy all the time, it is nearly saturated.",
    advice="Compare its await with that at a low queue depth (`--baseline`). Check whether more "
    "requests in flight raise throughput.",
    source="P. Zaitsev (2014); S. Garland, On Being Wrong (2024); Little: in flight = rate × await",
    thresholds={"busy": (0.9, "share")},
    superseded_by=("SM201", "SM202", "SM204", "SM212", "SM401", "SM803"),
)
def busy_is_not_full(context: Context, limits: Limits) -> Observations:
    """Yield devices that are busy nearly all the time, with an await that one request may need alone."""
    busy = {d.name for d in context.measured if (context.load(d.name).busy or 0) >= limits["busy"]}
    for name in sorted(busy):
        load = context.load(name)
        if busy & set(context.topology.with_all_below(name)[1:]) or load.idle:
            continue
        wait, size = load.total.await_ms, load.total.size
        if load.aqu is None or wait is None or size is None:
            continue
        if wait > expected_ms(context.topology[name], size):
            continue
        figures = {
            "busy": (min(1.0, load.busy or 0.0), "share"),  # iostat prints more than 100 %
            "queue": (load.aqu, "requests"),
            "rate": (load.total.ios, "requests/s"),
            "await": (wait, "ms"),
        }
        yield observe(name, figures, weight=load.aqu)


@_rule(
    "SM405",
    Severity.INFO,
    title="{queue} requests wait at {device}: {await}",
    sentence="{device} has {queue} requests in flight and an await of {await}. One {size} request needs "
    "at most {usual} on {medium}, so requests wait in the queue.[ {alike} like disks transfer as much at "
    "queue depths from {shallow} to {deep}: more requests in flight do not raise their throughput.]",
    caveat=QUEUE_CAVEAT,
    advice="Compare with a quiet time (`--baseline`) to judge overload. Run `stackmap blame {device}` to "
    "find the source.",
    source="P. Zaitsev, Why %util is meaningless (2014): 66 requests in flight, 109 ms",
    thresholds={"queue": (4.0, "requests"), "requests": (50, "count")},
    superseded_by=("SM201", "SM202", "SM212", "SM401", "SM406"),
)
def long_queue(context: Context, limits: Limits) -> Observations:
    """Yield disks where requests wait longer in the queue than one request needs."""
    for device in context.disks:
        load = context.load(device.name)
        wait, size = load.total.await_ms, load.total.size
        if wait is None or size is None or load.aqu is None or load.aqu < limits["queue"]:
            continue
        usual = expected_ms(device, size)
        if wait > usual and context.enough(load.total.ios, limits["requests"]):
            limit = _limit_of_like_disks(context, device, load, limits["queue"])
            yield _queueing(device, load, usual, limit, weight=load.aqu)


def _limit_of_like_disks(
    context: Context, device: Device, load: Load, least: float
) -> dict[str, Figure]:
    """
    Return how many disks like *device* transfer as much as it with far more or fewer requests in flight.

    Only busy ones with a queue depth of *least* count; members of one array get equal shares whatever they can do.
    {} where fewer than ``LIKE_DISKS`` do.
    """
    members = {*context.peers_of(device.name)} - {device.name}
    kind = kind_of(load)
    moved = load.total.bytes or 0.0
    depths = [
        other.aqu or 0.0
        for disk, other in _with_queues(context, least)
        if abs((other.total.bytes or 0.0) - moved) <= SAME_RATE * moved
        and disk.name not in members
        and medium(disk) == medium(device)
        and same_kind(kind, kind_of(other), knee.limits)
    ]
    if len(depths) < LIKE_DISKS or max(depths) < knee.limits["beyond"] * min(depths):
        return {}
    return {
        "alike": (float(len(depths)), "count"),
        "shallow": (min(depths), "requests"),
        "deep": (max(depths), "requests"),
    }


@computed_once
def _with_queues(context: Context, least: float) -> list[tuple[Device, Load]]:
    """Return the busy disks with a queue depth of *least*, and their loads, with which all disks are compared."""
    loads = ((disk, context.load(disk.name)) for disk in context.all_disks)
    busy = knee.limits["busy"]
    return [
        (disk, load)
        for disk, load in loads
        if (load.aqu or 0.0) >= least and (load.busy or 0.0) >= busy
    ]


def _queueing(
    device: Device,
    load: Load,
    usual: float,
    limit: Mapping[str, Figure] | None = None,
    *,
    weight: float,
) -> Observation:
    figures = {
        "queue": (load.aqu, "requests"),
        "await": (load.total.await_ms, "ms"),
        "usual": (usual, "ms"),
        "size": (load.total.size, "bytes"),
        "rate": (load.total.ios, "requests/s"),
        **(limit or {}),
    }
    far = far_side(device)
    side = {} if far is None else {"kind": far.what, "look": far.look}
    words = {"medium": medium(device).name, **queued(load), **side}
    return observe(device.name, figures, words, weight=weight)


@_rule(
    "SM403",
    Severity.INFO,
    title="{device} gains nothing beyond queue depth {knee}",
    sentence="{device} gains no throughput beyond queue depth {knee}: {rate} there, {deepest_rate} "
    "at queue depth {deepest}. More requests only wait.",
    caveat="Only intervals with similar requests are compared; where they are on the disk may differ.",
    advice="Limit the queue depth (threads, iodepth) to about {knee}: same throughput, lower latency.",
    source="Little's law: at a constant rate, await grows with the queue",
    thresholds={
        "intervals": (6, "count"),
        "spread": (4.0, "times", "longest queue {} the shortest one"),
        "flat_share": (0.9, "share", "knee at {} of the highest rate"),
        "beyond": (2.0, "times", "longest queue {} the knee's"),
        "least_queue": (0.1, "requests", "intervals count from a queue depth of {}"),
        "least_rate": (1.0, "requests/s", "and {}"),
        "knee": (1.0, "requests", "knee at queue depth {}"),
        "queue": (2.0, "requests", "longest queue {}"),
        "size_ratio": (2.0, "times"),
        "mix_difference": (0.2, "share"),
        "trickle": (0.5, "share", "rate at the longest queue {} of the knee's"),
        "busy": (0.9, "share"),
    },
)
def knee(context: Context, limits: Limits) -> Observations:
    """Yield disks whose throughput stops growing at some queue depth of one or more."""
    for name in (disk.name for disk in context.disks):
        points = _points(context, name)
        # Below, there is hardly a second request that could wait.
        if len(points) < limits["intervals"] or points[-1][0] < limits["queue"]:
            continue
        if points[-1][0] < limits["spread"] * points[0][0]:
            continue
        least = limits["flat_share"] * max(rate for _, rate, _ in points)
        queue, rate, busy = next(point for point in points if point[1] >= least)
        deepest, deepest_rate, busiest = points[-1]
        if min(busy, busiest) < limits["busy"]:
            continue  # bursts: between them the disk could have served more
        same_load = deepest_rate >= limits["trickle"] * rate
        if same_load and queue >= limits["knee"] and deepest >= limits["beyond"] * queue:
            figures = {
                "knee": (queue, "requests"),
                "rate": (rate, "requests/s"),
                "deepest": (deepest, "requests"),
                "deepest_rate": (deepest_rate, "requests/s"),
            }
            yield observe(name, figures, weight=deepest / queue)


@computed_once
def _points(context: Context, name: str) -> list[tuple[float, float, float]]:
    """
    Return queue depth, rate and busy of *name* in each interval with a load like that of the deepest queue.

    Where busy is unknown it is 1.
    """
    limits = knee.limits
    least_queue, least_rate = limits["least_queue"], limits["least_rate"]
    loads = [
        (load.aqu, kind.rate, 1.0 if load.busy is None else load.busy, kind)
        for part in context.series
        if (load := part.loads.get(name)) is not None
        and load.aqu is not None
        and load.aqu >= least_queue
        and (kind := kind_of(load)).rate is not None
        and kind.rate >= least_rate
    ]
    if not loads:
        return []
    *_, deepest = max(loads, key=itemgetter(0))
    return sorted(
        (aqu, rate, busy) for aqu, rate, busy, kind in loads if same_kind(kind, deepest, limits)
    )


@_rule(
    "SM406",
    Severity.WARNING,
    title="{device} is overloaded",
    sentence="{device} is overloaded[ {when}]: {queue} requests are in flight and await is {await}. One {size} request "
    "needs at most {usual} on {medium}.[ It is {kind}: the other side may be the slow one.]",
    caveat=QUEUE_CAVEAT,
    advice="[Check {look}. ]Run `stackmap blame {device}` to find the source. Lower the queue depth, or spread the load "
    "over more or faster disks.",
    source="P. Zaitsev, Why %util is meaningless (2014): 66 requests in flight, 109 ms",
    thresholds={
        "slower": (3.0, "times", "{} the expected time"),
        "queue": (8.0, "requests"),
        "beyond": (
            2.0,
            "times",
            "any longer if reads in flight are {} what the driver gives to the disk",
        ),
        "busy": (0.95, "share"),
        "size": (BULK, "bytes", "requests smaller than {}"),
        "requests": (50, "count"),
    },
    superseded_by=("SM201", "SM202", "SM205", "SM206", "SM211", "SM212", "SM401", "SM702", "SM703"),
)
def evident_overload(context: Context, limits: Limits) -> Observations:
    """
    Yield busy disks on which small requests wait several times as long as one needs alone.

    Any longer is enough where throughput does not grow with the queue, or most requests wait outside the disk.
    """
    flat = {observed.device for observed in knee.find(context, knee.limits)}
    few = 1 < len(context.series) < LEAST  # with more, episodes tell when
    for device in context.disks:
        load = lasting_load(context, device.name) if few else context.load(device.name)
        wait, size = load.total.await_ms, load.total.size
        if wait is None or size is None or size >= limits["size"]:
            continue
        busy = busy_share(load)
        if busy is not None and busy < limits["busy"]:
            continue
        if contradicts(load, impossible.limits):
            continue
        usual = expected_ms(device, size)
        is_full = device.name in flat or _wait_outside(device, load, limits["beyond"])
        least = usual if is_full else limits["slower"] * usual
        long = wait >= least and (load.aqu or 0.0) >= limits["queue"]
        if long and context.enough(load.total.ios, limits["requests"]):
            observed = _queueing(device, load, usual, weight=wait / usual)
            mean = context.load(device.name).aqu or 0.0
            lasts = 1.5 * mean >= (load.aqu or 0.0)
            at_times = {} if lasts else {"when": "in some intervals"}
            yield observed._replace(words={**observed.words, **at_times})


def _wait_outside(device: Device, load: Load, beyond: float) -> bool:
    """Whether reads, which programs wait for, are *beyond* times as many as the driver gives to *device* at once."""
    depth, reads = device.queue.depth, load.read.ios or 0.0
    return (
        bool(depth)
        and (load.aqu or 0.0) >= beyond * (depth or 1)
        and 2 * reads >= (load.total.ios or 0.0)
    )


@Rule(
    "SM404",
    Severity.INFO,
    title="Reads of {device} wait for its writes",
    outcome=Outcome.OVERLOADED,
    sentence="Reads of {device} wait for its writes: the mix limits them to {reads}, not the device. "
    "All {intervals} intervals have {mix} writes per read, within {spread}. Read await is "
    "{read_await}, write await {write_await}.",
    caveat="A steady load from many programs can have a constant mix too.",
    advice="In a benchmark, set separate read and write rates (fio `rate_iops`, not `rwmixread`).",
    source="Mixups with rwmixread (2023): 57 k reads/s in a fixed mix, 515 k without",
    thresholds={
        "intervals": (5, "count"),
        "spread": (0.02, "share", "mix within {}"),
        "slower": (2.0, "times", "write await {} the read await"),
        "queue": (0.9, "requests"),
    },
)
@PerStack
def coupled(context: Context, stack: StackFigures, limits: Limits) -> Observations:
    """Yield volumes with a constant mix of reads and writes, where writes are slower than reads."""
    name = stack.top.name
    loads = [part.loads[name] for part in context.series if name in part.loads]
    mixes = [mix for load in loads if (mix := ratio(load.write.ios, load.read.ios))]
    load = context.load(name)
    read, write = load.read.await_ms, load.write.await_ms
    if len(mixes) < max(len(loads), limits["intervals"]) or not read or not write:
        return
    # With no request in flight, nothing waits: the load has its own pace.
    queue = ((load.read.ios or 0.0) * read + (load.write.ios or 0.0) * write) / 1000
    if queue < limits["queue"]:
        return
    mean = sum(mixes) / len(mixes)
    spread = sqrt(sum((mix - mean) ** 2 for mix in mixes) / len(mixes)) / mean
    if spread <= limits["spread"] and write >= limits["slower"] * read:
        figures = {
            "mix": (mean, "times"),
            "spread": (spread, "share"),
            "intervals": (len(mixes), "count"),
            "read_await": (read, "ms"),
            "write_await": (write, "ms"),
            "reads": (load.read.ios, "requests/s"),
        }
        yield observe(name, figures)
