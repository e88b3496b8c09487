"""A plan as JSON: ``stackmap.plan/1``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from stackmap.features.plan.guard import FUNCTION
from stackmap.features.plan.lab_results import announced
from stackmap.features.plan.plan_context import Origin, PlanContext
from stackmap.features.plan.step import NOTHING, Plan, Step
from stackmap.features.plan.strategies import Outcome
from stackmap.render.json import layout_json

SCHEMA = "stackmap.plan/1"


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
        "for": _origin_json(context.origin),
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
        "guard": _guard_json(plan),
        "checked": list(plan.checked) if plan else [],
        "unchecked": list(plan.unchecked) if plan else [],
        "steps": [_step_json(step) for step in plan.steps] if plan else [],
    }


def _origin_json(origin: Origin) -> dict[str, object]:
    return {
        "host": origin.host or None,
        "machine_id": origin.machine_id or None,
        "time": origin.time,
        "source": origin.source or None,
        "old": origin.is_old,
    }


def _guard_json(plan: Plan | None) -> dict[str, object] | None:
    """Return the shell function of the guard and the checks of step 1, as words."""
    if plan is None:
        return None
    return {"function": FUNCTION, "checks": [list(check) for check in plan.guard]}


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
