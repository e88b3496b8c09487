"""
A proposed layout for a volume: the measured load projected on it, and the plan to get there.

Each may be impossible: the projection where figures are missing, the plan
where no safe method is known. The reason then takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from stackmap.errors import InputError, LayoutError, PlanRefused
from stackmap.features.plan.plan_context import PlanContext
from stackmap.features.plan.step import Plan
from stackmap.features.plan.strategies import Outcome, is_current_layout, outcomes, refusals
from stackmap.features.report.figures import Measuring
from stackmap.features.whatif.project import project
from stackmap.features.whatif.projection import Projection
from stackmap.features.whatif.volume_context import volume_context
from stackmap.model.layout_request import LayoutRequest
from stackmap.model.raid import Layout
from stackmap.rules.parity import partial_stripe
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
        return next((each for each in self.outcomes if each.plan is not None), None)

    def mends(self, finding: Finding) -> bool:
        """Whether the proposed layout resolves *finding*."""
        resolves = RESOLVED_BY.get(finding.rule.id)
        return self.layout is not None and resolves is not None and resolves(self.layout)

    @property
    def plan(self) -> Plan | None:
        """The plan of the chosen method; None if there is none."""
        return None if self.chosen is None else self.chosen.plan


def proposal(
    measured: Measuring, top: str, wish: str, asked: LayoutRequest, context: PlanContext | str
) -> Proposal:
    """Return the proposal of the layout *asked* for *top*; *context*: what a plan needs, or why there is none."""
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
        return so_far._replace(unplanned=context)
    found, unplanned = _ways(context)
    return so_far._replace(context=context, outcomes=found, unplanned=unplanned)


def _ways(context: PlanContext) -> tuple[tuple[Outcome, ...], str]:
    """Return the outcome of each method, and why none has a plan, "" if one has."""
    try:
        if is_current_layout(context):
            return (), "this is the present layout"
        found = tuple(outcomes(context))
    except (PlanRefused, LayoutError) as refusal:
        return (), str(refusal)
    if any(each.plan is not None for each in found):
        return found, ""
    return found, "; ".join(refusals(found))
