"""The section on how to get to the layout that is proposed: the commands, what each risks, how to go back."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import NOTHING, Plan, Step
from stackmap.analysis.plan.strategies import Outcome
from stackmap.analysis.proposal import Proposal
from stackmap.analysis.report import Report
from stackmap.document.blocks import Block, Card, Code, Folded, Listing, Paragraph, Part, Section
from stackmap.document.report.names import plural
from stackmap.document.report.projection import heading
from stackmap.render.plan import endurance, numbers

NONE_ASKED = "No way was looked for: no other layout was asked for (--to LAYOUT)."
INTRO = (
    "The commands for this very stack, in their order, to be read before they are run: stackmap ran none "
    "of them, and what it read may have changed since. Before the first of them "
    "comes a backup that was read back."
)
LATER = "days later"


def section(report: Report, proposals: tuple[Proposal, ...]) -> Section:
    """Return a part a proposal; why there is none."""
    planned = any(each.plan is not None for each in proposals)
    blocks: list[Block] = [Paragraph(INTRO)] if planned else []
    if not proposals:
        blocks.append(Paragraph(NONE_ASKED))
    for number, each in enumerate(proposals):
        blocks.append(Part(heading(report.topology, each), tuple(_blocks(each, number))))
    return Section("plan", "How to get there", tuple(blocks))


def _blocks(proposal: Proposal, number: int) -> Iterator[Block]:
    chosen, plan, context = proposal.chosen, proposal.plan, proposal.context
    if chosen is None or plan is None or context is None:
        yield Paragraph(f"{proposal.unplanned}.", "No plan:")
        return
    yield Paragraph(
        f"{chosen.strategy.summary}: {plural(len(plan.steps), 'step')}. Meanwhile the "
        f"volume {safety(plan, context)}.",
        "The way:",
    )
    told = [f"Checked: {each}." for each in plan.checked]
    told += [f"NOT CHECKED: {each}." for each in plan.unchecked]
    if told:
        yield Listing(tuple(told))
    for place, step in enumerate(plan.steps, 1):
        yield _step(step, place, number)
    others = [each for each in proposal.outcomes if each is not chosen]
    if others:
        yield Folded("Other ways", (Listing(tuple(_other(each, context) for each in others)),))


def safety(plan: Plan, context: PlanContext) -> str:
    """Return, of the volume, when it is offline, and when a disk must not die."""
    offline = numbers([not step.online for step in plan.steps])
    online = f"is OFFLINE in {offline}" if offline else "stays online throughout"
    return f"{online}, and {'stays' if plan.redundant else 'is'} {endurance(plan, context)}"


def _step(step: Step, place: int, number: int) -> Card:
    marks = [] if step.online else ["offline"]
    marks += [] if step.redundant else ["no redundancy"]
    marks += [LATER] if step.later else []
    blocks: list[Block] = [Code(step.line)]
    if step.risks != NOTHING:
        blocks.append(Paragraph(step.risks, "Risk:"))
    if step.undo != NOTHING:
        blocks.append(Paragraph(step.undo, "To go back:"))
    tone = "info" if step.online and step.redundant else "warning"
    tone = "critical" if step.is_final else tone
    label = ", ".join(marks) or "online"
    return Card(tone, f"{place}. {step.does}", tuple(blocks), f"step-{number}-{place}", label)


def _other(outcome: Outcome, context: PlanContext) -> str:
    plan = outcome.plan
    if plan is None:
        return f"{outcome.strategy.name}: {outcome.strategy.summary}: no: {outcome.refused}."
    return f"{outcome.strategy.name}: {outcome.strategy.summary}: {plural(len(plan.steps), 'step')}; the volume {safety(plan, context)}."
