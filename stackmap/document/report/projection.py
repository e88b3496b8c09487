"""The section with the measured load on the proposed layouts."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.analysis.whatif.projection import Projection
from stackmap.analysis.whatif.quantities import Band
from stackmap.document import whatif
from stackmap.document.blocks import Bar, Bars, Block, Paragraph, Part, Section
from stackmap.document.report.stack_summary import layout_in_words
from stackmap.model.topology import Topology

NOTHING = (
    "No layout was requested. Run `stackmap report NAME --to LAYOUT -o FILE` to project the measured "
    "load on another layout."
)
INTRO = (
    "The measured load on the proposed layout, by the model in stackmap-whatif(8). Low and high are "
    "the ends of the model's range. Members count what the layout sends; disks count what is left "
    "after merging."
)


def section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return one part per proposal."""
    blocks: list[Block] = [Paragraph(INTRO if proposals else NOTHING)]
    for number, each in enumerate(proposals):
        blocks.append(Part(heading(report.topology, each), tuple(_blocks(each, number))))
    return Section("projection", "What another layout would give", tuple(blocks))


def heading(topology: Topology, proposal: Proposal) -> str:
    """Return the stack and the layout of a proposal."""
    return f"{topology[proposal.top].full_title} as {proposal.wish}"


def proposed_layout(proposal: Proposal) -> str:
    """Return the proposed layout in words, or as requested if it is not possible."""
    return proposal.wish if proposal.layout is None else layout_in_words(proposal.layout)


def _blocks(proposal: Proposal, number: int) -> Iterator[Block]:
    projection = proposal.projection
    if projection is None:
        yield Paragraph(f"{proposal.unprojected}.", "No projection:")
        return
    bars = None if projection.idle else _bars(projection)
    if bars is not None:
        yield bars
    yield from whatif.blocks(projection, f"projection-{number}")


def _bars(projection: Projection) -> Bars | None:
    """Return the requests of all disks and of each, now and projected; None if unknown."""
    now, then = projection.now.disks, projection.projected.disks
    if now.requests is None or then.requests is None:
        return None
    before, after = ("measured", "model") if projection.is_check else ("now", "projected")
    bars = (
        Bar(f"all disks, {before}", now.requests.likely),
        _bar(f"all disks, {after}", then.requests),
        Bar(f"each disk, {before}", now.requests.likely / max(1, now.count)),
        _bar(f"each disk, {after}", then.requests.scaled(1 / max(1, then.count))),
    )
    return Bars("Requests at the disks", "requests/s", bars)


def _bar(label: str, band: Band) -> Bar:
    return Bar(label, band.likely, band.low, band.high)
