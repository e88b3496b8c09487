"""Does a device complete nothing, and do its own figures contradict each other?"""

from itertools import pairwise
from statistics import median
from typing import NamedTuple

from stackmap.model.device import Device, Kind
from stackmap.model.far_side import far_side
from stackmap.model.load import Load
from stackmap.model.topology import NO_TOPOLOGY, computed_once
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, observe

STUCK = "stuck-in-flight"  # a correction: busy all the time with nothing completed
SUSPENDED = "suspended"
LEAKED = 4  # requests that a driver's counter may have kept
ALWAYS = 0.99  # the busy share that this makes


class Stall(NamedTuple):
    """
    The longest time in which requests were in flight and none completed.

    ``seconds`` and ``in_flight`` (requests): None if unknown. ``lasts``: until the end; ``grew``: more
    requests were in flight at its end than at its beginning, so the gauge moves.
    """

    seconds: float | None
    in_flight: float | None
    lasts: bool
    grew: bool


@Rule(
    "SM305",
    Severity.CRITICAL,
    title="{device} hangs",
    outcome=Outcome.HUNG,
    sentence="{device} hangs: {in_flight} requests in flight, none completed[ for {stalled}].[ {above} waits for it.]"
    "[ Suspended below it: {suspended}.]",
    caveat="A driver may recover by itself: SCSI aborts a request after 30 s. {recovered}",
    advice="{look}",
    source="Linux admin-guide/iostats.rst, field 9 (in flight); block/blk-mq.c, blk_mq_in_flight",
    thresholds={"stalled": (3.0, "s", "for {}")},
)
def hung(context: Context, limits: Limits) -> Observations:
    """Yield devices with requests in flight of which none completes, the lowest one of each stack."""
    topology, stalls = context.topology, stalled(context, limits["stalled"])
    disks = {disk.name for disk in context.disks}
    # Without a topology, what hangs beside a disk may be above it.
    unplaced = NO_TOPOLOGY in topology.unknown and not disks.isdisjoint(stalls)
    for name, stall in stalls.items():
        below = topology.with_all_below(name)[1:]
        if not stalls.keys().isdisjoint(below) or (unplaced and name not in disks):
            continue
        if not _is_sure(context, name, stall):
            continue
        halted = [topology[n].title for n in below if SUSPENDED in (topology[n].state or "")]
        above = [topology[n].title for n in topology.with_all_above(name)[1:] if n in stalls]
        words = {
            "recovered": "" if stall.lasts else "It completes requests again.",
            "look": _look(context, topology[name], halted),
            "above": ", ".join(above[-3:]),
            "suspended": ", ".join(halted),
        }
        figures = {"stalled": (stall.seconds, "s"), "in_flight": (stall.in_flight, "requests")}
        severity = None if stall.lasts else Severity.WARNING
        weight = stall.seconds or limits["stalled"]
        yield observe(name, figures, words, weight=weight, severity=severity)


@Rule(
    "SM306",
    Severity.CRITICAL,
    title="{device} is suspended",
    outcome=Outcome.HUNG,
    sentence="{device} is suspended: requests to it wait until it is resumed, and none is counted.[ {above} waits "
    "for it.]",
    caveat="LVM suspends a volume for an instant while it changes it.",
    advice="If no LVM command runs, resume it: `dmsetup resume /dev/{kernel_name}`.",
    source="dmsetup(8), suspend; Linux drivers/md/dm.c, DMF_BLOCK_IO_FOR_SUSPEND",
    is_state=True,
)
def suspended(context: Context, _: Limits) -> Observations:
    """Yield devices whose requests wait until `dmsetup resume`."""
    topology = context.topology
    for device in context.devices:
        if SUSPENDED in (device.state or ""):
            above = [topology[name].title for name in topology.with_all_above(device.name)[1:]]
            words = {"kernel_name": device.name, "above": ", ".join(above[-3:])}
            yield observe(device.name, words=words)


def _look(context: Context, device: Device, halted: list[str]) -> str:
    """Return the advice for a *device* that hangs; *halted*: the suspended ones below it."""
    if halted:
        return f"Find out who suspended {halted[-1]}, then run dmsetup resume on it."
    far = far_side(device)
    if far is not None:
        return f"It is {far.what}: check {far.look}."
    below = [context.topology[n].title for n in context.topology.with_all_below(device.name)[1:]]
    if below:
        return (
            f"Check the devices below it first: {', '.join(below[:4])}. Then read the kernel log."
        )
    return "Read the kernel log (dmesg -T) for timeouts and resets. Check its cable, port and controller."


@computed_once
def stalled(context: Context, least: float) -> dict[str, Stall]:
    """Return the stall of each device that completed nothing for *least* seconds or more."""
    known = ((device.name, _stall(context, device.name)) for device in context.measured)
    return {
        name: stall
        for name, stall in known
        if stall is not None and (stall.seconds is None or stall.seconds >= least)
    }


def _stall(context: Context, name: str) -> Stall | None:
    if f"{STUCK}: {name}" in context.corrections:
        loads = [part.loads[name] for part in context.series if name in part.loads]
        gauges = [x for x in (load.in_flight_at_ends for load in loads) if x is not None]
        seconds = context.interval.seconds or _timed(context)
        gauge = gauges[-1] if gauges else context.load(name).in_flight_at_ends
        in_flight = None if gauge is None else gauge / 2
        return Stall(seconds, in_flight, lasts=True, grew=bool(gauges) and gauges[-1] > gauges[0])
    longest: Stall | None = None
    run: list[tuple[float, int]] = []  # seconds and gauge of intervals in a row
    parts = context.series
    lengths = _lengths(context)
    for number, part in enumerate(parts):
        load = part.loads.get(name)
        waiting = load is not None and _completes_nothing(load)
        if load is not None and waiting:
            busy = 1.0 if load.busy is None else load.busy
            run.append((lengths[number] * min(1.0, busy), load.in_flight_at_ends or 0))
        if run and (not waiting or number == len(parts) - 1):
            seconds = sum(length for length, _ in run)
            grew = run[-1][1] > run[0][1]
            if longest is None or seconds > (longest.seconds or 0.0):
                longest = Stall(seconds, run[-1][1] / 2, lasts=waiting, grew=grew)
            run = []
    return longest


@computed_once
def _lengths(context: Context) -> list[float]:
    """Return the seconds of each part of the series; of a text, those since the end of the one before; 1 if unknown."""
    since = _since(context)
    usual = median(known) if (known := list(filter(None, since))) else 1.0  # of the first
    return [
        part.seconds or apart or usual for part, apart in zip(context.series, since, strict=True)
    ]


def _since(context: Context) -> list[float | None]:
    """Return the seconds between the end of each part of the series and that of the one before; None if unknown."""
    ends = [part.time if part.clock is None else part.clock for part in context.series]
    return [
        b - a if a is not None and b is not None and b > a else None
        for a, b in pairwise((None, *ends))
    ]


def _timed(context: Context) -> float | None:
    """Return the seconds of the series together; None if a text tells no times."""
    return sum(_lengths(context)) if any(_since(context)) else None


def _completes_nothing(load: Load) -> bool:
    """Whether requests are in flight and none completed, discards and flushes included."""
    return bool(load.in_flight_at_ends) and load.idle and not (load.discard.ios or load.flush.ios)


def _is_sure(context: Context, name: str, stall: Stall) -> bool:
    """
    Whether *name* hangs, rather than its gauge being wrong.

    blk-mq counts the requests that a driver holds. md and most of dm count up and down, and some kernels lose one.
    """
    device, topology = context.topology[name], context.topology
    if not stall.in_flight:
        return False  # a text with an impossible queue
    if stall.in_flight <= LEAKED and _never_drops(context, name, stall.in_flight):
        return False
    states = (topology[below].state or "" for below in topology.with_all_below(name)[1:])
    counts_up = device.kind is Kind.ARRAY or bool(topology.below(name)) or name[:3] in ("dm-", "md")
    return stall.grew or not counts_up or any(SUSPENDED in state for state in states)


def _never_drops(context: Context, name: str, gauge: float) -> bool:
    """Whether the queue is at least as long as the *gauge* of a stall while *name* completes requests, and always busy."""
    loads = [part.loads[name] for part in context.series if name in part.loads]
    serving = [load for load in loads if not load.idle and load.aqu is not None]
    return bool(serving) and all(
        (load.aqu or 0.0) >= gauge and (load.busy or 0.0) >= ALWAYS for load in serving
    )


@Rule(
    "SM801",
    Severity.INFO,
    title="{device} hangs, or counts wrong",
    outcome=Outcome.HUNG,
    sentence="{device} hangs, or its in-flight counter is stuck: always busy, nothing completed. Its queue "
    "depth and utilisation mean nothing.",
    caveat="The counter did not change, and no known device below it hangs.",
    advice="List waiting processes: `ps axo stat,pid,comm,wchan`. With one in state D, see the kernel "
    "log. Without one, only the counter is wrong, until the device is recreated.",
    source="stackmap-kernel(7), Corrections; Linux drivers/md/md.c",
    superseded_by=("SM305",),
    joins_peers=True,
)
def stuck_counter(context: Context, _: Limits) -> Observations:
    """Yield devices whose in-flight counter never drops, where a hang is not proved."""
    stalls = stalled(context, hung.limits["stalled"])
    for name in stalls:
        explained = not stalls.keys().isdisjoint(context.topology.with_all_below(name)[1:])
        if f"{STUCK}: {name}" in context.corrections and not explained:
            yield observe(name)


@Rule(
    "SM803",
    Severity.INFO,
    title="The figures of {device} contradict each other",
    outcome=Outcome.STATE,
    sentence="The figures of {device} contradict each other: {rate} of {await} keep {possible} requests in "
    "flight, not {queue}. Its queue depth means nothing.",
    caveat="Requests that have waited since before the measurement also do this.",
    advice="Read the kernel log for timeouts. Compare with `cat /sys/block/{kernel_name}/inflight`.",
    source="J. Little (1961): requests in flight = rate × await",
    thresholds={
        "excess": (1.0, "requests", "{} more"),
        "times": (3.0, "times", "{} the possible queue"),
        "parts": (0.6, "share", "in {} of intervals"),
    },
    superseded_by=("SM305", "SM801"),
)
def impossible(context: Context, limits: Limits) -> Observations:
    """Yield devices whose rate and await cannot make their queue."""
    for device in context.measured:
        load = context.load(device.name)
        if not contradicts(load, limits):
            continue
        parts = context.series or (context.interval,)
        loads = [part.loads[device.name] for part in parts if device.name in part.loads]
        if sum(contradicts(past, limits) for past in loads) < limits["parts"] * len(loads):
            continue
        figures = {
            "rate": (load.total.ios, "requests/s"),
            "await": (load.total.await_ms, "ms"),
            "possible": (_in_flight(load), "requests"),
            "queue": (load.aqu, "requests"),
        }
        yield observe(device.name, figures, {"kernel_name": device.name})


def contradicts(load: Load, limits: Limits) -> bool:
    """Whether the queue is far longer than rate and await make; False where one is unknown."""
    possible = _in_flight(load)
    if possible is None or load.aqu is None or not load.total.ios:
        return False
    return load.aqu >= max(possible + limits["excess"], limits["times"] * possible)


def _in_flight(load: Load) -> float | None:
    """Return the mean requests in flight by Little's law, flushes and discards included."""
    waits = (load.total.wait, load.discard.wait or 0.0, load.flush.wait or 0.0)
    return None if waits[0] is None else sum(wait or 0.0 for wait in waits) / 1000
