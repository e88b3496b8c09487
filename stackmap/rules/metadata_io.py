"""Do metadata writes or flushes take a large part of the I/O?"""

from collections.abc import Mapping

from stackmap.ledger.amounts import Traffic
from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.causes import Cause
from stackmap.model.device import Role
from stackmap.rules.context import Context
from stackmap.rules.disk import expected_ms
from stackmap.rules.rule import (
    LIGHT,
    Limits,
    Observations,
    Outcome,
    PerStack,
    Rule,
    Severity,
    observe,
)
from stackmap.rules.state import tool_names

DATA = (Cause.DATA, Cause.PARITY)
METADATA = {
    Cause.INTEGRITY: "checksums and their journal",
    Cause.BITMAP: "the bitmap",
    Cause.JOURNAL: "the journal",
    Cause.METADATA: "metadata of thin pools, caches and DRBD",
}
REMEDIES = {
    Cause.INTEGRITY: "Use a bitmap instead of a journal: lvconvert --raidintegrity y "
    "--raidintegritymode bitmap or integritysetup --integrity-bitmap-mode.",
    Cause.BITMAP: "Use larger bitmap regions: lvconvert --regionsize, or mdadm --grow --bitmap-chunk. "
    "A new md array can have a lockless bitmap (Linux 6.18, mdadm 4.5), which writes little.",
    Cause.JOURNAL: "Put the journal on another, faster device.",
    Cause.METADATA: "Flush less often, or put the metadata on flash.",
}


@Rule(
    "SM501",
    Severity.WARNING,
    title="Metadata writes slow {device} down",
    sentence="{device} causes {ratio} metadata writes per write: {metadata_rate} to {metadata} for "
    "{writes} of {size}. A metadata write takes {took}; the writes that need it wait.",
    caveat="A burst of writes to new areas does this only briefly.",
    advice="[Use larger bitmap regions: `lvconvert --regionsize 64M {lv}`.][Use larger bitmap regions: `mdadm --grow "
    "--bitmap=none /dev/{array}`, then `mdadm --grow --bitmap=internal --bitmap-chunk=128M /dev/{array}`. A new array "
    "can have a lockless bitmap (Linux 6.18, mdadm 4.5).][{remedy}]",
    source="stackmap-kernel(7), Bitmap; Linux drivers/md/md-bitmap.c",
    thresholds={
        "share": (0.5, "times", "metadata writes {} the writes"),
        "requests": (50, "count"),
        **LIGHT,
    },
)
def metadata_writes(context: Context, limits: Limits) -> Observations:
    """Yield devices that write metadata nearly as often as data."""
    for device in context.measured:
        below = context.below(device.name, Role.METADATA)
        if device.target == "integrity":  # each write has its checksum: metadata-cost judges that
            continue
        if not below or not context.loads.keys() >= set(below):
            continue
        # Each member of an array has the same bitmap: the busiest shows how often it is written.
        busiest = max(below, key=lambda name: context.load(name).write.ios or 0.0)
        own, writes = context.load(device.name).write, context.load(busiest).write
        if not own.ios or writes.ios is None or not context.enough(own.ios, limits["requests"]):
            continue
        ratio = writes.ios / own.ios
        if ratio >= limits["share"]:
            figures = {
                "writes": (own.ios, "requests/s", device.name),
                "size": (own.size, "bytes", device.name),
                "ratio": (ratio, "times", device.name),
                "metadata_rate": (writes.ios, "requests/s", busiest),
                "took": (writes.await_ms, "ms", busiest),
            }
            words = {"metadata": context.topology[busiest].title}
            is_raid = device.layout is not None
            words |= tool_names(device) if is_raid else {"remedy": REMEDIES[Cause.METADATA]}
            yield observe(device.name, figures, words, weight=ratio)


@Rule(
    "SM502",
    Severity.WARNING,
    title="Flushes slow {device} down",
    outcome=Outcome.OVERLOADED,
    sentence="{device} spends {share} of its time on flushes: {flushes} are flushes with an await of "
    "{took}, {writes} are writes.",
    caveat="A flush waits for earlier writes, so slow writes also slow it.",
    advice="Commit (fsync) less often, or use a disk with a power-loss-protected cache.",
    source="Linux admin-guide/iostats.rst, fields 16 and 17",
    thresholds={
        "share": (0.3, "share", "{} of the time"),
        "await": (2.0, "ms", "flush await {}"),
        "requests": (50, "count"),
        **LIGHT,
    },
    superseded_by=("SM212",),
    joins_peers=True,
)
def flush_bound(context: Context, limits: Limits) -> Observations:
    """Yield disks that spend much of their time on flushes, and whose writes do not wait for longer."""
    for device in context.disks:
        flush, write = context.load(device.name).flush, context.load(device.name).write
        wait = flush.await_ms
        if wait is None or not flush.ios or not context.enough(flush.ios, limits["requests"]):
            continue
        if (write.await_ms or 0.0) > wait:  # a write waits for a flush or two: these wait for more
            continue
        share = flush.ios * wait / 1000  # over 1 where several wait at once
        if share >= limits["share"] and wait >= limits["await"]:
            # What a healthy disk needs to write its cache is the cost of the load. The block layer
            # sends one flush at a time (block/blk-flush.c), so a flush may wait for one before it.
            usual = 2 * expected_ms(device, write.size or 0.0)
            figures = {
                "flushes": (flush.ios, "requests/s"),
                "took": (wait, "ms"),
                "share": (min(share, 1.0), "share"),
                "writes": (write.ios, "requests/s"),
            }
            severity = Severity.INFO if wait <= usual else None
            yield observe(device.name, figures, weight=share, severity=severity)


@Rule(
    "SM506",
    Severity.INFO,
    title="{device} flushes its cache all the time",
    sentence="{device} flushes its write cache all the time: {flushes} are flushes, one per {per} writes. Each "
    "takes {took}.",
    caveat="Programs that call fsync, journals of file systems and md's bitmap do this.",
    advice="Run `stackmap blame {device}` to find the source. Group commits if their durability allows it.",
    source="Linux block/writeback_cache_control.rst; admin-guide/iostats.rst, fields 16 and 17",
    thresholds={
        "flushes": (50.0, "requests/s", "{} of flushes"),
        "writes": (4.0, "times", "up to {} writes per flush"),
    },
    superseded_by=("SM502",),
    joins_peers=True,
)
def fsync_storm(context: Context, limits: Limits) -> Observations:
    """Yield disks with many flushes and few writes between two of them."""
    for device in context.disks:
        flush, write = context.load(device.name).flush, context.load(device.name).write
        if flush.ios is None or flush.ios < limits["flushes"]:
            continue
        per = (write.ios or 0.0) / flush.ios
        if per <= limits["writes"]:
            figures = {
                "flushes": (flush.ios, "requests/s"),
                "per": (per, "times"),
                "took": (flush.await_ms, "ms"),
            }
            yield observe(device.name, figures, weight=flush.ios)


@Rule(
    "SM515",
    Severity.WARNING,
    title="{what} cost more than the data",
    sentence="{what} cost more than the data of {device}: of the writes at its disks, {metadata} in "
    "{metadata_rate} are {what}, {data} in {data_rate} are data and parity.",
    caveat="Below RAID1 and RAID10 a burst of writes to new areas does this only briefly.",
    advice="{remedy}",
    source="stackmap-kernel(7), Bitmap and Device-mapper targets",
    thresholds={
        "ratio": (1.0, "times", "more than {} the data"),
        "requests": (50, "count"),
        **LIGHT,
    },
    superseded_by=("SM501",),
)
@PerStack
def metadata_cost(context: Context, stack: StackFigures, limits: Limits) -> Observations:
    """Yield tops for whose writes the disks write more metadata than data, in bytes or requests."""
    top = stack.top.name
    if top not in context.tops or stack.is_passthrough:
        return
    if not context.enough(context.ledger.load(top).write.ios, limits["requests"]):
        return
    by_cause = {
        cause: traffic
        for (cause, direction), traffic in context.ledger.disk_traffic_by_cause(top).items()
        if direction == "write"
    }
    data = sum((by_cause[cause] for cause in DATA if cause in by_cause), start=Traffic(0, 0, 0))
    metadata = _largest(by_cause)
    if metadata is None or data.bytes is None or not data.arrivals:
        return
    cause, cost = metadata
    low, _ = cost.bounds
    ratio = max((low.bytes or 0.0) / (data.bytes or 1.0), (low.arrivals or 0.0) / data.arrivals)
    if ratio > limits["ratio"]:
        figures = {
            "metadata": (low.bytes, "bytes/s"),
            "metadata_rate": (low.arrivals, "requests/s"),
            "data": (data.bytes, "bytes/s"),
            "data_rate": (data.arrivals, "requests/s"),
            "ratio": (ratio, "times"),
        }
        words = {"what": METADATA[cause], "remedy": REMEDIES[cause]}
        yield observe(top, figures, words, weight=ratio)


def _largest(by_cause: Mapping[Cause, Traffic]) -> tuple[Cause, Traffic] | None:
    """Return the metadata of which most is written, None without any."""
    known = [(cause, traffic) for cause, traffic in by_cause.items() if cause in METADATA]
    return max(
        known, key=lambda pair: (pair[1].bounds[0].bytes or 0.0, pair[0].value), default=None
    )
