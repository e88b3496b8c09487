"""Each rule has the words that the manual and ``explain --rules`` print."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import stackmap.rules
from stackmap.document.findings import rules_document
from stackmap.document.rule_words import UNITS
from stackmap.render.terminal import Style
from stackmap.rules.rule import LIMIT_WORDS, Rule
from stackmap.rules.table import RULES
from tests.terminal_text import render_text

IDS = [rule.id for rule in RULES]


def test_rules_are_listed_with_their_sources():
    """`explain --rules` has the source of each rule, which the manual leaves out."""
    text = render_text(rules_document(RULES), Style(1000))

    assert [rule.id for rule in RULES if f"source: {rule.source}\n" not in text] == []
    for rule in (rule for rule in RULES if rule.superseded_by):
        assert f"omitted if: {' or '.join(rule.superseded_by)} reports the same device\n" in text


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_each_rule_says_what_it_detects(rule):
    """`explain --rules` has a line per rule."""
    assert rule.detects.endswith(".")
    assert len(rule.detects.split()) > 3


def test_every_rule_is_in_the_table():
    """A rule that no table lists is never judged."""
    modules = [
        importlib.import_module(f"stackmap.rules.{module.name}")
        for module in pkgutil.iter_modules(stackmap.rules.__path__)
    ]
    values = [value for module in modules for value in vars(module).values()]
    listed = [each for value in values if isinstance(value, tuple) for each in value]
    written = {each.id for each in (*values, *listed) if isinstance(each, Rule)}

    assert written == set(IDS)


def test_ids_and_names_are_unique():
    """Each id and each name means one rule."""
    assert len(set(IDS)) == len(IDS)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_thresholds_have_units(rule):
    """Each threshold can be printed, with words of its own or those of its name."""
    for name, (_, unit, *words) in rule.thresholds.items():
        assert unit in UNITS
        assert words or name in LIMIT_WORDS
