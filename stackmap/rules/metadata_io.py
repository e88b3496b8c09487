"""Do metadata writes or flushes take a large part of the I/O?"""

from __future__ import annotations

from stackmap.model.device import Role
from stackmap.rules.context import Context
from stackmap.rules.disk import expected_ms
from stackmap.rules.rule import (
    LIGHT,
    Figure,
    Found,
    Limits,
    Rule,
    Severity,
    observe,
)


@Rule(
    "SM501",
    Severity.WARNING,
    sentence="{device} causes {ratio} metadata writes per write: {metadata_rate} to {metadata} for "
    "{writes} of {size}. A metadata write takes {took}; the writes that need it wait.",
    caveat="A burst of writes to new areas does this only briefly.",
    advice="RAID: use larger bitmap regions (`lvchange --regionsize`, `mdadm --bitmap-chunk`) or "
    "other disks for the bitmap. Thin pool: flush less often, or put its metadata on flash.",
    source="stackmap-kernel(7), Bitmap; Linux drivers/md/md-bitmap.c",
    thresholds={"share": (0.5, "times"), "requests": (50, "count"), **LIGHT},
)
def metadata_writes(context: Context, limits: Limits) -> Found:
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
            figures: dict[str, Figure] = {
                "writes": (own.ios, "requests/s"),
                "size": (own.size, "bytes"),
                "ratio": (ratio, "times"),
                "metadata_rate": (writes.ios, "requests/s", busiest),
                "took": (writes.await_ms, "ms", busiest),
            }
            words = {"metadata": context.topology[busiest].title}
            yield observe(device.name, figures, words, weight=ratio)


@Rule(
    "SM502",
    Severity.WARNING,
    sentence="{device} spends {share} of its time on flushes: {flushes} are flushes with an await of "
    "{took}, {writes} are writes.",
    caveat="A flush waits for earlier writes, so slow writes also slow it.",
    advice="Commit (fsync) less often, or use a disk with a power-loss-protected cache.",
    source="Linux admin-guide/iostats.rst, fields 16 and 17",
    thresholds={
        "share": (0.3, "share"),
        "await": (2.0, "ms"),
        "requests": (50, "count"),
        **LIGHT,
    },
    joins_peers=True,
)
def flush_bound(context: Context, limits: Limits) -> Found:
    """Yield disks that spend much of their time on flushes."""
    for device in context.disks:
        flush, write = context.load(device.name).flush, context.load(device.name).write
        wait = flush.await_ms
        if wait is None or not flush.ios or not context.enough(flush.ios, limits["requests"]):
            continue
        share = flush.ios * wait / 1000
        if share >= limits["share"] and wait >= limits["await"]:
            # What a healthy disk needs to write its cache is the cost of the load.
            usual = expected_ms(device, write.size or 0.0)
            figures = {
                "flushes": (flush.ios, "requests/s"),
                "took": (wait, "ms"),
                "share": (share, "share"),
                "writes": (write.ios, "requests/s"),
            }
            severity = Severity.INFO if wait <= usual else None
            yield observe(device.name, figures, weight=share, severity=severity)
