"""
How many requests begin where the one before ended: what a job is told as sequential, or as so much at random.

No counter says so. Of writes it is asked of the pattern that a projection
rests on, so the two say the same of one recording; what that leaves open,
and of reads all, is told by what merges below: neighbours do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.analysis.amplification import StackFigures, figures_of
from stackmap.analysis.parity import Parity
from stackmap.analysis.whatif.measured import Measured, measured
from stackmap.analysis.whatif.pattern import Pattern, pattern_of
from stackmap.analysis.whatif.volume_context import VolumeContext
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

MERGING = 1.25  # requests that became one below: neighbours came one after another
FULL = 0.5  # of the bytes in full stripes, written by requests that are smaller


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """``sequential``: the share of the requests, 0…1, that follow on the one before; a guess, made of ``evidence``."""

    sequential: float
    evidence: str


def access_patterns(
    topology: Topology, name: str, context: VolumeContext, whole: Interval, *, exclusive: bool
) -> Mapping[str, AccessPattern]:
    """
    Return the order of the reads and of the writes of *name* over *whole*, put right.

    *exclusive*: whether nobody else used what *context* has; else its members' figures are others' too.
    """
    (stack,) = figures_of(topology, whole.loads, [name], whole.seconds)
    found = measured(topology, whole.loads, context, whole.seconds) if exclusive else None
    written = _merged(stack, "write") if found is None else _written(stack, context, found)
    return {"read": _merged(stack, "read"), "write": written}


def _written(stack: StackFigures, context: VolumeContext, found: Measured) -> AccessPattern:
    if full := _full_stripes(stack.parity, context, found.write.size):
        return AccessPattern(1.0, full)
    pattern = pattern_of(found, context)
    shares = [each.sequential for each in pattern.hypotheses]
    merged = _merged(stack, "write")
    if not pattern.evidence or (merged.sequential and max(shares) == 1.0):
        return merged  # the pattern leaves it open
    sequential = _following(pattern, found)
    return AccessPattern(
        sequential,
        f"{100 * sequential:.1f} % follow on the one before, told by {' and '.join(pattern.evidence)}",
    )


def _following(pattern: Pattern, found: Measured) -> float:
    """Return the share that follows on earlier writes, or on another of what arrived with it at once."""
    first = 1 - pattern.likely.sequential
    # Elsewhere a run is what stripes are taken to make of it, not so many requests that were seen.
    if pattern.rows is not None and pattern.journal is None:
        first *= min(1.0, found.write.size / pattern.run)
    return 1 - first


def _merged(stack: StackFigures, direction: str) -> AccessPattern:
    merged = max((f.coalescing.get(direction) or 0.0 for f in stack.layers), default=0.0)
    # Parity levels cut all they do to pages, which merge again whatever the load is.
    if stack.raid is None and merged >= MERGING:
        return AccessPattern(1.0, f"{merged:.1f} requests became one below: neighbours")
    return AccessPattern(0.0, "nothing merged or filled stripes as sequential requests would")


def _full_stripes(parity: Parity | None, context: VolumeContext, size: float) -> str:
    low = parity.full_stripe_low if parity is not None else None
    stripe = context.present.stripe if context.present is not None else None
    # One request alone may fill a stripe wherever it goes.
    if not low or low <= FULL or (stripe is not None and size >= stripe):
        return ""
    return f"{100 * low:.0f} % of the bytes, or more, filled stripes together"
