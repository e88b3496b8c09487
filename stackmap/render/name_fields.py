"""
Where a device's name stands in a line of iostat and sar, and how another one is put there.

iostat pads the name to 13 on the left of its figures, sar to 9 on the right of
the time; ``--pretty`` has it after the figures, where nothing needs aligning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stackmap.model.table_headings import (
    IOSTAT_DEVICE,
    MAX_HEADING_WORDS,
    MAX_PREFIX_WORDS,
    QUOTE_MARKS,
    SAR_DEVICE,
)

IOSTAT_WIDTH, SAR_WIDTH = 13, 9
FEWEST_COLUMNS = 4  # of a row that has no heading above it

METRIC = re.compile(rb".*/s$|.*-sz$|.*await$|%\w+$|tps$|svctm$|[kMG]B_\w+$|Blk_\w+$")
QUOTED = frozenset(map(str.encode, QUOTE_MARKS))
TITLES = frozenset(map(str.encode, {*IOSTAT_DEVICE, SAR_DEVICE}))
BYTES_OF_NUMBERS = frozenset(b"0123456789-")


@dataclass(frozen=True, slots=True)
class Style:
    """
    How names are shown.

    ``append``: the name as printed follows in brackets. ``aligned``: the field
    of names is widened for the longest of them, in headings too; else a name
    takes the blanks after it, and pushes the figures only where they are few.
    ``only``: the devices whose rows are shown. ``order``: the rank of each
    device in its report.
    """

    append: bool = True
    aligned: bool = True
    only: frozenset[str] | None = None
    order: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the heading in force has the name, and how many figures a row has (0: no heading yet)."""

    columns: int = 0
    title: bytes = b""
    last: bool = False
    sar: bool = False
    lead: int = 0  # words before the table on each line

    def spot(self, words: Sequence[bytes]) -> int | None:
        """Return which of the words is the name, None if this is no row."""
        before = len(words) - self.columns - 1
        if not self.columns or before < 0:
            return None
        if self.last:
            is_row = (
                before <= MAX_PREFIX_WORDS and is_number(words[-2]) and is_number(words[before])
            )
            return len(words) - 1 if is_row and not METRIC.match(words[-1]) else None
        expected = before <= MAX_PREFIX_WORDS if self.sar else before in {0, self.lead}
        is_row = expected and is_number(words[before + 1]) and is_number(words[-1])
        return before if is_row else None


def is_number(word: bytes) -> bool:
    """Whether *word* begins as a number does."""
    return word[0] in BYTES_OF_NUMBERS


def unquoted(words: Sequence[bytes]) -> int:
    """Return how many marks of quoting the words begin with."""
    count = 0
    while count < len(words) and words[count] in QUOTED:
        count += 1
    return count


def find_heading(words: Sequence[bytes]) -> Place | None:
    """Return what the words say of the rows below, if they are a heading of any table."""
    words = words[:MAX_HEADING_WORDS]
    for index, word in enumerate(words):
        if word not in TITLES:
            continue
        after, before = words[index + 1 :], words[unquoted(words) : index]
        sar = word == SAR_DEVICE.encode()
        if after and _are_metrics(after):
            return Place(len(after), word, sar=sar, lead=min(index, MAX_PREFIX_WORDS))
        if not after and len(before) > 1 and _are_metrics(before):
            metrics = [name for name in before if METRIC.match(name)]
            return Place(len(metrics), word, last=True, sar=sar)
    if len(words) > 2 and not is_number(words[-1]) and _are_metrics(words):
        return Place()  # of processors, networks: rows that are not devices'
    return None


def _are_metrics(words: Sequence[bytes]) -> bool:
    return 2 * sum(METRIC.match(word) is not None for word in words) > len(words)


def replaced(line: bytes, start: int, name: bytes, label: bytes, place: Place, width: int) -> bytes:
    """
    Return *line* with *label* where *name* is, at *start*.

    *width*: of the field of names; 0 to leave figures where they are.
    """
    end = start + len(name)
    before, after = line[:start], line[end:]
    if place.last:
        return before + label + after
    if place.sar:
        return before.rstrip(b" ") + label.rjust(_sar_run(before, name, label, width)) + after
    if width:
        field = line[end : start + IOSTAT_WIDTH]
        rest = after if field.strip(b" ") else line[max(end, start + IOSTAT_WIDTH) :]
        return before + label.ljust(width) + rest
    figures = after.lstrip(b" ")
    if not figures.strip():
        return before + label + after
    gap = len(after) - len(figures)
    blanks = max(gap + len(name) - len(label), min(gap, 1))
    return before + label + b" " * blanks + figures


def _sar_run(before: bytes, name: bytes, label: bytes, width: int) -> int:
    """Return how long the blanks after the time and the label are together."""
    blanks = len(before) - len(before.rstrip(b" "))
    run = blanks + len(name)
    if width:
        run += width - max(SAR_WIDTH, len(name))
    return max(run, len(label) + min(blanks, 1))
