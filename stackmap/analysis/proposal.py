"""
What is proposed for a stack: another layout, what the measured load would be on it, and the way there.

Either may be refused, the projection where the figures do not allow one, the
plan where no way is known to be safe; the reason then stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from stackmap.analysis.findings.parity import partial_stripe
from stackmap.analysis.findings.request_sizes import small_chunk
from stackmap.analysis.findings.rule import Finding
from stackmap.analysis.findings.state import never_synced
from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import Plan
from stackmap.analysis.plan.strategies import Outcome, is_current_layout, outcomes, refusals
from stackmap.analysis.report import Measuring
from stackmap.analysis.whatif.project import project
from stackmap.analysis.whatif.projection import Projection
from stackmap.analysis.whatif.volume_context import volume_context
from stackmap.errors import InputError, LayoutError, PlanRefused
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import Layout

# The findings that are of a layout, and of which layouts they are not; no other layout mends the rest.
MENDED_BY: Mapping[str, Callable[[Layout], bool]] = {
    partial_stripe.id: lambda layout: not layout.parity,
    # What is made anew is synced; in place LVM does nothing with what never was.
    never_synced.id: lambda _: True,
    small_chunk.id: lambda layout: (layout.chunk or 0) > small_chunk.limits["chunk"],
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    A layout for *top*, asked for as ``wish``.

    ``layout``: what that is here, None where it cannot be. ``projection``:
    None where ``unprojected`` says why. ``context`` and
    ``outcomes``: what each way of getting there says; where none can be gone,
    ``unplanned`` says why.
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
        """The safest way that can be gone; None if there is none."""
        return next((each for each in self.outcomes if each.plan is not None), None)

    def mends(self, finding: Finding) -> bool:
        """Whether *finding* is of the present layout, and not of the one that is proposed."""
        found = MENDED_BY.get(finding.rule.id)
        return self.layout is not None and found is not None and found(self.layout)

    @property
    def plan(self) -> Plan | None:
        """The plan of that way."""
        return None if self.chosen is None else self.chosen.plan


def proposal(
    measured: Measuring, top: str, wish: str, asked: LayoutRequest, context: PlanContext | str
) -> Proposal:
    """Return what *asked*, said as *wish*, would be for *top*; *context*: why there is none, or what a plan needs."""
    layout: Layout | None = None
    projection: Projection | None = None
    unprojected = ""
    volume = volume_context(measured.topology, top)
    try:
        layout = asked.resolve(volume.present, lvm=volume.lvm)
        projection = project(measured.topology, measured.parts, top, asked)
    except (InputError, LayoutError) as refusal:
        unprojected = str(refusal)
    so_far = Proposal(top, wish, layout, projection, unprojected)
    if isinstance(context, str):
        return replace(so_far, unplanned=context)
    found, unplanned = _ways(context)
    return replace(so_far, context=context, outcomes=found, unplanned=unplanned)


def _ways(context: PlanContext) -> tuple[tuple[Outcome, ...], str]:
    """Return what each way says, and why none can be gone."""
    try:
        if is_current_layout(context):
            return (), "the layout is there already"
        found = tuple(outcomes(context))
    except (PlanRefused, LayoutError) as refusal:
        return (), str(refusal)
    if any(each.plan is not None for each in found):
        return found, ""
    return found, refusals(found)
