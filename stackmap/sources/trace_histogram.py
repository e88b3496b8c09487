"""The text of hist triggers: Documentation/trace/histogram.rst."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_ENTRY = re.compile(r"\{ (.*) \} hitcount: +(\d+)(.*)")
_TOTAL = re.compile(r" +(Hits|Dropped): (\d+)")
_VALUE = re.compile(r"(\w+): +(\d+)")
START = "# event histogram"
TRIGGER = "# trigger info: "


class Entry(NamedTuple):
    """A combination of keys, how often it occurred, and the sums of its values."""

    keys: Mapping[str, str]
    hits: int
    sums: Mapping[str, int]

    def number(self, key: str) -> int:
        """Return a key that is a number, as the kernel writes it: decimal or hexadecimal."""
        return int(self.keys[key], 0)

    def bucket(self, key: str) -> tuple[int, int]:
        """Return the lowest number of a key in buckets, and the first above it: "~ 100-149"."""
        low, _, high = self.keys[key].lstrip("~ ").partition("-")
        return int(low), int(high or low) + 1


class Histogram(NamedTuple):
    """What a *trigger* counted; ``dropped``: hits that its map had no room for."""

    trigger: str
    entries: tuple[Entry, ...]
    hits: int
    dropped: int


def parse(text: str) -> list[Histogram]:
    """Return the histogram of each trigger of an event, the oldest trigger first."""
    return [_histogram(block) for block in text.split(START)[1:]]


def _histogram(block: str) -> Histogram:
    entries = []
    totals = {"Hits": 0, "Dropped": 0}
    trigger = ""
    for line in block.splitlines():
        if found := _ENTRY.match(line):
            pairs = (part.split(":", 1) for part in found[1].split(", "))
            keys = {name.strip(): value.strip() for name, value in pairs}
            sums = {name: int(value) for name, value in _VALUE.findall(found[3])}
            entries.append(Entry(keys, int(found[2]), sums))
        elif line.startswith(TRIGGER):
            trigger = line.removeprefix(TRIGGER)
        elif found := _TOTAL.match(line):
            totals[found[1]] = int(found[2])
    return Histogram(trigger, tuple(entries), totals["Hits"], totals["Dropped"])
