"""Snapshot copies and first writes to thin chunks: I/O that a write triggers."""

from __future__ import annotations

from stackmap.model.device import Kind, Role
from stackmap.model.load import sum_flows
from stackmap.rules.context import Context
from stackmap.rules.rule import LIGHT, Figure, Found, Limits, Rule, Severity, observe


@Rule(
    "SM504",
    Severity.WARNING,
    sentence="Writes to the origin of snapshot {device} copy old data: {copied} for {written} "
    "written, {ratio} bytes per byte.",
    caveat="Each chunk is copied once, so this ends when all written chunks are copied.",
    advice="Remove the snapshot with `lvremove` when you no longer need it, or use thin snapshots.",
    source="stackmap-kernel(7), Device-mapper targets; Linux admin-guide/device-mapper/snapshot.rst",
    thresholds={"share": (0.5, "times"), "requests": (50, "count"), **LIGHT},
)
def snapshot_copies(context: Context, limits: Limits) -> Found:
    """Yield snapshots that store old data of their origin while it is written."""
    for device in context.topology:
        roles = {edge.role: edge.below for edge in context.topology.below(device.name)}
        if Role.COW not in roles or Role.ORIGIN not in roles or device.state == "merging":
            continue
        store = roles[Role.COW]
        copied = context.load(store).write
        origins = [e.above for e in context.topology.above(roles[Role.ORIGIN])]
        written = sum_flows(context.load(n).write for n in origins if n in context.loads).bytes
        if not copied.bytes or not written or not context.enough(copied.ios, limits["requests"]):
            continue
        ratio = copied.bytes / written
        if ratio >= limits["share"]:
            figures: dict[str, Figure] = {
                "copied": (copied.bytes, "bytes/s", store),
                "copies": (copied.ios, "requests/s", store),
                "written": (written, "bytes/s"),
                "ratio": (ratio, "times"),
            }
            yield observe(device.name, figures, weight=ratio)


@Rule(
    "SM505",
    Severity.WARNING,
    sentence="First writes to chunks of {device} cost extra: its volumes wrote {written} ({size} per "
    "request), its disks {done}, {ratio}× as much. New chunks are zeroed, snapshot chunks copied.",
    caveat="This happens once per chunk and ends when a volume is fully written.",
    advice="Fill new volumes with large writes, or use smaller chunks. Disable zeroing (`lvchange "
    "--zero n`) only where exposing old data is harmless.",
    source="Linux admin-guide/device-mapper/thin-provisioning.rst, skip_block_zeroing",
    thresholds={"ratio": (1.5, "times"), "requests": (50, "count"), **LIGHT},
)
def thin_first_touch(context: Context, limits: Limits) -> Found:
    """Yield thin pools that write far more data than their volumes."""
    for device in context.topology:
        if device.target != "thin-pool":
            continue
        data = context.below(device.name, Role.DATA)
        users = (context.topology[e.above] for e in context.topology.above(device.name))
        volumes = [v.name for v in users if v.kind is Kind.THIN or v.target == "thin"]
        if not data or not context.loads.keys() >= {*data, *volumes}:
            continue
        written = sum_flows(context.load(name).write for name in volumes)
        done = context.load(data[0]).write.bytes
        if not written.bytes or done is None:
            continue
        ratio = done / written.bytes
        if ratio >= limits["ratio"] and context.enough(written.ios, limits["requests"]):
            figures = {
                "written": (written.bytes, "bytes/s"),
                "done": (done, "bytes/s"),
                "ratio": (ratio, "times"),
                "size": (written.size, "bytes"),
            }
            yield observe(device.name, figures, weight=ratio)
