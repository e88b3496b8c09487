"""What a projection leaves out, said in its output, as far as it concerns this one."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.whatif.measured import Measured
from stackmap.analysis.whatif.pattern import Pattern
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout

ALWAYS = (
    "how long requests take: only how many there are, and how large",
    "the load following: what is served faster may ask for more",
)
SEVERAL = 1.5  # writes under way at once, on average, from which on that matters
FULL = 0.9  # of the chunk: a mean size from here on is that of pieces, not of requests


def unmodelled(
    found: Measured, context: VolumeContext, pattern: Pattern, layout: Layout
) -> Iterator[str]:
    """Yield the sentences."""
    yield from ALWAYS
    yield "resync, check and rebuild, and a degraded array"
    if context.background_state:
        yield (
            f"what its members do now besides the load: its state is {context.background_state}, so the present "
            "figures are not the load's alone"
        )
    if context.spread_above:
        more = f" and {len(context.spread_above) - 1} more" if len(context.spread_above) > 1 else ""
        yield f"another layout of what spreads its load over this and others: {context.spread_above[0]}{more}"
    if _keeps_one(layout) and context.manager is None:
        yield "who would make it: the bitmap's regions are LVM's here, 2 MiB, and mdadm's are 64 MiB"
    cuts = context.cuts
    if cuts is not None and max(found.read.size, found.write.size) >= FULL * cuts:
        yield (
            f"requests longer than the present chunk of {cuts // 1024} KiB: they are counted as their "
            "pieces, so with a larger chunk, or in rows of parity, they may become fewer"
        )
    if layout.parity and pattern.rows is None:
        yield (
            "how well md's pages merge at these disks: the band is the lab's, and wider where several "
            "requests are under way at once"
        )
    if found.depth > SEVERAL and layout.copies > 1 and not layout.parity:
        yield "whether writes that come at once share a write of the bitmap: the band holds both"
    if found.metadata is None and _keeps_one(context.present) and _keeps_one(layout):
        yield from _bitmap_unseen(context)
    if layout.level in ("raid1", "raid10", "mirror"):
        yield "that copies let reads be balanced: per disk is the mean"
    if found.flushes_reason:
        where = "are among the writes" if context.counts_flushes else "md does not count"
        yield f"flushes, which {where}: {found.flushes_reason}"


def _keeps_one(layout: Layout | None) -> bool:
    """Whether it has a bitmap: where copies or parity could be out of step."""
    return layout is not None and layout.survivable_failures > 0


def _bitmap_unseen(context: VolumeContext) -> Iterator[str]:
    if context.lvm:
        yield "how often the bitmap is written now: it is not among the figures"
    else:
        yield "how often md's bitmap is written now, if there is one: nothing tells it from data"
