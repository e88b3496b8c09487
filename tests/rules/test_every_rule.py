"""Every rule reports once and once not, and each of its thresholds decides, on texts that a kernel could print."""

from __future__ import annotations

import re

import pytest

from stackmap.discover import discover
from stackmap.document.rule_words import heading
from stackmap.rules.rule import Severity
from stackmap.rules.table import RULES
from tests.rules import cases_disks, cases_layers, cases_state, cases_waiting  # noqa: F401 - these enter their cases
from tests.rules.rule_cases import CASES, REPORTED, SILENT
from tests.rules.scripted import checked, explained

BY_NAME = {rule.name: rule for rule in RULES}
EDGES = [(name, threshold) for name, entry in CASES.items() for threshold in entry.edges]
# Without a capture there is no key in one: tests/test_keys.py records such a machine and checks it.
ELSEWHERE = {"recorded-key"}


def outcome(name, host):
    """The severity with which rule *name* reports on *host*; a state that is good is not reported."""
    rule = BY_NAME[name]
    found = explained(host) if rule.needs_load else checked(host)
    words = [word for each in found for word in each.observed.words.values()]
    assert not [
        word for word in words if "`" in word
    ]  # a word may be a name: only templates have commands
    severities = [each.severity for each in found if each.rule.name == name]
    good = () if rule.severity is Severity.GOOD else (Severity.GOOD,)
    reported = [severity for severity in severities if severity not in good]
    return min(reported, key=list(Severity).index, default=SILENT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_and_every_threshold_has_a_case(rule):
    """A rule or a threshold that is added needs a machine that shows it."""
    assert rule.name in CASES or rule.name in ELSEWHERE, f"rule {rule.name} has no case"
    without = rule.thresholds.keys() - (CASES[rule.name].edges if rule.name in CASES else {})
    assert not without, f"rule {rule.name}: no case of the thresholds {sorted(without)}"


@pytest.mark.parametrize("name", CASES)
def test_a_title_has_at_most_eight_words(name):
    """As it is printed; a figure with its unit is one word."""
    rule, host = BY_NAME[name], CASES[name].draw()
    topology = discover(host)
    found = explained(host) if rule.needs_load else checked(host)
    words = [word for each in found for word in each.observed.words.values()]
    assert not [
        word for word in words if "`" in word
    ]  # a word may be a name: only templates have commands
    titles = [heading(topology, each) for each in found if each.rule is rule]
    assert titles, name
    for title in titles:
        words = re.sub(r"(?<=\d) (?=ms|%|[KMG]iB)", "", title).split()
        assert len(words) <= 8, title
        assert "-" not in title.split(), title  # a word that the rule does not give


@pytest.mark.parametrize("name", CASES)
def test_a_rule_reports_and_after_a_change_does_not(name):
    """The machine of its case, and the same with the change."""
    entry = CASES[name]
    assert outcome(name, entry.draw()) != SILENT
    assert outcome(name, entry.draw(**entry.silent)) == SILENT


@pytest.mark.parametrize(("name", "threshold"), EDGES)
def test_a_threshold_decides(name, threshold):
    """Just below and just above it the outcomes differ, so that twice or half of it fails."""
    edge = CASES[name].edges[threshold]
    for quantity, expected in edge.sides:
        actual = outcome(name, CASES[name].draw(**{**edge.knobs, threshold: quantity}))
        ok = bool(actual) if expected == REPORTED else actual == expected
        assert ok, (
            f"{name}: {threshold} = {quantity:g} gives {actual or 'nothing'}, not {expected or 'nothing'}"
        )
