"""
The field of the device name in a line of iostat and sar, the name to show, and how to replace it.

iostat left-aligns the name in 13 columns before the figures. sar right-aligns
it in 9 columns after the time. ``--pretty`` prints it after the figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stackmap.text.headings import (
    IOSTAT_DEVICE,
    MAX_HEADING_WORDS,
    MAX_PREFIX_WORDS,
    QUOTE_MARKS,
    SAR_DEVICE,
)

IOSTAT_WIDTH, SAR_WIDTH = 13, 9
MIN_COLUMNS = 4  # of a row without a heading above it

METRIC = re.compile(rb".*/s$|.*-sz$|.*await$|%\w+$|tps$|svctm$|[kMG]B_\w+$|Blk_\w+$")
QUOTED = frozenset(map(str.encode, QUOTE_MARKS))
TITLES = frozenset(map(str.encode, {*IOSTAT_DEVICE, SAR_DEVICE}))
SAR_NAME = re.compile(rb"dev(\d{1,9})-(\d{1,9})$")
MAX_UNRESOLVED = 10_000  # unknown names that are counted
MAX_WIDTH = 64  # of the name column; longer names push their figures
BYTES_OF_NUMBERS = frozenset(b"0123456789-")


class Style(NamedTuple):
    """
    How to show names.

    ``append``: add the printed name in brackets. ``aligned``: widen the name
    column for the longest name; without it a long name uses the spaces that
    follow and then shifts the figures. ``only``: the devices to show.
    ``order``: the position of each device in its report.
    """

    append: bool = True
    aligned: bool = True
    only: frozenset[str] | None = None
    order: Mapping[str, int] | None = None


class Heading(NamedTuple):
    """
    The latest heading of a table. ``columns``: figures per row, 0 without a heading.

    ``last``: the name is the last word. ``lead``: words before the table in each line.
    """

    columns: int = 0
    title: bytes = b""
    last: bool = False
    sar: bool = False
    lead: int = 0

    def name_index(self, words: Sequence[bytes]) -> int | None:
        """Return the index of the name in *words*, None if this is no row."""
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
    """Whether *word* begins like a number."""
    return word[0] in BYTES_OF_NUMBERS


def count_quote_marks(words: Sequence[bytes]) -> int:
    """Return how many of the first words are marks of e-mail quoting."""
    count = 0
    while count < len(words) and words[count] in QUOTED:
        count += 1
    return count


def find_heading(words: Sequence[bytes]) -> Heading | None:
    """Return the heading that *words* are, None if they are none; for other tables an empty one."""
    words = words[:MAX_HEADING_WORDS]
    for index, word in enumerate(words):
        if word not in TITLES:
            continue
        after, before = words[index + 1 :], words[count_quote_marks(words) : index]
        sar = word == SAR_DEVICE.encode()
        if after and _are_metrics(after):
            return Heading(len(after), word, sar=sar, lead=min(index, MAX_PREFIX_WORDS))
        if not after and len(before) > 1 and _are_metrics(before):
            metrics = [name for name in before if METRIC.match(name)]
            return Heading(len(metrics), word, last=True, sar=sar)
    if len(words) > 2 and not is_number(words[-1]) and _are_metrics(words):
        return Heading()  # of a table of processors or networks
    return None


def _are_metrics(words: Sequence[bytes]) -> bool:
    return 2 * sum(METRIC.match(word) is not None for word in words) > len(words)


def replace_name(
    line: bytes, start: int, name: bytes, label: bytes, heading: Heading, width: int
) -> bytes:
    """
    Return *line* with *label* instead of *name* at *start*.

    *width*: of the name column; 0 keeps the position of the figures.
    """
    end = start + len(name)
    before, after = line[:start], line[end:]
    if heading.last:
        return before + label + after
    if heading.sar:
        return before.rstrip(b" ") + label.rjust(_sar_width(before, name, label, width)) + after
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


def _sar_width(before: bytes, name: bytes, label: bytes, width: int) -> int:
    """Return the width of the spaces after the time and the label together."""
    blanks = len(before) - len(before.rstrip(b" "))
    run = blanks + len(name)
    if width:
        run += width - max(SAR_WIDTH, len(name))
    return max(run, len(label) + min(blanks, 1))


class NameTable:
    """
    The names to show, as given to ``Annotator``.

    ``unresolved``: rows per name that is not in the table.
    """

    def __init__(self, names: Mapping[str, str], numbers: Mapping[str, str], style: Style) -> None:
        self.unresolved: dict[str, int] = {}
        self._names = names
        self._numbers = numbers
        self._style = style
        self._known: dict[bytes, tuple[bytes, str]] = {}

    @property
    def named_any(self) -> bool:
        """Whether any name was looked up."""
        return bool(self._known or self.unresolved)

    def knows(self, name: bytes) -> bool:
        """Whether *name* is a device's."""
        return name in self._known or self._kernel_name(name) in self._names

    def lookup(self, name: bytes) -> tuple[bytes, str]:
        """Return the label for *name* and the kernel name; an unknown name is kept and counted."""
        known = self._known.get(name)
        if known is not None:
            return known
        device = self._kernel_name(name)
        label = self._names.get(device)
        if label is None:
            text = name.decode(errors="surrogateescape")
            if text in self.unresolved or len(self.unresolved) < MAX_UNRESOLVED:
                self.unresolved[text] = self.unresolved.get(text, 0) + 1
            return name, device
        known = self._known[name] = self._labelled(_bytes(label), name), device
        return known

    def widths(self) -> tuple[int, int]:
        """Return the width of the name column in iostat and in sar."""
        only = self._style.only
        labels = {
            name: self._names[name].encode()
            for name in self._numbers.values() or self._names
            if name in self._names and (only is None or name in only)
        }
        iostat = [len(self._labelled(label, _bytes(name))) for name, label in labels.items()]
        sar = [
            len(self._labelled(labels[device], f"dev{number.replace(':', '-')}".encode()))
            for number, device in self._numbers.items()
            if device in labels
        ]
        return (
            min(MAX_WIDTH, max([IOSTAT_WIDTH, *iostat])),
            min(MAX_WIDTH, max([SAR_WIDTH, *iostat, *sar])),
        )

    def _labelled(self, label: bytes, name: bytes) -> bytes:
        return b"%b (%b)" % (label, name) if self._style.append and label != name else label

    def _kernel_name(self, name: bytes) -> str:
        number = SAR_NAME.match(name)
        text = name.decode(errors="surrogateescape")
        if number is None:
            return text.removeprefix("/dev/")
        return self._numbers.get(f"{int(number[1])}:{int(number[2])}", text)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
