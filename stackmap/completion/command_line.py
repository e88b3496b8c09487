"""The words of a command line before the one that is completed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stackmap.completion.table import Table

FROM = "--from"
IMPLIED = "tree"  # the command of a line that begins with a NAME
COMPARE = "compare"  # its first argument is the capture that has the names


class Line(NamedTuple):
    """
    ``command``: "" before it; ``arguments``: how many it has so far.

    ``awaited``: what the last option is followed by, None if it is complete. ``capture``: where names are
    looked up, "" for this machine.
    """

    command: str
    arguments: int
    awaited: str | None
    capture: str


def read_line(table: Table, words: list[str]) -> Line:
    """Return what *words* say; unknown options have no value."""
    command, capture, option, awaited = "", "", "", None
    arguments: list[str] = []
    for word in _joined(words):
        if awaited is not None:
            capture = word if option == FROM else capture
            awaited = None
        elif word.startswith("-") and word != "-":
            option, _, value = word.partition("=")
            capture = value if option == FROM else capture
            awaited = None if value else table.value_of(command, option) or None
        elif not command:
            command = word if word in table.commands else IMPLIED
            arguments = [] if command == word else [word]
        else:
            arguments.append(word)
    if command == COMPARE and arguments:
        capture = arguments[0]
    return Line(command, len(arguments), awaited, capture)


def _joined(words: list[str]) -> Iterator[str]:
    """Yield *words* with ``--option = value`` joined: bash splits a line at "=", too."""
    joined = ""
    for word in words:
        if joined.startswith("--") and (word == "=" or joined.endswith("=")):
            joined += word
            continue
        if joined:
            yield joined
        joined = word
    if joined:
        yield joined
