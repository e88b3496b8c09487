"""Does a disk serve the same load more slowly than before? Then more load is not the reason."""

from __future__ import annotations

from collections.abc import Container

from stackmap.model.device import Device
from stackmap.model.far_side import far_side
from stackmap.model.load import Load, ratio
from stackmap.rules.context import Context
from stackmap.rules.disk import FLASH, expected_ms, medium, ms_per_request, service_ms
from stackmap.rules.rule import Found, Limits, Outcome, Rule, Severity, Threshold
from stackmap.rules.saturation import BASELINE, overloaded, quiet_and_loaded, slower

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
def slowed_disk(context: Context, limits: Limits) -> Found:
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
def slowed_remote(context: Context, limits: Limits) -> Found:
    """Yield remote and virtual disks that serve a load slowly, or are overloaded by it, that they served quickly in the baseline."""
    yield from _slowed(context, limits, remote=True)


def _slowed(context: Context, limits: Limits, *, remote: bool) -> Found:
    if context.baseline is None:
        return
    disks = {device.name for device in context.disks if context.is_disk(device)}
    queueing = {each.device: each for each in overloaded.find(context, overloaded.limits)}
    for observed in (*queueing.values(), *_served_slowly(context, limits, queueing)):
        device = context.topology[observed.device]
        before, now = context.baseline.loads.get(device.name), context.load(device.name)
        far = far_side(device)
        is_same = before is not None and _is_same_load(before, now, limits)
        if not is_same or device.name not in disks or (far is not None) != remote:
            continue
        if _random_may_do_it(device, now):
            continue
        words = {} if far is None else {"kind": far.what, "look": far.look}
        yield observed._replace(words={**observed.words, **words})


def _served_slowly(context: Context, limits: Limits, queueing: Container[str]) -> Found:
    """Yield other disks than *queueing* ones with a far longer await, and service time, than in the baseline: none has to queue for that."""
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
    more = (
        ratio(now.total.ios, before.total.ios),
        ratio(now.total.bytes, before.total.bytes),
    )
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
