"""
A page → an HTML document.

Its policy forbids network access and every script except its own two, which
the policy lists by hash. A name that passed all escaping could run nothing.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import singledispatch
from itertools import groupby
from typing import NamedTuple

from stackmap.document import blocks as doc
from stackmap.document.blocks import Page
from stackmap.errors import InputError
from stackmap.model.load import on_one_line
from stackmap.render.diagrams import render_svg
from stackmap.render.html import Markup, data, joined, lines, tag, text
from stackmap.render.html.plot import bars, label, places, plot, scale_of
from stackmap.render.picture import MARKED, PLAIN, Arrow, Box, Picture, picture
from stackmap.render.text import code_spans
from stackmap.render.tree import render_tree


@singledispatch
def draw(block: object, level: int) -> Markup:
    """Return *block* with headings of *level* (3 in a section)."""
    raise TypeError(block, level)


def draw_all(blocks: Iterable[doc.Block], level: int) -> Markup:
    """Return *blocks*; consecutive charts are side by side."""
    parts: list[Markup] = []
    for are_charts, group in groupby(blocks, key=lambda block: isinstance(block, doc.Chart)):
        drawn = [draw(block, level) for block in group]
        parts += [tag("div", joined(*drawn), klass="charts")] if are_charts else drawn
    return joined(*parts)


def draw_section(section: doc.Section) -> Markup:
    """Return a section with its heading; a folded one opens without a script."""
    heading, blocks = tag("h2", section.title), draw_all(section.blocks, 3)
    if section.folded:
        content = tag("details", joined(tag("summary", heading), blocks))
    else:
        content = joined(heading, blocks)
    return tag("section", content, id=section.key, klass=_on_screen(section))


def _on_screen(block: doc.Section | doc.Folded) -> str | None:
    """Return the class of what paper leaves out."""
    return None if block.printed else "screen"


@draw.register(doc.Headline)
def _headline(block: doc.Headline, level: int) -> Markup:
    return tag(f"h{level - 1}", "  ".join(filter(None, block.parts)))


@draw.register(doc.Command)
def _command(block: doc.Command, level: int) -> Markup:
    return _code(doc.Code(block.line), level)


@draw.register(doc.Paragraph)
def _paragraph(block: doc.Paragraph, _: int) -> Markup:
    lead = [tag("strong", block.lead), " "] if block.lead else []
    klass = "headline" if block.headline else None
    return tag("p", *lead, *_prose(block.text), klass=klass)


def _prose(words: str) -> list[str]:
    """Return *words* with commands in backticks as code."""
    return [tag("code", part) if n % 2 else part for n, part in enumerate(code_spans(words))]


@draw.register(doc.Listing)
def _listing(block: doc.Listing, _: int) -> Markup:
    return tag("ul", joined(*(tag("li", *_prose(item)) for item in block.items)))


@draw.register(doc.Terms)
def _terms(block: doc.Terms, _: int) -> Markup:
    return tag(
        "dl", joined(*(tag("dt", word) + tag("dd", meaning) for word, meaning in block.pairs))
    )


@draw.register(doc.Table)
def _table(block: doc.Table, _: int) -> Markup:
    heads = [
        tag("th", on_one_line(column.heading), scope="col", klass=css_class(column))
        for column in block.columns
    ]
    parts = [
        tag("caption", block.caption) if block.caption else "",
        tag("thead", tag("tr", *heads)),
        *(_body(rows, block) for rows in block.groups),
    ]
    table = tag("div", tag("table", joined(*parts), id=block.key), klass="wide")
    return joined(table, tag("p", block.legend, klass="words") if block.legend else "")


def _body(rows: doc.Rows, table: doc.Table) -> Markup:
    title = tag("th", rows.title, scope="rowgroup", colspan=str(len(table.headings)))
    heading = tag("tr", title, klass="group") if rows.title else ""
    return tag("tbody", joined(heading, *(_row(row, table) for row in rows.rows)))


def css_class(column: doc.Column) -> str | None:
    """Return the class of a column's cells: numbers, or left out on a phone."""
    words = ["n"] * (not column.is_text) + ["minor"] * column.minor
    return " ".join(words) or None


def _row(cells: doc.Row, table: doc.Table) -> Markup:
    first, *rest = map(str, cells)
    klass = "sub" if first.startswith(" ") else None
    others = (
        tag("td", _foldable(cell) if column.is_text else cell, klass=css_class(column))
        for cell, column in zip(rest, table.columns[1:], strict=False)
    )
    return tag("tr", tag("th", _foldable(first.strip()), scope="row", klass=klass), *others)


# A long name is folded behind a separator, or where so many letters have none.
LONG_NAME = re.compile(r"\S{17,}")
FOLDS = re.compile(r"(?:&#?\w+;|[^&./_:@-]){1,16}[./_:@-]*|[./_:@-]+")


def _foldable(words: str) -> Markup:
    """Return *words* with the places where a browser may fold long names."""
    return Markup(LONG_NAME.sub(lambda name: "<wbr>".join(FOLDS.findall(name[0])), text(words)))


@draw.register(doc.Code)
def _code(block: doc.Code, _: int) -> Markup:
    return tag("pre", tag("code", lines(block.text)), klass="copy", data_name=block.name or None)


@draw.register(doc.Stack)
def _stack(block: doc.Stack, level: int) -> Markup:
    try:
        shown = picture(block.topology, suspects=block.suspects, load=block.load)
        drawing = Markup(render_svg(shown, embedded=True))
    except InputError as error:  # more than a picture can show: the tree below has it all
        drawing = tag("p", str(error))
    tree = doc.Folded("The same as text", (doc.Code(render_tree(block.topology)),), printed=False)
    return _drawing(block.title, drawing, draw(tree, level))


@draw.register(doc.Diagram)
def _diagram(block: doc.Diagram, _: int) -> Markup:
    boxes = (Box(n.key, n.lines, MARKED if n.marked else PLAIN) for n in block.nodes)
    shown = Picture(tuple(boxes), tuple(Arrow(*link) for link in block.links))
    return _drawing(block.title, Markup(render_svg(shown, embedded=True)))


def _drawing(title: str, drawing: Markup, *below: Markup) -> Markup:
    shown = tag("div", drawing, klass="wide stack", role="img", aria_label=title)
    return tag("figure", joined(shown, tag("figcaption", title), *below))


@draw.register(doc.Chart)
def _chart(block: doc.Chart, _: int) -> Markup:
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


def _values(block: doc.Chart) -> dict[str, object]:
    scale = scale_of(block)

    def shown(values: Iterable[float | None]) -> list[float | None]:
        return [None if v is None else float(f"{v / scale.factor:.6g}") for v in values]

    bars = block.axis in ("hour", "size")
    return {
        "axis": block.axis,
        "unit": scale.unit,
        "x": [round(x, 3) for x in places(block)],
        "names": [label(block, place) for place in range(len(block.x))] if bars else [],
        "shaded": [[round(x, 3) for x in span] for span in block.shaded],
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


@draw.register(doc.Bars)
def _bars(block: doc.Bars, _: int) -> Markup:
    caption = tag("figcaption", tag("b", block.title), f", {block.unit}")
    return tag("figure", joined(caption, tag("div", bars(block), klass="wide")))


@draw.register(doc.Tiles)
def _tiles(block: doc.Tiles, _: int) -> Markup:
    return tag("div", joined(*map(_tile, block.tiles)), klass="tiles")


UNIT = re.compile(r"(?<=\d) (?=[a-zA-Z]+\b(?! \d))")  # the space between a number and its unit


def _tile(tile: doc.Tile) -> Markup:
    return tag(
        "div",
        tag("span", tile.label, klass="what"),
        tag("span", UNIT.sub("\N{NO-BREAK SPACE}", tile.value), klass="figure"),
        tag("span", tile.beside, klass="beside") if tile.beside else "",
        klass="tile",
    )


@draw.register(doc.Card)
def _card(block: doc.Card, level: int) -> Markup:
    heading = tag(f"h{level}", tag("span", block.label, klass="tone"), " ", block.title)
    return tag(
        "article",
        joined(heading, draw_all(block.blocks, level + 1)),
        klass=f"card {block.tone}",
        id=block.key or None,
    )


@draw.register(doc.Checklist)
def _checklist(block: doc.Checklist, level: int) -> Markup:
    parts = (doc.Part(device, cards) for device, cards in block.groups)
    return joined(*(_part(part, level) for part in parts))


@draw.register(doc.Part)
def _part(block: doc.Part, level: int) -> Markup:
    return joined(tag(f"h{level}", block.title), draw_all(block.blocks, level + 1))


@draw.register(doc.Folded)
def _folded(block: doc.Folded, level: int) -> Markup:
    parts = joined(tag("summary", block.title), draw_all(block.blocks, level))
    return tag("details", parts, klass=_on_screen(block))


class Assets(NamedTuple):
    """The page's styles and scripts, ours or vendored: never escaped."""

    styles: tuple[str, ...]
    scripts: tuple[str, ...]


def render_html(page: Page, assets: Assets) -> str:
    """Return *page* as one HTML file."""
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(assets)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),  # without it a browser requests one
        tag("title", page.title),
        *(Markup(f"<style>{style}</style>") for style in assets.styles),
    )
    body = joined(
        tag("header", joined(tag("h1", page.title), *(tag("p", line) for line in page.about))),
        tag("main", joined(*map(draw_section, page.sections))),
        *(Markup(f"<script>{script}</script>") for script in assets.scripts),
    )
    return f"<!DOCTYPE html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def _policy(assets: Assets) -> str:
    scripts = " ".join(map(_hash, assets.scripts))
    styles = " ".join(map(_hash, assets.styles))
    return f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'"


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
