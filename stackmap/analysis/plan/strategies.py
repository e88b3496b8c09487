"""The ways there are, as a table, and what each says of a stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stackmap.analysis.plan import lvm_convert, lvm_copy, lvm_mirror, md_copy, md_move, md_reshape
from stackmap.analysis.plan.detach_layers import require_alone
from stackmap.analysis.plan.plan_context import Ground
from stackmap.analysis.plan.step import Plan
from stackmap.errors import LayoutError, PlanRefused

# Layouts that no plan ends at, and why.
NO_ENDS = {
    "mirror": "raid1 took its place",
    "raid4": "no plan to it was followed from its first step to its last",
}
FINE = frozenset({None, "active", "standby", "spare", "journal"})


@dataclass(frozen=True, slots=True)
class Way:
    """A way to another layout: ``name`` for --way, what it ``is``, and the function that plans it."""

    name: str
    is_: str
    plan: Callable[[Ground], Plan]
    lvm: bool


WAYS = {
    way.name: way
    for way in (
        Way("mirror", "lvconvert adds or drops copies", lvm_mirror.mirror, lvm=True),
        Way("convert", "lvconvert changes the level in place", lvm_convert.convert, lvm=True),
        Way("copy", "a new LV beside the old one, and a copy", lvm_copy.copy, lvm=True),
        Way("grow", "mdadm reshapes the array in place", md_reshape.grow, lvm=False),
        Way("move", "a new array, and pvmove of all that is on the PV", md_move.move, lvm=False),
        Way("array-copy", "a new array, and a copy", md_copy.copy, lvm=False),
    )
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a way: its plan, or why it was refused."""

    way: Way
    plan: Plan | None
    refused: str = ""


def outcomes(ground: Ground) -> list[Outcome]:
    """
    Return what each way of the target's sort says, those that can be gone first and the safest of them first.

    Refused as a whole where the stack is not in order, or what is wanted is no end of any plan.
    """
    if why := NO_ENDS.get(ground.wanted.level):
        raise PlanRefused(f"no plan ends at {ground.wanted.level}: {why}")
    require_order(ground)
    _require_group(ground)
    if ground.is_lvm:
        require_alone(ground)
    found = [_outcome(way, ground) for way in WAYS.values() if way.lvm == ground.is_lvm]
    return sorted(found, key=_rank)


def refusals(found: Iterable[Outcome]) -> str:
    """Return why no way can be gone, each reason once with the ways it is of."""
    ways: dict[str, list[str]] = {}
    for each in found:
        ways.setdefault(each.refused, []).append(each.way.name)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in ways.items())


def is_there(ground: Ground) -> bool:
    """Whether the layout that is wanted is the present one."""
    present = ground.target.layout
    if present is None or present.level != ground.wanted.level:
        return present is None and ground.wanted.level == "linear"
    return ground.wanted.on(present, lvm=ground.is_lvm) == present


def require_order(ground: Ground) -> None:
    """Refuse while anything of the stack is degraded, syncing, suspended, or not known to be in order."""
    topology = ground.topology
    for name in (*topology.stack(ground.target.name), *topology.stands_on(ground.target.name)):
        device = topology[name]
        if device.state is None and device.layout is not None and name == ground.target.name:
            raise PlanRefused(f"the state of {device.title} is not known (needs root)")
        if device.state not in FINE:
            raise PlanRefused(f"{device.title} is {device.state}: wait, or mend it first")


def _require_group(ground: Ground) -> None:
    """Refuse a VG that other hosts may use, or that lacks a PV."""
    name = ground.target.label.partition("/")[0]
    group = (ground.groups or {}).get(name) if ground.is_lvm else None
    if group is not None and group.shared:
        raise PlanRefused(f"{name} is shared by hosts: what they must do is not known")
    if group is not None and set(group.attributes[2:4]) & {"x", "p"}:
        raise PlanRefused(f"{name} is exported, or lacks a PV")


def _outcome(way: Way, ground: Ground) -> Outcome:
    try:
        return Outcome(way, way.plan(ground))
    except (PlanRefused, LayoutError) as refusal:
        return Outcome(way, None, str(refusal))


def _rank(outcome: Outcome) -> tuple[bool, bool, bool]:
    """Safe before bare, then online before offline; refused ones last."""
    plan = outcome.plan
    if plan is None:
        return True, True, True
    return False, not plan.redundant, not plan.online
