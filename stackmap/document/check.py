"""The checks of each device, top down."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from stackmap.analysis.findings.rule import Finding
from stackmap.document.blocks import Block, Checklist, Paragraph
from stackmap.document.cards import check_card
from stackmap.document.templates import title
from stackmap.model.topology import Topology

NOTHING = "Nothing to check: start, chunk and stripe of these devices are unknown."
NO_PROBLEMS = "No problems found."


def check_document(topology: Topology, found: Sequence[Finding], nothing: str) -> list[Block]:
    """Return the checks by device; the sentence *nothing* for none."""
    groups = tuple(
        (title(topology, name), tuple(check_card(topology, each) for each in group))
        for name, group in groupby(found, key=lambda each: each.device)
    )
    return [Checklist(groups) if groups else Paragraph(nothing)]
