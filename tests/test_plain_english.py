"""
Texts for users have no private idiom and no archaisms: CONTRIBUTING.md has the rules.

Checked are the help of every command, manual pages, Markdown documents,
scripts, and every docstring and string literal of ``stackmap/``.
"""

from __future__ import annotations

import ast
import re

import pytest
from click import Context

from stackmap.cli import COMMANDS, load
from tests.paths import ROOT
from tests.test_man import plain

# What must not appear (a regular expression; a space matches any white space), and what to write instead.
PHRASES = {
    r"accepted as \w+'s": "ignored, for … compatibility",
    r"a rate takes": "need two samples to compute a rate",
    r"a second each": "one second per …",
    r"and no year": "between 0 and 366 days",
    r"after against before": "change of …, before → after",
    r"anybody": "any user, any program",
    r"apart by": "separated by",
    r"are not among the figures": "is not in the input",
    r"as much takes": "the same capacity needs",
    r"at like load": "at similar load",
    r"at most it is": "it is at most",
    r"at the most": "at most",
    r"at will": "freely, too",
    r"bears?|borne by|bore": "has, is known",
    r"carried \S+ of": "wrote … of",
    r"that turns?": "spinning disk",
    r"fails else": "fails if …",
    r"for ever": "permanently, until …",
    r"get their answers": "complete",
    r"has no say": "does not apply",
    r"(?:is|are) told": "is printed, reported, known",
    r"is sent more than": "is overloaded",
    r"(?:is|are) there twice": "duplicate",
    r"it is the disk, not": "the disk is slow, not overloaded",
    r"(?:is|are|be) (?:not )?said": "is printed, reported, named",
    r"lets? go": "closes, releases",
    r"makes of": "makes from, does to",
    r"may be said": "repeatable",
    r"may ask for more": "may attract more I/O",
    r"members as large as now": "at the present member size",
    r"no course to show": "nothing to plot",
    r"nobody": "nothing, no user, no program",
    r"none of the bytes": "0 % of bytes",
    r"nothing tells": "unknown, no counter shows",
    r"of capture only": "start at, end at, use …",
    r"of it is": "rewrite",
    r"of whom": "whose, which",
    r"only what is not": "start at, end at",
    r"proves? nothing": "is normal",
    r"proved itself": "has worked",
    r"proves that": "deactivates, checks",
    r"put right": "corrected",
    r"(?:requests|reads|writes|bytes|KiB|MiB|IOPS|samples|times|figures|\d) a second": "per second",
    r"row a (?:layer|device|volume)": "one row per …",
    r"siblings?": "peers",
    r"somebody": "another user, another program",
    r"spared": "avoided",
    r"(?:stand|stands|stood|standing) on": "is above, is built on, uses",
    r"take the blanks|takes the blanks": "shift columns",
    r"that is so": "rewrite",
    r"that is all there is|are all there is": "no topology; devices have their own names",
    r"the load following": "a faster volume may attract more I/O",
    r"told (?:apart|by|from|of)": "separated, known from, reported",
    r"what passes": "requests that pass",
    r"what went back": "counter resets",
    r"whence": "from where",
    r"who (?:it|those) (?:is|are)": "its identity",
    r"who makes|who sends": "the source of",
    r"whoever": "any user",
    r"what follows on": "sequential",
    r"a row update wrote": "each parity update covered … pages",
    r"saves only reads": "reduces only the reads",
    r"data and parity of \S+ alone": "data and parity cost …, without bitmap and journal",
    r"at the present member size .* needs": "RAID10 needs … of disk space for the same …",
    r"keeps the stripe geometry": "the file system was made for the old stripe width",
    r"the metric sorted by": "the sort key: IOPS in stack order, bytes in cost order",
    r"the line accounted": "accounted: arrivals here ÷ requests that the layer above sent",
    r"whose load\? whatif": "missing NAME: which volume?",
}
SPACE = r"(?:[ \t]+\n?[ \t]*|\n[ \t]*)"  # within a paragraph
PATTERNS = {
    phrase: re.compile(rf"\b(?:{phrase.replace(' ', SPACE)})\b", re.IGNORECASE)
    for phrase in PHRASES
}


def strings(path):
    """Return the docstrings and string literals of a module; a place in an f-string is ``{}``."""
    found = []
    inside = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            inside.update(map(id, node.values))
            found.append(
                "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            found.append(node.value)
    return "\n\n".join(found)


def markdown(path):
    """Return a document without output of commands, and without examples of what not to write."""
    text = re.sub(r"^```\n\$ .*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return "\n".join(line for line in text.splitlines() if " → " not in line)


def texts():
    """Return every text that is checked, by its path in the repository."""
    found = {}
    for path in sorted((ROOT / "stackmap").rglob("*.py")):
        found[path] = strings(path)
    for path in sorted((ROOT / "man").iterdir()):
        found[path] = plain(path.read_text())
    for pattern in ("*.md", "stackmap/*.md", "sample_topologies/*.md"):
        for path in sorted(ROOT.glob(pattern)):
            found[path] = markdown(path)
    for name in ("run", ".ci/run", "setup.cfg", "pyproject.toml"):
        found[ROOT / name] = (ROOT / name).read_text()
    helps = {f"{name} --help": help_of(name) for name in COMMANDS}
    return helps | {str(path.relative_to(ROOT)): text for path, text in found.items()}


def help_of(name):
    """Return what ``stackmap NAME --help`` prints, without line breaks of its own."""
    command = load(name)
    return command.get_help(
        Context(command, info_name=name, max_content_width=200, help_option_names=["-h", "--help"])
    )


TEXTS = texts()

# What must not appear in a printed output, and what is wrong with it.
BLEMISHES = {
    r"(?<![\d.,])1 (?:array|check|device|disk|finding|interval|member|mirror|request|step|volume|warning|PV)s\b": "plural of one",
    r"\beach of (?:1\b|/dev/\w+(?:[;.]|, on))": "each of one",
    r"[-+]0(?:\.0+)? %": "a change of nothing has no sign",
    r"[ \t]$": "space at the end of a line",
    r"\n\n\n": "two blank lines",
    r"\b(\w+) (\1)\b(?! \|)": "a word twice",
}
PRINTED = sorted(
    path
    for path in (ROOT / "tests" / "expected").rglob("*")
    if path.is_file() and path.suffix != ".json"
)


@pytest.mark.parametrize("path", PRINTED, ids=lambda path: "/".join(path.parts[-2:]))
def test_printed_outputs_have_no_blemish(path):
    """Plurals, signs and blank lines are right in the output of each command."""
    text = path.read_text()
    found = {
        match[0]: why
        for blemish, why in BLEMISHES.items()
        for match in re.finditer(blemish, text, re.MULTILINE)
    }

    assert found == {}


def phrases_in(text):
    """Return each phrase that *text* has, with what to write instead."""
    return {
        match[0]: PHRASES[phrase]
        for phrase, pattern in PATTERNS.items()
        for match in pattern.finditer(text)
    }


@pytest.mark.parametrize("path", sorted(TEXTS))
def test_no_private_idiom(path):
    """A text has none of the phrases; the message has what to write instead."""
    assert phrases_in(TEXTS[path]) == {}


def test_every_phrase_can_match():
    """A phrase is found across a line's end, in any case, and not inside a word."""
    assert list(phrases_in("It Is\n  told here")) == ["Is\n  told"]
    assert phrases_in("the crossbears") == {}
