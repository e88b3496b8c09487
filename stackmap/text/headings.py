"""
Headings of device tables: iostat's and sar's, of any version and with any options.

A heading names the columns and the place of the device's name: first, last, or (cut
off by a terminal) not at all, which means first. Words may come before it: sar's
time, the quote marks of a mail.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, takewhile
from typing import NamedTuple

from stackmap.model.load import PrintedLoads
from stackmap.text.columns import (
    COLUMNS,
    MAX_RATE,
    is_fraction,
    is_number,
    parse_numbers,
    parse_plain_numbers,
)
from stackmap.text.printed_time import CLOCK
from stackmap.text.table_layout import TableLayout, layout_of_names

# Words in headings.
IOSTAT_DEVICE = frozenset({"Device", "Device:"})
SAR_DEVICE = "DEV"
TITLES = IOSTAT_DEVICE | {SAR_DEVICE}  # of the column of names
MAX_PREFIX_WORDS = 4  # before a name: sar's time ("00시 47분 25초"), quote marks of a mail
MAX_HEADING_WORDS = 100  # in a heading with the text before it
QUOTE_MARKS = frozenset({"#", "//", "*", *(mark * depth for mark in ">|" for depth in range(1, 9))})
REMARK_MARKS = "<←#"  # and behind it
# What authors put before a row: "-->", "**", "<KEY>", "[slow]"; a time before it is another matter.
_MARK = re.compile(r"[<>\[\]()*=~!+-]*[A-Za-z]{0,20}[<>\[\]()*=~!:+-]+")
# Of a time: "2023-11-05", "15:35:52.100", "PM", "Nov".
_TIME_WORD = re.compile(r"[\d:.,/T+Z-]*\d[\d:.,/T+Z-]*|[AaPp]\.?[Mm]\.?|[A-Z][a-z]{2},?|[A-Z]{3,4}")
# "03:00:11", and "32:87.63" of a line with its number before it.
_CLOCK_OR_NUMBERED = re.compile(r"\d+(?::\d+){2}(?:[.,]\d+)?|\d+:\d+[.,]\d+")
# Names that the kernel or its admins give: they follow a mark or time.
_DEVICE = re.compile(r"(?:[a-z][\w!:.-]*|[A-Z]{3})\Z")

# The tables of one report of `iostat --pretty -x` after the first begin with these.
CONTINUATION_COLUMNS = frozenset({"w/s", "d/s", "f/s", "aqu-sz"})

MAX_DEVICES = 40_000  # of a report, twice those of the largest hosts


class Row(NamedTuple):
    """
    One device's line.

    ``before``: the words before its name and figures, such as sar's time.
    ``words``: the figures as printed. ``is_plain``: they are ordinary numbers.
    """

    before: tuple[str, ...]
    name: str
    values: Sequence[float | None]
    words: Sequence[str]
    is_plain: bool


@dataclass(frozen=True, slots=True)
class Heading:
    """
    The format of the rows below it.

    ``sar``: each row has its time. ``name_last``: the name is the last word.
    ``prefix_words``: number of words before the table. ``rest``: words after the
    heading on the same line, where line ends were lost. ``wrapped``: it has several lines.
    """

    layout: TableLayout
    sar: bool = False
    name_last: bool = False
    named: bool = True
    prefix_words: int = 0
    rest: tuple[str, ...] = ()
    wrapped: bool = False

    @property
    def continues(self) -> bool:
        """Whether it is a later table of the current report."""
        return self.name_last and not self.sar and self.layout.names[0] in CONTINUATION_COLUMNS

    def row(self, words: Sequence[str]) -> Row | None:
        """Return the row in *words*, None if they are not one."""
        before = len(words) - self.layout.width - 1
        if before < 0:
            return None
        if before > MAX_PREFIX_WORDS and not QUOTE_MARKS.issuperset(words[:before]):
            return None  # a mail may be quoted more often
        if self.name_last:
            name, shown = words[-1], words[before:-1]
        else:
            name, shown = words[before], words[before + 1 :]
        row: Sequence[float | None] | None = parse_plain_numbers(shown)
        is_plain = row is not None
        if row is None:
            row = parse_numbers(shown, self.layout.columns)
        if row is None or not may_name(name):
            return None
        if before and not self.may_precede(words[:before], name):
            return None
        return Row(tuple(words[:before]), name, row, shown, is_plain)

    def tables(self, lines: Sequence[str]) -> list[tuple[tuple[str, ...], PrintedLoads]] | None:
        """
        Return the loads in *lines*, after the words that precede them; None if one is no ordinary row of another device.

        Rows of sar with the same time are one table; all of iostat are one, without words before it.
        """
        before = self.prefix_words if self.sar else 0
        stride = before + 1 + self.layout.width
        text = " ".join(lines)
        words = text.split()
        firsts = words[::stride]
        if len(words) != len(lines) * stride or not all(map(str.startswith, lines, firsts)):
            return None
        names = words[before::stride]
        times = zip(*(words[place::stride] for place in range(before)), strict=True)
        for place in range(before + 1):
            del words[:: stride - place]
        try:
            figures = [*map(float, words)]
        except ValueError:
            return None
        if " -" in text or "\t" in text:  # float() also accepts "-2"
            return None
        tables, width, start = [], self.layout.width, 0
        for time, rows in groupby(times if before else [()] * len(lines)):
            end = start + sum(1 for _ in rows)
            devices, printed = names[start:end], figures[start * width : end * width]
            # float() also accepts "inf" and "nan", whose sum is never below the limit.
            if not (_are_devices(tuple(devices)) and sum(printed) < MAX_RATE):
                return None
            tables.append((time, self.layout.table(devices, printed)))
            start = end
        return tables

    def may_precede(self, before: Sequence[str], name: str) -> bool:
        """Whether *before* can precede the row of *name*: as many words as precede the heading, marks, or a time."""
        if self.sar or len(before) in {0, self.prefix_words} or QUOTE_MARKS.issuperset(before):
            return True
        marked = all(word in QUOTE_MARKS or _MARK.fullmatch(word) for word in before)
        return _DEVICE.match(name) is not None and (marked or bool(time_before(before)))


def time_before(before: Sequence[str]) -> str:
    """Return the time in the words before a row, "" without one: "2023-11-05 15:35:52", "[15:35:52]"."""
    words = [word.strip("[]") for word in before if word not in QUOTE_MARKS]
    is_time = all(map(_TIME_WORD.fullmatch, words)) and any(map(CLOCK.search, words))
    return " ".join(words) if is_time else ""


def without_quotes(words: list[str]) -> list[str]:
    """Return the words after leading quote and comment marks."""
    first = 0
    while first < len(words) and words[first] in QUOTE_MARKS:
        first += 1
    return words[first:]


def without_remark(words: list[str]) -> list[str]:
    """Return the words without what an author put behind the figures of a row, "<<< here", or behind its name, "(new)"."""
    if len(words) > 2 and words[1][0] + words[1][-1] == "()" and is_number(words[2]):
        words = [words[0], *words[2:]]
    for place in range(1, len(words)):
        if words[place][0] in REMARK_MARKS and is_number(words[place - 1]):
            return words[:place]
    return words


def heading(words: Sequence[str]) -> Heading | None:
    """Return the heading in *words*, None without one."""
    for index, word in enumerate(words[:MAX_HEADING_WORDS]):
        if word in TITLES:
            named = _named(words, index)
            if named is not None:
                return named
    if 3 <= len(words) <= MAX_HEADING_WORDS and all(word in COLUMNS for word in words):
        return Heading(layout_of_names(tuple(words)), named=False)
    return None


def join_wrapped(upper: Heading, lower: Sequence[str]) -> Heading | None:
    """Return the heading of two wrapped lines; None if *lower* is not the second one."""
    last = bool(lower) and lower[-1] in TITLES and not upper.named
    names = lower[:-1] if last else lower
    if upper.rest or not names or len(upper.layout.names) + len(names) > MAX_HEADING_WORDS:
        return None
    *first, end = upper.layout.names
    if end not in COLUMNS and end + names[0] in COLUMNS:  # a terminal cut the word
        names = [end + names[0], *names[1:]]
    else:
        first.append(end)
    *whole, cut = names
    known = cut in COLUMNS or (whole and any(name.startswith(cut) for name in COLUMNS))
    if not (known and all(name in COLUMNS for name in whole)):
        return None
    return Heading(
        layout_of_names((*first, *names)),
        sar=upper.sar,
        name_last=last or upper.name_last,
        named=last or upper.named,
        prefix_words=upper.prefix_words,
        wrapped=True,
    )


def _named(words: Sequence[str], index: int) -> Heading | None:
    """Return the heading with the word for the device at *index*."""
    sar = words[index] == SAR_DEVICE
    following = words[index + 1 : index + MAX_HEADING_WORDS]
    # A time or a number is no column.
    after = tuple(takewhile(lambda word: not word[0].isdigit() and ":" not in word, following))
    if _are_columns(after, sar):
        return Heading(
            layout_of_names(after),
            sar=sar,
            prefix_words=min(index, MAX_PREFIX_WORDS),
            rest=tuple(words[index + 1 + len(after) :]),
        )
    before = index
    while before and words[before - 1] in COLUMNS:
        before -= 1
    names = words[before:index]
    if _are_columns(names, sar) and len(names) > 1:
        return Heading(
            layout_of_names(tuple(names)),
            sar=sar,
            name_last=True,
            prefix_words=before,
            rest=tuple(words[index + 1 :]),
        )
    return None


@lru_cache(maxsize=10_000)
def may_name(word: str) -> bool:
    """Whether *word* can be a device: "809 MiB/s" below a table belongs to another text."""
    fence = not word.strip("`~*=-_|") or word in QUOTE_MARKS
    is_figure = is_fraction(word) or _CLOCK_OR_NUMBERED.fullmatch(word)
    return not (fence or is_figure or word.endswith("/s") or word.startswith("%"))


@lru_cache(maxsize=8)  # most tables of a log have the same devices
def _are_devices(names: tuple[str, ...]) -> bool:
    """Whether *names* can be the devices of one table: all different, none a figure, not too many."""
    if len({*names}) < len(names) or len(names) > MAX_DEVICES:
        return False
    return all(may_name(name) and not is_number(name) for name in names)


def _are_columns(names: Sequence[str], sar: bool) -> bool:
    known = sum(name in COLUMNS for name in names)
    return 2 * known > len(names) and (not sar or "tps" in names)
