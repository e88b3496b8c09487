"""Are queues and caches set out of keeping with the load? Each is something to try, not a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Evidence, Rule, Seen, Severity
from stackmap.model.device import Kind

KIB = 1024


def stripe_cache(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield md arrays that read old data for their writes with the smallest stripe cache."""
    for stack in context.stacks:
        raid, cost = stack.raid, stack.parity
        if raid is None or cost is None or raid.kind is not Kind.ARRAY:
            continue
        rows, extra = _number(raid.facts.get("stripe cache")), cost.extra_read_bytes_per_byte
        if rows is not None and rows <= limits["rows"] and (extra or 0.0) >= limits["read"]:
            evidence = context.evidence(
                raid.name, rows=(rows, "count"), extra_read=(extra, "times")
            )
            yield Seen(raid.name, evidence, {"rmw": raid.facts.get("rmw level", "not told")})


def scheduler(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield disks that turn, with a queue and nothing that sorts it."""
    for device in context.disks:
        load = context.load(device.name)
        queue, chosen = load.aqu, _chosen(device.queue.get("scheduler", ""))
        if device.rotational and chosen == "none" and (queue or 0.0) >= limits["queue"]:
            yield Seen(device.name, context.evidence(device.name, queue=(queue, "requests")))


def queue_full(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield disks that have nearly as many requests in flight as their queue holds."""
    for device in context.disks:
        most, load = _number(device.queue.get("nr_requests")), context.load(device.name)
        if most and (load.aqu or 0.0) >= limits["share"] * most:
            yield Seen(
                device.name,
                context.evidence(
                    device.name, queue=(load.aqu, "requests"), holds=(most, "requests")
                ),
            )


def read_ahead(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield volumes read in pieces of just the read-ahead, where that is less than a stripe."""
    for device in context.measured:
        ahead, load = _number(device.queue.get("read_ahead_kb")), context.load(device.name)
        stripe = device.layout.stripe if device.layout else None
        size = load.read.size
        if not ahead or not stripe or size is None or ahead * KIB >= stripe:
            continue
        at_it = abs(size / (ahead * KIB) - 1) <= limits["near"]
        if at_it and context.enough(load.read.ios, limits["requests"]):
            evidence = context.evidence(device.name, size=(size, "bytes"))
            evidence["ahead"] = Evidence(ahead * KIB, "bytes", device.name)
            evidence["stripe"] = Evidence(float(stripe), "bytes", device.name)
            yield Seen(device.name, evidence)


def write_through(context: Context, limits: Mapping[str, float]) -> Iterator[Seen]:
    """Yield disks that turn, write much, and may not keep writes in their cache."""
    for device in context.disks:
        write = context.load(device.name).write
        if not device.rotational or device.queue.get("write_cache") != "write through":
            continue
        slow = (write.await_ms or 0.0) >= limits["ms"]
        if slow and context.enough(write.ios, limits["requests"]):
            evidence = context.evidence(
                device.name, took=(write.await_ms, "ms"), writes=(write.ios, "requests/s")
            )
            yield Seen(device.name, evidence)


def _number(text: str | None) -> float | None:
    return float(text) if text and text.isdecimal() else None


def _chosen(text: str) -> str:
    """Return the one in brackets of the schedulers there are; the only one is it."""
    return text.partition("[")[2].partition("]")[0] or text


STRIPE_CACHE = Rule(
    "SM601",
    "stripe-cache",
    Severity.INFO,
    says="{device} keeps {rows} rows in its stripe cache, the least there is, and reads {extra_read} "
    "bytes for each byte written.",
    against="Writes all over the array never meet a row again: then no cache is large enough. "
    "rmw_level is {rmw}.",
    advice="Try echo 4096 > md/stripe_cache_size; it takes rows x 4 KiB x members of memory.",
    source="Linux admin-guide/md.rst, stripe_cache_size; measured on 6.1: rows in the cache need "
    "no reads",
    find=stripe_cache,
    limits={"rows": 256, "read": 0.2},
    units={"rows": "count", "read": "times"},
)
SCHEDULER = Rule(
    "SM602",
    "no-scheduler",
    Severity.INFO,
    says="{device} turns, has {queue} in flight, and its scheduler is none: nobody sorts them.",
    against="A RAID controller or a virtual machine's host sorts them itself.",
    advice="Try mq-deadline (queue/scheduler).",
    source="Linux block documentation: schedulers sort and merge for disks that seek",
    find=scheduler,
    limits={"queue": 4.0},
    units={"queue": "requests"},
)
QUEUE_FULL = Rule(
    "SM603",
    "queue-full",
    Severity.INFO,
    says="{device} has {queue} in flight on average, of {holds} that its queue holds: more must wait "
    "outside, where nothing counts them.",
    against="More in the queue is more waiting, not more throughput, on a device that is full.",
    advice="See first whether it is overloaded; then try a larger queue/nr_requests.",
    source="Linux ABI/stable/sysfs-block, nr_requests; block/blk-mq.c: await begins when a request "
    "has got its place",
    find=queue_full,
    limits={"share": 0.9},
    units={"share": "share"},
)
READ_AHEAD = Rule(
    "SM604",
    "read-ahead",
    Severity.INFO,
    says="{device} is read {size} at a time, which is its read-ahead of {ahead}: less than the {stripe} "
    "that would keep all its disks at work.",
    against="Programs that ask for just that size look the same.",
    advice="Try a read-ahead of two stripes or more (blockdev --setra, queue/read_ahead_kb).",
    source="Linux ABI/stable/sysfs-block, read_ahead_kb",
    find=read_ahead,
    limits={"near": 0.05, "requests": 100},
    units={"near": "share", "requests": "count"},
)
WRITE_THROUGH = Rule(
    "SM605",
    "write-through",
    Severity.INFO,
    says="The write cache of {device} is off (write through): each of {writes} writes waits for the "
    "medium, {took}.",
    against="It may be off on purpose: a cache loses what it holds when the power fails.",
    advice="Behind a battery, or where all above flushes as it should, turn it on (hdparm -W1).",
    source="Linux block/writeback_cache_control.rst: write through makes flushes vanish",
    find=write_through,
    limits={"ms": 5.0, "requests": 100},
    units={"ms": "ms", "requests": "count"},
)
RULES = (STRIPE_CACHE, SCHEDULER, QUEUE_FULL, READ_AHEAD, WRITE_THROUGH)
