"""
Completion of command lines, for the scripts of bash, zsh and fish in ``packaging/completion``.

It imports neither click nor the commands, so that it answers in a tenth of a second.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from stackmap.completion.command_line import read_line
from stackmap.completion.table import NAMES, Table, values

VARIABLE = "_STACKMAP_COMPLETE"  # in the environment: the name of the shell that asks
FILES, WORDS = "files", "words"

Candidates = list[tuple[str, str]]  # words with their help


def main() -> None:
    """Print ``files`` if a path is expected, else ``words`` and a line per candidate: word, tab, help."""
    *before, current = sys.argv[1:] or [""]
    kind, found = complete(before, current)
    option, equals, _ = current.partition("=") if current.startswith("--") else ("", "", "")
    # fish compares with the whole word; bash and zsh with what follows "=".
    prefix = option + equals if os.environ[VARIABLE] == "fish" and equals else ""
    lines = [f"{prefix}{word}\t{text}" for word, text in found if word.isprintable()]
    sys.stdout.buffer.write("\n".join([kind, *lines, ""]).encode())


def complete(before: list[str], current: str) -> tuple[str, Candidates]:
    """Return ``FILES`` or ``WORDS``, and the words that begin with *current* and may follow *before*."""
    table = Table.read()
    line = read_line(table, before)
    expected = line.awaited
    if expected is None and current.startswith("--") and "=" in current:
        word, _, current = current.partition("=")
        expected = table.value_of(line.command, word)
    if expected is None and current.startswith("-"):
        return WORDS, _matching(table.flags(line.command), current)
    if expected is None and not line.command:
        commands = _matching(table.commands.items(), current)
        if commands:
            return WORDS, commands
        expected = NAMES  # `stackmap NAME` means `stackmap tree NAME`
    if expected is None:
        expected = table.argument(line.command, line.arguments)
    if expected == FILES:
        return FILES, []
    if expected == NAMES:
        from stackmap.completion.names import names

        return WORDS, _matching(((name, "") for name in names(line.capture)), current)
    return WORDS, _matching(((word, "") for word in values(expected, current)), current)


def _matching(candidates: Iterable[tuple[str, str]], current: str) -> Candidates:
    return [each for each in candidates if each[0].startswith(current)]
