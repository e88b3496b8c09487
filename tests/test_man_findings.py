"""stackmap-findings(7) has one section per rule, with the words of the table."""

from __future__ import annotations

import re
import string

import pytest

from stackmap.document.findings import rules_document
from stackmap.document.rule_words import FULLNESS, RULE_WORDS, UNITS, WORDS, threshold
from stackmap.render.terminal import Style, render_text
from stackmap.rules.rule import LIGHT
from stackmap.rules.table import RULES
from tests.test_man import MAN, plain

PAGE = plain((MAN / "stackmap-findings.7").read_text())
IDS = [rule.id for rule in RULES]


def section(rule):
    """Return the words of the section of *rule*, one space between each."""
    found = re.search(rf'^\.SS "{rule.id} [^\n]*\n.*?(?=^\.S[SH])', PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {rule.id}"
    return " ".join(found[0].split())


# Placeholders that the page prints with a clearer word than their name; the others are printed as they are.
PLACEHOLDERS = {
    "ahead": "READ AHEAD",
    "asked": "READS",
    "below": "DEVICE BELOW",
    "does": "WORK",
    "done": "PRESENT",
    "failed": "DEVICES",
    "fs": "FILE SYSTEM",
    "grain": "ALIGNMENT",
    "holds": "CAPACITY",
    "least": "MINIMUM",
    "other_volumes": "VOLUMES",
    "others": "MEDIAN",
    "others_bytes": "MEDIAN",
    "past": "REMAINDER",
    "slow": "ORIGIN READS",
    "start_of": "START KIND",
    "told": "PRESENT",
    "took": "AWAIT",
    "unasked": "EXCESS",
    "unit": "UNITS",
    "usual": "LIMIT",
    "what": "KIND",
    "why": "REASON",
    "width": "FS STRIPE",
}


def printed(template):
    """Return a template as the page prints it: placeholders in capitals, commands in bold."""
    fields = [name for _, name, _, _ in string.Formatter().parse(template) if name]
    names = {name: PLACEHOLDERS.get(name, name.upper().replace("_", " ")) for name in fields}
    return template.replace("`", "").format_map(names)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_each_id_has_its_section(rule):
    """The section of a rule has its name, severity, sentence, caveat and thresholds, to the letter."""
    text = section(rule)

    assert f"{rule.id} {rule.name}" in text
    assert rule.severity in text
    for words in (rule.sentence, rule.caveat, rule.expected, rule.reason):
        assert printed(words) in text
    for name in rule.thresholds:
        # Those of all warnings of a cost and of full pools are at the top.
        shared = name in LIGHT or name in FULLNESS
        assert threshold(rule, name) in (" ".join(PAGE.split()) if shared else text)


def test_rules_are_listed_with_their_sources():
    """`explain --rules` has the source of each rule, which the page leaves out."""
    text = render_text(rules_document(RULES), Style(1000))

    assert [rule.id for rule in RULES if f"source: {rule.source}\n" not in text] == []
    for rule in (rule for rule in RULES if rule.superseded_by):
        assert f"omitted if: {' or '.join(rule.superseded_by)} reports the same device\n" in text


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_each_rule_says_what_it_detects(rule):
    """`explain --rules` has a line per rule."""
    assert rule.detects.endswith(".")
    assert len(rule.detects.split()) > 3


def test_no_section_without_a_rule():
    """Sections are sorted by id."""
    assert re.findall(r"^\.SS \W?(SM\d+)", PAGE, re.MULTILINE) == sorted(IDS)


def test_ids_and_names_are_unique():
    """Each id and each name means one rule."""
    assert len(set(IDS)) == len(IDS)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_thresholds_have_units(rule):
    """Each threshold can be printed, and no words are for a threshold that the rule does not have."""
    assert {unit for _, unit in rule.thresholds.values()} <= set(UNITS)
    assert RULE_WORDS.get(rule.id, {}).keys() <= rule.thresholds.keys()
    assert rule.thresholds.keys() <= WORDS.keys() | RULE_WORDS.get(rule.id, {}).keys()
