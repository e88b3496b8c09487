"""Is one member of an array slower than its peers, or does it get more load?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from stackmap.ledger.blame import blame
from stackmap.ledger.device_state import write_mostly
from stackmap.model.device import Device
from stackmap.model.far_side import far_side
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, total_of
from stackmap.model.topology import Topology
from stackmap.rules.context import Context
from stackmap.rules.disk import service_ms
from stackmap.rules.rule import (
    LIGHT,
    Figure,
    Found,
    Limits,
    Observation,
    Outcome,
    Rule,
    Severity,
    observe,
)
from stackmap.rules.saturation import overloaded

DIRECTIONS = ("total", "write", "read")  # total first: it has the most requests


class Outlier(NamedTuple):
    """The device with the highest *value*, and its peers' values and median."""

    name: str
    value: float
    median: float
    peers: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """Value ÷ median of the peers (leave-one-out: four values are too few for quartiles)."""
        return self.value / self.median if self.median else float("inf")


def outlier(values: Mapping[str, float | None]) -> Outlier | None:
    """Return the device with the highest value; None if any value is unknown."""
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < len(values):
        return None
    name = max(known, key=lambda candidate: known[candidate])
    value = known.pop(name)
    return Outlier(name, value, median(known.values()), known)


class PeerGroup(NamedTuple):
    """Peers in one direction of their load: "total", "write" or "read"."""

    context: Context
    raid: Device
    names: tuple[str, ...]
    direction: str

    def flows(self) -> dict[str, Flow]:
        """Return the load of each peer in this direction."""
        return {n: self.context.load(n).flow(self.direction) for n in self.names}

    def awaits(self, part: Interval) -> dict[str, float | None]:
        """Return the await of each peer in *part*; None if unknown."""
        return {
            n: part.loads[n].flow(self.direction).await_ms if n in part.loads else None
            for n in self.names
        }


SIMILAR, FEWER = "a similar request rate", "no more requests"
SAME_SIZE = 2.0  # times: requests that differ more in size are not compared
FOREIGN = 0.25  # share of a disk's load from outside the array that may slow it down
CAP_PARTS = 3  # parts of an interval that are needed to recognise a cap


@Rule(
    "SM202",
    Severity.WARNING,
    title="{device} is {ratio}× as slow as its peers",
    outcome=Outcome.SICK,
    sentence="{device} has a {what} await of {took}: {ratio}× its peers in {array} ({peers}: median "
    "{others}) at {load} ({rate}).",
    caveat="A different model, firmware, port or use also slows a member; near saturation, so does "
    "slightly more load. {doubt}",
    advice="[Compare `smartctl -a` and the cable of {local} with a peer's. ][Check {far}. ]Requests to {array} "
    "wait for {device}.[ If it stays the slowest, replace {local}.]",
    source="J. Young, High Disk I/O Usage, Part Two (2019): sdd against sdb, sdc, sde",
    thresholds={
        "slower": (1.5, "times", "{} the median"),
        "await": (5.0, "ms", "{} longer"),
        "rate_difference": (0.25, "share", "rates within {}"),
        "requests": (50, "count"),
        "slow_intervals": (0.6, "share", "in {} of intervals"),
        "chance": (200, "count", "info below {} requests at twice the median"),
        "cap_difference": (0.03, "share", "not capped: rates differ by {}"),
        "saturated": (0.95, "share", "info if all are busy {}"),
        "next_slowest": (1.25, "times", "info below {} the next slowest"),
        "quiet_queue": (1.0, "requests", "info if fast up to queue depth {}"),
        "quiet_requests": (10, "count", "from {} requests"),
        "lasting": (10, "count", "below {} slow intervals"),
        "avoided": (3.0, "times", "of copies with fewer requests: {} await and service time"),
    },
    superseded_by=("SM201", "SM206"),
    labels={
        "others": "median of its peers",
        "slow": "slow intervals",
        "judged": "intervals judged",
    },
)
def slow_member(context: Context, limits: Limits) -> Found:
    """Yield a member of an array that is clearly slower than its peers."""
    reported: set[str] = set()
    for raid, names in context.peers:
        if reported & set(context.topology.with_all_below(raid.name)):
            continue  # a slower device below already explains it
        alike = _without_write_mostly(context.topology, raid, names)
        if len(alike) < 2:
            continue
        groups = (PeerGroup(context, raid, alike, direction) for direction in DIRECTIONS)
        observed = next(filter(None, (_slow(group, limits) for group in groups)), None)
        if observed is not None:
            reported.add(observed.device)
            yield observed


def _without_write_mostly(
    topology: Topology, raid: Device, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return *names* without write-mostly members and what is below them: these are meant to be slower."""
    slower = {
        name for member in write_mostly(topology, raid) for name in topology.with_all_below(member)
    }
    return tuple(name for name in names if name not in slower)


def _slow(group: PeerGroup, limits: Limits) -> Observation | None:
    context = group.context
    slowest = outlier(group.awaits(context.interval))
    if slowest is None or not slowest.median or _has_neighbour(group, slowest):
        return None
    if not _same_load(group, limits["rate_difference"]) and not _is_avoided(group, slowest, limits):
        return None
    if not context.enough(group.flows()[slowest.name].ios, limits["requests"]):
        return None
    if slowest.ratio < limits["slower"] or slowest.value < slowest.median + limits["await"]:
        return None
    if _all_at_cap(group, limits["cap_difference"]) or _served_more(
        group, slowest, limits["rate_difference"]
    ):
        return None
    slow, judged = _slow_parts(group, slowest, limits["slower"])
    if judged and slow / judged < limits["slow_intervals"]:
        return None
    queues = _overloaded(group)
    doubt = _doubt(group, slowest, slow, len(queues), limits)
    # Of a disk that only queues, the overload is the finding.
    if doubt and (not judged or slowest.name in queues):
        return None
    observed = _slow_observation(group, slowest, slow, judged, doubt)
    return observed._replace(severity=Severity.INFO if doubt else None)


def _is_avoided(group: PeerGroup, slowest: Outlier, limits: Limits) -> bool:
    """
    Whether *slowest* is a copy that gets fewer requests and still needs far longer for each.

    The kernel reads from the copy with the shorter queue, so a slow one is never at the rate of its
    peers. It is judged by service time too; near saturation, where NCQ serves a longer queue faster,
    only if no peer has the longer queue.
    """
    loads = {name: group.context.load(name) for name in group.names}
    services = {name: service_ms(load) for name, load in loads.items()}
    slow, sizes = outlier(services), [load.total.size or 0.0 for load in loads.values()]
    if not group.raid.layout or group.raid.layout.copies < 2 or slow is None:
        return False
    own, others = (
        loads[slowest.name].total.ios or 0.0,
        [loads[n].total.ios or 0.0 for n in slowest.peers],
    )
    return (
        slow.name == slowest.name
        and min(slowest.ratio, slow.ratio) >= limits["avoided"]
        and own <= max(others)
        and max(sizes) <= SAME_SIZE * min(sizes)
        and not (_all_saturated(group, limits["saturated"]) and _peer_queues_more(group, slowest))
    )


def _peer_queues_more(group: PeerGroup, slowest: Outlier) -> bool:
    """Whether a peer of *slowest* has more requests in flight."""
    queues = {name: group.context.load(name).aqu or 0.0 for name in group.names}
    return max(queues[name] for name in slowest.peers) > queues[slowest.name]


def _has_neighbour(group: PeerGroup, slowest: Outlier) -> bool:
    """Whether other volumes send more to the disks of *slowest* than to those of its peers."""
    shares = {name: _foreign_share(group, name) for name in group.names}
    own = shares.pop(slowest.name)
    return own >= FOREIGN and own > 2 * median(shares.values())


def _foreign_share(group: PeerGroup, name: str) -> float:
    """Return the share of requests or bytes, the larger, that others than the array send to the disks of *name*."""
    context, shares = group.context, [0.0]
    tops = context.topology.tops_of(group.raid.name)
    for disk in context.topology.disks_of(name):
        if disk in context.loads and len(context.topology.tops_of(disk)) > len(tops):
            sources = blame(context.ledger, disk, idle=False)
            others = [
                each for each in sources.loaders if each.tops and not tops.issuperset(each.tops)
            ]
            shares.append(sum(sources.share(each) or 0.0 for each in others))
            shares.append(sum(sources.byte_share(each) or 0.0 for each in others))
    return max(shares)


def _doubt(group: PeerGroup, slowest: Outlier, slow: int, queues: int, limits: Limits) -> str:
    """
    Return why the queue or chance may explain the await better than a slow disk; "" if they do not.

    *slow*: in how many intervals it was slower, 0 if there is only one. *queues*: overloaded peers.
    """
    saturated = queues > 1 or _all_saturated(group, limits["saturated"])
    if saturated and not _is_avoided(group, slowest, limits):
        return "This is only a remark, because several peers are saturated."
    if slow and slowest.value < limits["next_slowest"] * max(slowest.peers.values()):
        return "This is only a remark, because another peer is nearly as slow."
    if slow < limits["lasting"] and _fast_without_queue(group, slowest, limits):
        return "This is only a remark, because it was much slower only with a long queue."
    if _by_chance(group, slowest, limits):
        return "This is only a remark, because so few requests may be slower by chance."
    return ""


def _by_chance(group: PeerGroup, slowest: Outlier, limits: Limits) -> bool:
    """
    Whether a mean of so few requests varies as much by chance; False if their number is unknown.

    Twice the await needs ``chance`` requests; the number falls with the square of the difference.
    """
    seconds = group.context.interval.seconds
    if seconds is None:
        return False
    requests = (group.flows()[slowest.name].ios or 0.0) * seconds
    return requests * (slowest.ratio - 1) ** 2 < limits["chance"]


def _fast_without_queue(group: PeerGroup, slowest: Outlier, limits: Limits) -> bool:
    """Whether *slowest* is mostly as fast as its peers in the intervals in which it hardly queues."""
    quiet = [
        part
        for part in group.context.series
        if (load := part.loads.get(slowest.name)) is not None
        and load.aqu is not None
        and load.aqu <= limits["quiet_queue"]
        and (load.total.ios or 0.0) * (part.seconds or 1.0) >= limits["quiet_requests"]
    ]
    slow, judged = _slow_parts(group, slowest, limits["slower"], limits["await"], quiet)
    return judged > 0 and slow / judged < limits["slow_intervals"]


def _slow_observation(
    group: PeerGroup, slowest: Outlier, slow: int, judged: int, doubt: str
) -> Observation:
    figures: dict[str, Figure] = {
        "took": (slowest.value, "ms"),
        "others": (slowest.median, "ms"),
        "ratio": (slowest.ratio, "times"),
        "rate": (group.flows()[slowest.name].ios, "requests/s"),
        "queue": (group.context.load(slowest.name).aqu, "requests"),
        "slow": (slow if judged else None, "count"),
        "judged": (judged or None, "count"),
        **{f"await_{name}": (ms, "ms", name) for name, ms in slowest.peers.items()},
    }
    topology = group.context.topology
    words = {
        "array": group.raid.title,
        "disks": ", ".join(topology[name].title for name in topology.disks_of(slowest.name)),
        "load": SIMILAR if _same_load(group, slow_member.limits["rate_difference"]) else FEWER,
        "peers": ", ".join(topology[name].title for name in slowest.peers),
        "what": "mean" if group.direction == "total" else group.direction,
        "doubt": doubt,
    }
    disks = topology.disks_of(slowest.name)
    far, waits = (
        far_side(topology[disks[0]]),
        [group.context.load(name).total.await_ms for name in disks],
    )
    if slowest.name not in disks and all(ms is not None and 2 * ms < slowest.value for ms in waits):
        words["far"] = (
            f"{topology[slowest.name].title} itself: requests wait in it, not at {words['disks']}"
        )
    elif far is not None:
        words["far"] = far.look
    else:
        words["local"] = words["disks"]
    return observe(slowest.name, figures, words, weight=slowest.ratio)


def _all_at_cap(group: PeerGroup, tolerance: float) -> bool:
    """
    Whether every peer serves the same rate in every part of the interval, always with a queue.

    A cap per disk does this. A slow disk limits its peers to its own rate, but they do not queue.
    """
    series, names = group.context.series, group.names
    loads = [part.loads[name] for part in series for name in names if name in part.loads]
    rates = [load.total.ios or 0.0 for load in loads]
    queues = [load.aqu or 0.0 for load in loads]
    if len(rates) < CAP_PARTS * len(names) or not min(rates):
        return False
    return max(rates) <= (1 + tolerance) * min(rates) and min(queues) >= 1


def _all_saturated(group: PeerGroup, busy: float) -> bool:
    """Whether every peer is *busy* nearly all the time and has more than one request in flight."""
    loads = [group.context.load(name) for name in group.names]
    return all((load.busy or 0.0) >= busy and (load.aqu or 0.0) > 1 for load in loads)


def _served_more(group: PeerGroup, slowest: Outlier, tolerance: float) -> bool:
    """Whether the disks below *slowest* serve more requests than its peers', as where fewer merge; False if unknown."""
    topology, load = group.context.topology, group.context.load
    rates = {
        name: total_of(load(disk).total.ios for disk in topology.disks_of(name))
        for name in group.names
    }
    own = rates.pop(slowest.name)
    others = [rate for rate in rates.values() if rate is not None]
    return own is not None and len(others) == len(rates) and own > (1 + tolerance) * median(others)


def _overloaded(group: PeerGroup) -> set[str]:
    """Return the peers on overloaded disks: a slow disk limits the others, which then do not queue."""
    devices = {observed.device for observed in overloaded.find(group.context, overloaded.limits)}
    below = group.context.topology.with_all_below
    return {name for name in group.names if not devices.isdisjoint(below(name))}


def _same_load(group: PeerGroup, tolerance: float) -> bool:
    """Whether the peers get similar request rates; in total, similar reads and similar writes."""
    loads = [group.context.load(name) for name in group.names]
    kinds = ("read", "write") if group.direction == "total" else (group.direction,)
    rates = [[load.flow(kind).ios for load in loads] for kind in kinds]
    if group.direction == "total" and any(None in group_rates for group_rates in rates):
        rates = [[load.total.ios for load in loads]]
    whole = sum(rate or 0.0 for group_rates in rates for rate in group_rates)
    return whole > 0 and all(_similar(group_rates, tolerance, whole / 10) for group_rates in rates)


def _similar(rates: Sequence[float | None], tolerance: float, negligible: float) -> bool:
    """Whether *rates* are known and similar, or *negligible* in sum."""
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return False
    return sum(known) < negligible or max(known) <= (1 + tolerance) * min(known)


def _slow_parts(
    group: PeerGroup,
    slowest: Outlier,
    ratio: float,
    least: float = 0.0,
    parts: Sequence[Interval] | None = None,
) -> tuple[int, int]:
    """Return in how many *parts* (None: all) *slowest* was slower by *ratio* and *least* ms, and those judged."""
    slow = judged = 0
    for part in group.context.series if parts is None else parts:
        awaits = group.awaits(part)
        own = awaits.pop(slowest.name)
        others = [ms for ms in awaits.values() if ms is not None]
        if own is not None and len(others) == len(awaits) and median(others):
            judged += 1
            slow += own >= max(ratio * median(others), median(others) + least)
    return slow, judged


@Rule(
    "SM203",
    Severity.WARNING,
    title="{array} has uneven load",
    sentence="{array} has uneven load: {device} gets {bytes} of {what}, its median peer {others_bytes}.",
    caveat="A small hot file or a short measurement does this by chance.",
    advice="Run `stackmap check`: hot blocks spaced by a multiple of the stripe, or a start inside a "
    "chunk, load one member.",
    source="Linux drivers/md/raid5.c, raid5_compute_sector: data and parity rotate",
    thresholds={"ratio": (2.0, "times", "{} the median"), "requests": (500, "count"), **LIGHT},
    labels={"others_bytes": "median bytes of its peers"},
)
def unequal_load(context: Context, limits: Limits) -> Found:
    """Yield a member with far more load than its peers where the layout spreads data evenly."""
    reported: set[str] = set()
    for raid, names in context.peers:
        layout, tops = raid.layout, context.topology.tops_of(raid.name)
        if layout is None or layout.level == "linear" or raid.name in reported:
            continue
        if layout.has_parity_members:
            continue  # these get the parity of all writes
        if any(context.topology.tops_of(name) != tops for name in names):
            continue  # other volumes also use these disks
        # The kernel chooses the copy to read by queue and position: only writes are equal.
        direction = "write" if layout.copies > 1 else "total"
        observed = _most_loaded(PeerGroup(context, raid, names, direction), limits)
        if observed is not None:
            reported.add(raid.name)
            yield observed


def _most_loaded(group: PeerGroup, limits: Limits) -> Observation | None:
    flows = group.flows()
    most = outlier({name: flow.bytes for name, flow in flows.items()})
    if most is None or not most.value or most.ratio < limits["ratio"]:
        return None
    rate = flows[most.name].ios
    if not group.context.enough(rate, limits["requests"]):
        return None
    figures = {
        "bytes": (most.value, "bytes/s"),
        "others_bytes": (most.median, "bytes/s"),
        "rate": (rate, "requests/s"),
    }
    what = "reads and writes" if group.direction == "total" else "writes"
    words = {"array": group.raid.title, "what": what}
    return observe(most.name, figures, words, weight=most.ratio if most.median else most.value)
