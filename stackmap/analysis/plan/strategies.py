"""The ways there are, as a table, and what each says of a stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stackmap.analysis.plan import lvm_convert, lvm_copy, lvm_mirror, md_copy, md_move, md_reshape
from stackmap.analysis.plan.detach_layers import require_no_snapshots
from stackmap.analysis.plan.plan_context import PlanContext
from stackmap.analysis.plan.step import Plan
from stackmap.errors import LayoutError, PlanRefused

# Layouts that no plan ends at, and why.
UNSUPPORTED = {
    "mirror": "raid1 took its place",
    "raid4": "no plan to it was followed from its first step to its last",
}
HEALTHY = frozenset({None, "active", "standby", "spare", "journal"})


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to another layout: ``name`` for --way, what it ``is``, and the function that plans it."""

    name: str
    summary: str
    plan: Callable[[PlanContext], Plan]
    lvm: bool


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("mirror", "lvconvert adds or drops copies", lvm_mirror.mirror, lvm=True),
        Strategy("convert", "lvconvert changes the level in place", lvm_convert.convert, lvm=True),
        Strategy("copy", "a new LV beside the old one, and a copy", lvm_copy.copy, lvm=True),
        Strategy("grow", "mdadm reshapes the array in place", md_reshape.grow, lvm=False),
        Strategy(
            "move", "a new array, and pvmove of all that is on the PV", md_move.move, lvm=False
        ),
        Strategy("array-copy", "a new array, and a copy", md_copy.copy, lvm=False),
    )
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a way: its plan, or why it was refused."""

    strategy: Strategy
    plan: Plan | None
    refused: str = ""


def outcomes(context: PlanContext) -> list[Outcome]:
    """
    Return what each way of the target's sort says, those that can be gone first and the safest of them first.

    Refused as a whole where the stack is not in order, or what is wanted is no end of any plan.
    """
    if why := UNSUPPORTED.get(context.request.level):
        raise PlanRefused(f"no plan ends at {context.request.level}: {why}")
    require_healthy(context)
    _require_usable_group(context)
    if context.is_lvm:
        require_no_snapshots(context)
    found = [
        _outcome(strategy, context)
        for strategy in STRATEGIES.values()
        if strategy.lvm == context.is_lvm
    ]
    return sorted(found, key=_rank)


def refusals(found: Iterable[Outcome]) -> str:
    """Return why no way can be gone, each reason once with the ways it is of."""
    strategies: dict[str, list[str]] = {}
    for each in found:
        strategies.setdefault(each.refused, []).append(each.strategy.name)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in strategies.items())


def is_current_layout(context: PlanContext) -> bool:
    """Whether the layout that is wanted is the present one."""
    present = context.target.layout
    if present is None or present.level != context.request.level:
        return present is None and context.request.level == "linear"
    return context.request.resolve(present, lvm=context.is_lvm) == present


def require_healthy(context: PlanContext) -> None:
    """Refuse while anything of the stack is degraded, syncing, suspended, or not known to be in order."""
    topology = context.topology
    for name in (
        *topology.with_all_below(context.target.name),
        *topology.with_all_above(context.target.name),
    ):
        device = topology[name]
        if device.state is None and device.layout is not None and name == context.target.name:
            raise PlanRefused(f"the state of {device.title} is not known (needs root)")
        if device.state not in HEALTHY:
            raise PlanRefused(f"{device.title} is {device.state}: wait, or mend it first")


def _require_usable_group(context: PlanContext) -> None:
    """Refuse a VG that other hosts may use, or that lacks a PV."""
    name = context.target.label.partition("/")[0]
    group = (context.groups or {}).get(name) if context.is_lvm else None
    if group is not None and group.shared:
        raise PlanRefused(f"{name} is shared by hosts: what they must do is not known")
    if group is not None and set(group.attributes[2:4]) & {"x", "p"}:
        raise PlanRefused(f"{name} is exported, or lacks a PV")


def _outcome(strategy: Strategy, context: PlanContext) -> Outcome:
    try:
        return Outcome(strategy, strategy.plan(context))
    except (PlanRefused, LayoutError) as refusal:
        return Outcome(strategy, None, str(refusal))


def _rank(outcome: Outcome) -> tuple[bool, bool, bool]:
    """Safe before bare, then online before offline; refused ones last."""
    plan = outcome.plan
    if plan is None:
        return True, True, True
    return False, not plan.redundant, not plan.online
