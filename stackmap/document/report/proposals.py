"""The sections on the proposed layouts: the measured load on each, and the commands that make it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.analysis.whatif.projection import Projection
from stackmap.document import plan, whatif
from stackmap.document.blocks import Bar, Bars, Block, Paragraph, Part, Section
from stackmap.document.report.stack_summary import layout_in_words

NO_PROJECTION = (
    "No layout was requested. Run `stackmap report NAME --to LAYOUT -o FILE` to project the measured "
    "load on another layout."
)
PROJECTION_INTRO = (
    "The measured load on the proposed layout, by the model in stackmap-whatif(8). Low and high are "
    "the ends of the model's range. Members count what the layout sends; disks count what is left "
    "after merging."
)


NO_PLAN = "No layout was requested. Add `--to LAYOUT` for the commands of a migration."
PLAN_INTRO = (
    "The commands for this stack, in order. stackmap has run none of them, and the stack may have "
    "changed since. Before step 1, make a backup and read it back."
)


def projection_section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return the projected load of each proposal."""
    intro = Paragraph(PROJECTION_INTRO if proposals else NO_PROJECTION)
    parts = _parts(report, proposals, _projected)
    return Section("projection", "What another layout would give", (intro, *parts))


def plan_section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return the commands of each proposal."""
    planned = any(each.plan is not None for each in proposals)
    intro = [Paragraph(PLAN_INTRO if proposals else NO_PLAN)] if planned or not proposals else []
    return Section("plan", "How to get there", (*intro, *_parts(report, proposals, _planned)))


def _parts(
    report: Report,
    proposals: tuple[Proposal, ...],
    blocks: Callable[[Proposal, int], Iterator[Block]],
) -> Iterator[Part]:
    for number, each in enumerate(proposals):
        title = f"{report.topology[each.top].full_title} as {each.wish}"
        yield Part(title, tuple(blocks(each, number)))


def proposed_layout(proposal: Proposal) -> str:
    """Return the proposed layout in words, or as requested if it is not possible."""
    return proposal.wish if proposal.layout is None else layout_in_words(proposal.layout)


def _projected(proposal: Proposal, number: int) -> Iterator[Block]:
    projection = proposal.projection
    if projection is None:
        yield Paragraph(f"{proposal.unprojected}.", "No projection:")
        return
    bars = None if projection.idle else _bars(projection)
    if bars is not None:
        yield bars
    yield from whatif.blocks(projection, f"projection-{number}")


def _planned(proposal: Proposal, number: int) -> Iterator[Block]:
    chosen, context = proposal.chosen, proposal.context
    if chosen is None or context is None:
        yield Paragraph(f"{proposal.unplanned}.", "No plan:")
        return
    others = [each for each in proposal.outcomes if each is not chosen]
    yield from plan.blocks(context, chosen, others, f"step-{number}")


def _bars(projection: Projection) -> Bars | None:
    """Return the requests of all disks and of each, now and projected; None if unknown."""
    now, then = projection.now.disks, projection.projected.disks
    if now.requests is None or then.requests is None:
        return None
    before, after = ("measured", "model") if projection.is_check else ("now", "projected")
    total, each = then.requests, then.requests.scaled(1 / max(1, then.count))
    bars = (
        Bar(f"all disks, {before}", now.requests.likely),
        Bar(f"all disks, {after}", total.likely, total.low, total.high),
        Bar(f"each disk, {before}", now.requests.likely / max(1, now.count)),
        Bar(f"each disk, {after}", each.likely, each.low, each.high),
    )
    return Bars("Requests at the disks", "requests/s", bars)
