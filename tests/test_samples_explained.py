"""
``explain`` on every real text of ../shared/samples: no verdict on devices that were not judged.

The texts are of unknown hosts. They are others' and not in this repository.
"""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from tests.paths import ROOT

SAMPLES = ROOT.parent / "shared" / "samples"
TEXTS = sorted(SAMPLES.glob("*.txt"))

pytestmark = pytest.mark.skipif(not TEXTS, reason=f"no samples in {SAMPLES}")
ALL_CLEAR = ("No problem found", "Nothing found", "Nothing to worry about", "No findings")


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory):
    """A machine that has none of the names."""
    path = tmp_path_factory.mktemp("machine")
    (path / "sys/block").mkdir(parents=True)
    return str(path)


STACK = r"^Personalities :|^\W*NAME +MAJ:MIN"  # mdstat or lsblk beside the figures


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_no_all_clear_and_no_verdict_without_figures(nowhere, text):
    """The layout is never judged; a finding has a device with a known await, queue and load."""
    words = ["--from", nowhere, "explain", "--exit-code", "--input", str(text)]
    told = CliRunner().invoke(stackmap, words)
    if told.exit_code == 1:
        assert "no device statistics" in told.stderr
        return

    assert not [words for words in ALL_CLEAR if words in told.stdout]
    if re.search(STACK, text.read_text(errors="replace"), re.MULTILINE):
        return  # the text tells the layout, too
    assert "Could not judge: " in told.stdout
    found = json.loads(CliRunner().invoke(stackmap, [*words, "-J"]).stdout)
    assert "layout" in [each["question"] for each in found["not_judged"]]
    grave = [each for each in found["findings"] if each["severity"] in ("critical", "warning")]
    assert told.exit_code == (10 if grave else 12)
    for each in grave:
        evidence = {fact["name"]: fact["value"] for fact in each["evidence"]}
        assert evidence["await"] > 0
        assert evidence["queue"] > 0
        assert evidence["rate"] > 0
        # What lies below a volume, and who else uses it, is not in the text.
        assert each["id"] in ("SM201", "SM401", "SM406", "SM423")
    if "the load" in [each["question"] for each in found["not_judged"]]:
        assert not grave
