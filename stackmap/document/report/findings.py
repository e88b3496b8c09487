"""The section of the findings."""

from __future__ import annotations

from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.analysis.report import Report
from stackmap.document.blocks import Block, Card, Folded, Paragraph, Rows, Section, Table
from stackmap.document.templates import filled, shown, title, words_of
from stackmap.model.topology import Topology

NOTHING = (
    "No rule found a problem in the measured interval. This does not prove that all is well: the "
    "rules see only what happened in that time."
)
INTRO = (
    "Each finding comes from a rule with a threshold. Run `stackmap explain --rules` to list them. "
    "Read the caveat (But) before you act."
)


def section(report: Report) -> Section:
    """Return one card per finding, the worst first."""
    if not report.findings:
        return Section("findings", "Findings", (Paragraph(NOTHING),))
    cards = [_card(report.topology, number, each) for number, each in enumerate(report.findings)]
    return Section("findings", "Findings", (Paragraph(INTRO), *cards))


def _card(topology: Topology, number: int, finding: Finding) -> Card:
    words, rule = words_of(topology, finding.observed), finding.rule
    blocks: list[Block] = [Paragraph(filled(rule.sentence, words))]
    if finding.severity is not Severity.GOOD:
        blocks.append(Paragraph(filled(rule.caveat, words), "But:"))
        blocks.append(Paragraph(filled(rule.advice, words), "Do:"))
    if finding.observed.evidence:
        blocks.append(Folded("Evidence", (_evidence(topology, number, finding),)))
    where = title(topology, finding.device)
    severity = str(finding.severity)
    heading = f"{rule.name} ({rule.id}): {where}"
    return Card(severity, heading, tuple(blocks), f"finding-{number}", severity)


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
