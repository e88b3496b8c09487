"""
The commands with their options and arguments, as ``options.txt`` has them.

``packaging/completion/options.py`` writes the file. A line has, separated by tabs: the command
("" for the global options), the words of an option or the place of an argument, what follows it,
and its help. What follows an option: nothing, or ``free``, ``files``, ``names``, or words separated by
``|``; a ``,`` before the words means a comma-separated list. ``*`` before the last argument:
repeatable. A line without the second field is a command with its help.
"""

from __future__ import annotations

import os
from typing import NamedTuple

FILE = "options.txt"
NAMES = "names"
NO_WORDS = ("", "free")
LIST, REPEATED = ",", "*"


class Row(NamedTuple):
    """A line of the file."""

    command: str
    words: tuple[str, ...]
    value: str
    help: str


class Table:
    """The file, by command."""

    def __init__(self, rows: list[Row]) -> None:
        self.commands = {row.command: row.help for row in rows if row.words == ("",)}
        self._rows = [row for row in rows if row.words != ("",)]

    @classmethod
    def read(cls) -> Table:
        """Return the table of this version."""
        path = os.path.join(os.path.dirname(__file__), FILE)
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        return cls([Row(first, tuple(words.split(",")), *more) for first, words, *more in lines])

    def flags(self, command: str) -> list[tuple[str, str]]:
        """Return the words of the command's options with their help."""
        rows = [row for row in self._rows if row.command == command]
        return [(word, row.help) for row in rows for word in row.words if word.startswith("-")]

    def value_of(self, command: str, word: str) -> str:
        """Return what follows the option *word*, or the last one of ``-tJ``; "" for nothing."""
        name = word if word.startswith("--") else f"-{word[-1:]}"
        rows = (row for row in self._rows if row.command == command and name in row.words)
        return next((row.value for row in rows), "")

    def argument(self, command: str, place: int) -> str:
        """Return what the argument at *place* is; "" for anything, or if there is none."""
        rows = [row for row in self._rows if row.command == command and row.words[0].isdigit()]
        kinds = [row.value for row in rows]
        if place >= len(kinds) and not (kinds and kinds[-1].startswith(REPEATED)):
            return ""
        return kinds[min(place, len(kinds) - 1)].lstrip(REPEATED)


def values(expected: str, current: str) -> list[str]:
    """
    Return the words that *expected* has; in a list, after those of *current* that are complete.

    >>> values("raid1|raid10", "r"), values(",name|size|state", "name,s")
    (['raid1', 'raid10'], ['name,size', 'name,state'])
    """
    if expected in NO_WORDS:
        return []
    if not expected.startswith(LIST):
        return expected.split("|")
    done, comma, _ = current.rpartition(",")
    given = done.split(",")
    return [done + comma + word for word in expected[1:].split("|") if word not in given]
