"""All rules, and what they find."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.analysis.findings import (
    alignment,
    concurrency,
    copy_on_write,
    counters,
    disk,
    metadata_io,
    parity,
    peers,
    saturation,
    settings,
    sizes,
    state,
    throttle,
)
from stackmap.analysis.findings.context import Context
from stackmap.analysis.findings.finding import Finding, Rule, Seen, Severity

# Causes before what they cause: of two findings that matter as much, the earlier is told first.
RULES: tuple[Rule, ...] = (
    *state.RULES,
    *disk.RULES,
    *throttle.RULES,
    peers.SLOW_MEMBER,
    *alignment.RULES,
    *copy_on_write.RULES,
    *metadata_io.RULES,
    sizes.SMALL_CHUNK,
    *parity.RULES,
    sizes.NOT_MERGED,
    peers.UNEQUAL,
    *saturation.RULES,
    *concurrency.RULES,
    state.UNSYNCED,
    *settings.RULES,
    *counters.RULES,
    sizes.MERGED,
)


def findings(context: Context) -> list[Finding]:
    """Return what *context* shows, the worst first."""
    found = [finding for rule in RULES for finding in _found(rule, context)]
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


def _found(rule: Rule, context: Context) -> Iterable[Finding]:
    """Return what *rule* finds, of each device that which weighs most."""
    heaviest: dict[str, Seen] = {}
    for seen in rule.find(context, rule.limits):
        before = heaviest.get(seen.device)
        if before is None or seen.weight > before.weight:
            heaviest[seen.device] = seen
    return [Finding(rule, seen) for seen in heaviest.values()]
