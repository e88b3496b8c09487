"""The text of hist triggers: Documentation/trace/histogram.rst."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from stackmap.errors import ParseError

_ENTRY = re.compile(r"\{ (.*) \} hitcount: +(\d+)(.*)")
_TOTAL = re.compile(r" +(Hits|Dropped): (\d+)")
_VALUE = re.compile(r"(\w+): +(\d+)")
START = "# event histogram"
TRIGGER = "# trigger info: "
PER_BIO = "hist:keys=bio"  # triggers whose entries are addresses, of no use afterwards
LIMIT = 2**64  # above all numbers of the kernel
MINOR_BITS = 20  # of a dev_t


class Entry(NamedTuple):
    """A combination of keys, how often it occurred, and the sums of its values."""

    keys: Mapping[str, str]
    hits: int
    sums: Mapping[str, int]

    def number(self, key: str) -> int:
        """Return a key that is a number, as the kernel writes it: decimal or hexadecimal; else ``ParseError``."""
        return integer(self.text(key), 0)

    def text(self, key: str) -> str:
        """Return a key; ``ParseError`` if the entry has none of that name."""
        if key not in self.keys:
            raise ParseError(f"histogram: an entry has no {key}")
        return self.keys[key]

    def bucket(self, key: str) -> tuple[int, int]:
        """Return the lowest number of a key in buckets, and the first above it: "~ 100-149"."""
        low, _, high = self.text(key).lstrip("~ ").partition("-")
        return integer(low), integer(high or low) + 1


class Histogram(NamedTuple):
    """What a *trigger* counted; ``dropped``: hits that its map had no room for."""

    trigger: str
    entries: tuple[Entry, ...]
    hits: int
    dropped: int


def integer(text: str, base: int = 10) -> int:
    """Return the number in *text*; ``ParseError`` if it is none of the kernel's."""
    try:
        found = int(text, base)
    except ValueError as error:
        raise ParseError(f"trace: not a number: {text[:40]!r}") from error
    if abs(found) >= LIMIT:
        raise ParseError(f"trace: number too large: {text[:40]!r}")
    return found


def parse(text: str) -> list[Histogram]:
    """Return the histogram of each trigger of an event, the oldest trigger first; ``ParseError`` for other numbers."""
    return [_histogram(block) for block in text.split(START)[1:]]


def _histogram(block: str) -> Histogram:
    entries = []
    totals = {"Hits": 0, "Dropped": 0}
    trigger = ""
    for line in block.splitlines():
        if found := _ENTRY.match(line):
            pairs = (part.partition(":") for part in found[1].split(", "))
            keys = {name.strip(): value.strip() for name, _, value in pairs}
            sums = {name: integer(value) for name, value in _VALUE.findall(found[3])}
            entries.append(Entry(keys, integer(found[2]), sums))
        elif line.startswith(TRIGGER):
            trigger = line.removeprefix(TRIGGER)
        elif found := _TOTAL.match(line):
            totals[found[1]] = integer(found[2])
    return Histogram(trigger, tuple(entries), totals["Hits"], totals["Dropped"])


def without_addresses(text: str) -> str:
    """Return the text of histograms without entries whose key is the address of a bio."""
    kept, per_bio = [], False
    for line in text.splitlines(keepends=True):
        if line.startswith(TRIGGER):
            per_bio = line.startswith(TRIGGER + PER_BIO)
        if not (per_bio and line.startswith("{")):
            kept.append(line)
    return "".join(kept)


def without_lines(text: str, known: frozenset[str]) -> str:
    r"""
    Return the text of histograms without the entries among the lines *known*: their counts are unchanged.

    >>> without_lines("# event histogram\n{ lat: 1 } hitcount: 2\n{ lat: 2 } hitcount: 7\n", frozenset({"{ lat: 1 } hitcount: 2"}))
    '# event histogram\n{ lat: 2 } hitcount: 7\n'
    """
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if not line.startswith("{") or line.rstrip("\n") not in known
    )


def number_of(device: int) -> str:
    """
    Return the kernel's dev_t as "major:minor".

    >>> number_of(266338304)
    '254:0'
    """
    return f"{device >> MINOR_BITS}:{device & ((1 << MINOR_BITS) - 1)}"


def device_of(number: str) -> int:
    """
    Return "major:minor" as the kernel's dev_t.

    >>> device_of("254:0")
    266338304
    """
    major, minor = map(int, number.split(":"))
    return major << MINOR_BITS | minor
