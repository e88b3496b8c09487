"""The objects of ``explain -J`` and ``check -J``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stackmap.document.rule_words import filled, words_of
from stackmap.model.topology import Topology
from stackmap.render.json import interval_json
from stackmap.render.text import safe
from stackmap.rules.context import Context
from stackmap.rules.rule import Finding, Severity

if TYPE_CHECKING:
    from stackmap.rules.unjudged import Unjudged


def explain_json(
    context: Context, found: Iterable[Finding], open_questions: Iterable[Unjudged]
) -> dict[str, object]:
    """Return the findings and what could not be judged as one object."""
    topology = context.topology
    return {
        "schema": "stackmap.explain/1",
        **interval_json(context.interval),
        "findings": [
            {
                **_finding(topology, each),
                "peers": list(each.peers),
                **_texts(topology, each, {"sentence": each.rule.sentence}),
                "evidence": _evidence(each),
                **_texts(topology, each, {"against": each.rule.caveat, "advice": each.rule.advice}),
                "source": each.rule.source,
            }
            for each in found
        ],
        "not_judged": [
            {
                "question": each.question.subject,
                "device": each.observed.device or None,
                "reason": safe(filled(each.question.reason, words)),
                "reason_code": each.code,
                "advice": each.question.advice,
            }
            for each in open_questions
            for words in [words_of(topology, each.observed)]
        ],
    }


def check_json(topology: Topology, found: Iterable[Finding]) -> dict[str, object]:
    """Return the checks *found* as one object."""
    return {
        "schema": "stackmap.check/1",
        "checks": [
            {
                **_finding(topology, each),
                **({"severity": "ok"} if each.severity is Severity.GOOD else {}),
                **_texts(
                    topology,
                    each,
                    {
                        "is": each.rule.sentence,
                        "should": each.rule.expected,
                        "why": each.rule.reason,
                        "advice": each.rule.advice,
                    },
                ),
                "evidence": _evidence(each),
            }
            for each in found
        ],
    }


def _finding(topology: Topology, finding: Finding) -> dict[str, object]:
    device = finding.device
    return {
        "id": finding.rule.id,
        "name": finding.rule.name,
        "severity": str(finding.severity),
        "device": device or None,
        "label": topology[device].title if device in topology else device or None,
    }


def _texts(topology: Topology, finding: Finding, templates: dict[str, str]) -> dict[str, str]:
    words = words_of(topology, finding.observed)
    return {key: safe(filled(template, words)) for key, template in templates.items()}


def _evidence(finding: Finding) -> list[dict[str, object]]:
    return [
        {"name": name, "device": it.device, "value": it.value, "unit": it.unit}
        for name, it in finding.observed.evidence.items()
    ]
