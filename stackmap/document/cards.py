"""A finding or a check → a card: the same in explain, check and report."""

from __future__ import annotations

from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.document.blocks import Block, Card, Folded, Paragraph, Rows, Table
from stackmap.document.templates import filled, shown, title, words_of
from stackmap.model.topology import Topology

CHECK_LABELS = {
    Severity.CRITICAL: "CRITICAL",
    Severity.WARNING: "WARNING",
    Severity.INFO: "info",
    Severity.GOOD: "ok",
}


def finding_card(topology: Topology, finding: Finding, number: int) -> Card:
    """Return the card of *finding*: what, the caveat, the advice, the evidence; *number*: its anchor."""
    rule, tone = finding.rule, str(finding.severity)
    sentence, *details = _texts(topology, finding, (("But:", rule.caveat), ("Do:", rule.advice)))
    blocks: list[Block] = [sentence, *details]
    if finding.observed.evidence:
        blocks.append(Folded("Evidence", (_evidence(topology, finding, number),)))
    heading = f"{rule.name} ({rule.id}), {title(topology, finding.device)}"
    return Card(tone, heading, tuple(blocks), f"finding-{number}", tone)


def check_card(topology: Topology, finding: Finding) -> Card:
    """Return the card of a check; only a problem has a reason and advice."""
    rule, tone = finding.rule, str(finding.severity)
    leads = (("should be:", rule.expected), ("why:", rule.reason), ("do:", rule.advice))
    sentence, *details = _texts(topology, finding, leads)
    label = CHECK_LABELS[finding.severity]
    return Card(tone, f"{sentence.text} ({rule.id})", tuple(details), label=label)


def _texts(
    topology: Topology, finding: Finding, details: tuple[tuple[str, str], ...]
) -> list[Paragraph]:
    """Return the sentence of *finding*, then its *details* by lead unless it is good."""
    words = words_of(topology, finding.observed)
    shown_details = () if finding.severity is Severity.GOOD else details
    return [
        Paragraph(filled(finding.sentence, words)),
        *(Paragraph(filled(text, words), lead) for lead, text in shown_details),
    ]


def _evidence(topology: Topology, finding: Finding, number: int) -> Table:
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
