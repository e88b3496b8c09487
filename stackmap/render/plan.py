"""A plan as commands to read, to weigh and to paste; and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import NOTHING, Plan, Step
from stackmap.analysis.plan.strategies import Outcome, refusals
from stackmap.document.describe import layout as described
from stackmap.document.templates import title
from stackmap.model.raid import Layout
from stackmap.render.json import layout_json
from stackmap.render.text import WIDTH, safe

SCHEMA = "stackmap.plan/1"
INDENT = "    "
LATER = "When the new layout has proved itself, days later:"
SAME = "Nothing to do: {title} is {layout} already.\n"


def plan_text(
    context: PlanContext, chosen: Outcome, others: Sequence[Outcome], *, width: int = WIDTH
) -> str:
    """Return *chosen* in full, and what the other ways say, a line or two each."""
    plan = chosen.plan
    if plan is None:
        return ""
    change = f"{_now(context)} → {_called(plan.result)}"
    lines = [f"{title(context.topology, context.target.name)}: {change}"]
    safety = _safety(plan, context)
    lines += _wrapped(
        f"way {chosen.strategy.name}: ", f"{chosen.strategy.summary}; {safety}", width
    )
    lines += [line for text in plan.checked for line in _wrapped("checked: ", text, width)]
    lines += [line for text in plan.unchecked for line in _wrapped("NOT CHECKED: ", text, width)]
    told_later = False
    for number, step in enumerate(plan.steps, 1):
        lines.append("")
        if step.later and not told_later:
            lines += [LATER, ""]
            told_later = True
        lines += _step(number, step, width)
    if others:
        lines += ["", "Other ways:"]
        lines += [line for other in others for line in _other(other, context, width)]
    return "\n".join(lines) + "\n"


def same_text(context: PlanContext) -> str:
    """Return what is said where the layout is there already."""
    return SAME.format(title=title(context.topology, context.target.name), layout=_now(context))


def refusal(context: PlanContext, found: Sequence[Outcome]) -> str:
    """Return in one line why no way can be gone."""
    where = title(context.topology, context.target.name)
    return f"{where} to {context.request.level}: {refusals(found)}"


def plan_json(
    context: PlanContext, found: Sequence[Outcome], *, same: bool = False
) -> dict[str, object]:
    """Return the object of ``plan -J``: the ways that can be gone, the safest first, then the others."""
    return {
        "schema": SCHEMA,
        "device": context.target.name,
        "label": context.target.title,
        "now": layout_json(context.target.layout),
        "wanted": asdict(context.request),
        "nothing_to_do": same,
        "ways": [_way(outcome) for outcome in found],
    }


def _way(outcome: Outcome) -> dict[str, object]:
    plan = outcome.plan
    return {
        "way": outcome.strategy.name,
        "is": outcome.strategy.summary,
        "refused": outcome.refused or None,
        "online": plan.online if plan else None,
        "redundant": plan.redundant if plan else None,
        "result": layout_json(plan.result) if plan else None,
        "checked": list(plan.checked) if plan else [],
        "unchecked": list(plan.unchecked) if plan else [],
        "steps": [_step_json(step) for step in plan.steps] if plan else [],
    }


def _step_json(step: Step) -> dict[str, object]:
    return {
        "command": list(step.command),
        "line": step.line,
        "does": step.does,
        "risks": None if step.risks == NOTHING else step.risks,
        "undo": None if step.undo == NOTHING else step.undo,
        "online": step.online,
        "redundant": step.redundant,
        "later": step.later,
    }


def _now(context: PlanContext) -> str:
    return _called(context.target.layout)


def _called(layout: Layout | None) -> str:
    return described(layout) if layout else "linear"


def _safety(plan: Plan, context: PlanContext) -> str:
    """Return when it must be offline, and when a disk must not die, in words that are seen."""
    offline = numbers([not step.online for step in plan.steps])
    return (
        f"{f'OFFLINE in {offline}' if offline else 'online throughout'}, {endurance(plan, context)}"
    )


def endurance(plan: Plan, context: PlanContext) -> str:
    """Return what disks that die would do, now, on the way and in the end: as what follows "it is"."""
    after = plan.result.survivable_failures if plan.result else 0
    marked = [not step.redundant for step in plan.steps]
    if any(marked) and not after:
        return f"WITHOUT REDUNDANCY from step {marked.index(True) + 1} on, as was asked for"
    if any(marked):
        return f"WITHOUT REDUNDANCY in {numbers(marked)}"
    if after < context.survivable_failures:
        disks = "disk" if after == 1 else "disks"
        return f"as redundant as before up to its end: {after} {disks} may die then, not {context.survivable_failures}"
    return "as redundant as before throughout"


def numbers(marked: Sequence[bool]) -> str:
    """
    Return which steps are *marked*, from the first to the last.

    >>> numbers([False, True, True, False]), numbers([True]), numbers([False])
    ('steps 2 to 3', 'step 1', '')
    """
    places = [number for number, mark in enumerate(marked, 1) if mark]
    if len(places) < 2:
        return f"step {places[0]}" if places else ""
    return f"steps {places[0]} to {places[-1]}"


def _step(number: int, step: Step, width: int) -> list[str]:
    """Return one step: the command on a line of its own, whole, to be pasted."""
    marks = [] if step.online else ["OFFLINE"]
    marks += [] if step.redundant else ["NO REDUNDANCY"]
    head = f"{number}. " + (f"[{', '.join(marks)}] " if marks else "")
    lines = _wrapped(head, step.does, width)
    lines.append(f"{INDENT}{step.line}")
    if step.risks != NOTHING:
        lines += _wrapped(f"{INDENT}risk: ", step.risks, width)
    if step.undo != NOTHING:
        lines += _wrapped(f"{INDENT}back: ", step.undo, width)
    return lines


def _other(outcome: Outcome, context: PlanContext, width: int) -> list[str]:
    plan, says = outcome.plan, outcome.refused
    if plan:
        says = f"{outcome.strategy.summary}: {len(plan.steps)} steps, {_safety(plan, context)}"
    return _wrapped(f"  {outcome.strategy.name}: ", says if plan else f"no: {says}", width)


def _wrapped(mark: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        safe(text),
        width,
        initial_indent=mark,
        subsequent_indent=INDENT + "  ",
        break_on_hyphens=False,
        break_long_words=False,
    )
