"""Characters that nobody sees reach no output: they rewrite lines, or make two names look alike."""

from __future__ import annotations

import json
import shutil
import sys
from unicodedata import category

import pytest
from click.testing import CliRunner

from stackmap.cli import stackmap
from stackmap.render.text import safe
from tests.paths import ROOT

VGHDD = ROOT / "sample_topologies" / "vghdd"
HIDDEN = (
    "\u2028\u2029\u200b\u200c\u200d\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068"
    "\u2069\ufeff\u00ad\u2060\u180e\ufff9\U000e0041\x85\x9b\x7f\x1b"
)
COMMANDS = (
    ["tree", "-O"], ["tree", "-J"], ["tree", "-P"], ["tree", "-r"], ["tree", "--dot"],
    ["tree", "--mermaid"], ["tree", "--svg"], ["tree", "--graphml"], ["tree", "--diff", str(VGHDD)],
    ["iostat"], ["iostat", "-J"], ["iostat", "-l"], ["iostat", "-l", "-J"], ["explain"],
    ["explain", "-m"], ["explain", "-J"], ["check"], ["check", "-m"],
    ["blame", "sda"], ["blame", "sda", "-J"], ["report", "-o", "-"], ["report", "-m", "-o", "-"],
    ["fiojob", "dm-8"], ["fiojob", "dm-8", "-J"], ["export", "--openmetrics"],
    ["whatif", "dm-8", "--to", "raid10"], ["whatif", "dm-8", "--to", "raid10", "-J"],
)  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The sample machine with such characters in the names of its volumes and a model."""
    capture = tmp_path_factory.mktemp("hostile") / "capture"
    shutil.copytree(VGHDD, capture)
    for path in (path for path in capture.rglob("*") if path.is_file()):
        text = path.read_bytes()
        name = HIDDEN if path.suffix != ".json" else json.dumps(HIDDEN).strip('"')
        for old in (b"vm-disk", b"vm--disk"):
            text = text.replace(old, old + name.encode())
        path.write_bytes(text)
    (capture / "sys/block/sda/device/model").write_text(HIDDEN)
    return str(capture)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_output_has_any(hostile, words):
    """They are escaped; JSON gives the name back as it is."""
    result = CliRunner().invoke(stackmap, ["--from", hostile, *words])

    assert result.exit_code == 0, result.output
    assert [
        c for c in result.output if c != "\n" and not c.isprintable() and category(c) != "Zs"
    ] == []
    if "-J" not in words:
        assert "u2028" in result.output
    else:
        told = json.dumps(json.loads(result.stdout.splitlines()[0]), ensure_ascii=False)
        assert "\u2028\u2029\u200b" in told


def test_every_character_of_such_a_category():
    """Controls, formats, separators, surrogates and what is not assigned; no letter, and no space."""
    for letter in map(chr, range(sys.maxunicode + 1)):
        hidden = category(letter) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Cn", "Co")
        assert (safe(letter) != letter) == hidden, hex(ord(letter))
    assert safe("a\u2028b\u200bc\ud800") == r"a\u2028b\u200bc\ud800"
