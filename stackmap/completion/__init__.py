"""
Completion of command lines, for the scripts of bash, zsh and fish in ``packaging/completion``.

It imports neither click nor the commands, so that it answers in a tenth of a second. The commands
with their options and arguments are in ``options.txt``, which ``./run docs`` writes. A line has,
separated by tabs: the command ("" for the global options), the words of an option or the place of an
argument, what follows it, and its help. What follows an option: nothing, or ``free``, ``files``,
``names``, or words separated by ``|``; a ``,`` before the words means a comma-separated list. ``*``
before the last argument: repeatable. A line without the second field is a command with its help.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stackmap.host import Host

VARIABLE = "_STACKMAP_COMPLETE"  # in the environment: the name of the shell that asks
FILES, WORDS = "files", "words"

Candidates = list[tuple[str, str]]  # words with their help


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
    def read(cls) -> "Table":
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
        """Return the kind of value of the option *word*, or of the last one of ``-tJ``; "" for none."""
        name = word if word.startswith("--") else f"-{word[-1:]}"
        rows = (row for row in self._rows if row.command == command and name in row.words)
        return next((row.value for row in rows), "")

    def argument(self, command: str, place: int) -> str:
        """Return the kind of argument at *place*; "" for any, or if there is none."""
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
    """Return the parsed *words*; unknown options have no value."""
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


def main() -> None:
    """Print ``files`` if a path is expected, else ``words`` and a line per candidate: word, tab, help."""
    *before, current = sys.argv[1:] or [""]
    kind, candidates = complete(before, current)
    option, equals, _ = current.partition("=") if current.startswith("--") else ("", "", "")
    # fish compares with the whole word; bash and zsh with what follows "=".
    prefix = option + equals if os.environ[VARIABLE] == "fish" and equals else ""
    lines = [f"{prefix}{word}\t{text}" for word, text in candidates if word.isprintable()]
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
        return WORDS, _matching(((name, "") for name in names(line.capture)), current)
    return WORDS, _matching(((word, "") for word in values(expected, current)), current)


def _matching(candidates: Iterable[tuple[str, str]], current: str) -> Candidates:
    return [candidate for candidate in candidates if candidate[0].startswith(current)]


DISKSTATS = "/proc/diskstats"
UNUSED = ("loop", "ram", "zram", "nbd")  # many of these exist, and most have never done I/O
PATHS = "/dev/"  # where the source of a mount is a device


def names(capture: str) -> list[str]:
    """
    Return the candidates for NAME on this machine or in *capture*, each once; [] if it cannot be read.

    These are VGs, LVs, other device-mapper devices, disks, partitions and mount points.
    """
    from stackmap.errors import StackmapError  # only names pay for the machine

    try:
        return list(dict.fromkeys(_names(_host(capture))))
    except StackmapError:
        return []


def _host(capture: str) -> "Host":
    if capture:
        from stackmap.host.capture import CapturedHost

        return CapturedHost(capture)
    from stackmap.host.live import LiveHost

    return LiveHost()


def _names(host: "Host") -> Iterator[str]:
    """Yield VGs before LVs, and kernel names last."""
    from stackmap.sources import lvm_names, mountinfo
    from stackmap.sources.sysfs import ROOT, attribute

    counters = [line.split() for line in attribute(host, DISKSTATS).splitlines()]
    kernel = [
        words[2]
        for words in counters
        if len(words) > 3 and (not words[2].startswith(UNUSED) or {*words[3:]} != {"0"})
    ]
    lvs = []
    for name in kernel:
        if not name.startswith("dm-"):
            continue
        called = lvm_names.unmangle(attribute(host, f"{ROOT}/{name}/dm/name"))
        lv = lvm_names.parse(called, attribute(host, f"{ROOT}/{name}/dm/uuid"))
        if lv is None:
            yield called
        elif not lv.ending:
            lvs.append(lv)
    yield from (lv.vg for lv in lvs)
    yield from (f"{lv.vg}/{lv.lv}" for lv in lvs)
    yield from (lv.lv for lv in lvs)
    yield from (mount.point for mount in mountinfo.read(host) if mount.source.startswith(PATHS))
    yield from kernel
