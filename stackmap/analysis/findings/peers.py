"""Do the members of an array do alike: is one slower than its siblings, or given more than they?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Evidence, Rule, Seen, Severity
from stackmap.analysis.share import flow_of
from stackmap.model.device import Device
from stackmap.model.load import Load

PARTS = 3  # of an interval, in which a cap shows
JUDGED = ("total", "write", "read")  # both together first: where loads are alike, it has most


@dataclass(frozen=True, slots=True)
class Outlier:
    """Of some devices the one with the most of something, and the median of the others'."""

    name: str
    value: float
    others: float
    rest: Mapping[str, float]

    @property
    def ratio(self) -> float:
        """How many times as much it has; leave-one-out, as quartiles of four say nothing."""
        return self.value / self.others if self.others else float("inf")


def outlier(figures: Mapping[str, float | None]) -> Outlier | None:
    """Return the one with the most; None where the figure of one is not known."""
    known = {name: each for name, each in figures.items() if each is not None}
    if len(known) < len(figures):
        return None
    name = max(known, key=lambda each: known[each])
    value = known.pop(name)
    return Outlier(name, value, median(known.values()), known)


def slow_member(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield, of devices that should do alike, the slowest where the others are clearly faster."""
    told: set[str] = set()
    for raid, names in context.siblings:
        if told & set(context.topology.stack(raid.name)):
            continue  # told at a lower layer of the same array: what is above only waits for it
        found = (_slow(context, raid, names, direction, limits) for direction in JUDGED)
        seen = next(filter(None, found), None)
        if seen is not None:
            told.add(seen.device)
            yield seen


def _slow(
    context: Context,
    raid: Device,
    names: tuple[str, ...],
    direction: str,
    limits: Mapping[str, float],
) -> Seen | None:
    flows = {name: flow_of(context.load(name), direction) for name in names}
    worst = outlier({name: flow.await_ms for name, flow in flows.items()})
    if (
        worst is None
        or not worst.others
        or not _alike(context.loads, names, direction, limits["load"])
    ):
        return None
    if not context.enough(flows[worst.name].ios, limits["requests"]):
        return None
    if worst.ratio < limits["slower"] or worst.value < worst.others + limits["ms"]:
        return None
    if _at_one_cap(context, names, limits["cap"]):
        return None
    slow, judged = _persistent(context, worst, direction, limits["slower"])
    if judged and slow / judged < limits["persistent"]:
        return None
    return _seen(context, raid, worst, direction, (slow, judged))


def _seen(
    context: Context, raid: Device, worst: Outlier, direction: str, lasted: tuple[int, int]
) -> Seen:
    flow = flow_of(context.load(worst.name), direction)
    slow, judged = lasted
    times = {"slow": (slow, "count"), "judged": (judged, "count")} if judged else {}
    evidence = context.evidence(
        worst.name,
        took=(worst.value, "ms"),
        others=(worst.others, "ms"),
        ratio=(worst.ratio, "times"),
        rate=(flow.ios, "requests/s"),
        queue=(context.load(worst.name).aqu, "requests"),
        **times,
    )
    return Seen(
        worst.name,
        evidence | {f"await_{n}": Evidence(ms, "ms", n) for n, ms in worst.rest.items()},
        {
            "array": raid.title,
            "siblings": ", ".join(context.topology[name].title for name in worst.rest),
            "what": {"total": "request"}.get(direction, direction),
        },
        weight=worst.ratio,
    )


def _at_one_cap(context: Context, names: tuple[str, ...], within: float) -> bool:
    """
    Whether all *names* do one and the same, each part of the interval, with more always waiting.

    So does what is held at a cap, disk by disk. A slow one holds its siblings
    back: they do as much as it does, but wait for requests.
    """
    loads = [part.loads[name] for part in context.series for name in names if name in part.loads]
    rates = [load.total.ios or 0.0 for load in loads]
    queues = [load.aqu or 0.0 for load in loads]
    if len(rates) < PARTS * len(names) or not min(rates):
        return False
    return max(rates) <= (1 + within) * min(rates) and min(queues) >= 1


def _alike(
    loads: Mapping[str, Load], names: tuple[str, ...], direction: str, within: float
) -> bool:
    """Whether *names* got about as many requests each; for both kinds, of either kind."""
    kinds = ("read", "write") if direction == "total" else (direction,)
    rates = [[flow_of(loads[name], kind).ios for name in names] for kind in kinds]
    if direction == "total" and any(None in found for found in rates):
        rates = [[loads[name].total.ios for name in names]]
    whole = sum(each or 0.0 for found in rates for each in found)
    return whole > 0 and all(_close(found, within, whole / 10) for found in rates)


def _close(rates: list[float | None], within: float, few: float) -> bool:
    """Whether *rates* are alike; *few* together do not matter in the mean."""
    known = [each for each in rates if each is not None]
    if len(known) < len(rates):
        return False
    return sum(known) < few or max(known) <= (1 + within) * min(known)


def _persistent(context: Context, worst: Outlier, direction: str, ratio: float) -> tuple[int, int]:
    """Return in how many parts of the interval *worst* was slower by *ratio*, and of how many."""
    slow = judged = 0
    names = (worst.name, *worst.rest)
    for part in context.series:
        known = {n: flow_of(part.loads[n], direction).await_ms for n in names if n in part.loads}
        awaits = [known.get(name) for name in worst.rest]
        others = [each for each in awaits if each is not None]
        took = known.get(worst.name)
        if took is not None and len(others) == len(awaits) and median(others):
            judged += 1
            slow += took >= ratio * median(others)
    return slow, judged


def unequal(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield a member that gets far more than its siblings, where the layout spreads data evenly."""
    told: set[str] = set()
    for raid, names in context.siblings:
        layout, tops = raid.layout, context.topology.tops_of(raid.name)
        if layout is None or layout.level == "linear" or raid.name in told:
            continue
        if any(context.topology.tops_of(name) != tops for name in names):
            continue  # others load these disks too: what is unequal may be theirs
        # Which copy is read is chosen by queue and position: only writes must be equal there.
        seen = _most(context, raid, names, "write" if layout.copies > 1 else "total", limits)
        if seen is not None:
            told.add(raid.name)
            yield seen


def _most(
    context: Context,
    raid: Device,
    names: tuple[str, ...],
    direction: str,
    limits: Mapping[str, float],
) -> Seen | None:
    flows = {name: flow_of(context.load(name), direction) for name in names}
    most = outlier({name: flow.bytes for name, flow in flows.items()})
    if most is None or not most.value or most.ratio < limits["more"]:
        return None
    done = flows[most.name].ios
    if not context.enough(done, limits["requests"]):
        return None
    evidence = context.evidence(
        most.name,
        bytes=(most.value, "bytes/s"),
        others_bytes=(most.others, "bytes/s"),
        rate=(done, "requests/s"),
    )
    words = {"array": raid.title, "what": "moved" if direction == "total" else "was written"}
    return Seen(most.name, evidence, words, weight=most.ratio if most.others else most.value)


SLOW_MEMBER = Rule(
    "SM202",
    "slow-member",
    Severity.WARNING,
    says="{device} takes {took} a {what}, its siblings in {array} ({siblings}) {others} in "
    "the median: {ratio} times as long for about as many, {rate}.",
    against="One of another model, firmware or port, or one that also serves something the others "
    "do not, is slower without being ill. Where all are at the limit of what they can do, the one "
    "that gets a little more queues first; where all do just the same and always queue, this is not said.",
    advice="Compare smartctl -a and the cable of {device} with a sibling's: each request to {array} "
    "that has a part on it waits for it. If it stays the slowest, replace it.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): sdd against sdb, sdc, sde; leave-one-out "
    "ratio, since quartiles of four say nothing",
    find=slow_member,
    limits={"slower": 1.5, "ms": 5.0, "load": 0.25, "requests": 50, "persistent": 0.6, "cap": 0.03},
    units={
        "slower": "times",
        "ms": "ms",
        "load": "share",
        "requests": "count",
        "persistent": "share",
        "cap": "share",
    },
    yields_to=("SM201",),
)
UNEQUAL = Rule(
    "SM203",
    "unequal-load",
    Severity.WARNING,
    says="{device} {what} {bytes}, its siblings in {array} {others_bytes} each: the load is not "
    "spread over them.",
    against="A small hot file, or a measurement of a few seconds, does this by chance.",
    advice="A chunk that is a multiple of the distance between hot blocks, or a partition that "
    "starts inside a chunk, puts them all on one member: see stackmap check.",
    source="Linux drivers/md/raid5.c, raid5_compute_sector: data and parity rotate, so unequal "
    "counts mean layout or alignment, unequal await means the disk",
    find=unequal,
    limits={"more": 2.0, "requests": 500},
    units={"more": "times", "requests": "count"},
)
RULES = (SLOW_MEMBER, UNEQUAL)
