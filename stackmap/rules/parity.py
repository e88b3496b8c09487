"""What do writes to an array with parity cost at its disks, and which other volumes do they slow down?"""

from stackmap.ledger.layers import layers
from stackmap.model.device import Device, Role
from stackmap.model.load import sum_flows
from stackmap.rules.context import Context
from stackmap.rules.rule import SHORT, Limits, Observations, Rule, Severity, observe
from stackmap.rules.saturation import queue_doubt

NO_OTHERS = "none"
WRITE_COST = {  # labels of evidence
    "cost": "disk bytes per byte written",
    "ideal": "the same with full stripes",
    "extra": "more than with full stripes",
    "extra_read": "bytes read per byte written",
    "pages": "data pages per row update",
    "done": "moved at the members",
}
MERGED = 2.0  # members that get this many times as many requests as they serve merge them


@Rule(
    "SM101",
    Severity.WARNING,
    title="{device} writes partial stripes, at {cost}× cost",
    sentence="{device} writes partial stripes[: its {rate} cause {member_rate} at its members][, "
    "which the disks merge to {merged_rate}]. Each byte written costs {cost} disk bytes of data and "
    "parity ({ideal} with full stripes). Old data and parity are read and parity is written again: "
    "{extra} more at the disks for {written} written. Other volumes with I/O on the same disks: {other_volumes}.",
    caveat="Counters show the cost, not the number of partial writes. A larger stripe_cache_size reduces only the "
    "reads. "
    "{doubt}",
    advice="Write larger or sequential requests, or use RAID10 (2 disk bytes per byte written).",
    source="stackmap-kernel(7), RAID write paths; J. Young, High Disk I/O Usage, Part Two (2019)",
    thresholds={"cost": (1.25, "times"), "bytes": (65536, "bytes/s"), **SHORT},
    labels=WRITE_COST,
)
def partial_stripe(context: Context, limits: Limits) -> Observations:
    """Yield arrays whose writes cost far more disk bytes than full-stripe writes would."""
    for raid, parity in context.parity_arrays:
        name = raid.name
        cost, ideal = parity.cost_bytes_per_byte, parity.ideal_bytes_per_byte
        written = context.load(name).write.bytes
        if cost is None or not ideal or not written:
            continue
        if cost < limits["cost"] * ideal or written < limits["bytes"]:
            continue
        extra = (cost - ideal) * written
        doubt, others = queue_doubt(context, name), _others_on_disks(context, name)
        members = _at_members(context, name)
        figures = {
            "rate": (context.load(name).total.ios, "requests/s"),
            "member_rate": (members, "requests/s"),
            "merged_rate": (_if_merged(context, name, members, others), "requests/s"),
            "cost": (cost, "times"),
            "ideal": (ideal, "times"),
            "written": (written, "bytes/s"),
            "extra": (extra, "bytes/s"),
            "pages": (parity.pages_per_row, "times"),
            "extra_read": (parity.extra_read_bytes_per_byte, "times"),
        }
        words = {"other_volumes": others, "doubt": doubt}
        severity = Severity.INFO if doubt else None
        yield observe(name, figures, words, weight=extra, severity=severity)


def _at_members(context: Context, name: str) -> float | None:
    """Return the requests per second that *name* sends to its members; None if unknown."""
    members = context.below(name, Role.DATA)
    share = context.ledger.share(name, dict.fromkeys(members)).total
    context.ledger.forget(name)
    return share.ios if share.arrivals is None else share.arrivals


def _if_merged(context: Context, name: str, members: float | None, others: str) -> float | None:
    """Return the requests per second at the disks of *name* if they merge those of *members*; None if not or unknown."""
    served = context.ledger.flow(layers(context.topology, name)[-1].devices, "total").ios
    if served is None or members is None or others != NO_OTHERS or members < MERGED * served:
        return None
    return served


def _others_on_disks(context: Context, name: str) -> str:
    """Return the other tops with I/O on the disks of *name*, "none", or "unknown" without their figures."""
    topology = context.topology
    every = {top for disk in topology.disks_of(name) for top in topology.tops_of(disk)}
    tops = every - topology.tops_of(name)
    titles = ", ".join(sorted(topology[top].title for top in tops if context.load(top).total.bytes))
    return titles or (NO_OTHERS if tops <= context.loads.keys() else "unknown")


@Rule(
    "SM112",
    Severity.WARNING,
    title="Writes to {device} cost {cost}× at the disks",
    sentence="Each byte written to {device} costs {cost} disk bytes ({ideal} with full stripes): "
    "its members read and write {done} for {written} written.",
    caveat="The counters do not show how much partial stripes cost: {reason}. {doubt}",
    advice="Write larger or sequential requests and commit (fsync) less often, or use RAID10 (2 "
    "disk bytes per byte written).",
    source="stackmap-kernel(7), RAID write paths and Bitmap",
    thresholds={"cost": (1.25, "times"), "bytes": (65536, "bytes/s"), **SHORT},
    superseded_by=("SM101", "SM301", "SM302", "SM303"),
    labels=WRITE_COST,
)
def write_cost(context: Context, limits: Limits) -> Observations:
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
            figures = {
                "cost": (cost, "times"),
                "ideal": (ideal, "times"),
                "written": (written, "bytes/s"),
                "done": (done, "bytes/s"),
            }
            severity = Severity.INFO if doubt else None
            words = {"reason": parity.reason, "doubt": doubt}
            yield observe(name, figures, words, weight=done, severity=severity)


def _caused_by_writes(context: Context, raid: Device) -> float | None:
    """Return the members' I/O beyond the array's own reads; None if unknown or others use them."""
    members = context.below(raid.name, Role.DATA)
    if any(len(context.topology.above(name)) > 1 for name in members):
        return None
    moved = sum_flows(context.load(name).total for name in members).bytes
    read = context.load(raid.name).read.bytes
    return None if moved is None or read is None else moved - read
