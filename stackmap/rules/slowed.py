"""Does a disk serve a load more slowly than before, or than disks like it serve as much? Then the load is not the reason."""

from collections.abc import Container
from math import inf
from statistics import median

from stackmap.model.device import Device, Role
from stackmap.model.far_side import far_side
from stackmap.model.load import Load, ratio
from stackmap.rules.context import Context
from stackmap.rules.disk import FLASH, expected_ms, medium, ms_per_request, service_ms
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, Threshold, observe
from stackmap.rules.saturation import BASELINE, overloaded, quiet_and_loaded, slower

MAX_SLOWEST = 10  # disks of a kind that are compared with the others
MAX_NAMED = 4
SENTENCE = (
    "{device} serves the same load more slowly: await is {await} at {rate}, against {before} at {before_rate} "
    "in the baseline. Queue depth is {queue}, although the load is no larger."
)
SOURCE = "P. Zaitsev, Why %util is meaningless (2014): a device is full where it completes no more"
THRESHOLDS: dict[str, Threshold] = {
    "rose": (1.1, "times", "requests and bytes {} the baseline's"),
    "size_ratio": (2.0, "times"),
    "mix_difference": (0.2, "share"),
    "service": (2.0, "times", "with a short queue: service time {} the baseline's"),
    "requests": (50, "count"),
}
LABELS = {"before": "await before", "before_queue": "queue before", "before_rate": "rate before"}


@Rule(
    "SM205",
    Severity.WARNING,
    title="{device} is slower: {ratio}× the await, same load",
    outcome=Outcome.SICK,
    sentence=SENTENCE,
    caveat="More flushes, or an I/O limit of a hypervisor or cloud, look the same.",
    advice="Check the kernel log and `smartctl -a` of {device}.",
    source=SOURCE,
    thresholds=THRESHOLDS,
    labels=LABELS,
    superseded_by=("SM201", "SM202", "SM701"),
    joins_peers=True,
)
def slowed_disk(context: Context, limits: Limits) -> Observations:
    """Yield disks that serve a load slowly, or are overloaded by it, that they served quickly in the baseline."""
    yield from _slowed(context, limits, remote=False)


@Rule(
    "SM211",
    Severity.WARNING,
    title="{device} is slower: {ratio}× the await, same load",
    outcome=Outcome.REMOTE,
    sentence=SENTENCE + " It is {kind}, so the time is spent on the other side.",
    caveat="More flushes look the same.",
    advice="Check {look}.",
    source=SOURCE,
    thresholds=THRESHOLDS,
    labels=LABELS,
    superseded_by=("SM206", "SM701", "SM702", "SM703"),
    joins_peers=True,
)
def slowed_remote(context: Context, limits: Limits) -> Observations:
    """Yield remote and virtual disks that serve a load slowly, or are overloaded by it, that they served quickly in the baseline."""
    yield from _slowed(context, limits, remote=True)


@Rule(
    "SM212",
    Severity.WARNING,
    title="{device} is {ratio}× as slow as like disks",
    outcome=Outcome.SICK,
    sentence="{device} has a mean await of {took}: {ratio}× that of {alike} (median {others}) at the same load "
    "({rate} of {size})[ and of the same {kind}].",
    caveat="Random requests where theirs are sequential look the same. Near saturation, a disk that is a little "
    "slower waits far longer.",
    advice="Compare `smartctl -a` and the cable of {device} with those of {alike}. If it stays slow under their load, "
    "replace {device}.",
    source="B. Gregg, Poor Disk Performance (2021): compare with other disks under the same load",
    thresholds={
        "slower": (3.0, "times", "{} the await"),
        "await": (1.0, "ms", "{} longer"),
        "rose": (1.1, "times", "requests and bytes within {}"),
        "mix_difference": (0.2, "share"),
        "rate": (20.0, "requests/s", "from {}"),
        "requests": (50, "count"),
        "unknown": (2, "count", "{} other disks where neither size nor model is known"),
    },
    labels={"others": "median of like disks"},
    superseded_by=("SM201", "SM202", "SM205", "SM701"),
)
def slower_than_like_disks(context: Context, limits: Limits) -> Observations:
    """Yield disks of no array that wait far longer than disks of the same kind with the same load."""
    same = {**limits, "size_ratio": inf}  # follows from requests and bytes
    kinds: dict[tuple[str, int | None, str], list[Device]] = {}
    for device in context.all_disks:
        rate = context.load(device.name).total.ios or 0.0
        roles = {edge.role for edge in context.topology.above(device.name)}
        shared = Role.PATH in roles or len(context.peers_of(device.name)) > 1
        alone = not shared and far_side(device) is None
        enough = rate >= limits["rate"] and context.enough(rate, limits["requests"])
        if context.is_disk(device) and alone and enough:
            kind = medium(device).name, device.size, device.model
            kinds.setdefault(kind, []).append(device)
    for (_, size, model), disks in kinds.items():
        slowest = sorted(disks, key=lambda disk: -(context.load(disk.name).total.await_ms or 0.0))
        for device in slowest[:MAX_SLOWEST]:
            own = context.load(device.name)
            alike = [
                disk
                for disk in disks
                if disk is not device
                and _is_same_load(load := context.load(disk.name), own, same)
                and _is_same_load(own, load, same)
            ]
            waits = [context.load(disk.name).total.await_ms or 0.0 for disk in alike]
            took, others = own.total.await_ms, median(waits) if waits else 0.0
            known = bool(size or model)
            if took is None or not others or len(alike) < (1 if known else limits["unknown"]):
                continue
            if took >= max(limits["slower"] * others, others + limits["await"]):
                figures = {
                    "took": (took, "ms"),
                    "others": (others, "ms"),
                    "ratio": (took / others, "times"),
                    "rate": (own.total.ios, "requests/s"),
                    "size": (own.total.size, "bytes"),
                    "queue": (own.aqu, "requests"),
                }
                words = {"alike": ", ".join(disk.title for disk in alike[:MAX_NAMED])}
                words |= {"kind": "model" if model else "size"} if known else {}
                yield observe(device.name, figures, words, weight=took / others)


def _slowed(context: Context, limits: Limits, *, remote: bool) -> Observations:
    if context.baseline is None:
        return
    disks = {device.name for device in context.disks if context.is_disk(device)}
    queueing = {o.device: o for o in overloaded.find(context, overloaded.limits)}
    for observed in (*queueing.values(), *_served_slowly(context, limits, queueing)):
        device = context.topology[observed.device]
        before, now = context.baseline.loads.get(device.name), context.load(device.name)
        far = far_side(device)
        is_same = before is not None and _is_same_load(before, now, limits)
        if not is_same or device.name not in disks or (far is not None) != remote:
            continue
        if not remote and _random_may_do_it(device, now):
            continue
        words = {} if far is None else {"kind": far.what, "look": far.look}
        yield observed._replace(words={**observed.words, **words})


def _served_slowly(context: Context, limits: Limits, queueing: Container[str]) -> Observations:
    """Yield disks, except *queueing* ones, with far longer await and service time than in the baseline."""
    for device in context.disks:
        pair = quiet_and_loaded(context, device.name)
        if pair is None or device.name in queueing:
            continue
        before, now = pair
        times = ratio(service_ms(now), service_ms(before))
        if times is None or times < limits["service"]:
            continue
        if context.enough(now.total.ios, limits["requests"]):
            any_queue = {**overloaded.limits, "high_queue": 0.0, "busy": 0.0}
            observed = slower(device, before, now, any_queue, BASELINE)
            if observed is not None:
                yield observed


def _is_same_load(before: Load, now: Load, limits: Limits) -> bool:
    """Whether *now* is no more requests and bytes than *before*, of similar sizes and directions."""
    size = ratio(now.total.size, before.total.size)
    if size is None or not 1 / limits["size_ratio"] <= size <= limits["size_ratio"]:
        return False
    more = ratio(now.total.ios, before.total.ios), ratio(now.total.bytes, before.total.bytes)
    if any(times is None or times > limits["rose"] for times in more):
        return False
    # sar has no requests by direction, but bytes.
    return all(
        reads is None or usual is None or abs(reads - usual) <= limits["mix_difference"]
        for reads, usual in (
            (ratio(now.read.ios, now.total.ios), ratio(before.read.ios, before.total.ios)),
            (ratio(now.read.bytes, now.total.bytes), ratio(before.read.bytes, before.total.bytes)),
        )
    )


def _random_may_do_it(device: Device, now: Load) -> bool:
    """Whether a spinning disk, or one of unknown kind, is as slow where the same requests become random."""
    needed, size = ms_per_request(now), now.total.size
    if medium(device) is FLASH or needed is None or size is None:
        return False
    return needed <= expected_ms(device, size)
