"""The cells of ``top``'s screen: which columns fit, how wide they are, and their texts, sparklines and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from stackmap.features.top.cells import SENTENCE, Cell, Column, Shares, Spark
from stackmap.render.text import padded_to, safe, shortened, width

NARROWEST_NAME, WIDE_NAME = 16, 36
SPARKS = {False: "▁▂▃▄▅▆▇█", True: "_.-=+*#@"}
BARS = {False: "█▓▒░", True: "#=-."}
KEPT = 4096  # texts: most cells are as in the interval before
KEPT_SPARKS = 256  # a screen of them, each of 120 figures: that of a busy row never comes again
ASCII = str.maketrans({"×": "x", "…": "~", "÷": "/", "–": "-", "→": ">", "·": "."})


class Span(NamedTuple):
    """A text in one style; ``tone``: a severity, "bold", "reverse" or ""."""

    text: str
    tone: str = ""


Line = list[Span]


def chosen(columns: tuple[Column, ...], room: int) -> tuple[Column, ...]:
    """Return the columns that fit beside a name of ``NARROWEST_NAME``; the highest rank is left out first."""
    kept = columns
    while sum((each.width or NARROWEST_NAME) + 1 for each in kept) > room:
        worst = max(each.rank for each in kept)
        if not worst:
            break
        kept = tuple(each for each in kept if each.rank != worst)
    return kept


def widths(columns: Sequence[Column], room: int) -> list[int]:
    """Return the width of each column: room that is left widens the name, then the sparkline, then the name."""
    left = room - sum((each.width or NARROWEST_NAME) + 1 for each in columns)
    name = min(max(0, left), WIDE_NAME - NARROWEST_NAME)
    spark = min(max(0, left - name), max(each.most - each.width for each in columns))
    name = left - spark if any(each.most for each in columns) else left
    return [
        NARROWEST_NAME + name if not each.width else each.width + spark if each.most else each.width
        for each in columns
    ]


def filled(cell: Cell, room: int, column: Column, *, ascii_only: bool) -> str:
    """Return *cell* in *room* columns."""
    if isinstance(cell, Spark):
        return sparkline(cell.values, room, ascii_only=ascii_only)
    if isinstance(cell, Shares):
        return _bar(cell, room, ascii_only=ascii_only)
    return aligned(cell, room, column, ascii_only=ascii_only)


def spaced(spans: Iterable[Span]) -> Line:
    """Return *spans* with a space after each; neighbours of one style are one, for one call of curses."""
    line: Line = []
    for text, tone in spans:
        if line and line[-1].tone == tone:
            line[-1] = Span(f"{line[-1].text} {text}", tone)
        else:
            line += [Span(" "), Span(text, tone)] if line else [Span(text, tone)]
    return line


@lru_cache(KEPT)
def aligned(text: str, room: int, column: Column, *, ascii_only: bool) -> str:
    """Return *text* in *room* columns: words to the left, names cut in the middle, figures to the right."""
    text = _plain(text, ascii_only=ascii_only)
    if column.words != SENTENCE:
        text = shortened(text, room)
    text = padded_to(room, text, right=not column.words)
    return text.translate(ASCII) if ascii_only else text  # it may have been cut


def _plain(text: str, *, ascii_only: bool) -> str:
    """Return untrusted *text* with nothing that controls a terminal, and in ASCII if need be."""
    text = safe(text)
    if ascii_only:
        text = text.translate(ASCII).encode("ascii", "backslashreplace").decode()
    return text


@lru_cache(KEPT_SPARKS)
def sparkline(values: tuple[float | None, ...], room: int, *, ascii_only: bool = False) -> str:
    """
    Return *values* as bars from 0 to their maximum, the newest at the right; unknown ones are blank.

    >>> sparkline((0, 1, None, 4), 6), sparkline((2, 4, 1, 1), 2)
    ('  ▁▃ █', '█▃')
    """
    steps = SPARKS[ascii_only]
    each = max(1, -(-len(values) // max(1, room)))
    groups = [values[max(0, end - each) : end] for end in range(len(values), 0, -each)][::-1]
    highest = [max((v for v in group if v is not None), default=None) for group in groups]
    most = max(filter(None, highest), default=0.0)
    text = "".join(
        " "
        if value is None
        else steps[round(value / most * (len(steps) - 1))]
        if most
        else steps[0]
        for value in highest
    )
    return text.rjust(room)


def _bar(shares: Shares, room: int, *, ascii_only: bool) -> str:
    """Return a bar of a third of *room*, then the names of the largest parts with their percentages."""
    glyphs = BARS[ascii_only]
    long = min(40, room // 3)
    bar, end = "", 0.0
    for place, (_, share) in enumerate(shares.parts):
        end += share
        bar += glyphs[min(place, len(glyphs) - 1)] * (round(end * long) - len(bar))
    names = ", ".join(f"{share:.0%} {name}" for name, share in shares.parts[:3])
    return f"{bar.ljust(long)} {_padded(names, room - long - 1, ascii_only=ascii_only)}"


def _padded(text: str, room: int, *, ascii_only: bool) -> str:
    """Return *text* in *room* columns; the sign of a cut is in ASCII too if need be."""
    text = padded_to(room, _plain(text, ascii_only=ascii_only), right=False)
    return _plain(text, ascii_only=ascii_only)


def fitted(line: Line, room: int, *, ascii_only: bool) -> Line:
    """Return *line* without what does not fit; a text is cut at its end."""
    kept = []
    for span in line:
        text = _plain(span.text, ascii_only=ascii_only)
        if width(text) > room:
            text = _padded(span.text, room, ascii_only=ascii_only)
        room -= width(text)
        if text:
            kept.append(Span(text, span.tone))
    return kept
