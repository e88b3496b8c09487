"""What a page written costs a layout with parity, by how the writes lie and by what was measured of rows."""

from __future__ import annotations

from stackmap.analysis.whatif.pattern import Pattern
from stackmap.analysis.whatif.stripe_cost import Cost, cold_reads, scattered, sequential
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.raid import PAGE, Layout

# Rows in md's stripe cache (KERNEL 2.4), or as many as four chunks have pages (raid5.c: raid5_run).
STRIPE_CACHE, STRIPES_OF_CHUNKS = 256, 4


def row_costs(pattern: Pattern, context: VolumeContext, layout: Layout) -> list[Cost]:
    """Return what a page written would cost *layout*, which has parity, by each hypothesis."""
    present, chunk = context.present, layout.chunk or pattern.run
    if pattern.rows is not None and present is not None and _alike(present, layout):
        return [_carried(pattern.rows, present, layout)]
    run = pattern.run / chunk
    apart = scattered(layout.data, layout.parity, run)
    passing = sequential(layout.data, layout.parity, run)
    return [
        apart.mixed(passing, each.sequential if _stays(each.sequential, chunk) else 0.0)
        for each in pattern.hypotheses
    ]


def _alike(present: Layout, layout: Layout) -> bool:
    """Whether the same pages share a row in both."""
    return (present.data, present.chunk) == (layout.data, layout.chunk)


def _carried(rows: Cost, present: Layout, layout: Layout) -> Cost:
    """Return what rows that were measured on *present* cost where they are the same but for parity."""
    pages = 1 / rows.updates
    before = cold_reads(present.data, present.parity, pages)
    reads = rows.reads * cold_reads(layout.data, layout.parity, pages) / before if before else 0.0
    return Cost(reads, 1 + layout.parity * rows.updates, rows.updates)


def _stays(share: float, chunk: float) -> bool:
    """Whether the stripe cache still has a row when a stream comes back to it, a chunk later."""
    pages = chunk / PAGE
    return pages <= max(STRIPE_CACHE, STRIPES_OF_CHUNKS * pages) * share
