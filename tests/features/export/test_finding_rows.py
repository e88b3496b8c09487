"""A finding of a recording is a row in Parquet, with all that it rests on."""

from __future__ import annotations

import pytest

from stackmap.features.export.recording import SLOW, _finding
from stackmap.model.topology import Topology
from stackmap.rules.rule import Evidence, Finding, observe
from stackmap.rules.table import RULES
from tests.drawn import disk


@pytest.mark.parametrize("rule", RULES[::7], ids=lambda rule: rule.id)
def test_a_finding_is_a_row_with_its_evidence(rule):
    """Of the setup if the rule needs no load; a ratio is that of a slow disk."""
    observed = observe("sdz")._replace(
        evidence={"ratio": Evidence(3.0, "times", "sdz"), "n": Evidence(7.0, "count", "sdy")}
    )
    tree = Topology([disk("sdz", label="slot 3")], [])
    row = _finding(tree, Finding(rule, observed))

    kind = rule.id, rule.name, str(rule.severity), str(rule.outcome)
    assert row[:6] == (*kind, "sdz", tree["sdz"].title)
    assert tree["sdz"].title != "sdz"
    assert row[8] is not rule.needs_load
    assert row[9] == (3.0 if rule.id == SLOW else None)
    assert [(each["name"], each["device"], each["value"]) for each in row[10]] == [
        ("ratio", "sdz", 3.0),
        ("n", "sdy", 7.0),
    ]
