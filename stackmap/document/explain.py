"""The findings of an interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stackmap.analysis.device_names import of_another
from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.document.blocks import Block, Headline, Paragraph
from stackmap.document.cards import finding_card
from stackmap.document.intervals import span
from stackmap.document.notes import notes
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

NOTHING = "No findings: no rule applies to these figures."
HEALTHY = "No rule found a problem; remarks follow."
NOT_JUDGED = "Overload is judged only against a baseline (--baseline) or a quieter interval."


def explain_document(
    topology: Topology, found: Sequence[Finding], interval: Interval, *, has_baseline: bool
) -> list[Block]:
    """Return the number of findings per severity, then a card per finding, the worst first."""
    unjudged = not has_baseline and not any(each.is_grave for each in found)
    cards = [finding_card(topology, each, number) for number, each in enumerate(found)]
    return [
        *_foreign(topology, interval),
        Headline((_summary(found), span(interval))),
        *([Paragraph(NOT_JUDGED)] if unjudged else []),
        *cards,
        *notes(interval, (), why=False),
    ]


def _foreign(topology: Topology, interval: Interval) -> list[Block]:
    """Return a warning if the figures are from another machine than the topology."""
    difference = of_another(topology.machine, interval.machine)
    if not difference:
        return []
    return [
        Paragraph(
            f"The figures are from {difference}. The findings use the devices of "
            f"{topology.machine.host or 'this machine'}: check that the names mean the same disks.",
            "Warning:",
        )
    ]


def _summary(found: Sequence[Finding]) -> str:
    if not found:
        return NOTHING
    counts = Counter(each.severity for each in found)
    if not counts[Severity.CRITICAL] and not counts[Severity.WARNING]:
        return HEALTHY
    return ", ".join(f"{counts[each]} {each}" for each in Severity if counts[each])
