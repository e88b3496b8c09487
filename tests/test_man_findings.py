"""stackmap-findings(7) has one section per rule, with the words of the table."""

from __future__ import annotations

import re
import string

import pytest

from stackmap.analysis.findings.rules import RULES
from stackmap.document.rules import threshold
from stackmap.document.templates import UNITS
from tests.test_man import MAN, plain

PAGE = plain((MAN / "stackmap-findings.7").read_text())
IDS = [rule.id for rule in RULES]


def section(rule):
    """Return the words of the section of *rule*, one space between each."""
    found = re.search(rf'^\.SS "{rule.id} [^\n]*\n.*?(?=^\.S[SH])', PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {rule.id}"
    return " ".join(found[0].split())


def printed(template):
    """Return a template as the page prints it: placeholders in capitals, commands in bold."""
    names = {name: name.upper() for _, name, _, _ in string.Formatter().parse(template) if name}
    return template.replace("`", "").format_map(names)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_each_id_has_its_section(rule):
    """Name, severity, what it reports and the caveat, every threshold and the source, to the letter."""
    text = section(rule)

    assert f"{rule.id} {rule.name}" in text
    assert rule.severity in text
    for words in (rule.sentence, rule.caveat, rule.expected, rule.reason):
        assert printed(words) in text
    for other in rule.superseded_by:
        assert other in text
    for name in rule.thresholds:
        assert threshold(rule, name) in text
    assert rule.source in text


def test_no_section_without_a_rule():
    """Sections are in the order of the table: causes before effects."""
    assert re.findall(r"^\.SS \W?(SM\d+)", PAGE, re.MULTILINE) == IDS


def test_ids_and_names_are_unique():
    """Each id and each name means one rule."""
    assert len(set(IDS)) == len(IDS)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_thresholds_have_units(rule):
    """Each threshold can be printed."""
    assert {unit for _, unit in rule.thresholds.values()} <= set(UNITS)
