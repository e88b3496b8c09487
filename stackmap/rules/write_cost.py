"""What writes cost at the disks where that cannot be divided, and metadata that costs more than data."""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.ledger.amounts import Traffic
from stackmap.ledger.amplification import StackFigures
from stackmap.ledger.rows import Cause
from stackmap.model.device import Device, Role
from stackmap.model.load import sum_flows
from stackmap.rules.context import Context
from stackmap.rules.rule import (
    LIGHT,
    SHORT,
    Figure,
    Found,
    Limits,
    PerStack,
    Rule,
    Severity,
    observe,
)
from stackmap.rules.saturation import queue_doubt

DATA = (Cause.DATA, Cause.PARITY)
METADATA = {
    Cause.INTEGRITY: "checksums and their journal",
    Cause.BITMAP: "the bitmap",
    Cause.JOURNAL: "the journal",
    Cause.METADATA: "metadata of thin pools and caches",
}
REMEDIES = {
    Cause.INTEGRITY: "Use a bitmap instead of a journal: lvconvert --raidintegrity y "
    "--raidintegritymode bitmap or integritysetup --integrity-bitmap-mode.",
    Cause.BITMAP: "Use larger bitmap regions: lvchange --regionsize or mdadm --bitmap-chunk.",
    Cause.JOURNAL: "Put the journal on another, faster device.",
    Cause.METADATA: "Flush less often, or put the metadata on flash.",
}


@Rule(
    "SM112",
    Severity.WARNING,
    sentence="Each byte written to {device} costs {cost} disk bytes ({ideal} with full stripes): "
    "its members read and write {done} for {written} written.",
    caveat="The counters do not show how much partial stripes cost: {reason}. {doubt}",
    advice="Write larger or sequential requests and commit (fsync) less often, or use RAID10 (2 "
    "disk bytes per byte written).",
    source="stackmap-kernel(7), RAID write paths and Bitmap",
    thresholds={"cost": (1.25, "times"), "bytes": (65536, "bytes/s"), **SHORT},
    superseded_by=("SM101", "SM301", "SM302", "SM303"),
)
def write_cost(context: Context, limits: Limits) -> Found:
    """Yield parity arrays whose writes cost much for reasons that the counters do not tell apart."""
    for raid, parity in context.parity_arrays:
        name = raid.name
        ideal, written = parity.ideal_bytes_per_byte, context.load(name).write.bytes
        done = _caused_by_writes(context, raid)
        if not parity.reason or not ideal or not written or done is None:
            continue
        cost = done / written
        if raid.state == "active" and cost >= limits["cost"] * ideal and written >= limits["bytes"]:
            doubt = queue_doubt(context, name)
            figures: dict[str, Figure] = {
                "cost": (cost, "times"),
                "ideal": (ideal, "times"),
                "written": (written, "bytes/s"),
                "done": (done, "bytes/s"),
            }
            severity = Severity.INFO if doubt else None
            words = {"reason": parity.reason, "doubt": doubt}
            yield observe(name, figures, words, weight=done, severity=severity)


def _caused_by_writes(context: Context, raid: Device) -> float | None:
    """Return what the members do beyond the array's own reads; None if unknown or others use them."""
    members = context.below(raid.name, Role.DATA)
    if any(len(context.topology.above(name)) > 1 for name in members):
        return None
    moved = sum_flows(context.load(name).total for name in members).bytes
    read = context.load(raid.name).read.bytes
    return None if moved is None or read is None else moved - read


@Rule(
    "SM515",
    Severity.WARNING,
    sentence="{what} cost more than the data of {device}: of the writes at its disks, {metadata} in "
    "{metadata_rate} are {what}, {data} in {data_rate} are data and parity.",
    caveat="Below RAID1 and RAID10 a burst of writes to new areas does this only briefly.",
    advice="{remedy}",
    source="stackmap-kernel(7), Bitmap and Device-mapper targets",
    thresholds={"ratio": (1.0, "times"), "requests": (50, "count"), **LIGHT},
    superseded_by=("SM501",),
)
@PerStack
def metadata_cost(context: Context, stack: StackFigures, limits: Limits) -> Found:
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
        figures: dict[str, Figure] = {
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
    known = [
        (each.bounds[0].bytes or 0.0, c.value) for c, each in by_cause.items() if c in METADATA
    ]
    if not known:
        return None
    cause = Cause(max(known)[1])
    return cause, by_cause[cause]
