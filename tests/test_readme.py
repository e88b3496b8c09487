"""
README.md says what is so: its outputs are run again, its paths exist.

A fenced block that begins with ``$ stackmap`` is commands with what they
print. ``pytest tests/test_readme.py --update-expected`` writes what is printed
now; a person reviews the diff.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from stackmap import __version__
from stackmap.cli import COMMANDS, stackmap

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PROMPT = "$ stackmap "
FENCED = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WIDEST = 110

TEXT = README.read_text()
BLOCKS = [block for block in FENCED.findall(TEXT) if block.startswith(PROMPT)]


def printed(block):
    """Return *block* with what its commands print now."""
    commands = [line for line in block.splitlines() if line.startswith(PROMPT)]
    parts = []
    for command in commands:
        words = shlex.split(command.removeprefix(PROMPT))
        result = CliRunner().invoke(stackmap, words, catch_exceptions=False)
        assert result.exit_code == 0
        parts.append(f"{command}\n{result.output.strip()}\n")
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
    """A change of the fences does not leave nothing to compare."""
    assert len(BLOCKS) >= 2


def test_what_is_named_is_there():
    """Each path in backquotes exists: a file that moved is told here."""
    words = re.findall(r"`([\w./-]+)`", TEXT)
    roots = {path.name for path in ROOT.iterdir()}
    paths = {word for word in words if "/" in word and word.split("/")[0] in roots}

    assert {path for path in paths if not (ROOT / path).exists()} == set()
    assert {"stackmap/model/metrics.py", "tests/test_layering.py"} <= paths


def test_every_folder_is_told():
    """The tree of folders has a line for each part of the package."""
    parts = {
        path.name + "/" * path.is_dir()
        for path in (ROOT / "stackmap").iterdir()
        if not path.name.startswith("_") and (path.is_dir() or path.suffix == ".py")
    }

    assert {part for part in parts if f"\n  {part} " not in TEXT} == set()


def test_tables_that_are_named_are_there():
    """A table that a newcomer is sent to is in the file named with it."""
    named = re.findall(r"`([A-Z_]{4,})`\s+of\s+`([\w./]+)`", TEXT)

    assert len(named) >= 7
    for table, path in named:
        assert re.search(rf"^{table}\b.* = ", (ROOT / path).read_text(), re.MULTILINE), (
            table,
            path,
        )


def test_commands_of_run_are_there():
    """``./run`` knows each command that is named."""
    known = re.findall(r"^#\s+\./run (\w+)", (ROOT / "run").read_text(), re.MULTILINE)

    assert set(re.findall(r"\./run (\w+)", TEXT)) <= set(known)


def test_commands_and_version_are_told():
    """Each command is shown or listed; the newest section of changes is this version's."""
    told = set(re.findall(r"\bstackmap(?: --from \S+)? ([a-z]+)", TEXT))
    newest = re.search(r"^### (\S+)", TEXT, re.MULTILINE)

    assert set(COMMANDS) <= told | set(re.findall(r"`([a-z]+)[`: ]", TEXT))
    assert newest is not None
    assert newest[1] == __version__


def test_lines_fit():
    """Prose is at most 110 columns; a command to paste may be longer."""
    long = [line for line in TEXT.splitlines() if len(line) > WIDEST]

    assert [line for line in long if not line.startswith(PROMPT)] == []
