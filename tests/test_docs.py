"""What ``./run docs`` writes: the lists of the manual pages, and what it keeps of the text around them."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from stackmap.model.load import METRICS
from tests.paths import ROOT

MAN = ROOT / "man"


def loaded():
    spec = importlib.util.spec_from_file_location("docs", ROOT / "packaging/docs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["docs"] = module
    spec.loader.exec_module(module)
    return module


docs = loaded()
PAGE = "stackmap-record.8"


@pytest.fixture
def text():
    return (MAN / PAGE).read_text()


def test_generated_parts_are_up_to_date():
    """Options, columns, rules and exit statuses are in the manual as the program has them."""
    stale = [
        str(path.relative_to(ROOT)) for path, made in docs.generated() if path.read_text() != made
    ]

    assert stale == [], "run: ./run docs"


def test_generated_parts_are_made_anew(text):
    """A list that was edited or emptied becomes that of the program."""
    begin = text.index(docs.BEGIN)
    emptied = (
        text[:begin]
        + f"{docs.BEGIN}options\n{docs.END}"
        + text[text.index(f"{docs.END}\n", begin) + len(docs.END) :]
    )
    edited = text.replace("if it exists", "if it lives")

    assert docs.page(PAGE, edited) == text != edited
    assert docs.page(PAGE, emptied).count(".TP\n") == text.count(".TP\n")


def test_text_by_hand_is_kept(text):
    """It stays below its option when that gets another value."""
    more = f"{docs.BY_HAND}\nThe \\fIrest\\fR.\n"
    longer = text.replace("500M, 2G.\n", f"500M, 2G.\n{more}")
    renamed = longer.replace("\\fISIZE\\fR", "\\fIBYTES\\fR")

    assert docs.page(PAGE, longer) == longer
    assert docs.page(PAGE, renamed) == longer


def test_text_by_hand_is_not_lost(text):
    """An option that went leaves text behind: a person decides what becomes of it."""
    old = f".TP\n\\fB\\-\\-old\\fR\nGone.\n{docs.BY_HAND}\nMore.\n{docs.END}\n"

    with pytest.raises(docs.StaleText, match=r"no entry is left for the text written below .*old"):
        docs.page(PAGE, text.replace(f"{docs.END}\n", old))


def test_a_page_has_its_parts(text):
    """A page without the mark of its list is refused."""
    with pytest.raises(docs.StaleText, match=f"man/{PAGE} must have the generated parts options"):
        docs.page(PAGE, text.replace(docs.BEGIN, "."))
    with pytest.raises(docs.StaleText, match="table of exit statuses"):
        docs.readme("# stackmap\n")


def test_words_become_roff():
    """Commands, options and values have their fonts; no character of a text means anything to troff."""
    assert docs.roff("-o: `lvs {device}` of LIST", ["LIST"]) == (
        "\\fB\\-o\\fR: \\fBlvs DEVICE\\fR of \\fILIST\\fR"
    )
    assert docs.roff('"a\\b" 2 × – µ') == "\\(dqa\\eb\\(dq 2 \\(mu \\(en \\[u00B5]"
    assert docs.wrapped(".x") == "\\&.x"
    assert docs.wrapped("'x") == "\\&'x"
    name = "\\fITWO WORDS\\fR"
    assert docs.wrapped(f"{'x' * (docs.WIDTH - 8)} {name}").splitlines()[1] == name


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_a_metric_has_key_and_unit(metric):
    """stackmap(8) says what a key of JSON means, and its unit."""
    assert (
        f"\n\\fB{metric.heading}\\fR ({metric.key}, {metric.unit})\n"
        in (MAN / "stackmap.8").read_text()
    )
