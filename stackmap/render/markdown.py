"""Documents → Markdown for a ticket; a chart becomes a line of block characters."""

from collections.abc import Iterable
from functools import singledispatch

from stackmap.document import blocks as doc
from stackmap.document.wording import with_band
from stackmap.model.load import on_one_line
from stackmap.render.text import code_spans, safe
from stackmap.render.tree import render_tree

BARS = "▁▂▃▄▅▆▇█"
WIDEST = 60  # bars of a chart; more points are joined to the mean of some
GAP = " "


def render_markdown(page: doc.Page) -> str:
    """Return *page* as Markdown."""
    parts = [f"# {_text(page.title)}", *map(_text, page.about)]
    for section in page.sections:
        parts += [f"## {_text(section.title)}", *_all(section.blocks, 3)]
    return "\n\n".join(parts) + "\n"


def _all(blocks: Iterable[doc.Block], level: int) -> list[str]:
    return [part for block in blocks for part in _written(block, level)]


def render_blocks(blocks: Iterable[doc.Block], level: int = 3) -> str:
    """Return *blocks* as Markdown; headlines are one level above *level*, other headings below."""
    return "\n\n".join(_all(blocks, level)) + "\n"


def _text(words: str) -> str:
    """Return *words* with nothing in them that controls a terminal or is markup."""
    return literal(safe(words)).replace("[", "\\[")


def _prose(words: str) -> str:
    """Return *words* escaped, except for commands in backticks: those stay code."""
    parts = code_spans(safe(words))
    return "".join(f"`{part}`" if n % 2 else _text(part) for n, part in enumerate(parts))


def literal(text: str) -> str:
    r"""
    Return *text* with Markdown's markup characters escaped.

    >>> literal("my_disk")
    'my\\_disk'
    """
    return "".join(f"\\{letter}" if letter in "|*_`<" else letter for letter in text)


@singledispatch
def _written(block: object, level: int) -> list[str]:
    raise TypeError(block, level)


@_written.register(doc.Headline)
def _headline(block: doc.Headline, level: int) -> list[str]:
    return [f"{'#' * (level - 1)} {_text('  '.join(filter(None, block.parts)))}"]


@_written.register(doc.Command)
def _command(block: doc.Command, level: int) -> list[str]:
    return _code(doc.Code(block.line), level)


@_written.register(doc.Paragraph)
def _paragraph(block: doc.Paragraph, _: int) -> list[str]:
    lead = f"**{_text(block.lead)}** " if block.lead else ""
    return [(lead + _prose(block.text)).rstrip()]


@_written.register(doc.Listing)
def _listing(block: doc.Listing, _: int) -> list[str]:
    return ["\n".join(f"- {_prose(item)}" for item in block.items)]


@_written.register(doc.Terms)
def _terms(block: doc.Terms, _: int) -> list[str]:
    return ["\n".join(f"- **{_text(word)}**: {_text(meaning)}" for word, meaning in block.pairs)]


@_written.register(doc.Table)
def _table(block: doc.Table, _: int) -> list[str]:
    lines = [
        _row(on_one_line(heading) for heading in block.headings),
        "|"
        + "|".join("---" if n < block.words else "--:" for n in range(len(block.headings)))
        + "|",
    ]
    for group in block.groups:
        if group.title:
            cells = [f"**{_text(group.title)}**", *[""] * (len(block.headings) - 1)]
            lines.append(f"| {' | '.join(cells)} |")
        lines += (_row(map(str, row)) for row in group.rows)
    caption = [_text(block.caption)] if block.caption else []
    legend = [_text(block.legend)] if block.legend else []
    return [*caption, "\n".join(lines), *legend]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


@_written.register(doc.Code)
def _code(block: doc.Code, _: int) -> list[str]:
    lines = "\n".join(safe(line) for line in block.text.rstrip("\n").split("\n"))
    fence = "```"
    while fence in lines:
        fence += "`"
    return [f"{fence}\n{lines}\n{fence}"]


@_written.register(doc.Stack)
def _stack(block: doc.Stack, level: int) -> list[str]:
    return [_text(block.title), *_code(doc.Code(render_tree(block.topology)), level)]


@_written.register(doc.Diagram)
def _diagram(_: doc.Diagram, __: int) -> list[str]:
    return []  # the table beside it has all


@_written.register(doc.Chart)
def _chart(block: doc.Chart, _: int) -> list[str]:
    most = max((v for line in block.lines for v in line.values if v is not None), default=0.0)
    lines = [f"- {_text(line.label)} `{_bars(line, most)}`" for line in block.lines]
    words = [_text(block.words)] if block.words else []
    return [f"**{_text(block.title)}**", "\n".join(lines), *words]


def _bars(line: doc.Line, most: float) -> str:
    """Return a letter a point, the greatest of the chart the highest; a blank where nothing is known."""
    per_letter = -(-len(line.values) // WIDEST)
    parts = [line.values[at : at + per_letter] for at in range(0, len(line.values), per_letter)]
    return "".join(_bar([value for value in part if value is not None], most) for part in parts)


def _bar(known: list[float], most: float) -> str:
    if not known:
        return GAP
    share = sum(known) / len(known) / most if most else 0.0
    return BARS[round(share * (len(BARS) - 1))]


@_written.register(doc.Bars)
def _compared(block: doc.Bars, _: int) -> list[str]:
    lines = [f"- {_text(bar.label)}: {_text(with_band(block.unit, bar))}" for bar in block.bars]
    return [f"**{_text(block.title)}**, {_text(block.unit)}", "\n".join(lines)]


@_written.register(doc.Tiles)
def _tiles(block: doc.Tiles, _: int) -> list[str]:
    rows = [_row(("", "", "")), "|---|--:|---|"]
    rows += [_row((tile.label, tile.value, tile.beside)) for tile in block.tiles]
    return ["\n".join(rows)]


@_written.register(doc.Card)
def _card(block: doc.Card, level: int) -> list[str]:
    heading = f"{'#' * level} {_text(block.label)}: {_text(block.title)}"
    return [heading, *_all(block.blocks, level + 1)]


@_written.register(doc.Checklist)
def _checklist(block: doc.Checklist, level: int) -> list[str]:
    """Return a table with a row per card and a column per lead of its paragraphs."""
    leads: dict[str, None] = {}
    described = []
    for device, cards in block.groups:
        for card in cards:
            texts = {b.lead: b.text for b in card.blocks if isinstance(b, doc.Paragraph)}
            leads |= dict.fromkeys(texts)
            described.append(((device, card.label, card.title), texts))
    rows = tuple((*first, *(texts.get(lead, "") for lead in leads)) for first, texts in described)
    headings = ("device", "", "is", *(lead.removesuffix(":") for lead in leads))
    columns = doc.plain_columns(headings, len(headings))
    return _table(doc.Table("", columns, (doc.Rows(rows),)), level)


@_written.register(doc.Part)
def _part(block: doc.Part, level: int) -> list[str]:
    return [f"{'#' * level} {_text(block.title)}", *_all(block.blocks, level + 1)]


@_written.register(doc.Folded)
def _folded(block: doc.Folded, level: int) -> list[str]:
    return [f"**{_text(block.title)}**", *_all(block.blocks, level)]
