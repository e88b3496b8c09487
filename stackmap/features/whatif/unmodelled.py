"""What a projection leaves out, as far as it matters for this one."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.features.whatif.measured import Measured
from stackmap.features.whatif.pattern import Pattern
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.model.raid import Layout

ALWAYS = (
    "how long requests take (only their number and size are projected)",
    "more I/O: a faster volume may attract it",
    "resync, check and rebuild, and a degraded array",
)
SEVERAL = 1.5  # writes in flight on average
FULL = 0.9  # of the chunk: a larger mean size is that of pieces


def unmodelled(
    measured: Measured, context: VolumeContext, pattern: Pattern, layout: Layout
) -> Iterator[str]:
    """Yield the sentences."""
    yield from ALWAYS
    if context.background_state:
        yield (
            f"the background work of its members: the array's state is {context.background_state}, so "
            "the present figures are not only the load's"
        )
    for target in context.writers_below:
        yield f"what {target} below the members reads and writes itself, now and projected"
    if context.spread_above:
        more = f" and {len(context.spread_above) - 1} more" * (len(context.spread_above) > 1)
        yield (
            f"a changed layout above ({context.spread_above[0]}{more} spreads its load over this and "
            "other devices)"
        )
    if _has_bitmap(layout) and context.manager is None:
        yield "mdadm's bitmap regions of 64 MiB (the projection uses LVM's, 2 MiB)"
    yield from _requests(measured, context, pattern, layout)
    if layout.level in ("raid1", "raid10", "mirror"):
        yield "how reads are balanced over the copies (load per disk is the mean)"
    if measured.flushes_reason:
        where = "are counted as writes" if context.counts_flushes else "md does not count"
        yield f"flushes, which {where}: {measured.flushes_reason}"


def _requests(
    measured: Measured, context: VolumeContext, pattern: Pattern, layout: Layout
) -> Iterator[str]:
    """Yield what is not modelled of splitting, merging and the bitmap."""
    chunk = context.split_size
    if chunk is not None and max(measured.read.size, measured.write.size) >= FULL * chunk:
        yield (
            f"requests above the present chunk of {chunk // 1024} KiB: the kernel counts their pieces, so "
            "a larger chunk or parity may make fewer of them"
        )
    if layout.parity and pattern.rows is None:
        yield (
            "how well md's pages merge at these disks (the range is from lab measurements, and wider with "
            "several requests in flight)"
        )
    if measured.depth > SEVERAL and layout.copies > 1 and not layout.parity:
        yield "whether concurrent writes share a bitmap write (the range covers both)"
    if measured.metadata is None and _has_bitmap(context.present) and _has_bitmap(layout):
        if context.lvm:
            yield "how often the bitmap is written now (the input does not show it)"
        else:
            yield "how often md's bitmap, if there is one, is written now (its writes look like data)"


def _has_bitmap(layout: Layout | None) -> bool:
    """Whether it may have a bitmap: its copies or parity can get out of sync."""
    return layout is not None and layout.survivable_failures > 0
