"""
The proposed layouts of a volume: the measured load projected on each, and the plan to get there.

Each may be impossible: the projection where figures are missing, the plan where no safe method is
known. The reason then takes its place.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from stackmap.document.blocks import Bar, Bars, Block, Paragraph, Part, Section
from stackmap.document.rule_words import heading
from stackmap.document.wording import change, duration, listed, paragraph, plural, short, size
from stackmap.errors import InputError, LayoutError, PlanRefused
from stackmap.features.plan.document import blocks as plan_blocks
from stackmap.features.plan.document import safety
from stackmap.features.plan.plan import Plan, PlanContext
from stackmap.features.plan.strategies import Outcome, is_current_layout, outcomes, refusals
from stackmap.features.report.figures import Measuring, Report
from stackmap.features.whatif.document import blocks as projection_blocks
from stackmap.features.whatif.project import Projector
from stackmap.features.whatif.projection import Projection
from stackmap.features.whatif.quantities import Band
from stackmap.features.whatif.sentences import capacity, compared, effect
from stackmap.features.whatif.timing import Scenario
from stackmap.features.whatif.volume_context import volume_context
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import Layout
from stackmap.rules.parity import partial_stripe

if TYPE_CHECKING:
    from stackmap.features.trace.record import Trace
from stackmap.rules.request_sizes import small_chunk
from stackmap.rules.rule import Finding
from stackmap.rules.state import never_synced

# Findings that another layout resolves, with a test of the layouts that do.
RESOLVED_BY: Mapping[str, Callable[[Layout], bool]] = {
    partial_stripe.id: lambda layout: not layout.parity,
    # A new array is synced; LVM does not convert an unsynced one in place.
    never_synced.id: lambda _: True,
    small_chunk.id: lambda layout: (layout.chunk or 0) > small_chunk.limits["chunk"],
}


def layout_in_words(layout: Layout) -> str:
    """
    Return a layout for readers who do not know "3+1".

    >>> from stackmap.model.raid import layout as raid
    >>> layout_in_words(raid("raid5", 4, 65536))
    'raid5 with 3 data members and 1 parity member, 64 KiB chunks'
    """
    chunk = f", {size(layout.chunk)} chunks" if layout.chunk else ""
    members = plural(layout.members, "member")
    if layout.parity:
        members = (
            f"{plural(layout.data, 'data member')} and {plural(layout.parity, 'parity member')}"
        )
    elif layout.copies > 1:
        members = f"{members} and {layout.copies} copies of each byte"
    return f"{layout.level} with {members}{chunk}"


class Requests(NamedTuple):
    """Requests per second of all devices at ``where``, "disk" or "member", ``now`` and ``then``; how many each are."""

    where: str
    now: Band
    then: Band
    devices: tuple[int, int]

    @property
    def per_device(self) -> tuple[float, Band]:
        """The requests of each device, now and then."""
        before, after = (max(1, count) for count in self.devices)
        return self.now.likely / before, self.then.scaled(1 / after)


class Proposal(NamedTuple):
    """
    A layout for the volume ``top``, requested as the text ``wish``.

    ``layout``: the resulting layout, None if impossible. ``projection``: None
    where ``unprojected`` has the reason. ``outcomes``: the plan or the refusal
    of each method, from ``context``; ``unplanned``: why there is no plan.
    """

    top: str
    wish: str
    layout: Layout | None = None
    projection: Projection | None = None
    unprojected: str = ""
    context: PlanContext | None = None
    outcomes: tuple[Outcome, ...] = ()
    unplanned: str = ""

    @property
    def chosen(self) -> Outcome | None:
        """The safest method that has a plan; None if there is none."""
        return next((outcome for outcome in self.outcomes if outcome.plan is not None), None)

    def mends(self, finding: Finding) -> bool:
        """Whether the proposed layout resolves *finding*."""
        resolves = RESOLVED_BY.get(finding.rule.id)
        return self.layout is not None and resolves is not None and resolves(self.layout)

    @property
    def plan(self) -> Plan | None:
        """The plan of the chosen method; None if there is none."""
        return None if self.chosen is None else self.chosen.plan

    @property
    def is_present(self) -> bool:
        """Whether it is the layout that the volume has, as the projection found."""
        return self.projection is not None and self.projection.is_check

    @property
    def requests(self) -> Requests | None:
        """The requests that the projection compares; None where they are unknown, or there is no load."""
        if self.projection is None or self.projection.idle:
            return None
        where, now, then = compared(self.projection)
        if now.requests is None or then.requests is None:
            return None
        return Requests(where, now.requests, then.requests, (now.count, then.count))

    @property
    def at_disks(self) -> Requests | None:
        """The requests that it compares, if they are those of the disks."""
        return self.requests if self.requests and self.requests.where == "disk" else None


class Proposing:
    """
    Makes proposals for the volume *top*, whose load is measured once.

    *trace*: what the capture has of one. *timed*: how long requests would take is projected, too.
    """

    def __init__(
        self, measured: Measuring, top: str, trace: "Trace | None" = None, *, timed: bool
    ) -> None:
        self._top, self._scenario = top, Scenario() if timed else None
        self._volume = volume_context(measured.topology, top)
        self._projector: Projector | None = None
        self._unmeasured = ""
        try:
            self._projector = Projector(measured.topology, measured.parts, top, trace)
        except (InputError, LayoutError) as refusal:
            self._unmeasured = str(refusal)

    def propose(self, wish: str, asked: LayoutRequest, context: PlanContext | str) -> Proposal:
        """Return the proposal of the layout *asked*; *context*: what a plan needs, or why there is none."""
        layout, projection, unprojected = None, None, self._unmeasured
        try:
            layout = asked.resolve(self._volume.present, lvm=self._volume.lvm)
            if self._projector is not None:
                projection = self._projector.project(asked, self._scenario)
        except (InputError, LayoutError) as refusal:
            unprojected = str(refusal)
        ways, unplanned = ((), context) if isinstance(context, str) else _ways(context)
        planned = None if isinstance(context, str) else context
        return Proposal(self._top, wish, layout, projection, unprojected, planned, ways, unplanned)


def _ways(context: PlanContext) -> tuple[tuple[Outcome, ...], str]:
    """Return the outcome of each method, and why none has a plan, "" if one has."""
    try:
        if is_current_layout(context):
            return (), "this is the present layout"
        ways = tuple(outcomes(context))
    except (PlanRefused, LayoutError) as refusal:
        return (), str(refusal)
    has_plan = any(outcome.plan is not None for outcome in ways)
    return ways, "" if has_plan else "; ".join(refusals(ways))


NO_PROJECTION = (
    "No layout was requested. Run `stackmap report NAME --to LAYOUT -o FILE` to project the measured "
    "load on another layout."
)
PROJECTION_INTRO = (
    "The measured load on the proposed layout, by the model in stackmap-model(7). Low and high are "
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
    planned = any(proposal.plan is not None for proposal in proposals)
    intro = [Paragraph(PLAN_INTRO if proposals else NO_PLAN)] if planned or not proposals else []
    return Section("plan", "How to get there", (*intro, *_parts(report, proposals, _planned)))


def _parts(
    report: Report,
    proposals: tuple[Proposal, ...],
    blocks: Callable[[Proposal, int], Iterator[Block]],
) -> Iterator[Part]:
    for number, proposal in enumerate(proposals):
        title = f"{report.topology[proposal.top].full_title} as {proposal.wish}"
        yield Part(title, tuple(blocks(proposal, number)))


def proposed_layout(proposal: Proposal) -> str:
    """Return the proposed layout in words, or as requested if it is not possible."""
    return proposal.wish if proposal.layout is None else layout_in_words(proposal.layout)


def _projected(proposal: Proposal, number: int) -> Iterator[Block]:
    projection = proposal.projection
    if projection is None:
        yield Paragraph(f"{proposal.unprojected}.", "No projection:")
        return
    if requests := proposal.at_disks:
        yield _bars(
            requests, *(("measured", "model") if projection.is_check else ("now", "projected"))
        )
    yield from projection_blocks(projection, f"projection-{number}")


def _planned(proposal: Proposal, number: int) -> Iterator[Block]:
    chosen, context = proposal.chosen, proposal.context
    if chosen is None or context is None:
        yield Paragraph(f"{proposal.unplanned}.", "No plan:")
        return
    others = [outcome for outcome in proposal.outcomes if outcome is not chosen]
    yield from plan_blocks(context, chosen, others, f"step-{number}")


def _bars(requests: Requests, before: str, after: str) -> Bars:
    """Return the requests of all disks and of each, *before* and *after*."""
    total, (now, per_disk) = requests.then, requests.per_device
    bars = (
        Bar(f"all disks, {before}", requests.now.likely),
        Bar(f"all disks, {after}", total.likely, total.low, total.high),
        Bar(f"each disk, {before}", now),
        Bar(f"each disk, {after}", per_disk.likely, per_disk.low, per_disk.high),
    )
    return Bars("Requests at the disks", "requests/s", bars)


OTHERS = 1.05  # a disk that serves this many times the stack's requests has other users
NOTHING_PROPOSED = (
    "None. Run `stackmap report NAME --to LAYOUT -o FILE` to project another layout and plan the "
    "migration."
)
NO_LATENCY = "The projection counts requests, not latency, and holds only for the measured load."


def proposed(report: Report, proposals: tuple[Proposal, ...]) -> Iterator[Block]:
    """Yield each proposal with its effect and the findings that it fixes."""
    if not proposals:
        yield Paragraph(NOTHING_PROPOSED, "Proposal:")
    for place, proposal in enumerate(proposals, 1):
        mark = f" {place}:" if len(proposals) > 1 else ":"
        name = report.topology[proposal.top].full_title
        if proposal.is_present:
            present = f"{proposed_layout(proposal)} is the present layout of {name}."
            yield Paragraph(present, f"Proposal{mark}")
            continue
        way = "There is no plan for it: see How to get there."
        if proposal.chosen is not None and proposal.plan is not None:
            count = plural(len(proposal.plan.steps), "step")
            way = f"Plan of {count}: {proposal.chosen.strategy.summary}."
        yield Paragraph(f"{name} as {proposed_layout(proposal)}. {way}", f"Proposal{mark}")
        effects = f"No projection: {proposal.unprojected}."
        if proposal.projection is not None:
            effects = paragraph((effect(proposal.projection), _on_shared_disks(report, proposal)))
        yield Paragraph(effects, f"Effect{mark}")
        yield from _fixes(report, proposal, mark)


def _on_shared_disks(report: Report, proposal: Proposal) -> str:
    """
    Return the total load per disk, now and on the other layout.

    "" where the disks have no other users, or nothing is projected. The figure
    is per disk, because the disks of a layout with more members are not chosen yet.
    """
    requests = proposal.at_disks
    disks = volume_context(report.topology, proposal.top).disks
    rates = [report.interval.load(name).total.ios for name in disks]
    every = math.fsum(filter(None, rates))
    if requests is None or None in rates or every <= OTHERS * requests.now.likely:
        return ""
    per_disk, ours = every / len(disks), requests.now.likely / len(disks)
    after = per_disk - ours + requests.per_device[1].likely
    serve = f"these {len(disks)} disks serve {short(per_disk)} requests/s each"
    if len(disks) == 1:
        serve = f"{report.topology[disks[0]].title} serves {short(per_disk)} requests/s"
    return (
        f"With all other load, {serve} now. A disk of the new layout, one of "
        f"{requests.devices[1]}, would serve about {short(after)}: {change(per_disk, after, 'fewer')}."
    )


def _fixes(report: Report, proposal: Proposal, mark: str) -> Iterator[Block]:
    """Yield which findings the proposed layout fixes, and which of the stack's it does not."""
    fixed, left = _grave(report, proposal, mended=True), _not_fixed(report, proposal)
    if fixed or left:
        fixes = f"It fixes {listed(fixed)}." if fixed else "It fixes none of the findings."
        after = _load_per_disk(proposal) if left else ""
        yield Paragraph(paragraph((fixes, left, after)), f"Fixes{mark}")


def _not_fixed(report: Report, proposal: Proposal) -> str:
    """Return the findings of the stack that the layout does not fix; "" for none."""
    left = _grave(report, proposal, mended=False)
    return f"It does not fix {listed(left)}." if left else ""


def _grave(report: Report, proposal: Proposal, *, mended: bool) -> list[str]:
    """Return the grave findings of the stack that the layout fixes, or does not, with their devices."""
    return [
        f'"{heading(report.topology, finding)}"'
        for finding in report.findings_of(proposal.top)
        if finding.is_grave and proposal.mends(finding) == mended
    ]


def _load_per_disk(proposal: Proposal) -> str:
    """Return the change of the load per disk; without a projection, the first thing to do."""
    if proposal.at_disks is None:
        return "Look at these findings first."
    before, after = proposal.at_disks.per_device
    changed = change(before, after.likely, "fewer")
    return f"Requests of this volume per disk: {changed}; measure again afterwards."


def risks_of(report: Report, proposal: Proposal) -> Iterator[str]:
    """Yield the plan's risks, what is unknown and the space it needs, the gravest first; some may be ""."""
    plan, projection, context = proposal.plan, proposal.projection, proposal.context
    if plan is not None and context is not None:
        yield safety(plan, context)
    yield _not_fixed(report, proposal)
    if report.kept.period.is_short:
        yield f"The measurement covers only {duration(report.kept.period.seconds or 0.0)}."
    if projection is not None and not projection.idle:
        yield NO_LATENCY
    if plan is not None:
        yield from (f"NOT CHECKED: {remark}." for remark in plan.unchecked)
    if projection is not None:
        space, usable = capacity(projection), projection.now.usable
        yield space
        if plan is not None and space and usable:
            yield f"The plan found free space for {size(usable)}."
