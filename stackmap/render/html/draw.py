"""Blocks → HTML, one function a kind."""

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
    Listing,
    Paragraph,
    Part,
    Rows,
    Section,
    Stack,
    Table,
    Terms,
    Tile,
    Tiles,
)
from stackmap.render.html.axes import label, places, scale_of
from stackmap.render.html.bars import bars
from stackmap.render.html.markup import Markup, data, joined, lines, tag
from stackmap.render.html.plot import plot
from stackmap.render.svg import render_svg


def draw(block: Block, level: int) -> Markup:
    """Return *block*; headings in it are of *level* (3 in a section)."""
    return _DRAWN[type(block)](block, level)


def draw_all(blocks: Iterable[Block], level: int) -> Markup:
    """Return *blocks*; charts that follow each other stand side by side."""
    parts: list[Markup] = []
    charts: list[Markup] = []
    for block in blocks:
        if isinstance(block, Chart):
            charts.append(draw(block, level))
            continue
        parts += _grid(charts)
        charts = []
        parts.append(draw(block, level))
    return joined(*parts, *_grid(charts))


def _grid(charts: list[Markup]) -> list[Markup]:
    return [tag("div", joined(*charts), klass="charts")] if charts else []


def draw_section(section: Section) -> Markup:
    """Return a section under its heading."""
    return tag(
        "section",
        joined(tag("h2", section.title), draw_all(section.blocks, 3)),
        id=section.key,
    )


def _headline(block: Headline, level: int) -> Markup:
    return tag(f"h{level}", "  ".join(filter(None, block.parts)))


def _command(block: Command, level: int) -> Markup:
    return _code(Code(block.line), level)


def _paragraph(block: Paragraph, _: int) -> Markup:
    if not block.lead:
        return tag("p", block.text)
    return tag("p", tag("strong", block.lead), " ", block.text)


def _listing(block: Listing, _: int) -> Markup:
    items = [tag("li", item) for item in block.items]
    return tag("ol" if block.ordered else "ul", joined(*items))


def _terms(block: Terms, _: int) -> Markup:
    return tag(
        "dl", joined(*(tag("dt", word) + tag("dd", meaning) for word, meaning in block.pairs))
    )


def _table(block: Table, _: int) -> Markup:
    heads = [
        tag(
            "th",
            word.replace("\n", " ").strip(),
            scope="col",
            klass=None if place < block.words else "n",
        )
        for place, word in enumerate(block.headings)
    ]
    parts = [
        tag("caption", block.caption) if block.caption else "",
        tag("thead", tag("tr", *heads)),
        *(_body(rows, block) for rows in block.groups),
    ]
    table = tag("div", tag("table", joined(*parts), id=block.key), klass="wide")
    return joined(table, tag("p", block.legend, klass="words") if block.legend else "")


def _body(rows: Rows, table: Table) -> Markup:
    heading = (
        tag(
            "tr",
            tag("th", rows.title, scope="rowgroup", colspan=str(len(table.headings))),
            klass="group",
        )
        if rows.title
        else ""
    )
    return tag("tbody", joined(heading, *(_row(row, table.words) for row in rows.rows)))


def _row(cells: tuple[str, ...], words: int) -> Markup:
    first, *rest = cells
    return tag(
        "tr",
        tag("th", first.strip(), scope="row", klass="sub" if first.startswith(" ") else None),
        *(
            tag("td", cell, klass=None if place < words else "n")
            for place, cell in enumerate(rest, start=1)
        ),
    )


def _code(block: Code, _: int) -> Markup:
    return tag("pre", tag("code", lines(block.text)), klass="copy", data_name=block.name or None)


def _stack(block: Stack, level: int) -> Markup:
    drawing = Markup(render_svg(block.picture, embedded=True))
    tree = Folded("The same as text", (Code(block.text),))
    return tag(
        "figure",
        joined(
            tag("div", drawing, klass="wide stack", role="img", aria_label=block.title),
            tag("figcaption", block.title),
            draw(tree, level),
        ),
    )


def _chart(block: Chart, _: int) -> Markup:
    scale = scale_of(block)
    keys = [
        tag("span", tag("i", klass=f"s{number}"), line.label)
        for number, line in enumerate(block.lines)
    ]
    caption = tag(
        "figcaption", tag("b", block.title), f", {scale.unit} ", tag("span", *keys, klass="keys")
    )
    return tag(
        "figure",
        joined(
            caption,
            tag("div", klass="plot", data_chart=f"data-{block.key}"),
            plot(block),
            tag("p", block.words, klass="words") if block.words else "",
            data(f"data-{block.key}", _values(block)),
        ),
        klass="chart",
        id=block.key,
    )


def _values(block: Chart) -> dict[str, object]:
    """Return what the page's script draws a chart from."""
    scale = scale_of(block)

    def shown(values: Iterable[float | None]) -> list[float | None]:
        return [None if v is None else float(f"{v / scale.factor:.6g}") for v in values]

    bars = block.axis in ("hour", "size")
    return {
        "axis": block.axis,
        "unit": scale.unit,
        "x": [round(x, 3) for x in places(block)],
        "names": [label(block, place) for place in range(len(block.x))] if bars else [],
        "lines": [
            {
                "label": line.label,
                "mean": shown(line.values),
                "low": shown(line.low),
                "high": shown(line.high),
            }
            for line in block.lines
        ],
    }


def _bars(block: Bars, _: int) -> Markup:
    caption = tag("figcaption", tag("b", block.title), f", {block.unit}")
    return tag("figure", joined(caption, tag("div", bars(block), klass="wide")))


def _tiles(block: Tiles, _: int) -> Markup:
    return tag("div", joined(*map(_tile, block.tiles)), klass="tiles")


def _tile(tile: Tile) -> Markup:
    return tag(
        "div",
        tag("span", tile.label, klass="what"),
        tag("span", tile.value, klass="figure"),
        tag("span", tile.beside, klass="beside") if tile.beside else "",
        klass="tile",
    )


def _card(block: Card, level: int) -> Markup:
    heading = tag(f"h{level}", tag("span", block.label, klass="tone"), " ", block.title)
    return tag(
        "article",
        joined(heading, draw_all(block.blocks, level + 1)),
        klass=f"card {block.tone}",
        id=block.key or None,
    )


def _checklist(block: Checklist, level: int) -> Markup:
    return joined(*(_card(card, level) for card in block.cards))


def _part(block: Part, level: int) -> Markup:
    return joined(tag(f"h{level}", block.title), draw_all(block.blocks, level + 1))


def _folded(block: Folded, level: int) -> Markup:
    return tag("details", joined(tag("summary", block.title), draw_all(block.blocks, level)))


# Each function takes the type of its key: a mapping's type cannot express that.
_DRAWN: dict[type, Callable[[Any, int], Markup]] = {
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
