"""The section of what was found: is it the workload, the layout, or a sick disk?"""

from __future__ import annotations

from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.analysis.report import Report
from stackmap.document.blocks import Block, Card, Folded, Paragraph, Rows, Section, Table
from stackmap.document.templates import filled, shown, title, words_of
from stackmap.model.topology import Topology

NOTHING = (
    "No rule found anything wrong in what was measured. That is no proof that all is well: a rule "
    "sees only what happened while it was measured."
)
INTRO = (
    "Each finding follows from a rule with a threshold (stackmap explain --rules lists them) and rests "
    "on measured numbers; what speaks against it stands with it."
)


def section(report: Report) -> Section:
    """Return a card a finding, the worst first."""
    if not report.findings:
        return Section("findings", "Findings", (Paragraph(NOTHING),))
    cards = [_card(report.topology, number, each) for number, each in enumerate(report.findings)]
    return Section("findings", "Findings", (Paragraph(INTRO), *cards))


def _card(topology: Topology, number: int, finding: Finding) -> Card:
    words, rule = words_of(topology, finding.observed), finding.rule
    blocks: list[Block] = [Paragraph(filled(rule.sentence, words))]
    if finding.severity is not Severity.GOOD:
        blocks.append(Paragraph(filled(rule.caveat, words), "But:"))
        blocks.append(Paragraph(filled(rule.advice, words), "What to do:"))
    if finding.observed.evidence:
        blocks.append(Folded("The numbers it rests on", (_evidence(topology, number, finding),)))
    where = title(topology, finding.device)
    return Card(
        str(finding.severity),
        f"{rule.name} ({rule.id}): {where}",
        tuple(blocks),
        f"finding-{number}",
        str(finding.severity),
    )


def _evidence(topology: Topology, number: int, finding: Finding) -> Table:
    rows = tuple(
        (name, title(topology, it.device), _figure(it.value, it.unit))
        for name, it in finding.observed.evidence.items()
    )
    return Table(
        f"evidence-{number}",
        ("evidence", "device", "value"),
        (Rows(rows),),
        words=2,
        caption=f"Source of the rule: {finding.rule.source}",
    )


def _figure(value: float, unit: str) -> str:
    return f"{shown(value, unit)} times" if unit == "times" else shown(value, unit)
