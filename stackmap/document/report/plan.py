"""The section with the commands that make the proposed layouts."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.document import plan
from stackmap.document.blocks import Block, Paragraph, Part, Section
from stackmap.document.report.projection import heading

NOTHING = "No layout was requested. Add `--to LAYOUT` for the commands of a migration."
INTRO = (
    "The commands for this stack, in order. stackmap has run none of them, and the stack may have "
    "changed since. Before step 1, make a backup and read it back."
)


def section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return one part per proposal."""
    planned = any(each.plan is not None for each in proposals)
    blocks: list[Block] = [Paragraph(INTRO)] if planned else []
    if not proposals:
        blocks.append(Paragraph(NOTHING))
    for number, each in enumerate(proposals):
        blocks.append(Part(heading(report.topology, each), tuple(_blocks(each, number))))
    return Section("plan", "How to get there", tuple(blocks))


def _blocks(proposal: Proposal, number: int) -> Iterator[Block]:
    chosen, context = proposal.chosen, proposal.context
    if chosen is None or context is None:
        yield Paragraph(f"{proposal.unplanned}.", "No plan:")
        return
    others = [each for each in proposal.outcomes if each is not chosen]
    yield from plan.blocks(context, chosen, others, f"step-{number}")
