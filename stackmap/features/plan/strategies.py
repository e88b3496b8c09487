"""The migration strategies as a table, and the outcome of each for one stack."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from stackmap.document.wording import duration
from stackmap.errors import LayoutError, PlanRefused
from stackmap.features.plan import lvm_convert, lvm_copy, md_grow, md_new_array
from stackmap.features.plan.guard import guarded
from stackmap.features.plan.lab_results import with_lab_results
from stackmap.features.plan.lvm_steps import require_no_snapshots
from stackmap.features.plan.plan import WITH_LAYOUT, Plan, PlanContext, Step, disks, path_of
from stackmap.ledger.device_state import is_degraded, work_of
from stackmap.model.command_line import quoted, words
from stackmap.model.device import Device, Kind
from stackmap.model.operand import LvPath

# Target layouts that no strategy supports, and why.
UNSUPPORTED = {
    "mirror": "use raid1, which replaced it",
    "raid4": "no conversion to it was tested from start to end",
}
HEALTHY = frozenset({None, "active", "standby", "spare", "journal"})


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to another layout: ``name`` as in --way, and the function that plans it."""

    name: str
    summary: str
    plan: Callable[[PlanContext], Plan]
    lvm: bool


STRATEGIES = {
    strategy.name: strategy
    for strategy in (
        Strategy("mirror", "lvconvert adds or removes mirrors", lvm_copy.mirror, lvm=True),
        Strategy("convert", "lvconvert changes the level in place", lvm_convert.convert, lvm=True),
        Strategy("copy", "creates a new LV and copies the data", lvm_copy.copy, lvm=True),
        Strategy("grow", "mdadm reshapes the array in place", md_grow.grow, lvm=False),
        Strategy("move", "creates a new array; pvmove moves the PV's extents", md_new_array.move, lvm=False),
        Strategy("array-copy", "creates a new array and copies the data", md_new_array.copy, lvm=False),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a strategy: its plan, or why it was refused."""

    strategy: Strategy
    plan: Plan | None
    refused: str = ""


def outcomes(context: PlanContext) -> list[Outcome]:
    """
    Return the outcome of each strategy for the target, the safest plan first, refusals last.

    Refused as a whole if the stack is not healthy or the target layout is unsupported.
    """
    if why := UNSUPPORTED.get(context.request.level):
        raise PlanRefused(f"plan does not support {context.request.level}: {why}")
    require_healthy(context)
    require_finished(context)
    if context.is_lvm:
        _require_usable_group(context)
        require_no_snapshots(context)
    results = [
        _outcome(strategy, context)
        for strategy in STRATEGIES.values()
        if strategy.lvm == context.is_lvm
    ]
    return sorted(results, key=_rank)


def refusals(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Return the reasons of the refusals: each reason once, after its strategies."""
    names: dict[str, list[str]] = {}
    for outcome in outcomes:
        names.setdefault(outcome.refused, []).append(outcome.strategy.name)
    return tuple(f"{', '.join(several)}: {why}" for why, several in names.items())


def is_current_layout(context: PlanContext) -> bool:
    """Whether the target already has the requested layout."""
    present = context.target.layout
    if present is None or present.level != context.request.level:
        return present is None and context.request.level == "linear"
    return context.request.resolve(present, lvm=context.is_lvm) == present


def require_finished(context: PlanContext) -> None:
    """Refuse a target that is not healthy, or whose last conversion left LVs; a state may be unknown."""
    title, state = context.target.title, context.target.state
    if left := _extracted(context):
        removal = quoted(words("lvremove --", *map(LvPath, left)))
        raise PlanRefused(
            f"{title} is {state or 'in an unknown state'}, and a conversion of it was interrupted: it left "
            f"{', '.join(left)}. If no lvconvert runs, run `{removal}`, then plan again"
        )
    if state not in HEALTHY:
        raise PlanRefused(f"{title} is {state}; {_next_step(context.target)}")


def _extracted(context: PlanContext) -> list[str]:
    """Return the sub-LVs that an interrupted lvconvert took out of the target and did not remove, as vg/lv."""
    if not context.is_lvm:
        return []
    name, _, volume = context.target.label.partition("/")
    group = (context.groups or {}).get(name)
    images = re.compile(rf"{re.escape(volume)}_r(?:image|meta)_\d+_extracted")
    return [f"{name}/{lv}" for lv in (group.volumes if group else ()) if images.fullmatch(lv)]


def _next_step(device: Device) -> str:
    """Return the advice for a device that is not healthy."""
    if work_of(device):
        return "wait until it ends"
    if not is_degraded(device) or not device.layout:
        return "wait until it ends, or repair it"
    if device.kind is Kind.ARRAY:
        repair = words("mdadm", path_of(device), *words("--add NEW"))
    else:
        repair = words("lvconvert --repair --", LvPath(device.label))
    return f"repair it first: `{quoted(repair)}`"


def require_healthy(context: PlanContext) -> None:
    """Refuse while a device of the stack is degraded, syncing or suspended, or its state is not known."""
    topology = context.topology
    for name in (
        *topology.with_all_below(context.target.name),
        *topology.with_all_above(context.target.name),
    ):
        device = topology[name]
        if device.state is None and device.layout is not None and name == context.target.name:
            raise PlanRefused(f"the state of {device.title} is not known (needs root)")
        if device.state not in HEALTHY:
            raise PlanRefused(f"{device.title} is {device.state}; {_next_step(device)}")


def _require_usable_group(context: PlanContext) -> None:
    """Refuse a VG that is shared by hosts, exported, or lacks a PV."""
    group = (context.groups or {}).get(context.target.label.partition("/")[0])
    if group is None:
        return
    if group.shared:
        raise PlanRefused(f"{group.name} is shared by several hosts, which plan does not support")
    if set(group.attributes[2:4]) & {"x", "p"}:
        raise PlanRefused(f"{group.name} is exported, or one of its PVs is missing")


def _outcome(strategy: Strategy, context: PlanContext) -> Outcome:
    try:
        plan = with_lab_results(strategy.plan(context), strategy.name, context)
        return Outcome(strategy, _with_disks(context, guarded(context, plan)))
    except (PlanRefused, LayoutError) as refusal:
        return Outcome(strategy, None, str(refusal))


NO_SAMPLES = (
    "disks: there are no samples of their I/O, so a slow one is not known; see `stackmap record`"
)
TOO_FEW = "disks: {why}, so a slow one is not known"


def _with_disks(context: PlanContext, plan: Plan) -> Plan:
    """Return *plan* with what the samples say about the disks that its steps name."""
    judged = context.judged
    if judged is None:
        return replace(plan, unchecked=(NO_SAMPLES, *plan.unchecked))
    if not judged.has_judged_disks:
        subjects = ", ".join(doubt.question.subject for doubt in judged.open_questions)
        why = f"the samples do not tell ({subjects} not judged)"
        return replace(plan, unchecked=(TOO_FEW.format(why=why), *plan.unchecked))
    topology = context.topology
    paths = {str(path_of(device)): device.name for device in topology}
    group = context.groups if context.is_lvm else None
    paths |= {
        pv.path: pv.device for volume_group in (group or {}).values() for pv in volume_group.pvs
    }

    def named(step: Step) -> list[str]:
        # Those that the step names by their paths, except volumes and arrays.
        names = [paths.get(str(word), "") for word in step.command]
        return [n for n in names if n in topology and topology[n].kind not in WITH_LAYOUT]

    suspects = tuple(
        (number, disk)
        for number, step in enumerate(plan.steps, 1)
        for disk in context.suspects
        if not step.final and any(disk in disks(topology, name) for name in named(step))
    )
    seconds = judged.context.interval.seconds
    span = "the samples" if seconds is None else f"{duration(seconds)} of samples"
    checked = () if suspects else (f"{span} show no slow disk among those that the steps name",)
    return replace(plan, checked=(*plan.checked, *checked), suspects=suspects)


def _rank(outcome: Outcome) -> tuple[bool, bool, bool]:
    """Order by redundancy, then online before offline; refused ones last."""
    plan = outcome.plan
    if plan is None:
        return True, True, True
    return False, not plan.redundant, not plan.online
