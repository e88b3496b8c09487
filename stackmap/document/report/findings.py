"""The section of the findings."""

from __future__ import annotations

from stackmap.analysis.report import Report
from stackmap.document.blocks import Paragraph, Section
from stackmap.document.findings import finding_card, open_question

NOTHING = (
    "No rule found a problem in the measured interval. This does not prove that all is well: the "
    "rules see only what happened in that time."
)
INTRO = (
    "Each finding comes from a rule with a threshold. Run `stackmap explain --rules` to list them. "
    "Read the caveat (But) before you act."
)


def section(report: Report) -> Section:
    """Return what could not be judged and one card per finding, the worst first."""
    questions = [open_question(report.topology, each) for each in report.open_questions]
    if not report.findings:
        return Section("findings", "Findings", (Paragraph(NOTHING), *questions))
    cards = [
        finding_card(report.topology, each, number) for number, each in enumerate(report.findings)
    ]
    return Section("findings", "Findings", (Paragraph(INTRO), *questions, *cards))
