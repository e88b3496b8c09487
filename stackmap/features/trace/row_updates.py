"""
Row updates of RAID4/5/6, exactly, from md's own decisions.

md decides for each row with new data whether to write it full, to reconstruct its parity or to
read-modify-write it. Full rows that follow one another are decided once, as a batch. So rows of fewer
than d pages are counted one by one, and full rows follow from the pages that md wrote:

    full = (pages written - sum n_k (k + p)) / (d + p)

The pages that arrived at the array check it: (sum k n_k + d full) × 4096 ÷ bytes written = 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stackmap.features.trace.distribution import Distribution
from stackmap.ledger.device_state import is_degraded
from stackmap.model.device import Device, Role
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology
from stackmap.model.trace import WRITE, Rows, Trace

SOUND = 0.02  # a self-check further from 1 is a warning


@dataclass(frozen=True, slots=True)
class RowUpdates:
    """
    Rows by kind; every figure is None where ``reason`` says why.

    ``by_pages``: rows by data pages written. ``full_share``: the share of bytes written that full
    rows hold. ``self_check``: 1 where all that was written is accounted for; None where it cannot be
    known, and ``doubt`` says why.
    """

    device: Device
    full: float | None = None
    reconstruct: int | None = None
    read_modify: int | None = None
    by_pages: dict[int, float] = field(default_factory=dict)
    full_share: float | None = None
    self_check: float | None = None
    reason: str = ""
    doubt: str = ""


def is_sound(rows: RowUpdates) -> bool:
    """Whether the self-check holds."""
    return rows.self_check is not None and abs(rows.self_check - 1) <= SOUND


def row_updates(topology: Topology, raid: Device, trace: Trace) -> RowUpdates:
    """Return the row updates of the parity array *raid*."""
    layout = raid.layout
    if layout is None or trace.rows is None:
        return RowUpdates(raid, reason="the row updates were not traced")
    if raid.state not in (None, "active") and not is_degraded(raid):
        return RowUpdates(raid, reason=f"its state is {raid.state}: it writes rows of its own")
    edges = topology.below(raid.name)
    if any(edge.role is Role.JOURNAL for edge in edges):
        return RowUpdates(raid, reason="it has a journal, which decides when rows are written")
    members = [topology[edge.below].number for edge in edges if edge.role is Role.DATA]
    sizes = Distribution(trace.sizes.get((raid.number, WRITE), {}))
    pages = sum(trace.member_bytes.get(number, 0) for number in members) / PAGE
    rows = trace.rows.get(raid.number, {})
    if not pages and not sizes.count:
        return RowUpdates(raid, reason="nothing was written")
    return _counted(raid, layout, rows, pages, sizes)


def _counted(
    raid: Device, layout: Layout, rows: Rows, pages: float, sizes: Distribution
) -> RowUpdates:
    data, parity = layout.data, layout.parity
    partial = {key: count for key, count in rows.items() if key[0] < data}
    partial_pages = sum(k * n for (k, _), n in partial.items())
    small = any(low % PAGE for low, _ in sizes.counts)
    if is_degraded(raid):
        full = max(0.0, (sizes.total / PAGE - partial_pages) / data)
        doubt = "the array is degraded, so its members do not hold all that was written"
    else:
        written = sum(n * (k + parity) for (k, _), n in partial.items())
        full = max(0.0, (pages - written) / (data + parity))
        doubt = "some requests do not fill whole 4 KiB pages" if small else ""
    by_pages: dict[int, float] = {}
    for (k, _), n in sorted(partial.items()):
        by_pages[k] = by_pages.get(k, 0) + n
    by_pages[data] = full
    total = partial_pages + full * data
    return RowUpdates(
        raid,
        full=full,
        reconstruct=sum(n for (_, rcw), n in partial.items() if rcw),
        read_modify=sum(n for (_, rcw), n in partial.items() if not rcw),
        by_pages=by_pages,
        full_share=full * data / total if total else None,
        self_check=None if doubt or not sizes.total else total * PAGE / sizes.total,
        doubt=doubt,
    )
