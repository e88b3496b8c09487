"""The tables of rules and checks, as text: ids, thresholds and where they come from."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from stackmap.analysis.findings.rule import Rule
from stackmap.document.templates import shown
from stackmap.render.text import WIDTH


def rules_text(rules: Iterable[Rule]) -> str:
    """Return a paragraph a rule."""
    return "\n".join(_paragraph(rule) for rule in rules)


def threshold(rule: Rule, name: str) -> str:
    """Return one of a rule's thresholds as text: ``slower 4.00 times``."""
    value, unit = rule.thresholds[name]
    return f"{name} {shown(value, unit)}{' times' if unit == 'times' else ''}"


def _paragraph(rule: Rule) -> str:
    limits = ", ".join(threshold(rule, name) for name in rule.thresholds) or "none"
    lines = [f"{rule.id} {rule.name}: {rule.severity}"]
    for what, text in (("thresholds", limits), ("source", rule.source)):
        lines.append(
            textwrap.fill(f"{what}: {text}", WIDTH, initial_indent="  ", subsequent_indent="    ")
        )
    return "\n".join(lines) + "\n"
