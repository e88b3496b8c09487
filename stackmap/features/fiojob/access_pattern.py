"""
The share of requests that start where the one before ended, for fio's sequential or random job.

No counter shows it. For writes it comes from the pattern that whatif uses, so both agree on one
recording. What that leaves open, and all reads, follow from merging below: neighbours merge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.features.whatif.measured import Measured, measured
from stackmap.features.whatif.pattern import pattern_of
from stackmap.features.whatif.volume_context import VolumeContext
from stackmap.ledger.amplification import StackFigures, figures_of
from stackmap.ledger.ledger import Ledger
from stackmap.ledger.parity import Parity
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

MERGING = 1.25  # arrivals per request completed below: neighbours arrived in sequence
FULL = 0.5  # of the bytes in full stripes, by requests smaller than a stripe


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """``sequential``: the estimated share of sequential requests, 0…1; ``evidence``: what it is based on."""

    sequential: float
    evidence: str


def access_patterns(
    topology: Topology, name: str, context: VolumeContext, whole: Interval, *, exclusive: bool
) -> Mapping[str, AccessPattern]:
    """
    Return the access pattern of reads and writes of *name* over *whole*, corrected.

    *exclusive*: no other volume used the members of *context*.
    """
    ledger = Ledger(topology, whole.loads, whole.seconds)
    (stack,) = figures_of(ledger, [name])
    found = measured(ledger, context) if exclusive else None
    written = _merged(stack, "write") if found is None else _written(stack, context, found)
    return {"read": _merged(stack, "read"), "write": written}


def _written(stack: StackFigures, context: VolumeContext, found: Measured) -> AccessPattern:
    if full := _full_stripes(stack.parity, context, found.write.size):
        return AccessPattern(1.0, full)
    pattern = pattern_of(found, context)
    shares = [each.sequential for each in pattern.hypotheses]
    merged = _merged(stack, "write")
    if not pattern.evidence or (merged.sequential and max(shares) == 1.0):
        return merged  # the pattern is not decided
    # On other layouts a run is derived from stripes, not from counted requests.
    by_rows = pattern.rows is not None and pattern.journal is None
    sequential = pattern.likely.following if by_rows else pattern.likely.sequential
    return AccessPattern(
        sequential,
        f"{100 * sequential:.1f} % are sequential, shown by {' and '.join(pattern.evidence)}",
    )


def _merged(stack: StackFigures, direction: str) -> AccessPattern:
    merged = max((f.coalescing.get(direction) or 0.0 for f in stack.layers), default=0.0)
    # Parity levels split everything into pages, which merge again under any load.
    if stack.raid is None and merged >= MERGING:
        return AccessPattern(
            1.0, f"below, {merged:.1f} requests merge into one, so they are adjacent"
        )
    return AccessPattern(0.0, "no merging or full stripes as sequential requests would cause")


def _full_stripes(parity: Parity | None, context: VolumeContext, size: float) -> str:
    low = parity.full_stripe_low if parity is not None else None
    stripe = context.present.stripe if context.present is not None else None
    # A single large request fills a stripe at any position.
    if not low or low <= FULL or (stripe is not None and size >= stripe):
        return ""
    return f"{100 * low:.0f} % of the bytes, or more, were full-stripe writes of several requests"
