"""Documents → Markdown for a ticket; a chart becomes a line of block characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    Line,
    Listing,
    Page,
    Paragraph,
    Part,
    Rows,
    Section,
    Stack,
    Table,
    Terms,
    Tiles,
)
from stackmap.document.templates import literal
from stackmap.document.wording import with_band
from stackmap.render.text import safe

BARS = "▁▂▃▄▅▆▇█"
WIDEST = 60  # bars of a chart; more points are joined to the mean of some
GAP = " "


def render_markdown(page: Page) -> str:
    """Return *page* as Markdown."""
    parts = [f"# {_text(page.title)}", *map(_text, page.about)]
    for section in page.sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    return [f"## {_text(section.title)}", *_all(section.blocks, 3)]


def _all(blocks: Iterable[Block], level: int) -> list[str]:
    return [part for block in blocks for part in _DRAWN[type(block)](block, level)]


def render_blocks(blocks: Iterable[Block], level: int = 2) -> str:
    """Return *blocks* as Markdown, with headings from *level* down."""
    return "\n\n".join(_all(blocks, level)) + "\n"


def _text(words: str) -> str:
    """Return *words* with nothing in them that controls a terminal or is markup."""
    return literal(safe(words)).replace("[", "\\[")


def _headline(block: Headline, level: int) -> list[str]:
    return [f"{'#' * level} {_text('  '.join(filter(None, block.parts)))}"]


def _command(block: Command, level: int) -> list[str]:
    return _code(Code(block.line), level)


def _paragraph(block: Paragraph, _: int) -> list[str]:
    lead = f"**{_text(block.lead)}** " if block.lead else ""
    return [lead + _text(block.text)]


def _listing(block: Listing, _: int) -> list[str]:
    marks = (f"{place}." if block.ordered else "-" for place in range(1, len(block.items) + 1))
    return [
        "\n".join(f"{mark} {_text(item)}" for mark, item in zip(marks, block.items, strict=True))
    ]


def _terms(block: Terms, _: int) -> list[str]:
    return ["\n".join(f"- **{_text(word)}**: {_text(meaning)}" for word, meaning in block.pairs)]


def _table(block: Table, _: int) -> list[str]:
    lines = [
        _row(heading.replace("\n", " ").strip() for heading in block.headings),
        "|"
        + "|".join("---" if n < block.words else "--:" for n in range(len(block.headings)))
        + "|",
    ]
    for rows in block.groups:
        lines += _rows(rows, len(block.headings))
    caption = [_text(block.caption)] if block.caption else []
    legend = [_text(block.legend)] if block.legend else []
    return [*caption, "\n".join(lines), *legend]


def _rows(rows: Rows, columns: int) -> list[str]:
    heading = [_row((rows.title, *[""] * (columns - 1)), strong=True)] if rows.title else []
    return [*heading, *(_row(cells) for cells in rows.rows)]


def _row(cells: Iterable[str], *, strong: bool = False) -> str:
    shown = [_text(cell) for cell in cells]
    if strong:
        shown[0] = f"**{shown[0]}**"
    return f"| {' | '.join(shown)} |"


def _code(block: Code, _: int) -> list[str]:
    lines = "\n".join(safe(line) for line in block.text.rstrip("\n").split("\n"))
    fence = "```"
    while fence in lines:
        fence += "`"
    return [f"{fence}\n{lines}\n{fence}"]


def _stack(block: Stack, level: int) -> list[str]:
    return [_text(block.title), *_code(Code(block.text), level)]


def _chart(block: Chart, _: int) -> list[str]:
    most = max((v for line in block.lines for v in line.values if v is not None), default=0.0)
    lines = [f"- {_text(line.label)} `{_bars(line, most)}`" for line in block.lines]
    words = [_text(block.words)] if block.words else []
    return [f"**{_text(block.title)}**", "\n".join(lines), *words]


def _bars(line: Line, most: float) -> str:
    """Return a letter a point, the greatest of the chart the highest; a blank where nothing is known."""
    each = -(-len(line.values) // WIDEST)
    parts = [line.values[at : at + each] for at in range(0, len(line.values), each)]
    return "".join(_bar([value for value in part if value is not None], most) for part in parts)


def _bar(known: list[float], most: float) -> str:
    if not known:
        return GAP
    share = sum(known) / len(known) / most if most else 0.0
    return BARS[round(share * (len(BARS) - 1))]


def _compared(block: Bars, _: int) -> list[str]:
    lines = [f"- {_text(bar.label)}: {_text(with_band(block.unit, bar))}" for bar in block.bars]
    return [f"**{_text(block.title)}**, {_text(block.unit)}", "\n".join(lines)]


def _tiles(block: Tiles, _: int) -> list[str]:
    rows = [_row(("", "", ""), strong=False), "|---|--:|---|"]
    rows += [_row((tile.label, tile.value, tile.beside)) for tile in block.tiles]
    return ["\n".join(rows)]


def _card(block: Card, level: int) -> list[str]:
    heading = f"{'#' * level} {_text(block.label)}: {_text(block.title)}"
    return [heading, *_all(block.blocks, level + 1)]


def _checklist(block: Checklist, level: int) -> list[str]:
    lines = []
    for card in block.cards:
        lines.append(f"- **{_text(card.label)}** {_text(card.title)}")
        lines += [f"  - {part}" for part in _all(card.blocks, level + 1)]
    return ["\n".join(lines)]


def _part(block: Part, level: int) -> list[str]:
    return [f"{'#' * level} {_text(block.title)}", *_all(block.blocks, level + 1)]


def _folded(block: Folded, level: int) -> list[str]:
    return [f"**{_text(block.title)}**", *_all(block.blocks, level)]


# Each function takes the type of its key: a mapping's type cannot express that.
_DRAWN: dict[type, Callable[[Any, int], list[str]]] = {
    Headline: _headline,
    Paragraph: _paragraph,
    Command: _command,
    Listing: _listing,
    Terms: _terms,
    Table: _table,
    Code: _code,
    Stack: _stack,
    Chart: _chart,
    Bars: _compared,
    Tiles: _tiles,
    Card: _card,
    Checklist: _checklist,
    Part: _part,
    Folded: _folded,
}
