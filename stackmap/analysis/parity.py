"""
What RAID4/5/6 pays for writes that do not fill a stripe.

With p parity members of n, d = n - p, W and R the volume's bytes written and
read, Mw and Mr its data members': md works in rows of one 4 KiB page a member,
and every row update writes its k data pages and p of parity. So

    N  = (Mw - W) / p      bytes of row updates (rows x 4096)
    g  = N / W             1/d when every row is full … 1 when each holds one page
    Mw / W = 1 + p g       the write amplification

and a row updated by reconstruction reads the d - k pages it does not write, so
a cold cache reads d N - W in all. What was not read, the stripe cache had, or
a row was read-modify-written, which is possible only where d > p + 2. The algebra
and its checks: KERNEL 2 and 3. The counters bound the share of full stripes;
only at both ends and for d = 2 do they fix it.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.analysis.share import Portion
from stackmap.model.load import Flow, Load, ratio
from stackmap.model.raid import PAGE, Layout

SKEW = 0.02  # counters of two layers are not read at one instant; g may miss its bounds by this


@dataclass(frozen=True, slots=True)
class Parity:
    """
    What parity cost; every figure None where ``reason`` says why.

    ``pages_per_row``: mean data pages a row update, 1 … d. ``full_stripe_low``
    and ``_high``: bounds of the share of bytes written as full stripes.
    ``one_page_by_writes``, ``…_by_reads``: the share of one-page writes *if
    every partial write were one page*, the estimate that blogs give.
    ``write_amplification``: bytes written below a byte written.
    ``extra_read_bytes_per_byte``: bytes read below, because of it.
    ``cost_bytes_per_byte``: both together, exact but where some of what the
    members were written may be marks in the array's own bitmap: then it is the
    most, and ``least_cost_bytes_per_byte`` the least. ``ideal_bytes_per_byte``:
    the same, were every stripe full. ``cache_hit``: the share of the reads a
    cold cache would have needed that the stripe cache spared; None where
    read-modify-write is possible and the two cannot be told apart.
    ``surplus_read_bytes_per_byte``: bytes read that no row needed, 0 where
    none: reads begun for stripes that then filled up (KERNEL 2.4), or a check.
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


def parity(
    layout: Layout,
    volume: Load,
    members: tuple[Flow, Flow],
    trouble: str = "",
    marked: float = 0.0,
) -> Parity:
    """
    Return what parity cost *volume* over an interval.

    *members*: reads and writes of the data members together. *trouble*: why
    their figures are not the workload's ("a resync is running"), "" if they are.
    *marked*: how many of the bytes written may be marks in the array's bitmap.
    """
    ideal = layout.ideal_write
    below_read, below_written = members[0].bytes, members[1].bytes
    written, read = volume.write.bytes, volume.read.bytes
    if trouble:
        return Parity(ideal_bytes_per_byte=ideal, reason=trouble)
    if written is None or read is None or below_read is None or below_written is None:
        return Parity(
            ideal_bytes_per_byte=ideal, reason="bytes of the volume or its members are unknown"
        )
    if not written:
        return Parity(ideal_bytes_per_byte=ideal, reason="nothing was written")
    updates = (below_written - written) / layout.parity
    pace = updates / written  # g
    contradiction = _contradiction(layout, pace)
    if contradiction:
        return Parity(ideal_bytes_per_byte=ideal, reason=contradiction)
    extra = below_read - read
    cold = layout.data * updates - written
    surplus = extra - cold
    # A row begun early can have read all its other pages in vain, not more (KERNEL 2.4).
    if surplus > (layout.data - 1) * updates + SKEW * written:
        return Parity(
            write_amplification=below_written / written,
            ideal_bytes_per_byte=ideal,
            reason="the members read more than these writes can explain: a check, writes smaller "
            "than a page, or reads of a degraded row",
        )
    low, _ = full_stripe_bounds(layout.data, pace)
    slowest = max(1 / layout.data, pace - marked / layout.parity / written)
    _, high = full_stripe_bounds(layout.data, slowest)
    return Parity(
        pages_per_row=1 / min(1.0, max(pace, 1 / layout.data)),
        full_stripe_low=low,
        full_stripe_high=high,
        one_page_by_writes=_one_page(below_written / written, layout),
        one_page_by_reads=extra / written / _reads_of_one_page(layout),
        write_amplification=below_written / written,
        extra_read_bytes_per_byte=extra / written,
        cost_bytes_per_byte=(below_written + extra) / written,
        least_cost_bytes_per_byte=(below_written - marked + extra) / written,
        ideal_bytes_per_byte=ideal,
        cache_hit=_cache_hit(layout, cold, surplus, written),
        surplus_read_bytes_per_byte=max(0.0, surplus) / written,
    )


def caused_reads(volume: Portion, here: Portion) -> Portion:
    """
    Return those of the reads *here*, below, that the volume's writes caused.

    They are the bytes read beyond the volume's own, in pages: md reads for
    parity page by page, whatever the size of a request (KERNEL 2.1).
    """
    if volume.bytes is None or here.bytes is None:
        return Portion()
    extra = max(0.0, here.bytes - volume.bytes)
    arrivals = extra / PAGE
    part = ratio(arrivals, here.arrivals)
    ios = None if part is None or here.ios is None else here.ios * min(1.0, part)
    return Portion(arrivals, ios if extra else 0.0, extra)


def full_stripe_bounds(data: int, pace: float) -> tuple[float, float]:
    """
    Return the least and the greatest share of bytes that can have filled their stripes.

    *pace*: bytes of row updates a byte written. The least is where every
    partial row held all pages but one, the greatest where each held one.
    """
    if data == 1:
        return 1.0, 1.0  # a stripe of one page is always full
    low = data - data * (data - 1) * pace
    high = (1 - pace) / (1 - 1 / data)
    return _clamped(low), _clamped(high)


def _contradiction(layout: Layout, pace: float) -> str:
    """Return why *pace* cannot be of this layout, "" if it can."""
    if pace > 1 + SKEW:
        return (
            "the members were written more than one page a row explains: writes smaller than a "
            "page, a sync, or marks in its bitmap"
        )
    if pace < (1 - SKEW) / layout.data:
        return "the members were written less than full stripes need: the counters contradict"
    return ""


def _one_page(amplification: float, layout: Layout) -> float:
    ideal = layout.ideal_write
    return (amplification - ideal) / (1 + layout.parity - ideal) if layout.data > 1 else 0.0


def _reads_of_one_page(layout: Layout) -> int:
    """Return the pages a cold one-page write reads, by the cheaper way (KERNEL 2.2)."""
    return max(1, min(1 + layout.parity, layout.data - 1))


def _cache_hit(layout: Layout, cold: float, surplus: float, written: float) -> float | None:
    if layout.data > layout.parity + 2 or cold < SKEW * written:
        return None
    return _clamped(-surplus / cold)


def _clamped(share: float) -> float:
    return min(1.0, max(0.0, share))
