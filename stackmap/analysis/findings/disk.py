"""Is it the disk? One that is slow by itself, one slower than its siblings, one that gets more than they."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Evidence, Rule, Seen, Severity
from stackmap.analysis.findings.normal import medium, service, usual
from stackmap.analysis.share import flow_of
from stackmap.model.device import Device
from stackmap.model.load import Flow, Load

JUDGED = ("total", "write", "read")  # both together first: where loads are alike, it has most


def sick(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield disks that need far longer for a request than its size and their medium explain."""
    for device in context.disks:
        load = context.load(device.name)
        took, size = service(load), load.total.size
        if took is None or size is None or not context.enough(load.total.ios, limits["requests"]):
            continue
        likely = usual(device, size)
        if took >= limits["slower"] * likely:
            yield Seen(
                device.name,
                context.evidence(
                    device.name,
                    service=(took, "ms"),
                    usual=(likely, "ms"),
                    size=(size, "bytes"),
                    **{"await": (load.total.await_ms, "ms")},
                    queue=(load.aqu, "requests"),
                    rate=(load.total.ios, "requests/s"),
                ),
                {"medium": medium(device).name},
                weight=took / likely,
            )


def slow_member(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield, of devices that should do alike, the slowest where the others are clearly faster."""
    told: set[str] = set()
    for raid, names in context.siblings:
        if told & set(context.topology.stack(raid.name)):
            continue  # told at a lower layer of the same array: what is above only waits for it
        for direction in JUDGED:
            seen = _slowest(context, raid, names, direction, limits)
            if seen is not None:
                told.add(seen.device)
                yield seen
                break


def _slowest(
    context: Context,
    raid: Device,
    names: tuple[str, ...],
    direction: str,
    limits: Mapping[str, float],
) -> Seen | None:
    flows = {name: flow_of(context.load(name), direction) for name in names}
    if not _alike(context.loads, names, direction, limits["load"]):
        return None
    worst = max(names, key=lambda name: flows[name].await_ms or 0.0)
    took, others = flows[worst].await_ms, _others(flows, worst)
    if took is None or not others or not context.enough(flows[worst].ios, limits["requests"]):
        return None
    if took < limits["slower"] * others or took < others + limits["ms"]:
        return None
    slow, judged = _persistent(context, names, worst, direction, limits)
    if judged and slow / judged < limits["persistent"]:
        return None
    siblings = [name for name in names if name != worst]
    evidence = context.evidence(
        worst,
        took=(took, "ms"),
        others=(others, "ms"),
        ratio=(took / others, "times"),
        rate=(flows[worst].ios, "requests/s"),
        queue=(context.load(worst).aqu, "requests"),
    ) | {f"await_{name}": Evidence(flows[name].await_ms or 0.0, "ms", name) for name in siblings}
    if judged:
        evidence |= context.evidence(worst, slow=(slow, "count"), judged=(judged, "count"))
    words = {
        "array": raid.title,
        "siblings": ", ".join(context.topology[name].title for name in siblings),
        "what": {"total": "request"}.get(direction, direction),
    }
    return Seen(worst, evidence, words, weight=took / others)


def _others(flows: Mapping[str, Flow], worst: str) -> float | None:
    """Return the median await of all but *worst*; None where one is not known."""
    awaits = [flow.await_ms for name, flow in flows.items() if name != worst]
    known = [each for each in awaits if each is not None]
    return median(known) if known and len(known) == len(awaits) else None


def _alike(
    loads: Mapping[str, Load], names: tuple[str, ...], direction: str, within: float
) -> bool:
    """Whether *names* got about as many requests each; for both kinds, of either kind."""
    kinds = ("read", "write") if direction == "total" else (direction,)
    rates = {kind: [flow_of(loads[name], kind).ios for name in names] for kind in kinds}
    if direction == "total" and any(None in found for found in rates.values()):
        rates = {"total": [loads[name].total.ios for name in names]}
    whole = sum(each or 0.0 for found in rates.values() for each in found)
    for found in rates.values():
        known = [each for each in found if each is not None]
        if len(known) < len(names):
            return False
        if sum(known) < whole / 10:
            continue  # too few to matter in the mean
        if max(known) > (1 + within) * min(known):
            return False
    return whole > 0


def _persistent(
    context: Context,
    names: tuple[str, ...],
    worst: str,
    direction: str,
    limits: Mapping[str, float],
) -> tuple[int, int]:
    """Return in how many parts of the interval *worst* was slower by the ratio, and of how many."""
    slow = judged = 0
    for part in context.series:
        if not part.loads.keys() >= set(names):
            continue
        flows = {name: flow_of(part.loads[name], direction) for name in names}
        others, took = _others(flows, worst), flows[worst].await_ms
        if others and took is not None:
            judged += 1
            slow += took >= limits["slower"] * others
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
        direction = "write" if layout.copies > 1 else "total"
        moved = {name: flow_of(context.load(name), direction).bytes for name in names}
        rates = {name: rate for name, rate in moved.items() if rate is not None}
        if len(rates) < len(names) or not any(rates.values()):
            continue
        most = max(names, key=lambda name: rates[name])
        others = median(rate for name, rate in rates.items() if name != most)
        done = flow_of(context.load(most), direction).ios
        if not context.enough(done, limits["requests"]) or rates[most] < limits["more"] * others:
            continue
        told.add(raid.name)
        yield Seen(
            most,
            context.evidence(
                most,
                bytes=(rates[most], "bytes/s"),
                others_bytes=(others, "bytes/s"),
                rate=(done, "requests/s"),
            ),
            {"array": raid.title, "what": "moved" if direction == "total" else "was written"},
            weight=rates[most] / others if others else rates[most],
        )


SICK = Rule(
    "SM201",
    "sick-disk",
    Severity.CRITICAL,
    says="{device} takes {service} for each request of {size}, where {usual} would be the most for "
    "{medium}. Only {queue} were in flight: it is the disk, not the load.",
    against="A disk that woke from standby, a USB bridge or cable, or a cap outside of this machine "
    "looks the same. An average hides whether all requests were slow or a few very slow.",
    advice="Look at the kernel log for errors and at smartctl -a (pending, reallocated, CRC); move "
    "the data off before anything else.",
    source="B. Gregg, Poor Disk Performance (2021): high await with a short queue is the disk",
    find=sick,
    limits={"slower": 4.0, "requests": 10},
    units={"slower": "times", "requests": "count"},
)
SLOW_MEMBER = Rule(
    "SM202",
    "slow-member",
    Severity.WARNING,
    says="{device} takes {took} a {what}, its siblings in {array} ({siblings}) {others}: {ratio} "
    "times as long for about as many, {rate}.",
    against="One of another model, firmware or port, or one that also serves something the others "
    "do not, is slower without being ill. Where all are at the limit of what they can do, the one "
    "that gets a little more queues first.",
    advice="Compare smartctl -a and the cable of {device} with a sibling's; every write to {array} "
    "waits for it. If it stays the slowest, replace it.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): sdd against sdb, sdc, sde; leave-one-out "
    "ratio, since quartiles of four say nothing",
    find=slow_member,
    limits={"slower": 1.5, "ms": 5.0, "load": 0.25, "requests": 50, "persistent": 0.6},
    units={
        "slower": "times",
        "ms": "ms",
        "load": "share",
        "requests": "count",
        "persistent": "share",
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
    source="KERNEL 3.4: unequal counts mean layout or alignment, unequal await means the disk",
    find=unequal,
    limits={"more": 2.0, "requests": 500},
    units={"more": "times", "requests": "count"},
)
RULES = (SICK, SLOW_MEMBER, UNEQUAL)
