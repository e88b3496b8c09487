"""A plan for its reader: the document with its method, its risks and its commands, and ``stackmap.plan/1`` for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from stackmap.document.blocks import Block, Card, Command, Folded, Headline, Listing, Paragraph
from stackmap.document.describe import layout as described
from stackmap.document.interval import instant
from stackmap.document.rule_words import FIRST, before_converting, heading, title
from stackmap.document.wording import listed, plural, sentence
from stackmap.errors import PlanRefused
from stackmap.features.plan.guard import FUNCTION
from stackmap.features.plan.lab_results import announced
from stackmap.features.plan.plan import NOTHING, Origin, Plan, PlanContext, Step
from stackmap.features.plan.strategies import Outcome, refusals
from stackmap.model.raid import Layout
from stackmap.render.figures_json import decision_json
from stackmap.render.json import layout_json

ROLL_BACK = (
    "To go back, stop what uses the new volume: unmount it, or run swapoff. Then run the roll-back commands of "
    "the steps that are done, the last step first. Within a step, keep their order. Stop at the first that fails."
)
SCHEMA = "stackmap.plan/1"


def document(context: PlanContext, chosen: Outcome, others: Sequence[Outcome]) -> Iterator[Block]:
    """Yield the blocks of ``plan``: the change of layout and its steps."""
    if chosen.plan is None:
        return
    now, then = _layout(context.target.layout), _layout(chosen.plan.result)
    yield Headline((f"{_title(context)}: {now} → {then}",))
    yield from blocks(context, chosen, others, "step")


def blocks(
    context: PlanContext, chosen: Outcome, others: Sequence[Outcome], key: str
) -> Iterator[Block]:
    """Yield the chosen way in full and the others in short; *key* begins the anchors of the steps."""
    plan = chosen.plan
    if plan is None:
        return
    yield Listing(tuple(_origin(context.origin)))
    if first := before_converting(context.topology, context.decision):
        yield Paragraph(first, FIRST)
    yield from (Paragraph(suspect, "SUSPECT DISK:") for suspect in _suspects(plan, context))
    risky = [number for number, step in enumerate(plan.steps, 1) if step.risks != NOTHING]
    final = [number for number, step in enumerate(plan.steps, 1) if step.final]
    count = plural(len(plan.steps), "step")
    risks = f" Risks: {_steps(risky)}" if risky else " No step has a known risk"
    undo = f"; {_steps(final)} cannot be undone" if final else ""
    yield Paragraph(f"{count}. {safety(plan, context)}{risks}{undo}.")
    yield Paragraph(f"{chosen.strategy.summary}.", f"Method {chosen.strategy.name}:")
    yield Listing(
        (
            *(f"Checked: {check}." for check in plan.checked),
            *(f"NOT CHECKED: {check}." for check in plan.unchecked),
        )
    )
    yield Paragraph(ROLL_BACK)
    for number, step in enumerate(plan.steps, 1):
        yield _card(step, number, key)
    if others:
        yield Folded(
            "Other methods", (Listing(tuple(_way(outcome, context) for outcome in others)),)
        )


def _suspects(plan: Plan, context: PlanContext) -> Iterator[str]:
    """Yield the steps that name each slow or hanging disk, and how to leave it out."""
    for disk in dict.fromkeys(disk for _, disk in plan.suspects):
        numbered = [number for number, suspect in plan.suspects if suspect == disk]
        steps = f"{sentence(_steps(numbered))[:-1]} use{'s' * (len(numbered) == 1)}"
        problem = heading(context.topology, context.suspects[disk])
        name = context.topology[disk].title
        yield f"{steps} {name}. {problem}. To leave it out, name other devices with `--onto`."


def _origin(origin: Origin) -> Iterator[str]:
    """Yield which host the plan is for, and where and when its input was read."""
    date = instant(origin.time) or "unknown time"
    source = (
        f"from the capture {origin.source} of {date}" if origin.source else f"made on it, {date}"
    )
    yield f"For host {origin.host or '(unknown)'}, {source}."
    if origin.source:
        yield (
            "NOT MADE ON THE HOST: the capture may be false or outdated. Make the plan again there; "
            "step 1 fails on any other host."
        )
    if origin.is_old:
        yield "OLD: the input is older than a day, or of unknown time; the stack may have changed since."


def unchanged(context: PlanContext) -> str:
    """Return the sentence for a device that has the wanted layout already."""
    return f"Nothing to do: {_title(context)} is already {_layout(context.target.layout)}."


def refusal(context: PlanContext, outcomes: Sequence[Outcome]) -> PlanRefused:
    """Return the reasons for having no plan: one line, or one per reason."""
    wanted, reasons = f"{_title(context)} to {context.request.level}", refusals(outcomes)
    if len(reasons) == 1:
        return PlanRefused(f"{wanted}: {reasons[0]}")
    return PlanRefused(f"{wanted}: no method fits", reasons)


def _title(context: PlanContext) -> str:
    return title(context.topology, context.target.name)


def _layout(layout: Layout | None) -> str:
    return described(layout) if layout else "linear"


def _steps(places: Sequence[int]) -> str:
    return f"step{'s' * (len(places) > 1)} {listed(list(map(str, places)))}"


def _way(outcome: Outcome, context: PlanContext) -> str:
    strategy, plan = outcome.strategy, outcome.plan
    if plan is None:
        return f"{strategy.name}: not possible: {outcome.refused}."
    steps = plural(len(plan.steps), "step")
    return f"{strategy.name}: {strategy.summary}, {steps}. {safety(plan, context)}"


def safety(plan: Plan, context: PlanContext) -> str:
    """Return the steps in which the volume is offline, and those in which one failed disk loses data."""
    offline = numbers([not step.online for step in plan.steps])
    online = f"OFFLINE in {offline}" if offline else "online throughout"
    return f"The volume is {online} and {redundancy(plan, context)}."


def redundancy(plan: Plan, context: PlanContext) -> str:
    """Return the number of failed disks that the volume survives during the steps and afterwards."""
    after = plan.result.survivable_failures if plan.result else 0
    marked = [not step.redundant for step in plan.steps]
    if any(marked) and not after:
        return f"WITHOUT REDUNDANCY from step {marked.index(True) + 1} on, as requested"
    if any(marked):
        return f"WITHOUT REDUNDANCY in {numbers(marked)}"
    if after < context.survivable_failures:
        disks = plural(after, "failed disk")
        return f"as redundant as before up to its end: then it survives {disks}, not {context.survivable_failures}"
    return "as redundant as before throughout"


def numbers(marked: Sequence[bool]) -> str:
    """
    Return the first and the last of the *marked* steps.

    >>> numbers([False, True, True, False]), numbers([True]), numbers([False])
    ('steps 2 to 3', 'step 1', '')
    """
    places = [number for number, mark in enumerate(marked, 1) if mark]
    if len(places) < 2:
        return f"step {places[0]}" if places else ""
    return f"steps {places[0]} to {places[-1]}"


def _card(step: Step, number: int, key: str) -> Card:
    """Return a step: its effect, risk and undo; one command per line."""
    blocks: list[Block] = [Paragraph(warning, "May print:") for warning in announced(step.command)]
    blocks.append(Command(step.line))
    if step.risks != NOTHING:
        blocks.append(Paragraph(step.risks, "Risk:"))
    if step.undo or step.undo_remark:
        blocks.append(Paragraph(step.undo_remark, "Roll back:"))
    blocks += [Command(line, aside=True) for line in step.undo_lines]
    grave = not (step.online and step.redundant)
    tone = "critical" if step.final else "warning" if grave else "info"
    marks = {
        "days later" if step.later else "online": step.online,
        "offline": not step.online,
        "no redundancy": not step.redundant,
        "risk": step.risks != NOTHING,
    }
    label = ", ".join(mark for mark, holds in marks.items() if holds)
    return Card(tone, step.does, tuple(blocks), f"{key}-{number}", f"{number}. {label}")


def plan_json(
    context: PlanContext, outcomes: Sequence[Outcome], *, same: bool = False
) -> dict[str, object]:
    """Return the object of ``plan -J``: the ways that can be gone, the safest first, then the others."""
    return {
        "schema": SCHEMA,
        "device": context.target.name,
        "label": context.target.title,
        "now": layout_json(context.target.layout),
        "wanted": asdict(context.request),
        "nothing_to_do": same,
        "for": {
            "host": context.origin.host or None,
            "machine_id": context.origin.machine_id or None,
            "time": context.origin.time,
            "source": context.origin.source or None,
            "old": context.origin.is_old,
        },
        "samples": context.judged is not None,
        "decision": decision_json(context.topology, context.decision),
        "ways": [_way_json(outcome) for outcome in outcomes],
    }


def _way_json(outcome: Outcome) -> dict[str, object]:
    plan = outcome.plan
    return {
        "way": outcome.strategy.name,
        "is": outcome.strategy.summary,
        "refused": outcome.refused or None,
        "online": plan.online if plan else None,
        "redundant": plan.redundant if plan else None,
        "result": layout_json(plan.result) if plan else None,
        "guard": {"function": FUNCTION, "checks": [*map(list, plan.guard)]} if plan else None,
        "checked": list(plan.checked) if plan else [],
        "unchecked": list(plan.unchecked) if plan else [],
        "suspects": [{"step": n, "disk": disk} for n, disk in plan.suspects] if plan else [],
        "steps": [_step_json(step) for step in plan.steps] if plan else [],
    }


def _step_json(step: Step) -> dict[str, object]:
    return {
        "command": list(step.command),
        "line": step.line,
        "guard": [list(check) for check in step.guard],
        "does": step.does,
        "prints": list(announced(step.command)),
        "risks": None if step.risks == NOTHING else step.risks,
        "undo": " && ".join(step.undo_lines) or None,
        "undo_lines": list(step.undo_lines),
        "undo_commands": [list(command) for command in step.undo],
        "undo_remark": step.undo_remark or None,
        "final": step.final,
        "online": step.online,
        "redundant": step.redundant,
        "later": step.later,
    }
