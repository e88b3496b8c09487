"""Can one request fill a stripe?"""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.model.device import Device, Kind
from stackmap.model.units import KIB
from stackmap.rules.context import Context
from stackmap.rules.rule import Figure, Found, Limits, Rule, Severity, observe


@Rule(
    "SM111",
    Severity.INFO,
    sentence="No single request fills a stripe of {device}: {limiting} allows at most {limit} per "
    "request (max_sectors_kb), and a stripe has {stripe} of data.",
    caveat="md's stripe cache can still combine requests that arrive together.",
    advice="`echo {wanted} > /sys/block/{kernel_name}/queue/max_sectors_kb`, up to its "
    "max_hw_sectors_kb. Otherwise use a smaller chunk.",
    source="Linux ABI/stable/sysfs-block, max_sectors_kb; Linux block/blk-settings.c",
    thresholds={"size": (0.5, "times"), "cost": (1.25, "times"), "requests": (50, "count")},
    is_state=True,
)
def request_limit(context: Context, limits: Limits) -> Found:
    """
    Yield md parity arrays whose stripes are larger than any request to them.

    A warning if requests of about that size cost parity reads, or if the limit is below a chunk.
    LVM's RAID always cuts requests at the chunk.
    """
    for raid in context.topology:
        layout = raid.layout
        if raid.kind is not Kind.ARRAY or layout is None or not layout.parity or not layout.chunk:
            continue
        stripe = layout.chunk * layout.data
        sizes = ((each.queue.max_sectors_kb, each) for each in _users(context, raid))
        known = [(float(kib * KIB), each) for kib, each in sizes if kib]
        if not known or min(known, key=lambda each: each[0])[0] >= stripe:
            continue
        limit, device = min(known, key=lambda each: each[0])
        hurts = limit < layout.chunk or _is_cut(context, limits, raid, limit)
        figures: dict[str, Figure] = {
            "limit": (limit, "bytes", device.name),
            "stripe": (stripe, "bytes"),
            "size": (context.load(raid.name).write.size, "bytes"),
        }
        words = {
            "limiting": device.title,
            "kernel_name": device.name,
            "wanted": str(stripe // KIB),
        }
        severity = Severity.WARNING if hurts else None
        yield observe(raid.name, figures, words, weight=stripe / limit, severity=severity)


def _users(context: Context, raid: Device) -> Iterator[Device]:
    """Yield *raid* and the devices above it."""
    waiting, seen = [raid.name], {raid.name}
    while waiting:
        name = waiting.pop()
        yield context.topology[name]
        above = {edge.above for edge in context.topology.above(name)} - seen
        seen |= above
        waiting += sorted(above)


def _is_cut(context: Context, limits: Limits, raid: Device, limit: float) -> bool:
    """Whether the array's writes are about as large as *limit*, and cost more than full stripes."""
    write = context.load(raid.name).write
    large = (write.size or 0.0) >= limits["size"] * limit
    if not large or not context.enough(write.ios, limits["requests"]):
        return False
    return any(
        (each.cost_bytes_per_byte or 0.0) >= limits["cost"] * (each.ideal_bytes_per_byte or 0.0) > 0
        for array, each in context.parity_arrays
        if array is raid
    )
