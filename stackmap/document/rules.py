"""The rules of findings and checks: ids, thresholds and sources."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.analysis.findings.rule import Rule
from stackmap.document.blocks import Paragraph, Part
from stackmap.document.templates import shown


def rules_document(rules: Iterable[Rule]) -> list[Part]:
    """Return a part per rule."""
    return [_part(rule) for rule in rules]


def threshold(rule: Rule, name: str) -> str:
    """Return a threshold of *rule* with its unit: ``low queue 2.0``."""
    value, unit = rule.thresholds[name]
    return f"{name.replace('_', ' ')} {shown(value, unit)}{' times' if unit == 'times' else ''}"


def _part(rule: Rule) -> Part:
    limits = ", ".join(threshold(rule, name) for name in rule.thresholds) or "none"
    details = (Paragraph(limits, "thresholds:"), Paragraph(rule.source, "source:"))
    return Part(f"{rule.id} {rule.name}: {rule.severity}", details)
