"""All rules, and what they find."""

from __future__ import annotations

from stackmap.analysis.findings import (
    alignment,
    beside,
    copying,
    counters,
    disk,
    parity,
    saturation,
    settings,
    sizes,
    state,
    throttle,
)
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Finding, Rule, Severity

# Causes before what they cause: of two findings that matter as much, the earlier is told first.
RULES: tuple[Rule, ...] = (
    *state.RULES,
    disk.SICK,
    *throttle.RULES,
    disk.SLOW_MEMBER,
    *alignment.RULES,
    *copying.RULES,
    *beside.RULES,
    sizes.SMALL_CHUNK,
    *parity.RULES,
    sizes.NOT_MERGED,
    disk.UNEQUAL,
    *saturation.RULES,
    *settings.RULES,
    *counters.RULES,
    sizes.MERGED,
)


def findings(context: Context) -> list[Finding]:
    """Return what *context* shows, the worst first."""
    found = [Finding(rule, seen) for rule in RULES for seen in rule.find(context, rule.limits)]
    said = {(each.rule.id, each.device) for each in found}
    kept = [
        each
        for each in found
        if not any((rule, each.device) in said for rule in each.rule.yields_to)
    ]
    order, severities = {rule.id: n for n, rule in enumerate(RULES)}, list(Severity)
    return sorted(
        kept,
        key=lambda each: (
            severities.index(each.severity),
            order[each.rule.id],
            -each.seen.weight,
        ),
    )


def worst(found: list[Finding]) -> Severity | None:
    """Return how much the worst matters; None if nothing was found."""
    return found[0].severity if found else None
