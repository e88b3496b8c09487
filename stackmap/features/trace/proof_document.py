"""What device-mapper's own statistics prove of the counters."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.document.blocks import Block, Paragraph
from stackmap.document.wording import size
from stackmap.model.trace import Proof

NEAR = 0.05  # a relative difference that does not count: the two are not read at the same instant


def proof_sentences(proofs: Iterable[Proof]) -> list[Block]:
    """Return a sentence per volume: its counters are doubled, right, or neither."""
    found: list[Block] = [Paragraph(_sentence(each), "proof:") for each in proofs]
    return found or [Paragraph("there is no LVM RAID volume, so no counter is doubled", "proof:")]


def _sentence(proof: Proof) -> str:
    title = proof.device.title
    if proof.ratio is None:
        return f"{title}: not tested: device-mapper counted no reads or writes"
    counted = f"diskstats counted {size(proof.counted)}, device-mapper {size(proof.true)}"
    if abs(proof.ratio - 2) <= 2 * NEAR:
        return f"{title}: {counted}: the counters are doubled"
    if abs(proof.ratio - 1) <= NEAR:
        return f"{title}: {counted}: the counters are right"
    return f"{title}: {counted}: neither equal nor doubled ({proof.ratio:.2f}×)"
