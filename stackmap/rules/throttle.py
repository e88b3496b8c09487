"""Does an I/O limit, or the one kernel thread of an array, hold the load back?"""

from collections.abc import Container, Iterable, Iterator, Mapping
from math import inf

from stackmap.ledger.device_state import thread_usage
from stackmap.ledger.layers import layers
from stackmap.model.cgroup_io import COST, DEPTH, IoLimit
from stackmap.model.device import Device, Kind, RaidThread
from stackmap.model.far_side import far_side
from stackmap.model.health import HEAT, LIMITS
from stackmap.model.load import ratio
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observation, Observations, Outcome, Rule, Severity, observe

UNITS = {"ios": "requests/s", "bytes": "bytes/s"}
DIRECTIONS = {"read": " (reads)", "write": " (writes)"}
# Slices per second in which blk-throttle counts the requests to a spinning disk (block/blk-throttle.c).
SLICES = 10
WHOLE = 0.97  # of what whole requests per slice come to, and at most as much more
OWN = "The figure is the group's own (io.stat)."
TOTAL = "The figure is the device's total: others may use it too."


@Rule(
    "SM701",
    Severity.WARNING,
    title="A cap limits {device}, not the disks",
    outcome=Outcome.THROTTLED,
    sentence="A cap limits {device}, not the disks: {user} may do {cap}{what} and does {done}.",
    caveat="A load that equals the cap by chance looks the same. {counted}[ Its tasks waited for I/O "
    "{stalled} of the time.]",
    advice="Raise the cap in {file} if needed. It counts requests to {device}, not those at the disks.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): 200 LV-side IOPS; cgroup v2 io.max",
    thresholds={"share_of_cap": (0.9, "share", "{} of the cap")},
)
def throttled(context: Context, limits: Limits) -> Observations:
    """Yield devices whose load reaches a cap."""
    for limit in context.limits:
        at_caps = (
            _at_cap(context, limit, kind, cap, limits["share_of_cap"])
            for kind, cap in limit.caps
            if kind not in (COST, DEPTH)
        )
        observed = next(filter(None, at_caps), None)
        if observed is not None:
            yield observed


def _at_cap(
    context: Context, limit: IoLimit, kind: str, cap: float, near: float
) -> Observation | None:
    direction, _, unit = kind.partition("_")
    if limit.uses:
        rates, beyond = [use.done.get(kind, 0.0) for use in limit.uses], inf
    else:  # not counted per group: the total of the device shows it only without other users
        parts = context.series or (context.interval,)
        flows = (p.loads[limit.device].flow(direction) for p in parts if limit.device in p.loads)
        rates, beyond = [getattr(flow, unit) or 0.0 for flow in flows], cap / near
    # Leave out intervals in which the load started, ended or paused.
    active = [rate for rate in rates if rate >= cap / 2]
    done = sum(active) / len(active) if active else 0.0
    # The kernel lets whole requests through in each slice of time.
    whole = (cap // SLICES * SLICES or cap) if unit == "ios" and limit.uses else cap
    if not near * cap <= done <= beyond and abs(done - whole) > (1 - WHOLE) * whole:
        return None
    figures = {
        "done": (done, UNITS[unit]),
        "cap": (cap, UNITS[unit]),
        "disks": (_at_disks(context, limit.device), "requests/s"),
        "stalled": (_mean(use.stalled for use in limit.uses), "share"),
    }
    words = {
        "user": limit.owner,
        "file": limit.source,
        "what": DIRECTIONS.get(direction, ""),
        "counted": OWN if limit.uses else TOTAL,
    }
    return observe(limit.device, figures, words, weight=done / cap)


def _at_disks(context: Context, top: str) -> float | None:
    """Return the requests per second that the disks below *top* complete; None if it is no top, or a disk."""
    if top not in context.tops:
        return None
    levels = layers(context.topology, top)
    return context.ledger.flow(levels[-1].devices, "total").ios if len(levels) > 1 else None


@Rule(
    "SM702",
    Severity.WARNING,
    title="A limit on the other side holds {device}",
    outcome=Outcome.THROTTLED,
    sentence="{device} is held at a limit: {done} in each of {parts} intervals (within {spread}), while {queue} "
    "requests are in flight. It is {kind}, so the limit is set on the other side.",
    caveat="A program that sends at a constant rate looks the same, if its requests also queue.",
    advice="Check {look}. If the limit is meant, lower the load: requests only wait.",
    source="QEMU docs/throttle.txt; Amazon EBS volume types: IOPS and throughput limits",
    thresholds={
        "intervals": (6, "count"),
        "spread": (0.02, "share", "rates within {}"),
        "queue": (2.0, "requests"),
        "requests": (100, "count"),
    },
)
def provider_limit(context: Context, limits: Limits) -> Observations:
    """Yield remote and virtual disks whose rate, or bytes per second, is the same in all intervals, with a queue."""
    counted = {limit.device for limit, _, _ in _over(context, LIMITS)}  # the disk itself tells
    for device in context.disks:
        far = None if device.name in counted else far_side(device)
        loads = [part.loads[device.name] for part in context.series if device.name in part.loads]
        if far is None or len(loads) < limits["intervals"]:
            continue
        queue = min(load.aqu or 0.0 for load in loads)
        load = context.load(device.name)
        if queue < limits["queue"] or not context.enough(load.total.ios, limits["requests"]):
            continue
        for unit in ("ios", "bytes"):
            rates = [getattr(load.total, unit) or 0.0 for load in loads]
            spread = ratio(max(rates) - min(rates), max(rates))
            if spread is not None and spread <= limits["spread"]:
                figures = {
                    "done": (sum(rates) / len(rates), UNITS[unit]),
                    "spread": (spread, "share"),
                    "parts": (len(rates), "count"),
                    "queue": (load.aqu, "requests"),
                    "await": (load.total.await_ms, "ms"),
                }
                yield observe(device.name, figures, {"kind": far.what, "look": far.look})
                break


@Rule(
    "SM703",
    Severity.WARNING,
    title="{device} is over {limit}",
    outcome=Outcome.THROTTLED,
    sentence="{device} was over {limit} for {over} of the time, as the disk itself counts: Amazon delays what is "
    "beyond a limit.",
    advice="Raise {limit}, or lower the load. Another layout on the same volumes does not remove this wait.",
    source="Amazon EBS user guide, detailed performance statistics: NVMe log page 0xD0",
    thresholds={"over": (0.1, "share", "{} of the time"), "watched": (60, "s", "in {} or more")},
)
def over_limit(context: Context, limits: Limits) -> Observations:
    """Yield disks of Amazon that count time over one of their limits during the measurement."""
    for cap, limit, over in _over(context, LIMITS):
        if cap.watched >= limits["watched"] and over >= limits["over"]:
            yield observe(cap.device, {"over": (over, "share")}, {"limit": limit}, weight=over)


def _over(context: Context, causes: Container[str]) -> Iterator[tuple[IoLimit, str, float]]:
    """Yield what disks count in which they were held back: the cause among *causes* with most time, and its share of the time."""
    for cap in context.limits:
        counted = [(seconds, cause) for cause, seconds in cap.over if cause in causes]
        if counted:
            seconds, cause = max(counted)
            # An answer may be older than its sample.
            yield cap, cause, min(1.0, seconds / cap.watched)


@Rule(
    "SM704",
    Severity.WARNING,
    title="{device} slows itself down: it is too hot",
    outcome=Outcome.THROTTLED,
    sentence="{device} slowed itself down for {over} of the time because it was too hot ({seconds} in {watched}), as "
    "the disk itself counts.",
    caveat="Only throttling at the temperatures that the host set is counted (NVMe's host-controlled thermal management).",
    advice="Check its cooling, and `nvme smart-log /dev/{kernel_name}` over time. Another layout does not help.",
    source="NVM Express base specification, SMART log: total time for thermal management temperature 1 and 2",
    thresholds={"over": (0.05, "share", "{} of the time"), "watched": (60, "s", "in {} or more")},
)
def too_hot(context: Context, limits: Limits) -> Observations:
    """Yield disks that count time in which heat slowed them down during the measurement."""
    for cap, _, over in _over(context, (HEAT,)):
        if cap.watched >= limits["watched"] and over >= limits["over"]:
            figures = {
                "over": (over, "share"),
                "seconds": (dict(cap.over)[HEAT], "s"),
                "watched": (cap.watched, "s"),
            }
            yield observe(cap.device, figures, {"kernel_name": cap.device}, weight=over)


@Rule(
    "SM705",
    Severity.WARNING,
    title="The kernel's io.cost limits {device}",
    outcome=Outcome.THROTTLED,
    sentence="The kernel's model of {device} (io.cost) limits it: the requests used {used} of the time that the model "
    "gives the disk[, at {speed} of the speed that was set].[ Tasks waited for I/O {stalled} of the time.]",
    caveat="Requests wait for the model before the queue of the disk, so await does not contain this wait.",
    advice="Compare /sys/fs/cgroup/io.cost.model and {file} with what the disk can do, or the weights (io.weight) of the "
    "control groups: `stackmap blame {kernel_name}`.",
    source="Linux admin-guide/cgroup-v2.rst, io.cost.qos; block/blk-iocost.c",
    thresholds={"used": (0.9, "share", "{} of the budget")},
)
def cost_limited(context: Context, limits: Limits) -> Observations:
    """Yield disks whose budget by io.cost is used up."""
    for cap in context.limits:
        active = [use for use in cap.uses if use.done.get(COST, 0.0) >= limits["used"] / 2]
        used = _mean(use.done[COST] for use in active)
        if used is None or used < limits["used"]:
            continue
        # The kernel adds up what was used some time later.
        figures = {
            "used": (min(1.0, used), "share"),
            "speed": (_mean(use.speed for use in active), "share"),
            "stalled": (_mean(use.stalled for use in active), "share"),
        }
        words = {"file": cap.source, "kernel_name": cap.device}
        yield observe(cap.device, figures, words, weight=used)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


@Rule(
    "SM706",
    Severity.WARNING,
    title="io.latency limits {user} on {device}",
    outcome=Outcome.THROTTLED,
    sentence="io.latency limits the queue depth of {user} on {device} to {depth}, because requests of another control "
    "group were later than its target.",
    caveat="The kernel changes this number all the time; it was read once.",
    advice="Compare the targets with what the disk can do: `grep . /sys/fs/cgroup/*/io.latency`.",
    source="Linux admin-guide/cgroup-v2.rst, IO Latency; block/blk-iolatency.c",
)
def latency_limited(context: Context, _: Limits) -> Observations:
    """Yield control groups whose queue on a disk io.latency limits."""
    for limit in context.limits:
        for kind, depth in limit.caps:
            if kind == DEPTH:
                figures = {"depth": (depth, "count")}
                yield observe(
                    limit.device, figures, {"user": limit.owner}, weight=1 / max(1.0, depth)
                )


DM_RAID = "mdX"  # the name of every array of LVM (dm-raid.c)


@Rule(
    "SM411",
    Severity.WARNING,
    title="{device} waits for its kernel thread",
    outcome=Outcome.OVERLOADED,
    sentence="{device} waits for its kernel thread, not for its disks: {thread} uses {cpu} of one "
    "CPU. {queue} requests are in flight at {device}[, at most {disk_queue} on a disk].",
    caveat="The thread also does resyncs and checks.",
    advice="{remedy}",
    source="Linux admin-guide/md.rst, group_thread_cnt; Linux drivers/md/raid5.c, raid5d",
    thresholds={
        "cpu": (0.9, "share", "thread busy {}"),
        "queue": (4, "requests"),
        "disk_queue": (1, "requests", "disks' queue depth up to {}"),
    },
)
def md_bound(context: Context, limits: Limits) -> Observations:
    """Yield arrays that queue requests while their disks are idle and a thread of theirs is not."""
    usage = thread_usage(context.readings)
    for raid in context.measured:
        threads = _threads(raid, usage)
        queue = context.load(raid.name).aqu
        if not threads or queue is None:
            continue
        topology = context.topology
        disks = (name for name in topology.disks_of(raid.name) if name != raid.name)
        queues = (context.load(name).aqu for name in disks)
        disk_queue = max((queue for queue in queues if queue is not None), default=None)
        busiest = max(threads, key=lambda thread: threads[thread])
        if (
            threads[busiest] >= limits["cpu"]
            and queue >= limits["queue"]
            and (disk_queue or 0.0) <= limits["disk_queue"]
        ):
            figures = {
                "cpu": (min(1.0, threads[busiest]), "share"),  # ticks of 10 ms round up
                "queue": (queue, "requests"),
                "disk_queue": (disk_queue, "requests"),
            }
            words = {"thread": _name(busiest, len(threads)), "remedy": _remedy(raid)}
            yield observe(raid.name, figures, words, weight=threads[busiest])


def _threads(raid: Device, usage: Mapping[RaidThread, float]) -> dict[RaidThread, float]:
    """Return the threads that may be of *raid*; of LVM all that serve its level."""
    if raid.layout is None or (raid.kind is not Kind.ARRAY and raid.target != "raid"):
        return {}
    array = raid.name if raid.kind is Kind.ARRAY else DM_RAID
    return {t: cpu for t, cpu in usage.items() if t.name == f"{array}_{raid.layout.level}"}


def _name(busiest: RaidThread, number: int) -> str:
    """Return the thread's name and id; of several with that name, that the volume's own is unknown."""
    if number == 1:
        return f"{busiest.name} (process {busiest.pid})"
    return (
        f"one of {number} threads named {busiest.name} (process {busiest.pid}; LVM does not show "
        "which of them is this volume's)"
    )


def _remedy(raid: Device) -> str:
    if raid.layout is None or not raid.layout.parity:
        return "Divide the load among several arrays."
    if raid.kind is not Kind.ARRAY:
        return "LVM cannot give it more threads: use md (mdadm), RAID10, or several volumes."
    return f"Use more threads: echo 4 > /sys/block/{raid.name}/md/group_thread_cnt"
