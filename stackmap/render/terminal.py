"""Documents → text for a terminal or a pipe."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import groupby
from typing import NamedTuple

from stackmap.document import blocks as doc
from stackmap.render.text import (
    BOLD,
    RED,
    RESET,
    WIDTH,
    YELLOW,
    Coloured,
    aligned,
    code_spans,
    padded_to,
    safe,
    widest,
)
from stackmap.render.text import width as columns_of

HANG = "  "
COLOURS = {"critical": BOLD + RED, "warning": YELLOW}  # by severity; no other text has a colour
RISKS = "OFFLINE|WITHOUT REDUNDANCY|NO REDUNDANCY|NOT CHECKED|Risk:"
UNBROKEN = "\0"  # a space in a command, while a text is folded
NARROWEST = 20  # columns for text, however deep it is indented


class Style(NamedTuple):
    """
    How to write text. ``width``: columns to fill; a command line may be wider.

    ``whole_rows``: a wide table is neither shortened nor divided, for programs
    that read a line per row. ``headings``: with headlines and the headings of tables. ``legend``: with the
    legends of tables, for people on a terminal. ``colour``: severities in colour. ``widths``: of the columns
    of the tables written so far, by their headings; a column never gets narrower, so reports can be compared.
    ``point``: the decimal point of figures in tables.
    """

    width: int = WIDTH
    whole_rows: bool = False
    headings: bool = True
    legend: bool = False
    colour: bool = False
    widths: dict[tuple[str, ...], list[int]] | None = None
    point: str = "."


def rendered(blocks: Iterable[doc.Block], style: Style) -> Iterator[str]:
    """Yield the lines of *blocks* with their ends, one block in memory at a time; a blank line precedes each further part."""
    for line in _lines(blocks, style):
        if style.colour:
            yield re.sub(RISKS, lambda risk: _painted(risk[0], "warning", style), line) + "\n"
        else:
            yield line + "\n"


@singledispatch
def _lines_of(block: object, style: Style) -> list[str]:
    raise TypeError(block, style)


def _lines(blocks: Iterable[doc.Block], style: Style) -> Iterator[str]:
    before: doc.Block | None = None  # the newest one with a line
    for block in blocks:
        part = _lines_of(block, style)
        if part and before is not None and _is_separate(block, before):
            yield ""
        yield from part
        before = block if part else before


def _is_separate(block: doc.Block, before: doc.Block | None) -> bool:
    if isinstance(block, doc.Table):
        return not isinstance(before, doc.Headline | doc.Paragraph | doc.Terms)
    parts = doc.Headline | doc.Card | doc.Part | doc.Folded
    return isinstance(block, parts) or isinstance(before, doc.Card | doc.Part)


def _narrower(style: Style, indent: str) -> Style:
    return style._replace(width=max(NARROWEST, style.width - len(indent)))


def _wrapped(text: str, style: Style, first: str = "", rest: str = "") -> list[str]:
    """Return *text* folded to the width, not in commands; *first* and *rest* precede its lines, already escaped."""
    width = max(NARROWEST + len(rest), style.width)
    parts = code_spans(safe(text))
    whole = (f"`{part.replace(' ', UNBROKEN)}`" if n % 2 else part for n, part in enumerate(parts))
    filled = textwrap.wrap(
        "".join(whole),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(UNBROKEN, " ") for line in filled] or [first.rstrip()]


@_lines_of.register(doc.Headline)
def _headline(block: doc.Headline, style: Style) -> list[str]:
    title = "  ".join(filter(None, block.parts))
    if not style.headings or not title:
        return []
    return [safe(title)] if style.whole_rows else _wrapped(title, style, "", HANG)


@_lines_of.register(doc.Paragraph)
def _paragraph(block: doc.Paragraph, style: Style) -> list[str]:
    if block.headline and not style.headings:
        return []
    lead = f"{safe(block.lead)} " if block.lead else ""
    return _wrapped(block.text, style, lead, HANG if lead else "")


def _aligned(pairs: Sequence[tuple[str, str]], style: Style) -> list[str]:
    """Return texts aligned after the widest of the words before them."""
    leads = [safe(lead) for lead, _ in pairs]
    space = max(map(columns_of, leads), default=0)
    return [
        line
        for lead, (_, text) in zip(leads, pairs, strict=True)
        for line in _wrapped(
            text, style, padded_to(space, lead, right=False) + " ", " " * (space + 1)
        )
    ]


@_lines_of.register(doc.Command)
def _command(block: doc.Command, _: Style) -> list[str]:
    return [(HANG if block.aside else "") + safe(line) for line in block.line.split("\n")]


@_lines_of.register(doc.Code)
def _code(block: doc.Code, _: Style) -> list[str]:
    return [safe(line) for line in block.text.splitlines()]


@_lines_of.register(doc.Listing)
def _listing(block: doc.Listing, style: Style) -> list[str]:
    return [line for item in block.items for line in _wrapped(item, style, "", HANG)]


@_lines_of.register(doc.Terms)
def _terms(block: doc.Terms, style: Style) -> list[str]:
    return _aligned(block.pairs, style)


@_lines_of.register(doc.Table)
def _table(block: doc.Table, style: Style) -> list[str]:
    block = _without_empty(block)
    headings = [heading.split("\n") for heading in block.headings]
    deep = max(map(len, headings), default=1)
    rows = [
        [heading[line - deep] if line - deep >= -len(heading) else "" for heading in headings]
        for line in range(deep)
    ]
    rows = rows if style.headings else []
    for group in block.groups:
        rows += [[safe(group.title)]] if group.title else []
        rows += [[_cell(cell, style) for cell in row] for row in group.rows]
    if style.widths is not None and rows and len(rows[0]) > 1:
        # Each cell is as wide as its column was in any earlier table.
        cells = [[row[n] for row in rows if 1 < len(row) > n] for n in range(len(block.columns))]
        before = style.widths.get(block.headings, [0] * len(cells))
        now = [max(widest(column), least) for column, least in zip(cells, before, strict=True)]
        style.widths[block.headings] = now
        rows[0] = [
            padded_to(space, text, right=place >= block.words)
            for place, (space, text) in enumerate(zip(now, rows[0], strict=True))
        ]
    caption = _wrapped(block.caption, style) if block.caption else []
    legend = _wrapped(block.legend, style) if block.legend and style.legend else []
    text = aligned(
        rows,
        words=block.words,
        columns=len(headings),
        width=style.width,
        whole=style.whole_rows,
    )
    return [*caption, *text, *legend]


def _without_empty(table: doc.Table) -> doc.Table:
    """Return *table* without the columns of text, except the first, that no row has."""
    rows = [row for group in table.groups for row in group.rows]
    texts = range(1, table.words)
    empty = {n for n in texts if not any(str(cell) for row in rows for cell in row[n : n + 1])}
    if not empty:
        return table
    return doc.with_columns(table, [n for n in range(len(table.columns)) if n not in empty])


def _cell(cell: doc.Cell, style: Style) -> str:
    if not isinstance(cell, doc.Value):
        return safe(str(cell))
    text = str(cell).replace(".", style.point)
    if style.colour and cell.tone in COLOURS:
        return Coloured(text, COLOURS[cell.tone])
    return text


@_lines_of.register(doc.Card)
def _card(block: doc.Card, style: Style) -> list[str]:
    label = safe(block.label).upper()
    first, *rest = _wrapped(block.title, style, f"{label}: ", HANG)
    first = _painted(label, block.tone, style) + first.removeprefix(label)
    return [first, *rest, *_card_blocks(block, style, HANG)]


@_lines_of.register(doc.Checklist)
def _checklist(block: doc.Checklist, style: Style) -> list[str]:
    lines = []
    for device, cards in block.groups:
        lines.append(safe(device))
        space = max(columns_of(safe(card.label)) for card in cards)
        indent = HANG + " " * space + " "
        for card in cards:
            label = safe(card.label)
            first = HANG + padded_to(space, label, right=False) + " "
            title = _wrapped(card.title, style, first, indent)
            title[0] = title[0].replace(label, _painted(label, card.tone, style), 1)
            lines += [*title, *_card_blocks(card, style, indent)]
    return lines


def _card_blocks(card: doc.Card, style: Style, indent: str) -> list[str]:
    """Return a card's blocks, the texts after its leads aligned; evidence is not for a terminal."""
    room = _narrower(style, indent)
    lines: list[str] = []
    shown = [block for block in card.blocks if not isinstance(block, doc.Folded)]
    for has_lead, group in groupby(shown, key=lambda block: bool(getattr(block, "lead", ""))):
        if has_lead:
            pairs = [
                (block.lead, block.text) for block in group if isinstance(block, doc.Paragraph)
            ]
            lines += _aligned(pairs, room)
        else:
            lines += _lines(group, room)
    return [indent + line for line in lines]


@_lines_of.register(doc.Part)
@_lines_of.register(doc.Folded)
def _part(block: doc.Part | doc.Folded, style: Style) -> list[str]:
    """Return the title, and the blocks indented below it."""
    room = _narrower(style, HANG)
    lines = [HANG + line if line else "" for line in _lines(block.blocks, room)]
    return [*_wrapped(block.title, style, "", HANG), *lines]


def _painted(text: str, tone: str, style: Style) -> str:
    colour = COLOURS.get(tone, "") if style.colour else ""
    return f"{colour}{text}{RESET}" if colour else text
