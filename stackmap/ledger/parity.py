"""
What RAID4/5/6 pays for writes that do not fill a stripe.

With p parity members of n, d = n - p, W and R the volume's bytes written and
read, Mw and Mr its data members': md works in rows of one 4 KiB page per
member, and every row update writes its k data pages and p parity pages. So

    N  = (Mw - W) / p      bytes of row updates (rows × 4096)
    g  = N / W             1/d when every row is full … 1 when each holds one page
    Mw / W = 1 + p g       the write amplification

A row updated by reconstruction reads the d - k pages it does not write, so a
cold cache reads d N - W in all. Fewer reads mean that the stripe cache held
pages, or rows were read-modify-written, possible only where d > p + 2. The
counters bound the share of full stripes; they fix it for d = 2 and at both
bounds. stackmap-kernel(7) has the measurements.
"""

from dataclasses import dataclass, replace

from stackmap.ledger.amounts import Traffic
from stackmap.ledger.device_state import is_degraded, is_working, work_of
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.member_writes import max_bitmap_bytes
from stackmap.model.device import Device, Role
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.raid import PAGE, Layout
from stackmap.model.reason import Reason
from stackmap.model.topology import Topology

DEGRADED = Reason(
    "degraded",
    "it is degraded, and counters do not tell reads for parity from reads in place of its missing "
    "member",
)
NOTHING_WRITTEN = Reason("nothing-written", "nothing was written")
UNKNOWN_BYTES = Reason("unknown-bytes", "bytes of the volume or its members are unknown")
EXCESS_READS = Reason(
    "excess-reads",
    "the members read more than these writes can explain: a check, writes smaller than a page, or "
    "reads of a degraded row",
)
SKEW = 0.02  # counters of two layers are read at different instants; g may miss its bounds by this much
# An interval that differs from a trace by more than this share is not the one that was traced.
SAME_TIME = 0.25


@dataclass(frozen=True, slots=True)
class Parity:
    """
    What parity cost; every figure is None where ``reason`` says why.

    ``pages_per_row``: mean data pages per row update, 1 … d.
    ``full_stripe_low``, ``…_high``: bounds of the share of bytes written as
    full stripes. ``one_page_by_writes``, ``…_by_reads``: the share of one-page
    writes if every partial write were one page, the estimate in many articles.
    ``write_amplification``: bytes written below per byte written.
    ``extra_read_bytes_per_byte``: bytes read below because of it.
    ``cost_bytes_per_byte``: both together; exact unless some of the members'
    writes may be the array's own bitmap: then it is the upper bound and
    ``least_cost_bytes_per_byte`` the lower. ``ideal_bytes_per_byte``: the cost
    if every stripe were full. ``cache_hit``: the share of a cold cache's reads
    that the stripe cache avoided; None where read-modify-write is possible,
    which looks the same. ``surplus_read_bytes_per_byte``: bytes read that no
    row needed: reads begun for stripes that then filled up, or a check.
    """

    pages_per_row: float | None = None
    full_stripe_low: float | None = None
    full_stripe_high: float | None = None
    one_page_by_writes: float | None = None
    one_page_by_reads: float | None = None
    write_amplification: float | None = None
    extra_read_bytes_per_byte: float | None = None
    cost_bytes_per_byte: float | None = None
    least_cost_bytes_per_byte: float | None = None
    ideal_bytes_per_byte: float | None = None
    cache_hit: float | None = None
    surplus_read_bytes_per_byte: float | None = None
    reason: str = ""


def parity_device(topology: Topology, top: str) -> Device | None:
    """Return the first device of the stack whose layout has parity; None for none."""
    return next(filter(has_parity, map(topology.__getitem__, topology.with_all_below(top))), None)


def has_parity(device: Device) -> bool:
    """Whether *device* is an array with parity."""
    return device.layout is not None and device.layout.parity > 0


def parity_of(ledger: Ledger, raid: Device) -> Parity | None:
    """Return the cost of parity on the array *raid*; None where it or its members have no counters."""
    members = ledger.topology.used_by(raid.name, Role.DATA)
    if raid.layout is None or not members or raid.name not in ledger.loads:
        return None
    below, load = ledger.flows(members), ledger.load(raid.name)
    bitmap = max_bitmap_bytes(ledger.topology, ledger.loads, raid)
    flows, unknown = (below["read"], below["write"]), _not_the_workload(ledger.topology, raid)
    if not unknown and is_degraded(raid):
        return _degraded(raid.layout, load, flows)
    cost = parity(raid.layout, load, flows, unknown, bitmap)
    share, traced = raid.full_stripes or (None, 0.0)
    if share is None or abs((ledger.seconds or 0.0) - traced) > SAME_TIME * traced:
        return cost
    return _with_traced_share(cost, share)


def _with_traced_share(cost: Parity, traced: float) -> Parity:
    """Return *cost* with the share that a trace counted, if the counters of this interval allow it."""
    low, high = cost.full_stripe_low, cost.full_stripe_high
    if low is None or high is None or not low - SKEW <= traced <= high + SKEW:
        return cost
    return replace(cost, full_stripe_low=traced, full_stripe_high=traced)


def parity(
    layout: Layout,
    volume: Load,
    members: tuple[Flow, Flow],
    reason: str = "",
    bitmap: float = 0.0,
) -> Parity:
    """
    Return the cost of parity for *volume* over an interval.

    *members*: reads and writes of the data members together. *reason*: why
    these are not the workload's alone, "" if they are. *bitmap*: how many of
    the bytes written may be the array's bitmap.
    """
    ideal = layout.ideal_write
    below_read, below_written = members[0].bytes, members[1].bytes
    written, read = volume.write.bytes, volume.read.bytes
    if not reason and None in (written, read, below_read, below_written):
        reason = UNKNOWN_BYTES
    if reason or written is None or read is None or below_read is None or below_written is None:
        return Parity(ideal_bytes_per_byte=ideal, reason=reason)
    if not written:
        return Parity(ideal_bytes_per_byte=ideal, reason=NOTHING_WRITTEN)
    updates = (below_written - written) / layout.parity
    updated = updates / written  # g
    contradiction = _contradiction(layout, updated)
    if contradiction:
        return Parity(ideal_bytes_per_byte=ideal, reason=contradiction)
    extra = below_read - read
    cold = layout.data * updates - written
    surplus = extra - cold
    # A row begun early can have read all its other pages in vain, not more.
    if surplus > (layout.data - 1) * updates + SKEW * written:
        return Parity(
            write_amplification=below_written / written,
            ideal_bytes_per_byte=ideal,
            reason=EXCESS_READS,
        )
    low, _ = full_stripe_bounds(layout.data, updated)
    least = max(1 / layout.data, updated - bitmap / layout.parity / written)
    _, high = full_stripe_bounds(layout.data, least)
    return Parity(
        pages_per_row=1 / min(1.0, max(updated, 1 / layout.data)),
        full_stripe_low=low,
        full_stripe_high=high,
        one_page_by_writes=_one_page(below_written / written, layout),
        # With a cold cache, by the cheaper method.
        one_page_by_reads=extra / written / max(1, min(1 + layout.parity, layout.data - 1)),
        write_amplification=below_written / written,
        extra_read_bytes_per_byte=extra / written,
        cost_bytes_per_byte=(below_written + extra) / written,
        least_cost_bytes_per_byte=(below_written - bitmap + extra) / written,
        ideal_bytes_per_byte=ideal,
        cache_hit=_cache_hit(layout, cold, surplus, written),
        surplus_read_bytes_per_byte=max(0.0, surplus) / written,
    )


def _degraded(layout: Layout, volume: Load, members: tuple[Flow, Flow]) -> Parity:
    """
    Return the cost of writes to an array that lacks a member, without figures of row updates.

    Some reads replace the missing member's data. So the cost is known only if
    nothing was read from the volume.
    """
    ideal, written = layout.ideal_write, volume.write.bytes
    if volume.read.bytes and written:
        return Parity(ideal_bytes_per_byte=ideal, reason=DEGRADED)
    reads, writes = ratio(members[0].bytes, written), ratio(members[1].bytes, written)
    if reads is None or writes is None:
        return Parity(ideal_bytes_per_byte=ideal, reason=NOTHING_WRITTEN)
    return Parity(
        write_amplification=writes,
        extra_read_bytes_per_byte=reads,
        cost_bytes_per_byte=writes + reads,
        least_cost_bytes_per_byte=writes + reads,
        ideal_bytes_per_byte=ideal,
    )


def parity_reads(volume: Traffic, below: Traffic) -> Traffic:
    """
    Return the reads *below* that the volume's writes caused.

    They are the bytes read beyond the volume's own, in pages: md reads for
    parity page by page, for requests of any size.
    """
    if volume.bytes is None or below.bytes is None:
        return Traffic()
    extra = max(0.0, below.bytes - volume.bytes)
    arrivals = extra / PAGE
    part = ratio(arrivals, below.arrivals)
    ios = None if part is None or below.ios is None else below.ios * min(1.0, part)
    return Traffic(arrivals, ios if extra else 0.0, extra)


def full_stripe_bounds(data: int, updated: float) -> tuple[float, float]:
    """
    Return the lowest and highest possible share of bytes in full stripes.

    *updated*: bytes of row updates per byte written. At the lowest every
    partial row held all data pages but one, at the highest only one.
    """
    if data == 1:
        return 1.0, 1.0  # a stripe of one page is always full
    low = data - data * (data - 1) * updated
    high = (1 - updated) / (1 - 1 / data)
    return _clamped(low), _clamped(high)


def _not_the_workload(topology: Topology, raid: Device) -> str:
    """Return why the members' I/O is not the workload's alone; "" if it is."""
    if any(edge.role is Role.JOURNAL for edge in topology.below(raid.name)):
        return Reason(
            "journal", "it has a journal, so its members' writes are not the cost of a write"
        )
    if raid.state in (None, "active") or (is_degraded(raid) and not is_working(raid)):
        return ""
    code = work_of(raid) or "state"
    return Reason(code, f"its state is {raid.state}, so its members do other work too")


def _contradiction(layout: Layout, updated: float) -> str:
    """Return why *updated* is impossible with this layout; "" if it is possible."""
    if updated > 1 + SKEW:
        return Reason(
            "excess-writes",
            "more was written to the members than one page per row explains: writes smaller than "
            "a page, a sync, or bitmap writes",
        )
    if updated < (1 - SKEW) / layout.data:
        return Reason(
            "contradiction",
            "less was written to the members than full stripes need: the counters contradict",
        )
    return ""


def _one_page(amplification: float, layout: Layout) -> float:
    ideal = layout.ideal_write
    return (amplification - ideal) / (1 + layout.parity - ideal) if layout.data > 1 else 0.0


def _cache_hit(layout: Layout, cold: float, surplus: float, written: float) -> float | None:
    if layout.data > layout.parity + 2 or cold < SKEW * written:
        return None
    return _clamped(-surplus / cold)


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))
