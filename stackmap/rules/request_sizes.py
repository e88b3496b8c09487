"""Can one request fill a stripe, are requests split on the way to the disks, and do the pieces merge again?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stackmap.ledger.layers import layers
from stackmap.model.device import Device, Kind
from stackmap.model.load import Flow
from stackmap.model.raid import RAID_LEVELS
from stackmap.model.units import KIB
from stackmap.rules.context import Context
from stackmap.rules.rule import Limits, Observation, Observations, PerStack, Rule, Severity, observe

if TYPE_CHECKING:
    from stackmap.ledger.amplification import StackFigures


@Rule(
    "SM102",
    Severity.WARNING,
    title="The chunks of {device} are too small",
    sentence="{device} splits requests into {chunk} chunks ({rate}), so one request occupies several "
    "of its {members} members. The disks serve {disk_rate} of {disk_size}.",
    caveat="Requests that already have the size of a chunk look the same.",
    advice="Copy the data to chunks of 64 KiB or more (`lvcreate --stripesize`, `mdadm --chunk`).",
    source="stackmap-kernel(7), Merging and splitting; Linux drivers/md/dm.c, raid0.c, raid10.c",
    thresholds={
        "chunk": (32768, "bytes", "chunk up to {}"),
        "full": (0.98, "share", "mean size {} of it"),
        "requests": (500, "count"),
    },
)
def small_chunk(context: Context, limits: Limits) -> Observations:
    """Yield arrays that split requests into pieces of a small chunk."""
    for device in context.measured:
        observed = _split(context, device, limits)
        if observed is not None:
            yield observed


def _split(context: Context, device: Device, limits: Limits) -> Observation | None:
    layout, load = device.layout, context.load(device.name).total
    if layout is None or not layout.chunk or not RAID_LEVELS[layout.level].stripes:
        return None
    if layout.chunk > limits["chunk"] or load.size is None or layout.members < 2:
        return None
    # dm and md count the pieces, which all have the chunk's size if every request is split; RAID4/5/6
    # of md count the original, larger request: stackmap-kernel(7), Merging and splitting.
    if load.size < limits["full"] * layout.chunk:
        return None
    if not context.enough(load.ios, limits["requests"]):
        return None
    disks = context.ledger.flow(layers(context.topology, device.name)[-1].devices, "total")
    figures = {
        "chunk": (float(layout.chunk), "bytes"),
        "size": (load.size, "bytes"),
        "rate": (load.ios, "requests/s"),
        "disk_rate": (disks.ios, "requests/s"),
        "disk_size": (disks.size, "bytes"),
    }
    return observe(device.name, figures, {"members": str(layout.members)}, weight=load.ios or 0.0)


@Rule(
    "SM103",
    Severity.WARNING,
    title="Requests to {device} arrive in small pieces",
    sentence="Large requests to {device} reach its disks as small ones: {size} above, {disk_size} at "
    "the disks. The pieces hardly merge ({merged} into one).",
    caveat="Random requests cannot merge; this matters for sequential load only.",
    advice="Check the chunk, max_sectors_kb and the I/O scheduler. With `none`, requests merge only "
    "while a program still submits.",
    source="Linux admin-guide/iostats.rst, fields 2 and 6",
    thresholds={
        "large": (65536, "bytes", "{} above"),
        "small": (16384, "bytes", "up to {} at the disks"),
        "merged": (1.5, "times", "merging below {}"),
        "requests": (200, "count"),
        "others": (0.1, "share", "others' requests up to {}"),
    },
)
@PerStack
def not_merged(context: Context, stack: "StackFigures", limits: Limits) -> Observations:
    """Yield tops whose large requests reach the disks as small ones."""
    if not _is_loaded(context, stack, limits["requests"]):
        return
    disks, top = stack.layers[-1], context.load(stack.top.name).total
    size, merged = disks.own["total"].size, disks.coalescing.get("total")
    if top.size is None or size is None or merged is None:
        return
    topology, names = context.topology, disks.layer.devices
    others = {above for name in names for above in topology.tops_of(name)} - {stack.top.name}
    theirs = sum(context.load(name).total.ios or 0.0 for name in others)
    if theirs > limits["others"] * (disks.own["total"].ios or 0.0):
        return  # their requests may be the small ones
    if top.size >= limits["large"] and size <= limits["small"] and merged < limits["merged"]:
        yield _sizes(top, stack, merged, weight=top.ios or 0.0)


@Rule(
    "SM104",
    Severity.GOOD,
    title="The disks of {device} merge requests",
    sentence="The disks of {device} merge {merged} requests into one of {disk_size}. They serve "
    "{disk_rate}, other load included; {device} itself gets {rate} of {size}.",
    caveat="The disks' figures include all load on them.",
    advice="Nothing to do: request counts at {device} overstate the work of the disks.",
    source="J. Young, High Disk I/O Usage, Part Two (2019): 18,842 writes become 449",
    thresholds={
        "merged": (2.0, "times", "merging {}"),
        "share": (0.5, "share", "{} of disk bytes"),
        "requests": (100, "count"),
    },
    labels={"disk_size": "mean size at the disks", "disk_rate": "rate at the disks"},
)
@PerStack
def merged(context: Context, stack: "StackFigures", limits: Limits) -> Observations:
    """Yield tops whose requests merge on the way, so that the disks get fewer and larger ones."""
    if not _is_loaded(context, stack, limits["requests"]):
        return
    disks, top = stack.layers[-1], context.load(stack.top.name).total
    ratio, below = disks.coalescing.get("total"), disks.own["total"]
    # md splits requests to RAID5 into pages, which merge again: the disks gain nothing by that.
    much = limits["merged"]
    fewer = (top.ios or 0.0) >= much * (below.ios or 0.0)
    larger = (below.size or 0.0) > (top.size or 0.0)
    if ratio is None or ratio < much or not (fewer and larger):
        return
    # What the disks merge must be mostly this top's.
    moved = disks.share.total.bytes
    if moved is not None and moved >= limits["share"] * (below.bytes or 0.0):
        yield _sizes(top, stack, ratio, weight=ratio)


def _is_loaded(context: Context, stack: "StackFigures", requests: float) -> bool:
    """Whether *stack* has at least *requests* at the top, and several layers."""
    rate = context.load(stack.top.name).total.ios
    return context.enough(rate, requests) and len(stack.layers) > 1


def _sizes(top: Flow, stack: "StackFigures", ratio: float, weight: float) -> Observation:
    below = stack.layers[-1].own["total"]
    figures = {
        "size": (top.size, "bytes"),
        "rate": (top.ios, "requests/s"),
        "disk_size": (below.size, "bytes"),
        "merged": (ratio, "times"),
        "disk_rate": (below.ios, "requests/s"),
    }
    return observe(stack.top.name, figures, weight=weight)


@Rule(
    "SM111",
    Severity.INFO,
    title="No request fills a stripe of {device}",
    sentence="No single request fills a stripe of {device}: {limiting} allows at most {limit} per "
    "request (max_sectors_kb), and a stripe has {stripe} of data.",
    caveat="md's stripe cache can still combine requests that arrive together.",
    advice="`echo {wanted} > /sys/block/{kernel_name}/queue/max_sectors_kb`, up to its "
    "max_hw_sectors_kb. Otherwise use a smaller chunk.",
    source="Linux ABI/stable/sysfs-block, max_sectors_kb; Linux block/blk-settings.c",
    thresholds={
        "size": (0.5, "times", "warning: writes {} the limit"),
        "cost": (1.25, "times"),
        "requests": (50, "count"),
    },
    is_state=True,
)
def request_limit(context: Context, limits: Limits) -> Observations:
    """
    Yield md parity arrays whose stripes are larger than any request to them.

    A warning if requests of about that size cost parity reads, or if the limit is below a chunk.
    LVM's RAID always cuts requests at the chunk.
    """
    for raid in context.devices:
        layout = raid.layout
        if raid.kind is not Kind.ARRAY or layout is None or not layout.parity or not layout.chunk:
            continue
        stripe = layout.chunk * layout.data
        sizes = ((user.queue.max_sectors_kb, user) for user in _users(context, raid))
        known = [(float(kib * KIB), user) for kib, user in sizes if kib]
        if not known or min(known, key=lambda pair: pair[0])[0] >= stripe:
            continue
        limit, device = min(known, key=lambda pair: pair[0])
        hurts = limit < layout.chunk or _is_cut(context, limits, raid, limit)
        figures = {
            "limit": (limit, "bytes", device.name),
            "stripe": (stripe, "bytes", raid.name),
            "size": (context.load(raid.name).write.size, "bytes", raid.name),
        }
        words = {
            "limiting": device.title,
            "kernel_name": device.name,
            "wanted": str(stripe // KIB),
        }
        severity = Severity.WARNING if hurts else None
        yield observe(raid.name, figures, words, weight=stripe / limit, severity=severity)


def _users(context: Context, raid: Device) -> Iterator[Device]:
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
        (cost.cost_bytes_per_byte or 0.0) >= limits["cost"] * (cost.ideal_bytes_per_byte or 0.0) > 0
        for array, cost in context.parity_arrays
        if array is raid
    )
