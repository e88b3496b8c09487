"""The object of ``check -J``."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.analysis.findings.rule import Finding, Severity
from stackmap.document.templates import filled, words_of
from stackmap.model.topology import Topology
from stackmap.render.json_parts import evidence_json
from stackmap.render.text import safe

SCHEMA = "stackmap.check/1"


def check_json(topology: Topology, found: Iterable[Finding]) -> dict[str, object]:
    """Return *found* as one object."""
    return {"schema": SCHEMA, "checks": [_check(topology, each) for each in found]}


def _check(topology: Topology, finding: Finding) -> dict[str, object]:
    words, rule = words_of(topology, finding.observed), finding.rule
    return {
        "id": rule.id,
        "name": rule.name,
        "severity": "ok" if finding.severity is Severity.GOOD else str(finding.severity),
        "device": finding.device,
        "label": topology[finding.device].title,
        "is": safe(filled(rule.sentence, words)),
        "should": safe(filled(rule.expected, words)),
        "why": safe(filled(rule.reason, words)),
        "advice": safe(filled(rule.advice, words)),
        "evidence": evidence_json(finding.observed),
    }
