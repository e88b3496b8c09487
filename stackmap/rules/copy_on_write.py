"""Thin pools, VDO pools and snapshots: how full they are, when they will be full, and what copies cost."""

import re
from functools import partial

from stackmap.model.device import Kind, Role
from stackmap.model.dm_targets import VDO_BLOCK
from stackmap.model.load import sum_flows
from stackmap.model.units import SECTOR
from stackmap.rules.context import Context
from stackmap.rules.rule import LIGHT, Limits, Observations, Outcome, Rule, Severity, observe

METADATA_BLOCK = 4096  # of a thin pool (dm-thin-metadata.h)
# What LVM adds to a pool's name for the mapping that has its target.
MAPPING = re.compile("-[tv]pool$")
# A device below ``warning`` is reported only if its trend is measured for at least ``trend``.
_rule = partial(
    Rule,
    severity=Severity.WARNING,
    caveat="The time needs two readings and assumes steady growth.",
    thresholds={
        "warning": (0.8, "share", "{} full"),
        "critical": (0.95, "share", "critical from {}"),
        "soon": (86400, "s", "or full within {}"),
        "trend": (600, "s", "growth over {}"),
    },
    is_state=True,
    outcome=Outcome.STATE,
    slows=False,
)


@_rule(
    "SM311",
    title="Thin pool {device} is {share} full",
    sentence="The data space of thin pool {device} is {share} full ({used} of {total}). "
    "[Time to full: {to_full}.]",
    advice="[Extend it: `lvextend --size +SIZE -- {lv}`, or set thin_pool_autoextend_threshold. ]Run "
    "`fstrim` on its file systems. A full pool holds writes for 60 s, then fails them.",
    source="Linux admin-guide/device-mapper/thin-provisioning.rst, used data blocks; lvmthin(7)",
)
def thin_pool_data(context: Context, limits: Limits) -> Observations:
    """Yield thin pools with little free data space, or that will soon have none."""
    return _full(context, limits, "thin-pool", "data_")


@_rule(
    "SM312",
    title="The metadata of {device} is {share} full",
    sentence="The metadata space of thin pool {device} is {share} full ({used} of {total}). "
    "[Time to full: {to_full}.]",
    advice="[Extend it: `lvextend --poolmetadatasize +SIZE -- {lv}`. ]A pool whose metadata is full "
    "becomes read-only and needs `lvconvert --repair`.",
    source="Linux admin-guide/device-mapper/thin-provisioning.rst, used metadata blocks; lvmthin(7)",
)
def thin_pool_metadata(context: Context, limits: Limits) -> Observations:
    """Yield thin pools with little free metadata space, or that will soon have none."""
    return _full(context, limits, "thin-pool", "metadata_", METADATA_BLOCK)


@_rule(
    "SM315",
    title="VDO pool {device} is {share} full",
    sentence="VDO pool {device} is {share} full ({used} of {total}, with its own metadata). "
    "[Time to full: {to_full}.]",
    advice="[Extend it: `lvextend --size +SIZE -- {lv}`, or set vdo_pool_autoextend_threshold. ]Run "
    "`fstrim` on its file systems. A full pool fails writes of new data.",
    source="Linux admin-guide/device-mapper/vdo.rst, status; lvmvdo(7)",
)
def vdo_pool_data(context: Context, limits: Limits) -> Observations:
    """Yield VDO pools with few free blocks, or that will soon have none."""
    return _full(context, limits, "vdo", "data_", VDO_BLOCK)


@_rule(
    "SM313",
    title="Snapshot {device} is {share} full",
    sentence="Snapshot {device} is {share} full ({used} of {total}). [Time to full: {to_full}.]",
    advice="[Extend it: `lvextend --size +SIZE -- {lv}`, or remove it: `lvremove -- {lv}`. ]If it gets full, "
    "its content is lost.",
    source="Linux admin-guide/device-mapper/snapshot.rst, status; lvmsnapshot",
)
def snapshot_space(context: Context, limits: Limits) -> Observations:
    """Yield snapshots with little free space, or that will soon have none."""
    return _full(context, limits, "snapshot", "", SECTOR)


def _full(
    context: Context, limits: Limits, target: str, name: str, block: int | None = None
) -> Observations:
    """
    Yield devices with *target*, of whose ``<name>total`` blocks ``<name>used`` are many or soon will be.

    *block*: bytes; None: as the device says, and nothing is judged if it does not.
    """
    for device in context.devices:
        counts, size = context.counts(device), block or device.fact_number("block")
        used, total = counts.get(f"{name}used"), counts.get(f"{name}total")
        if device.target != target or not size or used is None or not total:
            continue
        change = context.changes.get(device.name)
        growth = None if change is None else change.rate(f"{name}used")
        to_full = None if change is None else change.seconds_to_full(name)
        share = used / total
        measured = change.seconds if change is not None else 0.0
        soon = to_full is not None and to_full <= limits["soon"] and measured >= limits["trend"]
        if share < limits["warning"] and not soon:
            continue
        figures = {
            "share": (share, "share"),
            "used": (float(used * size), "bytes"),
            "total": (float(total * size), "bytes"),
            "to_full": (to_full, "s"),
            "growth": (None if growth is None else growth * size, "bytes/s"),
            "measured": (measured or None, "s"),
        }
        severity = Severity.CRITICAL if share >= limits["critical"] else None
        words = {"to_full": "unknown" if growth is None else "never at the measured growth"}
        if "/" in device.title:
            words["lv"] = MAPPING.sub("", device.title)
        yield observe(device.name, figures, words, weight=share, severity=severity)


@Rule(
    "SM504",
    Severity.WARNING,
    title="Writes copy old data for snapshot {device}",
    sentence="Writes to the origin of snapshot {device} copy old data: {copied} for {written} "
    "written, {ratio} bytes per byte.",
    caveat="Each chunk is copied once, so this ends when all written chunks are copied.",
    advice="Remove the snapshot with `lvremove` when you no longer need it, or use thin snapshots.",
    source="stackmap-kernel(7), Device-mapper targets; Linux admin-guide/device-mapper/snapshot.rst",
    thresholds={
        "share": (0.5, "times", "copies {} the writes"),
        "requests": (50, "count"),
        **LIGHT,
    },
)
def snapshot_copies(context: Context, limits: Limits) -> Observations:
    """Yield snapshots that store old data of their origin while it is written."""
    for device in context.devices:
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
            figures = {
                "copied": (copied.bytes, "bytes/s", store),
                "copies": (copied.ios, "requests/s", store),
                "written": (written, "bytes/s", device.name),
                "ratio": (ratio, "times", device.name),
            }
            yield observe(device.name, figures, weight=ratio)


@Rule(
    "SM505",
    Severity.WARNING,
    title="First writes to {device} cost extra",
    sentence="First writes to chunks of {device} cost extra: its volumes wrote {written} ({size} per "
    "request), its disks {done}, {ratio}× as much. New chunks are zeroed, snapshot chunks copied.",
    caveat="This happens once per chunk and ends when a volume is fully written.",
    advice="Fill new volumes with large writes, or use smaller chunks. Disable zeroing (`lvchange "
    "--zero n`) only where exposing old data is harmless.",
    source="Linux admin-guide/device-mapper/thin-provisioning.rst, skip_block_zeroing",
    thresholds={
        "ratio": (1.5, "times", "{} the volumes' writes"),
        "requests": (50, "count"),
        **LIGHT,
    },
)
def thin_first_touch(context: Context, limits: Limits) -> Observations:
    """Yield thin pools that write far more data than their volumes."""
    for device in context.devices:
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
