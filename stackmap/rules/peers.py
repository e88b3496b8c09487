"""Is one member of an array slower than its peers, or does it get more load?"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import median
from typing import NamedTuple

from stackmap.ledger.blame import blame
from stackmap.ledger.device_state import write_mostly
from stackmap.model.device import Device
from stackmap.model.far_side import far_side
from stackmap.model.interval import Interval
from stackmap.model.load import Load, total_of
from stackmap.rules.context import Context
from stackmap.rules.disk import service_ms
from stackmap.rules.rule import (
    LIGHT,
    Figure,
    Limits,
    Observation,
    Observations,
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


SINCE_BOOT = "These are averages since boot: measure whether it is still slow."
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
        "chance": (
            200,
            "count",
            "info with fewer than {} requests at twice the median, as that may be chance",
        ),
        "cap_difference": (
            0.03,
            "share",
            "not where all queue and their rates are within {}: a cap",
        ),
        "saturated": (0.95, "share", "info if all members are busy {} and queue"),
        "next_slowest": (1.25, "times", "info below {} the await of the next slowest"),
        "quiet_queue": (
            1.0,
            "requests",
            "info if it is fast in intervals with a queue depth up to {}",
        ),
        "quiet_requests": (10, "count", "and {} requests"),
        "lasting": (10, "count", "and fewer than {} intervals are slow"),
        "avoided": (3.0, "times", "a copy that gets fewer requests: {} the await and service time"),
    },
    superseded_by=("SM201", "SM206"),
    compares_peers=True,
    labels={
        "others": "median of its peers",
        "slow": "slow intervals",
        "judged": "intervals judged",
    },
)
def slow_member(context: Context, limits: Limits) -> Observations:
    """Yield a member of an array that is clearly slower than its peers."""
    reported: set[str] = set()
    for raid, names in context.peers:
        if reported & set(context.topology.with_all_below(raid.name)):
            continue  # a slower device below already explains it
        # Write-mostly members, and what is below them, are meant to be slower.
        mostly = write_mostly(context.topology, raid)
        meant = {name for member in mostly for name in context.topology.with_all_below(member)}
        loads = {name: context.load(name) for name in names if name not in meant}
        if len(loads) < 2:
            continue
        for direction in DIRECTIONS:
            slowest = outlier({n: load.flow(direction).await_ms for n, load in loads.items()})
            if slowest is None or not slowest.median:
                continue
            observed = Suspect(context, raid, direction, loads, slowest, limits).observation()
            if observed is not None:
                reported.add(observed.device)
                yield observed
                break


class Suspect:
    """
    The slowest of the peers in an array, in one *direction* of their *loads*, and what else may explain its await.

    *direction*: "total", "write" or "read".
    """

    def __init__(
        self,
        context: Context,
        raid: Device,
        direction: str,
        loads: Mapping[str, Load],
        slowest: Outlier,
        limits: Limits,
    ) -> None:
        self.context, self.raid, self.direction = context, raid, direction
        self.loads, self.slowest, self.limits = loads, slowest, limits
        self.own = loads[slowest.name]
        self.rate = self.own.flow(direction).ios

    def observation(self) -> Observation | None:
        """Return that it is slower than its peers; None if it is not, or if something else explains that."""
        slowest, limits = self.slowest, self.limits
        if slowest.ratio < limits["slower"] or slowest.value < slowest.median + limits["await"]:
            return None
        if not self.context.enough(self.rate, limits["requests"]) or self._has_neighbour():
            return None
        if not self._gets_same_load and not self._is_avoided:
            return None
        if self._all_at_cap() or self._serves_more():
            return None
        slow, judged = self._slow_parts(self.context.series)
        if judged and slow / judged < limits["slow_intervals"]:
            return None
        # A slow disk limits the others, which then do not queue.
        overload = {o.device for o in overloaded.find(self.context, overloaded.limits)}
        below = self.context.topology.with_all_below
        queueing = {name for name in self.loads if not overload.isdisjoint(below(name))}
        doubt = self._doubt(slow, len(queueing))
        # Of a disk that only queues, the overload is the finding.
        if doubt and (not judged or slowest.name in queueing):
            return None
        return self._observed(slow, judged, doubt)

    @cached_property
    def _is_avoided(self) -> bool:
        """
        Whether it is a copy that gets fewer requests and still needs far longer for each.

        The kernel reads from the copy with the shorter queue, so a slow one is never at the rate of its
        peers. It is judged by service time too; near saturation, where NCQ serves a longer queue faster,
        only if no peer has the longer queue.
        """
        services = {name: service_ms(load) for name, load in self.loads.items()}
        slow, peers = outlier(services), [self.loads[name] for name in self.slowest.peers]
        sizes = [load.total.size or 0.0 for load in self.loads.values()]
        if not self.raid.layout or self.raid.layout.copies < 2 or slow is None:
            return False
        return (
            slow.name == self.slowest.name
            and min(self.slowest.ratio, slow.ratio) >= self.limits["avoided"]
            and (self.own.total.ios or 0.0) <= max(load.total.ios or 0.0 for load in peers)
            and max(sizes) <= SAME_SIZE * min(sizes)
            and not (
                self._all_saturated()
                and max(load.aqu or 0.0 for load in peers) > (self.own.aqu or 0.0)
            )
        )

    def _has_neighbour(self) -> bool:
        """Whether other volumes send more to its disks than to those of its peers."""
        shares = {name: self._foreign_share(name) for name in self.loads}
        own = shares.pop(self.slowest.name)
        return own >= FOREIGN and own > 2 * median(shares.values())

    def _foreign_share(self, name: str) -> float:
        """Return the share of requests or bytes, the larger, that others than the array send to the disks of *name*."""
        context, shares = self.context, [0.0]
        tops = context.topology.tops_of(self.raid.name)
        for disk in context.topology.disks_of(name):
            if disk in context.loads and len(context.topology.tops_of(disk)) > len(tops):
                sources = blame(context.ledger, disk, idle=False)
                others = [x for x in sources.loaders if x.tops and not tops.issuperset(x.tops)]
                shares.append(sum(sources.share(loader) or 0.0 for loader in others))
                shares.append(sum(sources.byte_share(loader) or 0.0 for loader in others))
        return max(shares)

    def _doubt(self, slow: int, queueing: int) -> str:
        """
        Return why the queue or chance may explain the await better than a slow disk; "" if they do not.

        *slow*: in how many intervals it was slower, 0 if there is only one. *queueing*: overloaded peers.
        """
        next_slowest = self.limits["next_slowest"] * max(self.slowest.peers.values())
        if (queueing > 1 or self._all_saturated()) and not self._is_avoided:
            return "This is only a remark, because several peers are saturated."
        if slow and self.slowest.value < next_slowest:
            return "This is only a remark, because another peer is nearly as slow."
        if slow < self.limits["lasting"] and self._is_fast_without_queue():
            return "This is only a remark, because it was much slower only with a long queue."
        if self._is_chance():
            return "This is only a remark, because so few requests may be slower by chance."
        return ""

    def _is_chance(self) -> bool:
        """
        Whether a mean of so few requests varies as much by chance; False if their number is unknown.

        Twice the await needs ``chance`` requests; the number falls with the square of the difference.
        """
        seconds = self.context.interval.seconds
        if seconds is None:
            return False
        return (self.rate or 0.0) * seconds * (self.slowest.ratio - 1) ** 2 < self.limits["chance"]

    def _is_fast_without_queue(self) -> bool:
        """Whether it is mostly as fast as its peers in the intervals in which it hardly queues."""
        quiet = [
            part
            for part in self.context.series
            if (load := part.loads.get(self.slowest.name)) is not None
            and load.aqu is not None
            and load.aqu <= self.limits["quiet_queue"]
            and (load.total.ios or 0.0) * (part.seconds or 1.0) >= self.limits["quiet_requests"]
        ]
        slow, judged = self._slow_parts(quiet, self.limits["await"])
        return judged > 0 and slow / judged < self.limits["slow_intervals"]

    def _slow_parts(self, parts: Sequence[Interval], least: float = 0.0) -> tuple[int, int]:
        """Return in how many *parts* it was slower, and by *least* ms; and how many could be judged."""
        slow = judged = 0
        for part in parts:
            loads = {name: part.load(name) for name in self.loads}
            awaits = {name: load.flow(self.direction).await_ms for name, load in loads.items()}
            own = awaits.pop(self.slowest.name)
            others = [ms for ms in awaits.values() if ms is not None]
            if own is not None and len(others) == len(awaits) and (usual := median(others)):
                judged += 1
                slow += own >= max(self.limits["slower"] * usual, usual + least)
        return slow, judged

    def _all_at_cap(self) -> bool:
        """
        Whether every peer serves the same rate in every part of the interval, always with a queue.

        A cap per disk does this. A slow disk limits its peers to its own rate, but they do not queue.
        """
        parts = self.context.series
        loads = [part.loads[name] for part in parts for name in self.loads if name in part.loads]
        rates = [load.total.ios or 0.0 for load in loads]
        if len(rates) < CAP_PARTS * len(self.loads) or not min(rates):
            return False
        same = max(rates) <= (1 + self.limits["cap_difference"]) * min(rates)
        return same and min(load.aqu or 0.0 for load in loads) >= 1

    def _all_saturated(self) -> bool:
        """Whether every peer is busy nearly all the time and has more than one request in flight."""
        return all(
            (load.busy or 0.0) >= self.limits["saturated"] and (load.aqu or 0.0) > 1
            for load in self.loads.values()
        )

    def _serves_more(self) -> bool:
        """Whether its disks serve more requests than its peers', as where fewer merge; False if unknown."""
        topology, load = self.context.topology, self.context.load
        rates = {
            name: total_of(load(disk).total.ios for disk in topology.disks_of(name))
            for name in self.loads
        }
        own = rates.pop(self.slowest.name)
        others = [rate for rate in rates.values() if rate is not None]
        if own is None or len(others) < len(rates):
            return False
        return own > (1 + self.limits["rate_difference"]) * median(others)

    @cached_property
    def _gets_same_load(self) -> bool:
        """Whether the peers get similar request rates; in total, similar reads and similar writes."""
        loads = self.loads.values()
        kinds = ("read", "write") if self.direction == "total" else (self.direction,)
        rates = [[load.flow(kind).ios for load in loads] for kind in kinds]
        if self.direction == "total" and any(None in group_rates for group_rates in rates):
            rates = [[load.total.ios for load in loads]]
        known = [[rate for rate in group if rate is not None] for group in rates]
        if any(len(group) < len(loads) for group in known):
            return False
        whole, most = sum(map(sum, known)), 1 + self.limits["rate_difference"]
        return whole > 0 and all(
            sum(group) < whole / 10 or max(group) <= most * min(group) for group in known
        )

    def _observed(self, slow: int, judged: int, doubt: str) -> Observation:
        slowest, topology = self.slowest, self.context.topology
        figures: dict[str, Figure] = {
            "took": (slowest.value, "ms"),
            "others": (slowest.median, "ms"),
            "ratio": (slowest.ratio, "times"),
            "rate": (self.rate, "requests/s"),
            "queue": (self.own.aqu, "requests"),
            "slow": (slow if judged else None, "count"),
            "judged": (judged or None, "count"),
            **{f"await_{name}": (ms, "ms", name) for name, ms in slowest.peers.items()},
        }
        disks = topology.disks_of(slowest.name)
        words = {
            "array": self.raid.title,
            "disks": ", ".join(topology[name].title for name in disks),
            "load": SIMILAR if self._gets_same_load else FEWER,
            "peers": ", ".join(topology[name].title for name in slowest.peers),
            "what": "mean" if self.direction == "total" else self.direction,
            "doubt": doubt or SINCE_BOOT * self.context.interval.since_boot,
        }
        far = far_side(topology[disks[0]])
        waits = [self.context.load(name).total.await_ms for name in disks]
        if slowest.name not in disks and all(
            ms is not None and 2 * ms < slowest.value for ms in waits
        ):
            itself = topology[slowest.name].title
            words["far"] = f"{itself} itself: requests wait in it, not at {words['disks']}"
        elif far is not None:
            words["far"] = far.look
        else:
            words["local"] = words["disks"]
        severity = Severity.INFO if doubt else None
        return observe(slowest.name, figures, words, weight=slowest.ratio, severity=severity)


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
def unequal_load(context: Context, limits: Limits) -> Observations:
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
        flows = {name: context.load(name).flow(direction) for name in names}
        most = outlier({name: flow.bytes for name, flow in flows.items()})
        if most is None or not most.value or most.ratio < limits["ratio"]:
            continue
        rate = flows[most.name].ios
        if not context.enough(rate, limits["requests"]):
            continue
        reported.add(raid.name)
        figures = {
            "bytes": (most.value, "bytes/s"),
            "others_bytes": (most.median, "bytes/s"),
            "rate": (rate, "requests/s"),
        }
        what = "reads and writes" if direction == "total" else "writes"
        words = {"array": raid.title, "what": what}
        weight = most.ratio if most.median else most.value
        yield observe(most.name, figures, words, weight=weight)
