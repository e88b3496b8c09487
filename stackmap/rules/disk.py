"""
Is a disk slow by itself, at any load? Compared with the most time that a healthy one needs.

Spinning disks: a seek and half a rotation take 12 to 15 ms at 5,400 to 7,200
rpm, and the slowest zones transfer 100 MB/s. Flash: reads and cached writes
take 0.1 ms, but a slow SATA drive needs 5 ms during garbage collection and
still transfers 200 MB/s.
"""

from typing import NamedTuple

from stackmap.model.device import Device
from stackmap.model.far_side import far_side
from stackmap.model.load import Load, ratio
from stackmap.model.units import KIB
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, observe


class Medium(NamedTuple):
    """A kind of storage: the most milliseconds to the first byte, and its slowest transfer rate."""

    name: str
    access_ms: float
    bytes_per_ms: float


SPINNING = Medium("a spinning disk", 15.0, 100_000.0)
FLASH = Medium("flash", 5.0, 200_000.0)
BULK = 128 * KIB  # bytes: requests of this size move data; their queue is throughput, not trouble
SAME = 1.1  # times: rounding makes equal figures this different

# Whether programs wait for what is in a queue depends on its direction; ``queued`` chooses the sentence.
QUEUE_CAVEAT = (
    "[Writeback fills a queue too, and programs do not wait for its {writes}.]"
    "[Readahead and programs that send many {reads} at a time fill a queue too.]"
)
MISSED = 0.5  # a busy share that may miss most
MOST_IN_FLIGHT = 1024.0  # requests while busy
MOSTLY = 0.95  # of requests and bytes: the rest does not make a queue

UNKNOWN = Medium("a healthy disk of any type", SPINNING.access_ms, SPINNING.bytes_per_ms)


def medium(device: Device) -> Medium:
    """Return the medium that the kernel reports for *device*; without its report, by its name."""
    if device.rotational is None:
        return FLASH if device.name.startswith("nvme") else UNKNOWN
    return SPINNING if device.rotational else FLASH


def expected_ms(device: Device, size: float) -> float:
    """Return the milliseconds that one request of *size* bytes may need on an idle, healthy device."""
    kind = medium(device)
    return kind.access_ms + size / kind.bytes_per_ms


def queued(load: Load) -> dict[str, str]:
    """Return the word that chooses between the sentences of ``QUEUE_CAVEAT``: what *load* mostly is."""
    requests = ratio(load.read.ios, load.total.ios) or 0.0
    moved = ratio(load.read.bytes, load.total.bytes)
    only_reads = requests >= MOSTLY and (moved is None or moved >= MOSTLY)
    word = "reads" if only_reads else "writes"
    return {word: word}


def busy_share(load: Load) -> float | None:
    """
    Return the share of time with a request in flight; None if unknown, or far too short for the queue.

    Some kernels (5.0 to 5.6) look only when a request begins or ends, and miss most of a long one.
    """
    busy, queue = load.busy, load.aqu or 0.0
    undercounted = busy is not None and busy < MISSED and queue > MOST_IN_FLIGHT * busy
    return None if undercounted else busy


def service_ms(load: Load) -> float | None:
    """Return the service time in milliseconds: busy ÷ IOPS; None if either is unknown."""
    seconds = ratio(busy_share(load), load.total.ios)
    return None if seconds is None else 1000 * seconds


def ms_per_request(load: Load) -> float | None:
    """
    Return the milliseconds per request without the time in the queue; None if unknown.

    This is the service time, or await ÷ queue depth where that is clearly shorter or busy is
    unknown. A burst has a long await though its mean queue is short; its service time is short.
    """
    queued = ratio(load.total.await_ms, None if load.aqu is None else max(1.0, load.aqu))
    service = service_ms(load)
    if queued is None or service is None or service > SAME * queued:
        return queued
    return service


@Rule(
    "SM201",
    Severity.CRITICAL,
    title="{device} is slow: {await} at queue depth {queue}",
    outcome=Outcome.SICK,
    sentence="{device} is slow, not overloaded: {mean} await is {await} at queue depth {queue}. {measure} is "
    "{needed} per {size} request; {medium} needs at most {usual}.",
    caveat="Standby, a USB bridge, a bad cable or an IOPS limit of a hypervisor or cloud looks the same. An "
    "average hides whether all requests were slow or only a few.",
    advice="Move the data off first. Then check the kernel log and `smartctl -a` (pending, "
    "reallocated, CRC).",
    source="B. Gregg, Poor Disk Performance (2021): high await with a short queue",
    thresholds={"slower": (4.0, "times", "{} the expected time"), "requests": (10, "count")},
    labels={"needed": "needed per request", "service": "service time"},
)
def sick_disk(context: Context, limits: Limits) -> Observations:
    """Yield disks that need far more time per request than its size and the medium explain."""
    yield from _slow(context, limits)


@Rule(
    "SM206",
    Severity.WARNING,
    title="{device} answers slowly: look on its other side",
    outcome=Outcome.REMOTE,
    sentence="{device} answers slowly, without a long queue: {mean} await is {await} at queue depth {queue}. It is "
    "{kind}, so the time is spent on the other side.",
    caveat="What a disk needs is no measure here. {measure} is {needed} per {size} request.",
    advice="Check {look}.",
    source="B. Gregg, Poor Disk Performance (2021): high await with a short queue",
    thresholds={
        "slower": (4.0, "times", "{} the expected time"),
        "queue": (8.0, "requests"),
        "requests": (10, "count"),
    },
    superseded_by=("SM702", "SM703"),
)
def remote_wait(context: Context, limits: Limits) -> Observations:
    """Yield remote and virtual disks that need far more time per request than a disk does."""
    yield from _slow(context, limits, remote=limits["queue"])


def _slow(context: Context, limits: Limits, *, remote: float | None = None) -> Observations:
    """
    Yield disks of this machine with a long service time, or remote and virtual ones.

    *remote*: below so many requests in flight while it is busy, the await of a remote disk is its service time, for
    the other side serves several at once.
    """
    for device in context.disks:
        load = context.typical_load(device.name, limits["requests"])
        needed, size, far = ms_per_request(load), load.total.size, far_side(device)
        if remote and load.aqu is not None and load.aqu < remote * (load.busy or 1.0):
            needed = load.total.await_ms
        enough = context.enough(context.load(device.name).total.ios, limits["requests"])
        if needed is None or size is None or not enough or not context.is_disk(device):
            continue
        expected = expected_ms(device, size)
        if needed >= limits["slower"] * expected and (far is None) == (remote is None):
            figures = {
                "await": (load.total.await_ms, "ms"),
                "queue": (load.aqu, "requests"),
                "needed": (needed, "ms"),
                "service": (service_ms(load), "ms"),
                "usual": (expected, "ms"),
                "size": (size, "bytes"),
                "rate": (load.total.ios, "requests/s"),
            }
            words = {
                "medium": medium(device).name,
                "measure": _measure(load, needed),
                "mean": "mean" if load is context.load(device.name) else "median",
            }
            words |= {} if far is None else {"kind": far.what, "look": far.look}
            yield observe(device.name, figures, words, weight=needed / expected)


def _measure(load: Load, needed: float) -> str:
    if needed == load.total.await_ms:
        return "Await"
    return "Service time" if needed == service_ms(load) else "Await ÷ queue depth"


@Rule(
    "SM204",
    Severity.INFO,
    title="{device}: {await} is long for sequential requests",
    outcome=Outcome.SICK,
    sentence="{device} has an await of {await} at queue depth {queue}: high if its {size} "
    "requests are sequential. {medium} then needs {transfer}; the service time here is {service}.",
    caveat="Random requests need up to {usual}, so for them this is normal.",
    advice="Compare with the disk's data sheet or a disk of the same model.",
    source="B. Gregg, Poor Disk Performance (2021): 5.11 ms where 1 to 2 ms are normal",
    thresholds={
        "slower": (2.0, "times", "{} the transfer time"),
        "size": (65536, "bytes", "size {}"),
        "busy": (0.9, "share"),
        "queue": (4.0, "requests", "queue depth below {}"),
        "requests": (50, "count"),
    },
    superseded_by=("SM201", "SM202", "SM212", "SM401"),
    joins_peers=True,
)
def slow_transfer(context: Context, limits: Limits) -> Observations:
    """Yield busy disks that need too long for large sequential requests, and too little for random ones."""
    for device in context.disks:
        load, kind = context.typical_load(device.name, limits["requests"]), medium(device)
        service, size = service_ms(load), load.total.size or 0.0
        busy, queue = load.busy or 0.0, load.aqu
        if service is None or queue is None or busy < limits["busy"] or size < limits["size"]:
            continue
        transfer = size / kind.bytes_per_ms
        # With a seek before each request, a spinning disk would need longer.
        sequential = limits["slower"] * transfer <= service < kind.access_ms
        enough = context.enough(context.load(device.name).total.ios, limits["requests"])
        if sequential and enough and queue < limits["queue"]:
            figures = {
                "await": (load.total.await_ms, "ms"),
                "queue": (queue, "requests"),
                "service": (service, "ms"),
                "transfer": (transfer, "ms"),
                "usual": (expected_ms(device, size), "ms"),
                "size": (size, "bytes"),
            }
            words = {"medium": f"{kind.name[0].upper()}{kind.name[1:]}"}
            yield observe(device.name, figures, words, weight=service / transfer)
