"""stackmap-findings(7) has a section for each id, with what the tables say, and no other."""

from __future__ import annotations

import re
import string

import pytest

from stackmap.analysis.findings.rules import RULES
from stackmap.analysis.geometry.checks import CHECKS
from stackmap.render.rules import threshold
from tests.test_man import MAN, plain

TABLE = (*RULES, *CHECKS)
PAGE = plain((MAN / "stackmap-findings.7").read_text())
IDS = [rule.id for rule in TABLE]


def section(rule):
    """Return the words of the section of *rule*, one space between each."""
    found = re.search(rf"^\.SS.*{rule.id} .*\n(.*?)(?=^\.S[SH])", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {rule.id}"
    return " ".join(found[0].split())


def told(template):
    """Return a template as the page has it: each place by its name."""
    return template.format_map(
        {name: name for _, name, _, _ in string.Formatter().parse(template) if name}
    )


@pytest.mark.parametrize("rule", TABLE, ids=IDS)
def test_each_id_has_its_section(rule):
    """Name, severity, what it says, every threshold, the source: to the letter."""
    text = section(rule)

    assert f"{rule.id} {rule.name}" in text
    assert rule.severity in text
    for words in (rule.says, rule.advice):
        assert " ".join(told(words).split()) in text
    for name in rule.limits:
        assert threshold(rule, name) in text
    assert rule.source in text


def test_no_section_without_a_rule():
    """Sections are in the order of the tables: of two findings, the cause is told first."""
    assert re.findall(r"^\.SS \W?(SM\d+)", PAGE, re.MULTILINE) == IDS


def test_ids_and_names_are_ones_own():
    """An id or a name that is in use means one thing."""
    assert len(set(IDS)) == len(IDS)
    assert len({rule.name for rule in TABLE}) == len(TABLE)


@pytest.mark.parametrize("rule", TABLE, ids=IDS)
def test_thresholds_have_units(rule):
    """A threshold is a named number with a unit."""
    assert set(rule.limits) == set(rule.units)
