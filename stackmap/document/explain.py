"""The findings of an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.document.blocks import Block, Headline
from stackmap.document.cards import finding_card
from stackmap.document.intervals import span
from stackmap.document.notes import notes
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

NOTHING = "No findings: no rule applies to these figures."
HEALTHY = "No problems found; remarks follow."


def explain_document(
    topology: Topology, found: Sequence[Finding], interval: Interval
) -> list[Block]:
    """Return the number of findings per severity, then a card per finding, the worst first."""
    cards = [finding_card(topology, each, number) for number, each in enumerate(found)]
    return [Headline((_summary(found), span(interval))), *cards, *notes(interval, (), why=False)]


def _summary(found: Sequence[Finding]) -> str:
    if not found:
        return NOTHING
    counts = Counter(each.severity for each in found)
    if not counts[Severity.CRITICAL] and not counts[Severity.WARNING]:
        return HEALTHY
    return ", ".join(f"{counts[each]} {each}" for each in Severity if counts[each])
