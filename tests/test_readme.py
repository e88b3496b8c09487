"""
README.md, CONTRIBUTING.md and stackmap/ARCHITECTURE.md state facts that hold.

Fenced blocks that begin with ``$ stackmap`` are commands with their output.
``pytest tests/test_readme.py --update-expected`` writes the present output;
review the diff. ``| head -n N`` behind a command keeps its first N lines.
"""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from stackmap import __version__
from stackmap.cli import COMMANDS, stackmap
from stackmap.ledger.amplification import COLUMNS as LAYER_METRICS
from tests.paths import ROOT

README = ROOT / "README.md"
ARCHITECTURE = ROOT / "stackmap/ARCHITECTURE.md"
DOCUMENTS = [README, ARCHITECTURE, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
PROMPT = "$ stackmap "
FENCED = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = re.compile(r" \| head -n (\d+)$")
WIDEST = 110
LONGEST = {README: 220, ARCHITECTURE: 150}

TEXT = README.read_text()
BLOCKS = [block for block in FENCED.findall(TEXT) if block.startswith(PROMPT)]


def printed(block):
    """Return *block* with the present output of its commands."""
    commands = [line for line in block.splitlines() if line.startswith(PROMPT)]
    parts = []
    for command in commands:
        words = shlex.split(HEAD.sub("", command).removeprefix(PROMPT))
        result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
        assert result.exit_code == 0
        head = HEAD.search(command)
        lines = result.output.strip().splitlines()[: int(head[1]) if head else None]
        parts.append("\n".join([command, *lines, ""]))
    return "".join(parts)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_output_is_what_is_printed(block, request, monkeypatch):
    """To the letter, from the repository's root, with a terminal of 80 columns."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    now = printed(block)
    if request.config.getoption("--update-expected"):
        README.write_text(README.read_text().replace(block, now))
        return

    assert block == now


def test_there_is_output():
    """README.md has blocks to compare."""
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_is_named_is_there(path):
    """Each path in backquotes, and each link to a file, exists."""
    text = path.read_text()
    roots = {path.name for path in ROOT.iterdir()} - {"build"}  # made by packages and tests
    paths = {word for word in re.findall(r"`([\w./-]+)`", text) if word.split("/")[0] in roots}
    links = {link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link}

    assert {name for name in paths if not (ROOT / name).exists()} == set()
    assert {link for link in links if not (path.parent / link).exists()} == set()


def test_documents_name_paths():
    """The architecture names files, and README.md links the other documents."""
    text = ARCHITECTURE.read_text()

    assert {"stackmap/model/load.py", "tests/test_layering.py"} <= set(
        re.findall(r"`([\w./-]+)`", text)
    )
    assert {f"]({path.relative_to(ROOT)})" in TEXT for path in DOCUMENTS[1:]} == {True}


def test_every_folder_is_told():
    """The architecture has a line for each part of the package."""
    text = ARCHITECTURE.read_text()
    parts = {
        path.name + "/" * path.is_dir()
        for path in (ROOT / "stackmap").iterdir()
        if not path.name.startswith("_") and (path.is_dir() or path.suffix == ".py")
    }

    assert {part for part in parts if f"\n{part} " not in text} == set()


def test_tables_that_are_named_are_there():
    """The tables of the architecture are in the files named with them."""
    named = re.findall(r"`([A-Z_]{4,})`\s+of\s+`([\w./]+)`", ARCHITECTURE.read_text())

    assert len(named) >= 7
    for table, path in named:
        assert re.search(rf"^{table}\b.* = ", (ROOT / path).read_text(), re.MULTILINE), (
            table,
            path,
        )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_of_run_are_there(path):
    """``./run`` has each command that is named; the changelog may name old ones."""
    known = re.findall(r"^#\s+\./run (\w+)", (ROOT / "run").read_text(), re.MULTILINE)
    old = {"packages"} if path.name == "CHANGELOG.md" else set()

    assert set(re.findall(r"\./run (\w+)", path.read_text())) <= {*known, *old}


def test_commands_and_version_are_told():
    """README.md shows each command; the newest version of the changelog is this one."""
    told = set(re.findall(r"\bstackmap(?: --from \S+)? ([a-z]+)", TEXT))
    newest = re.search(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert set(COMMANDS) <= told | set(re.findall(r"`([a-z-]+)[`: ]", TEXT))
    assert newest is not None
    assert newest[1] == __version__


def test_columns_of_the_table_are_explained():
    """README.md explains each column of the per-layer table, in order, and no other."""
    section = TEXT.partition("## The per-layer table\n")[2].partition("\n## ")[0]

    assert re.findall(r"^- `([^`]+)`:", section, re.MULTILINE) == [
        metric.title for metric in LAYER_METRICS
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_lines_fit(path):
    """Prose is at most 110 columns; a command, and a row of a table, may be longer."""
    long = [line for line in path.read_text().splitlines() if len(line) > WIDEST]

    assert [line for line in long if not line.startswith((PROMPT, "|"))] == []


@pytest.mark.parametrize("path", LONGEST, ids=lambda path: path.name)
def test_documents_are_short(path):
    """A newcomer reads README.md and the architecture in one sitting."""
    assert len(path.read_text().splitlines()) <= LONGEST[path]
