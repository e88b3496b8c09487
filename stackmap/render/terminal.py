"""Documents → text for a terminal or a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stackmap.document.blocks import (
    Bars,
    Block,
    Card,
    Chart,
    Checklist,
    Code,
    Command,
    Folded,
    Headline,
    Listing,
    Paragraph,
    Part,
    Rows,
    Stack,
    Table,
    Terms,
    Tiles,
)
from stackmap.document.wording import with_band
from stackmap.render.table import aligned
from stackmap.render.text import WIDTH, padded_to, safe
from stackmap.render.text import width as columns_of
from stackmap.render.tree_style import BOLD, RED, RESET, YELLOW

HANG = "  "
COLOURS = {"critical": BOLD + RED, "warning": YELLOW}  # by severity; no other text has a colour
NARROWEST = 20  # columns for text, however deep it is indented


@dataclass(frozen=True, slots=True)
class Style:
    """
    How to write text. ``width``: columns to fill; a command line may be wider.

    ``headings``: with headlines and the headings of tables. ``legend``: with the
    legends of tables, for people on a terminal. ``colour``: severities in colour.
    """

    width: int = WIDTH
    headings: bool = True
    legend: bool = False
    colour: bool = False


def render_text(blocks: Iterable[Block], style: Style | None = None) -> str:
    """Return *blocks* as lines, "" for none. A blank line precedes each further part."""
    lines = _lines(blocks, style or Style())
    return "".join(f"{line}\n" for line in lines)


def _lines(blocks: Iterable[Block], style: Style) -> list[str]:
    lines: list[str] = []
    before: Block | None = None
    for block in blocks:
        part = _WRITERS[type(block)](block, style)
        if lines and part and _is_separate(block, before):
            lines.append("")
        lines += part
        before = block if part else before
    return lines


def _is_separate(block: Block, before: Block | None) -> bool:
    """Return whether a blank line precedes *block*."""
    if isinstance(block, Table | Checklist):
        return not isinstance(before, Headline | Paragraph | Terms)
    return isinstance(block, Headline | Card | Part | Folded | Stack | Chart)


def _indented(blocks: Iterable[Block], style: Style, indent: str = HANG) -> list[str]:
    room = replace(style, width=max(NARROWEST, style.width - len(indent)))
    return [indent + line if line else "" for line in _lines(blocks, room)]


def _wrapped(text: str, style: Style, first: str = "", rest: str = "") -> list[str]:
    """Return *text* folded to the width; *first* and *rest* precede its lines, already escaped."""
    width = max(NARROWEST + len(rest), style.width)
    filled = textwrap.wrap(
        safe(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return filled or [first.rstrip()]


def _headline(block: Headline, style: Style) -> list[str]:
    title = "  ".join(map(safe, filter(None, block.parts)))
    return [title] if style.headings and title else []


def _paragraph(block: Paragraph, style: Style) -> list[str]:
    lead = f"{safe(block.lead)} " if block.lead else ""
    return _wrapped(block.text, style, lead, HANG if lead else "")


def _aligned(paragraphs: Sequence[Paragraph], style: Style) -> list[str]:
    """Return paragraphs with their texts aligned after the widest lead."""
    leads = [safe(each.lead) for each in paragraphs]
    space = max((columns_of(lead) for lead in leads), default=0)
    return [
        line
        for each, lead in zip(paragraphs, leads, strict=True)
        for line in _wrapped(
            each.text, style, padded_to(space, lead, right=False) + " ", " " * (space + 1)
        )
    ]


def _command(block: Command, _: Style) -> list[str]:
    return [safe(block.line)]


def _listing(block: Listing, style: Style) -> list[str]:
    marks = [f"{number}. " if block.ordered else "" for number in range(1, len(block.items) + 1)]
    return [
        line
        for mark, item in zip(marks, block.items, strict=True)
        for line in _wrapped(item, style, mark, " " * len(mark) if mark else HANG)
    ]


def _terms(block: Terms, style: Style) -> list[str]:
    return _aligned([Paragraph(meaning, word) for word, meaning in block.pairs], style)


def _table(block: Table, style: Style) -> list[str]:
    headings = [heading.split("\n") for heading in block.headings]
    deep = max(map(len, headings), default=1)
    rows = [
        [each[line - deep] if line - deep >= -len(each) else "" for each in headings]
        for line in range(deep)
    ]
    rows = rows if style.headings else []
    for group in block.groups:
        rows += [[group.title]] if group.title else []
        rows += [[safe(cell) for cell in row] for row in group.rows]
    caption = _wrapped(block.caption, style) if block.caption else []
    legend = _wrapped(block.legend, style) if block.legend and style.legend else []
    text = aligned(rows, words=block.words, columns=len(headings), width=style.width)
    return [*caption, *text, *legend]


def _code(block: Code, _: Style) -> list[str]:
    return [safe(line) for line in block.text.rstrip("\n").split("\n")]


def _stack(block: Stack, style: Style) -> list[str]:
    return [*_wrapped(block.title, style), *_code(Code(block.text), style)]


def _chart(block: Chart, style: Style) -> list[str]:
    return [*_wrapped(f"{block.title}, {block.unit}", style), *_wrapped(block.words, style)]


def _bars(block: Bars, style: Style) -> list[str]:
    pairs = tuple((bar.label, with_band(block.unit, bar)) for bar in block.bars)
    return [*_wrapped(f"{block.title}, {block.unit}", style), *_terms(Terms(pairs), style)]


def _tiles(block: Tiles, style: Style) -> list[str]:
    rows = tuple((tile.label, tile.value, tile.beside) for tile in block.tiles)
    return _table(Table("", ("", "", ""), (Rows(rows),), words=3), replace(style, headings=False))


def _card(block: Card, style: Style) -> list[str]:
    label = _painted(safe(block.label).upper(), block.tone, style)
    return [*_wrapped(block.title, style, f"{label}: ", HANG), *_card_blocks(block, style, HANG)]


def _checklist(block: Checklist, style: Style) -> list[str]:
    space = max((columns_of(safe(card.label)) for card in block.cards), default=0)
    indent = HANG + " " * space + " "
    lines = []
    for card in block.cards:
        label = safe(card.label)
        first = HANG + padded_to(space, label, right=False) + " "
        title = _wrapped(card.title, style, first, indent)
        title[0] = title[0].replace(label, _painted(label, card.tone, style), 1)
        lines += [*title, *_card_blocks(card, style, indent)]
    return lines


def _card_blocks(card: Card, style: Style, indent: str) -> list[str]:
    """Return a card's blocks, the texts after its leads aligned; evidence is not for a terminal."""
    shown = [block for block in card.blocks if not isinstance(block, Folded)]
    room = replace(style, width=max(NARROWEST, style.width - len(indent)))
    lines: list[str] = []
    leads: list[Paragraph] = []
    for block in shown:
        if isinstance(block, Paragraph) and block.lead:
            leads.append(block)
        else:
            lines += [*_aligned(leads, room), *_lines([block], room)]
            leads = []
    return [indent + line for line in (*lines, *_aligned(leads, room))]


def _part(block: Part, style: Style) -> list[str]:
    return [*_wrapped(block.title, style, "", HANG), *_indented(block.blocks, style)]


def _folded(block: Folded, style: Style) -> list[str]:
    return _part(Part(block.title, block.blocks), style)


def _painted(text: str, tone: str, style: Style) -> str:
    colour = COLOURS.get(tone, "") if style.colour else ""
    return f"{colour}{text}{RESET}" if colour else text


# Each function takes the type of its key: a mapping's type cannot express that.
_WRITERS: dict[type, Callable[[Any, Style], list[str]]] = {
    Headline: _headline,
    Paragraph: _paragraph,
    Command: _command,
    Listing: _listing,
    Terms: _terms,
    Table: _table,
    Code: _code,
    Stack: _stack,
    Chart: _chart,
    Bars: _bars,
    Tiles: _tiles,
    Card: _card,
    Checklist: _checklist,
    Part: _part,
    Folded: _folded,
}
