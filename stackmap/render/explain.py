"""Findings as text for a tired reader, as Markdown for a ticket, and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.document.templates import filled, literal, shown, title, words_of
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.render.intervals import interval_json, span
from stackmap.render.notes import notes
from stackmap.render.text import WIDTH, safe

SCHEMA = "stackmap.explain/1"
NOTHING = "Nothing found: no rule applies to what was measured."
HEALTHY = "Nothing to worry about: only remarks follow."


def explain_text(
    topology: Topology, found: Sequence[Finding], interval: Interval, *, width: int = WIDTH
) -> str:
    """Return *found*, the worst first: what, what speaks against it, what to do."""
    head = "  ".join(filter(None, (_summary(found), safe(span(interval)))))
    beside = notes(interval, (), why=False)
    pages = [head, *(_one(topology, each, width) for each in found)]
    return "\n".join(pages) + "\n" + (f"\n{beside}" if beside else "")


def _summary(found: Sequence[Finding]) -> str:
    if not found:
        return NOTHING
    counts = Counter(each.severity for each in found)
    if not counts[Severity.CRITICAL] and not counts[Severity.WARNING]:
        return HEALTHY
    return ", ".join(f"{counts[each]} {each}" for each in Severity if counts[each])


def _one(topology: Topology, finding: Finding, width: int) -> str:
    words, rule = words_of(topology, finding.observed), finding.rule
    device = title(topology, finding.device)
    heading = f"\n{finding.severity.upper()}: {rule.name} ({rule.id}), {device}"
    parts = [("  ", rule.sentence)]
    if finding.severity is not Severity.GOOD:
        parts += [("  But: ", rule.caveat), ("  Do:  ", rule.advice)]
    return "\n".join(
        [heading, *(_wrapped(mark, filled(text, words), width) for mark, text in parts)]
    )


def _wrapped(mark: str, text: str, width: int) -> str:
    return textwrap.fill(
        text, width, initial_indent=mark, subsequent_indent=" " * len(mark), break_on_hyphens=False
    )


def explain_markdown(topology: Topology, found: Sequence[Finding], interval: Interval) -> str:
    """Return *found* for a ticket, each with its evidence as a table."""
    lines = [f"## {_summary(found)}", "", safe(span(interval))]
    for each in found:
        words, rule = words_of(topology, each.observed), each.rule
        lines += [
            "",
            f"### {each.severity}: {rule.name} ({rule.id}), {literal(title(topology, each.device))}",
            "",
        ]
        lines += [literal(filled(rule.sentence, words)), ""]
        if each.observed.evidence:
            lines += ["| evidence | device | value |", "|---|---|--:|"]
            lines += [
                f"| {name} | {literal(title(topology, it.device))} | {shown(it.value, it.unit)} |"
                for name, it in each.observed.evidence.items()
            ]
            lines.append("")
        lines += [f"- **But:** {literal(filled(rule.caveat, words))}"]
        lines += [f"- **Do:** {literal(filled(rule.advice, words))}", f"- **Rule:** {rule.source}"]
    return "\n".join(lines) + "\n"


def explain_json(
    topology: Topology, found: Iterable[Finding], interval: Interval
) -> dict[str, object]:
    """Return the object of ``explain -J``."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "findings": [_json(topology, each) for each in found],
    }


def _json(topology: Topology, finding: Finding) -> dict[str, object]:
    words, rule = words_of(topology, finding.observed), finding.rule
    return {
        "id": rule.id,
        "name": rule.name,
        "severity": str(finding.severity),
        "device": finding.device,
        "label": topology[finding.device].title if finding.device in topology else finding.device,
        "sentence": filled(rule.sentence, words),
        "evidence": [
            {"name": name, "device": it.device, "value": it.value, "unit": it.unit}
            for name, it in finding.observed.evidence.items()
        ],
        "against": filled(rule.caveat, words),
        "advice": filled(rule.advice, words),
        "source": rule.source,
    }
