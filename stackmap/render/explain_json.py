"""The object of ``explain -J``."""

from __future__ import annotations

from collections.abc import Iterable

from stackmap.analysis.findings.rule import Finding
from stackmap.document.templates import filled, words_of
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.render.json_parts import evidence_json, interval_json
from stackmap.render.text import safe

SCHEMA = "stackmap.explain/1"


def explain_json(
    topology: Topology, found: Iterable[Finding], interval: Interval
) -> dict[str, object]:
    """Return *found* as one object."""
    return {
        "schema": SCHEMA,
        **interval_json(interval),
        "findings": [_finding(topology, each) for each in found],
    }


def _finding(topology: Topology, finding: Finding) -> dict[str, object]:
    words, rule = words_of(topology, finding.observed), finding.rule
    return {
        "id": rule.id,
        "name": rule.name,
        "severity": str(finding.severity),
        "device": finding.device,
        "label": topology[finding.device].title if finding.device in topology else finding.device,
        "sentence": safe(filled(rule.sentence, words)),
        "evidence": evidence_json(finding.observed),
        "against": safe(filled(rule.caveat, words)),
        "advice": safe(filled(rule.advice, words)),
        "source": rule.source,
    }
