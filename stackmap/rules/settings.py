"""Do the settings of queues and caches fit the load? Each finding is something to try, not a fault."""

from functools import partial

from stackmap.model.device import Kind
from stackmap.model.units import KIB
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observations, Outcome, Rule, Severity, observe

_hint = partial(Rule, severity=Severity.INFO)


@_hint(
    "SM601",
    title="The stripe cache of {device} is small",
    sentence="{device} has a stripe cache of {rows} rows (md's default or fewer) and reads {extra_read} "
    "bytes per byte written.",
    caveat="Scattered writes never find their row in any cache. rmw_level is {rmw}.",
    advice="Try `echo 4096 > /sys/block/{kernel_name}/md/stripe_cache_size` (4 KiB per row and member).",
    source="stackmap-kernel(7), RAID write paths; Linux admin-guide/md.rst, stripe_cache_size",
    thresholds={
        "rows": (256, "count", "up to {} rows"),
        "read": (0.2, "times", "reads {} the writes"),
    },
)
def stripe_cache(context: Context, limits: Limits) -> Observations:
    """Yield md arrays with the default stripe cache or a smaller one that read old data for their writes."""
    for raid, parity in context.parity_arrays:
        if raid.kind is not Kind.ARRAY:
            continue
        rows, extra = raid.fact_number("stripe cache"), parity.extra_read_bytes_per_byte
        if rows is not None and rows <= limits["rows"] and (extra or 0.0) >= limits["read"]:
            yield observe(
                raid.name,
                {"rows": (float(rows), "count"), "extra_read": (extra, "times")},
                {"rmw": raid.facts.get("rmw level", "unknown"), "kernel_name": raid.name},
            )


@_hint(
    "SM602",
    title="{device} has no I/O scheduler",
    sentence="Spinning disk {device} has {queue} requests in flight and no I/O scheduler.",
    caveat="A RAID controller or the host of a virtual machine may sort them.",
    advice="Try mq-deadline (queue/scheduler).",
    source="Linux block documentation: schedulers sort and merge for disks that seek",
    thresholds={"queue": (4.0, "requests")},
    joins_peers=True,
)
def no_scheduler(context: Context, limits: Limits) -> Observations:
    """Yield spinning disks that queue requests without an I/O scheduler."""
    for device in context.disks:
        queue, text = context.load(device.name).aqu, device.queue.scheduler or ""
        chosen = text.partition("[")[2].partition("]")[0] or text  # "[none] mq-deadline", or "none"
        if device.rotational and chosen == "none" and (queue or 0.0) >= limits["queue"]:
            yield observe(device.name, {"queue": (queue, "requests")})


@_hint(
    "SM603",
    title="The queue of {device} is nearly full",
    outcome=Outcome.OVERLOADED,
    sentence="The queue of {device} is nearly full: on average {queue} of {holds} requests are in "
    "flight. More wait outside it, where no counter shows them.",
    caveat="On a saturated device, a longer queue adds latency, not throughput.",
    advice="If the device is not overloaded, try a larger queue/nr_requests.",
    source="Linux ABI/stable/sysfs-block, nr_requests; block/blk-mq.c: await starts in the queue",
    thresholds={"share": (0.9, "share", "{} of the queue")},
    joins_peers=True,
)
def queue_full(context: Context, limits: Limits) -> Observations:
    """Yield disks with nearly as many requests in flight as their queue holds."""
    for device in context.disks:
        capacity, depth = device.queue.nr_requests, context.load(device.name).aqu
        if capacity and (depth or 0.0) >= limits["share"] * capacity:
            yield observe(
                device.name, {"queue": (depth, "requests"), "holds": (float(capacity), "requests")}
            )


@_hint(
    "SM604",
    title="Read-ahead of {device} is below a stripe",
    sentence="Reads of {device} are {size}, like its read-ahead of {ahead}. A stripe is {stripe}, so "
    "they do not use all disks.",
    caveat="Programs that request exactly this size look the same.",
    advice="Try a read-ahead of at least two stripes (`blockdev --setra`, queue/read_ahead_kb).",
    source="Linux ABI/stable/sysfs-block, read_ahead_kb",
    thresholds={"size_difference": (0.05, "share", "sizes within {}"), "requests": (100, "count")},
)
def read_ahead(context: Context, limits: Limits) -> Observations:
    """Yield volumes whose reads have the size of a read-ahead that is smaller than a stripe."""
    for device in context.measured:
        ahead = (device.queue.read_ahead_kb or 0) * KIB
        stripe, read = device.layout and device.layout.stripe, context.load(device.name).read
        if not ahead or not stripe or read.size is None or ahead >= stripe:
            continue
        same_size = abs(read.size / ahead - 1) <= limits["size_difference"]
        if same_size and context.enough(read.ios, limits["requests"]):
            sizes = {"size": read.size, "ahead": ahead, "stripe": stripe}
            yield observe(device.name, {n: (float(size), "bytes") for n, size in sizes.items()})


@_hint(
    "SM605",
    title="The write cache of {device} is off",
    sentence="The write cache of {device} is off (write through), so writes wait for the medium: "
    "{writes}, await {took}.",
    caveat="It may be off on purpose: a cache loses its contents at power failure.",
    advice="Turn it on (`hdparm -W1`) if it is battery-backed or all layers above flush correctly.",
    source="Linux block/writeback_cache_control.rst",
    thresholds={"await": (5.0, "ms", "write await {}"), "requests": (100, "count")},
    joins_peers=True,
)
def write_through(context: Context, limits: Limits) -> Observations:
    """Yield spinning disks that write a lot with their write cache off."""
    for device in context.disks:
        write = context.load(device.name).write
        if not device.rotational or device.queue.write_cache != "write through":
            continue
        slow = (write.await_ms or 0.0) >= limits["await"]
        if slow and context.enough(write.ios, limits["requests"]):
            yield observe(
                device.name, {"took": (write.await_ms, "ms"), "writes": (write.ios, "requests/s")}
            )


@_hint(
    "SM606",
    title="{device} goes through the page cache",
    sentence="{device} reads and writes its file ({file}) through the page cache: {rate} of {size}. Its await is "
    "not a disk's, and memory holds the data twice.",
    caveat="A small file that stays in memory is faster this way.",
    advice="Turn direct I/O on: `losetup --direct-io=on /dev/{kernel_name}`.",
    source="losetup(8), --direct-io; Linux drivers/block/loop.c",
    thresholds={"requests": (100, "count")},
)
def loop_cached(context: Context, limits: Limits) -> Observations:
    """Yield loop devices with a load and without direct I/O."""
    for device in context.measured:
        total = context.load(device.name).total
        if device.facts.get("dio") == "0" and context.enough(total.ios, limits["requests"]):
            figures = {"rate": (total.ios, "requests/s"), "size": (total.size, "bytes")}
            words = {"file": device.facts.get("file", ""), "kernel_name": device.name}
            yield observe(device.name, figures, words)


@Rule(
    "SM607",
    Severity.WARNING,
    title="Memory is short: {device} swaps",
    outcome=Outcome.STATE,
    sentence="Memory is short: {device} is swap and is read at {read} and written at {written}. Requests of all "
    "programs wait for it.",
    caveat="A short burst after a program starts is normal.",
    advice="Find the program that needs the memory: `ps axo pid,comm,rss --sort=-rss`. Add memory or limit it.",
    source="Linux admin-guide/sysctl/vm.rst, swappiness; vmstat(8), si and so",
    thresholds={
        "bytes": (256 * KIB, "bytes/s", "read and written {}"),
        "queue": (4.0, "requests", "or read with {} in flight"),
    },
)
def swapping(context: Context, limits: Limits) -> Observations:
    """Yield swap devices that are read and written at the same time, or for which several programs wait."""
    for device in context.measured:
        load = context.load(device.name)
        read, written = load.read.bytes or 0.0, load.write.bytes or 0.0
        is_swap = any(use.kind == "swap" for use in device.uses)
        # A program waits for each read: the queue is of those that wait for their memory.
        waits = (load.read.wait or 0.0) / 1000 >= limits["queue"]
        if is_swap and (waits or min(read, written) >= limits["bytes"]):
            figures = {"read": (read, "bytes/s"), "written": (written, "bytes/s")}
            yield observe(device.name, figures, weight=read + written)
