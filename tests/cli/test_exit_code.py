"""``--exit-code`` of explain and check: of 11, 10, 12, 64, 32 and 0, the first that applies."""

from __future__ import annotations

from itertools import product

import pytest
from click.testing import CliRunner

from stackmap.cli import check, explain, stackmap
from stackmap.discover import discover
from stackmap.errors import StackmapError
from stackmap.host.capture import CapturedHost
from stackmap.model.topology import Topology
from stackmap.rules import decision, rule
from stackmap.rules.unjudged import LAYOUT, Unjudged
from tests.paths import ROOT

SAMPLE = ROOT / "sample_topologies/laptop-luks-lvm"
SEVERITIES = ("critical", "warning", "info", "good")
SUBSETS = [
    tuple(each for each, chosen in zip(SEVERITIES, bits, strict=True) if chosen)
    for bits in product((False, True), repeat=len(SEVERITIES))
]
NAMES = {"all": ["sdb"], "some": ["sdb", "nosuch"], "none": ["nosuch"]}
COMBINATIONS = list(product(SUBSETS, (True, False), NAMES))
SETUP = rule.Finding(
    rule.check("SM999", rule.Severity.CRITICAL, "{device}", "{device}", "", "", name="setup"),
    rule.observe("sdb"),
)


def found(severities):
    """A finding of each severity on sdb."""
    named = rule.Rule("SM000", rule.Severity.INFO, "{device}", "{device}.", "", "", name="test")
    return [
        rule.Finding(named, rule.observe("sdb", severity=rule.Severity(each)))
        for each in severities
    ]


def expected(severities, names, *, judged):
    """The status by the table of DESIGN 4; without a device nothing is measured."""
    if names == "none":
        return 32
    applying = {
        11: "critical" in severities,
        10: "warning" in severities,
        12: not judged,
        64: names == "some",
    }
    return next((status for status, applies in applying.items() if applies), 0)


def status(*words):
    """The exit status; of an error the one that ``main`` exits with."""
    result = CliRunner().invoke(stackmap, ["--from", str(SAMPLE), *words])
    if isinstance(result.exception, StackmapError):
        return result.exception.exit_code
    return result.exit_code


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_explain(combination, monkeypatch):
    """Every set of severities, with and without an open question, with all, some or no names found."""
    severities, judged, names = combination
    questions = [] if judged else [Unjudged(LAYOUT, rule.observe(""))]
    monkeypatch.setattr(decision, "findings", lambda *_: found(severities))
    monkeypatch.setattr(decision, "unjudged", lambda *_: questions)
    monkeypatch.setattr(explain, "setup_problems", lambda *_: [SETUP])
    words = ["explain", *NAMES[names], "--input", str(SAMPLE / "input/iostat-worst.txt")]

    assert status(*words, "--exit-code") == expected(severities, names, judged=judged)
    both = (*severities, "critical")
    assert status(*words, "--exit-code", "--with-check") == expected(both, names, judged=judged)
    assert status(*words) == {"all": 0, "some": 64, "none": 32}[names]


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_check(combination, monkeypatch):
    """The same; nothing was judged where no check applies."""
    severities, judged, names = combination
    monkeypatch.setattr(check, "checks", lambda _: found(severities) if judged else [])
    words = ["check", *NAMES[names]]

    severities = severities if judged else ()
    judged = bool(severities)
    assert status(*words, "--exit-code") == expected(severities, names, judged=judged)
    assert status(*words) == {"all": 0, "some": 64, "none": 32}[names]


@pytest.mark.parametrize("severities", SUBSETS, ids=str)
def test_check_of_a_machine_that_is_known_in_part(severities, monkeypatch):
    """What could not be read leaves it open, unless something worse is certain."""
    monkeypatch.setattr(check, "checks", lambda _: found(severities))
    partly = Topology(discover(CapturedHost(str(SAMPLE))), unknown=["lvs: refused"])
    monkeypatch.setattr(check, "discover", lambda *_, **__: partly)

    assert status("check", "--exit-code") == expected(severities, "all", judged=False)


def test_the_worst_of_several_reports_counts(monkeypatch):
    """A warning in the first report, an open question in the second, nothing in the third."""
    turns = iter([("warning",), (), ()])
    opened = iter([[], [Unjudged(LAYOUT, rule.observe(""))], []])
    monkeypatch.setattr(decision, "findings", lambda *_: found(next(turns)))
    monkeypatch.setattr(decision, "unjudged", lambda *_: next(opened))
    words = ["explain", "--input", str(SAMPLE / "input/iostat-worst.txt"), "--report", "all"]

    assert status(*words, "--exit-code") == 10
