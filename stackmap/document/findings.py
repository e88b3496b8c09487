"""The documents of ``explain`` and ``check``: a card per finding or check, and the rules behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from stackmap.analysis.device_names import of_another
from stackmap.analysis.findings.rule import Finding, Rule, Severity
from stackmap.document import blocks as doc
from stackmap.document.interval import notes, span
from stackmap.document.templates import filled, shown, title, words_of
from stackmap.document.templates import label as evidence_label
from stackmap.document.wording import plural
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

NO_FINDINGS = "No findings: no rule applies to these figures."
HEALTHY = "No rule found a problem; remarks follow."
NOT_JUDGED = "Overload is judged only against a baseline (--baseline) or a quieter interval."
NO_CHECKS = "Nothing to check: start, chunk and stripe of these devices are unknown."
NO_PROBLEMS = "No problems found."
CHECK_LABELS = {
    Severity.CRITICAL: "CRITICAL",
    Severity.WARNING: "WARNING",
    Severity.INFO: "info",
    Severity.GOOD: "ok",
}


def explain_document(
    topology: Topology, found: Sequence[Finding], interval: Interval, *, has_baseline: bool
) -> list[doc.Block]:
    """Return the number of findings per severity, then a card per finding, the worst first."""
    counts = Counter(each.severity for each in found)
    summary = ", ".join(_counted(counts[each], each) for each in Severity if counts[each])
    if not counts[Severity.CRITICAL] and not counts[Severity.WARNING]:
        summary = HEALTHY if found else NO_FINDINGS
    cards = [finding_card(topology, each, number) for number, each in enumerate(found)]
    unjudged = not has_baseline and not any(each.is_grave for each in found)
    return [
        *_foreign(topology, interval),
        doc.Headline((summary, span(interval))),
        *([doc.Paragraph(NOT_JUDGED)] if unjudged else []),
        *cards,
        *notes(interval),
    ]


def _counted(count: int, severity: Severity) -> str:
    """Return "1 critical", "3 warnings", "2 infos", "1 good"."""
    is_noun = severity in (Severity.WARNING, Severity.INFO)
    return plural(count, severity) if is_noun else f"{count} {severity}"


def _foreign(topology: Topology, interval: Interval) -> list[doc.Block]:
    """Return a warning if the figures are from another machine than the topology."""
    difference = of_another(topology.machine, interval.machine)
    if not difference:
        return []
    return [
        doc.Paragraph(
            f"The figures are from {difference}. The findings use the devices of "
            f"{topology.machine.host or 'this machine'}: check that the names mean the same disks.",
            "Warning:",
        )
    ]


def check_document(topology: Topology, found: Sequence[Finding], nothing: str) -> list[doc.Block]:
    """Return the checks by device; the sentence *nothing* for none."""
    groups = tuple(
        (title(topology, name), tuple(_check_card(topology, each) for each in group))
        for name, group in groupby(found, key=lambda each: each.device)
    )
    if not groups:
        return [doc.Paragraph(nothing)]
    problems = sum(each.severity is not Severity.GOOD for each in found)
    checks = plural(len(found), "check")
    summary = (
        f"{plural(problems, 'problem')} in {checks}."
        if problems
        else f"No problems: {checks} passed."
    )
    return [doc.Paragraph(summary), doc.Checklist(groups)]


def rules_document(rules: Iterable[Rule]) -> list[doc.Part]:
    """Return a part per rule: what it detects, its thresholds and its source."""
    return [
        doc.Part(
            f"{rule.id} {rule.name}: {rule.severity}",
            (
                doc.Paragraph(rule.detects, "detects:" if rule.needs_load else "checks:"),
                doc.Paragraph(
                    ", ".join(threshold(rule, name) for name in rule.thresholds) or "none",
                    "thresholds:",
                ),
                doc.Paragraph(rule.source, "source:"),
            ),
        )
        for rule in rules
    ]


def threshold(rule: Rule, name: str) -> str:
    """Return a threshold of *rule* with its unit: ``low queue 2.0``."""
    return f"{name.replace('_', ' ')} {_figure(*rule.thresholds[name])}"


def finding_card(topology: Topology, finding: Finding, number: int) -> doc.Card:
    """Return the card of *finding*: what, the caveat, the advice, the evidence; *number*: its anchor."""
    rule, tone = finding.rule, str(finding.severity)
    leads = (("But:", rule.caveat), ("Do:", rule.advice))
    blocks: list[doc.Block] = [*_texts(topology, finding, leads)]
    if finding.observed.evidence:
        blocks.append(doc.Folded("Evidence", (_evidence(topology, finding, number),)))
    heading = f"{rule.name} ({rule.id}), {title(topology, finding.device)}"
    return doc.Card(tone, heading, tuple(blocks), f"finding-{number}", tone)


def _check_card(topology: Topology, finding: Finding) -> doc.Card:
    """Return the card of a check; only a problem has a reason and advice."""
    rule = finding.rule
    leads = (("should be:", rule.expected), ("why:", rule.reason), ("do:", rule.advice))
    sentence, *details = _texts(topology, finding, leads)
    label = CHECK_LABELS[finding.severity]
    return doc.Card(
        str(finding.severity), f"{sentence.text} ({rule.id})", tuple(details), label=label
    )


def _texts(
    topology: Topology, finding: Finding, details: tuple[tuple[str, str], ...]
) -> list[doc.Paragraph]:
    """Return the sentence of *finding*, then its *details* by lead unless it is good."""
    words = words_of(topology, finding.observed)
    shown_details = () if finding.severity is Severity.GOOD else details
    return [
        doc.Paragraph(filled(finding.sentence, words)),
        *(doc.Paragraph(filled(text, words), lead) for lead, text in shown_details if text),
    ]


def _evidence(topology: Topology, finding: Finding, number: int) -> doc.Table:
    rows = tuple(
        (evidence_label(name), title(topology, it.device), _figure(it.value, it.unit))
        for name, it in finding.observed.evidence.items()
    )
    return doc.Table(
        f"evidence-{number}",
        ("evidence", "device", "value"),
        (doc.Rows(rows),),
        words=2,
        caption=f"Source of the rule: {finding.rule.source}",
    )


def _figure(value: float, unit: str) -> str:
    return f"{shown(value, unit)} times" if unit == "times" else shown(value, unit)
