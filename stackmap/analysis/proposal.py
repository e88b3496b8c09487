"""
What is proposed for a stack: another layout, what the measured load would be on it, and the way there.

Either may be refused, the projection where the figures do not allow one, the
plan where no way is known to be safe; the reason then stands in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.analysis.plan.ground import Ground
from stackmap.analysis.plan.step import Plan
from stackmap.analysis.plan.ways import Outcome, is_there, outcomes
from stackmap.analysis.report import Measuring
from stackmap.analysis.whatif.project import project
from stackmap.analysis.whatif.projection import Projection
from stackmap.errors import InputError, LayoutError, PlanRefused
from stackmap.model.layout_request import LayoutRequest


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    A layout for *top*, asked for as ``wish``.

    ``projection``: None where ``unprojected`` says why. ``ground`` and
    ``outcomes``: what each way of getting there says; where none can be gone,
    ``unplanned`` says why.
    """

    top: str
    wish: str
    projection: Projection | None = None
    unprojected: str = ""
    ground: Ground | None = None
    outcomes: tuple[Outcome, ...] = ()
    unplanned: str = ""

    @property
    def chosen(self) -> Outcome | None:
        """The safest way that can be gone; None if there is none."""
        return next((each for each in self.outcomes if each.plan is not None), None)

    @property
    def plan(self) -> Plan | None:
        """The plan of that way."""
        return None if self.chosen is None else self.chosen.plan


def proposal(
    measured: Measuring, top: str, wish: str, asked: LayoutRequest, ground: Ground | str
) -> Proposal:
    """Return what *asked*, said as *wish*, would be for *top*; *ground*: why there is none, or what a plan needs."""
    projection: Projection | None = None
    unprojected = ""
    try:
        projection = project(measured.topology, measured.parts, top, asked)
    except (InputError, LayoutError) as refusal:
        unprojected = str(refusal)
    if isinstance(ground, str):
        return Proposal(top, wish, projection, unprojected, unplanned=ground)
    found, unplanned = _ways(ground)
    return Proposal(top, wish, projection, unprojected, ground, found, unplanned)


def _ways(ground: Ground) -> tuple[tuple[Outcome, ...], str]:
    """Return what each way says, and why none can be gone."""
    try:
        if is_there(ground):
            return (), "the layout is there already"
        found = tuple(outcomes(ground))
    except (PlanRefused, LayoutError) as refusal:
        return (), str(refusal)
    if any(each.plan is not None for each in found):
        return found, ""
    reasons: dict[str, list[str]] = {}
    for each in found:
        reasons.setdefault(each.refused, []).append(each.way.name)
    return found, "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items())
