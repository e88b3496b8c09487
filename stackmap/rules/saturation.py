"""Is a device overloaded? Judged by its own await at a low queue depth, never by utilisation."""

from collections.abc import Iterable, Mapping
from math import ceil
from typing import NamedTuple

from stackmap.model.device import Device
from stackmap.model.load import Load, ratio
from stackmap.model.topology import computed_once
from stackmap.rules.context import Context
from stackmap.rules.disk import medium
from stackmap.rules.rule import Limits, Observation, Observations, Outcome, Rule, Severity, observe

ROSE = 1.1  # a rate this many times as high as before has risen
CLEARLY = 1.5  # an await this many times as long as a peer's is not chance
# How the sentences name the two loads that are compared.
SERIES = {"loaded": "in the busiest interval", "quiet": "in the interval with the shortest queue"}
BASELINE = {"loaded": "mean", "quiet": "in the baseline"}


@Rule(
    "SM401",
    Severity.WARNING,
    title="{device} is overloaded: {ratio}× the quiet await",
    outcome=Outcome.OVERLOADED,
    sentence="{device} is overloaded: {loaded} await is {await} at queue depth {queue}, {ratio}× the "
    "{before} {quiet} (queue depth {before_queue}).",
    caveat="Random requests or more writes also raise await. The rate is {rate}, against {before_rate} {quiet}.",
    advice="Run `stackmap blame {device}` to find the source. Lower the queue depth: {effect}. More "
    "throughput needs more or faster disks.",
    source="P. Zaitsev, Why %util is meaningless (2014): three times the await of one thread",
    thresholds={
        "slower": (3.0, "times", "{} the await"),
        "await": (1.0, "ms", "{} longer"),
        "low_queue": (2.0, "requests", "low queue up to {}"),
        "high_queue": (4.0, "requests", "high queue {}"),
        "requests": (10, "count"),
        "size_ratio": (2.0, "times"),
        "baseline_size_ratio": (4.0, "times", "baseline sizes within {}"),
        "mix_difference": (0.2, "share"),
        "trickle": (0.1, "share", "lower rate {} of the higher"),
        "intervals": (0.25, "share", "in {} of intervals"),
        "busy": (0.6, "share"),
        "least_busy": (0.05, "share", "queue depth while busy from {}"),
    },
    superseded_by=("SM201", "SM205", "SM211", "SM212"),
    joins_peers=True,
    labels={"before": "await before", "before_queue": "queue before", "before_rate": "rate before"},
)
def overloaded(context: Context, limits: Limits) -> Observations:
    """Yield disks, or top-level devices, whose await is far longer than at a low queue depth."""
    queueing: dict[str, Observation] = {}
    # Writeback fills a volume's queue, so a top is judged only against a baseline.
    tops = context.ledger.tops if context.baseline is not None else []
    tops = [top for top in tops if top in context.tops]
    for name in dict.fromkeys([*tops, *(disk.name for disk in context.disks)]):
        device = context.topology[name]
        pair = quiet_and_loaded(context, name)
        words = SERIES if context.baseline is None else BASELINE
        observed = None if pair is None else slower(device, *pair, limits, words)
        if observed is not None:
            queueing[name] = observed
    for name, observed in queueing.items():
        if _slower_peer(context, name, queueing.keys()):
            continue  # that one is slower still, and does not only queue now and then
        if not queueing.keys() & set(context.topology.with_all_below(name)[1:]):
            yield observed


def _slower_peer(context: Context, name: str, queueing: Iterable[str]) -> bool:
    """Whether a peer of *name* that is not among *queueing* has a clearly longer await."""
    own = context.load(name).total.await_ms or 0.0
    return any(
        (context.load(peer).total.await_ms or 0.0) > CLEARLY * own
        for _, names in context.peers
        if name in names
        for peer in set(names).difference(queueing)
    )


@computed_once
def quiet_and_loaded(context: Context, name: str) -> tuple[Load, Load] | None:
    """Return a load at a low queue depth and the load to judge; None if there is no such pair."""
    limits = overloaded.limits
    if context.baseline is not None:
        before, now = context.baseline.loads.get(name), context.load(name)
        return None if before is None or _other_sizes(before, now, limits) else (before, now)
    judged = _judged(context, name)
    if len(judged) < 2:
        return None
    loaded = max(judged, key=lambda load: load.aqu or 0.0)
    kind = kind_of(loaded)
    alike = [load for load in judged if _comparable(kind_of(load), kind, limits)]
    quiet = min(alike, key=lambda load: _depth(load, limits), default=loaded)
    if _depth(quiet, limits) > limits["low_queue"]:
        return None
    lasting = lasting_load(context, name)
    if (lasting.aqu or 0.0) < limits["high_queue"]:
        return quiet, lasting
    return quiet, loaded


@computed_once
def _judged(context: Context, name: str) -> list[Load]:
    """Return the loads of *name* in the intervals with a known queue and enough requests."""
    parts = [part.loads[name] for part in context.series if name in part.loads]
    seconds = (context.series[0].seconds if context.series else None) or 1.0
    least = overloaded.limits["requests"]
    return [x for x in parts if x.aqu is not None and (x.total.ios or 0.0) * seconds >= least]


def _depth(load: Load, limits: Limits) -> float:
    """Return the requests in flight while any is: a load that begins in an interval is not a quiet one."""
    aqu, busy = load.aqu or 0.0, load.busy
    return aqu if busy is None or busy < limits["least_busy"] else aqu / min(1.0, busy)


def lasting_load(context: Context, name: str) -> Load:
    """
    Return the load of *name* with the longest queue that at least a share of the intervals have.

    One busy interval among many is no overload. Without intervals, it is that of the measurement.
    """
    busiest = sorted(_judged(context, name), key=lambda load: -(load.aqu or 0.0))
    if not busiest:
        return context.load(name)
    return busiest[ceil(overloaded.limits["intervals"] * len(busiest)) - 1]


def _other_sizes(before: Load, now: Load, limits: Limits) -> bool:
    """Whether requests differ so much in size that large ones, cut in pieces, queue by themselves."""
    smaller, larger = sorted(load.total.size or 0.0 for load in (before, now))
    return smaller > 0 and larger > limits["baseline_size_ratio"] * smaller


def queue_doubt(context: Context, name: str) -> str:
    """Return a doubt if the queue makes the requests of *name* wait; "" if its await hardly grows with it."""
    device, limits = context.topology[name], overloaded.limits
    pair = quiet_and_loaded(context, name)
    if pair is None or slower(device, *pair, limits, SERIES) is None:
        return ""
    return "This is only a remark, because requests wait far less while the queue is short."


class LoadKind(NamedTuple):
    """Requests per second of a load, their mean size, and the share of reads among them; None if unknown."""

    rate: float | None
    size: float | None
    read_share: float | None


def kind_of(load: Load) -> LoadKind:
    """Return the kind of *load*; rules compare each load of hours with one, whose kind they ask for once."""
    total = load.total
    return LoadKind(total.ios, total.size, ratio(load.read.ios, total.ios))


def _comparable(quiet: LoadKind, loaded: LoadKind, limits: Limits) -> bool:
    """Whether two loads are of one kind, and neither is a trickle."""
    lower, higher = sorted((quiet.rate or 0.0, loaded.rate or 0.0))
    return lower >= limits["trickle"] * higher and same_kind(quiet, loaded, limits)


def same_kind(one: LoadKind, other: LoadKind, limits: Limits) -> bool:
    """
    Whether two loads have a similar size and read share; False where the size is unknown.

    sar has no read share: there the size decides alone.
    """
    if one.size is None or other.size is None:
        return False
    if (one.read_share is None) != (other.read_share is None):
        return False
    smaller, larger = sorted((one.size, other.size))
    return (
        larger <= limits["size_ratio"] * smaller
        and abs((one.read_share or 0.0) - (other.read_share or 0.0)) <= limits["mix_difference"]
    )


def slower(
    device: Device, before: Load, now: Load, limits: Limits, words: Mapping[str, str]
) -> Observation | None:
    """Return how much longer the await of *device* is than *before*, with a longer queue; None if it is not by *limits*."""
    base, current = before.total.await_ms, now.total.await_ms
    if not base or current is None or now.aqu is None or before.aqu is None:
        return None
    if now.aqu < max(limits["high_queue"], 2 * before.aqu):
        return None  # the queue did not grow, so load is not the cause
    if now.busy is not None and now.busy < limits["busy"]:
        return None  # bursts: between them it could have served more
    # Larger requests take longer without any queue.
    growth = max(0.0, (now.total.size or 0.0) - (before.total.size or 0.0))
    transfer = growth / medium(device).bytes_per_ms
    if current - transfer < limits["slower"] * base or current - base < limits["await"]:
        return None
    figures = {
        "await": (current, "ms"),
        "before": (base, "ms"),
        "ratio": (current / base, "times"),
        "queue": (now.aqu, "requests"),
        "before_queue": (before.aqu, "requests"),
        "rate": (now.total.ios, "requests/s"),
        "before_rate": (before.total.ios, "requests/s"),
    }
    rose = (now.total.ios or 0.0) > ROSE * (before.total.ios or 0.0)
    effect = "latency drops" if rose else "latency drops and throughput barely changes"
    return observe(device.name, figures, {**words, "effect": effect}, weight=current / base)
