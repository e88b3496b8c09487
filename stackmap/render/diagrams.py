"""Pictures as text for other programs: Graphviz, Mermaid, SVG; the topology as GraphML."""

import re
from collections import Counter
from html import escape

from stackmap.errors import InputError
from stackmap.model.topology import Topology
from stackmap.render import picture
from stackmap.render.text import cut, safe, width

DOT = """\
digraph stackmap {
  rankdir=LR; ranksep=1.2; nodesep=0.15;
  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];
  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6, color="#666666"];
"""
# With the defaults names wrap and arrows run behind boxes.
MERMAID = """\
%%{init: {"flowchart": {"wrappingWidth": 600, "rankSpacing": 160, "nodeSpacing": 20}}}%%
flowchart LR
"""
# Characters that Mermaid or its HTML would interpret.
_SPECIAL = re.compile(r'["#&<>;`\\\[\](){}|]')


def render_dot(shown: picture.Picture) -> str:
    """Return *shown* as a digraph, from the tops on the left to the disks on the right."""
    lines = [
        f'{box.key} [label="{_quoted(box.lines)}", fillcolor="{box.fill}"];' for box in shown.boxes
    ]
    for arrow in shown.arrows:
        style = f' [label="{arrow.role}", style=dashed]' if arrow.role else ""
        lines.append(f"{arrow.above} -> {arrow.below}{style};")
    return DOT + "".join(f"  {line}\n" for line in map(safe, lines)) + "}\n"


def _quoted(lines: tuple[str, ...]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in map(safe, lines))
    return "\\n".join(escaped)


def render_mermaid(shown: picture.Picture) -> str:
    """Return *shown* as a flowchart, from the tops on the left to the disks on the right."""
    fills = list(dict.fromkeys(box.fill for box in shown.boxes))
    lines = [_node(box, fills.index(box.fill)) for box in shown.boxes]
    for arrow in shown.arrows:
        line = f"-. {arrow.role} .->" if arrow.role else "-->"
        lines.append(f"{arrow.above} {line} {arrow.below}")
    lines += [
        f"classDef c{place} fill:{fill},stroke:#666,color:#000" for place, fill in enumerate(fills)
    ]
    return MERMAID + "".join(f"  {line}\n" for line in lines)


def _node(box: picture.Box, place: int) -> str:
    text = "<br>".join(
        _SPECIAL.sub(lambda match: f"#{ord(match[0])};", safe(line)) for line in box.lines
    )
    return f'{box.key}["{text}"]:::c{place}'


def render_graphml(topology: Topology) -> str:
    """Return every device and edge with their attributes."""
    # Imported here: it takes 100 ms, which only this format needs; Debian's package suggests it.
    try:
        import networkx as nx
    except ImportError as error:
        raise InputError("GraphML needs networkx: install python3-networkx") from error

    graph = topology.graph()
    # XML cannot contain control characters.
    for name, label in graph.nodes(data="label"):
        graph.nodes[name]["label"] = safe(label)
    return "\n".join(nx.generate_graphml(nx.relabel_nodes(graph, safe))) + "\n"


LETTER = 6.7  # pixels per column of text
LINE = 15
PADDING = 8
GAP = 12  # between boxes of a layer
BEND = 14  # extent of an arrow that passes a layer
WIDEST = 40  # columns of text in a box
SMALL = 6.1  # pixels per letter of the words at an arrow
THICKEST = 4  # the class of the line with most bytes; of a line without load 0

_WEIGHT = {False: "t", True: "x"}  # the first line of a box is its title

_STYLE = (
    "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#000}"
    ".t{font-weight:bold}"
    # A white outline keeps lines from striking words out.
    "text.r{font-size:10px;fill:#444;stroke:#fff;stroke-width:3px;paint-order:stroke}"
    "rect{stroke:#666;stroke-width:1}"
    "path{fill:none;stroke:#888;stroke-width:1.2}path.r{fill:none;stroke-dasharray:4 3}"
    "path.w1{stroke-width:1.8}path.w2{stroke-width:2.6}path.w3{stroke-width:3.6}path.w4{stroke-width:4.8}"
)


def render_svg(shown: picture.Picture, *, embedded: bool = False) -> str:
    """
    Return *shown* as SVG, from the tops on the left to the disks on the right.

    *embedded*: without a style of its own, which would apply to the whole page.
    """
    extents = {box.key: _high(box) + GAP for box in shown.boxes}
    arrows = list(dict.fromkeys((arrow.above, arrow.below) for arrow in shown.arrows))
    places = picture.layered(extents, arrows, BEND)
    boxes = {box.key: box for box in shown.boxes}
    words = max((len(_words(arrow)) for arrow in shown.arrows if arrow.load), default=0)
    left, widths, whole = _lanes(places, boxes, words * SMALL + 3 * PADDING)
    highs = {key: _high(box) for key, box in boxes.items()}
    leaves, reaches = picture.ends(places, highs, picture.WORDS_STEP if words else picture.STEP)
    arrived = Counter(arrow.below for arrow in shown.arrows)
    high = max((places.across[key] + extent / 2 for key, extent in extents.items()), default=0.0)
    parts, texts = [], []
    beside: Counter[tuple[str, str]] = Counter()
    for arrow in shown.arrows:
        key = arrow.above, arrow.below
        parts.append(_line(arrow, places, left, widths, (leaves[key], reaches[key])))
        fits = (
            arrived[arrow.below] == 1
            or arrived[arrow.below] * picture.WORDS_STEP
            <= highs[arrow.below] - 2 * picture.MARGIN + 1
        )
        spoken = arrow if fits else arrow._replace(load="")
        # Beside the box it points to, where arrows are apart.
        end = left[arrow.below], reaches[key] + beside[key] * picture.WORDS_STEP
        texts.append(_beside(spoken, *end))
        beside[key] += 1
    parts += filter(None, texts)  # no line is drawn over words
    parts += [
        _box(boxes[key], left[key], widths[key], places.across[key])
        for layer in places.layers
        for key in layer
        if key in boxes
    ]
    style = f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff" stroke="none"/>'
    look = "" if embedded else style
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole:.0f}" height="{high + GAP:.0f}" '
        f'viewBox="0 0 {whole:.0f} {high + GAP:.0f}">{look}\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _high(box: picture.Box) -> float:
    return len(box.lines) * LINE + PADDING


def _words(arrow: picture.Arrow) -> str:
    return f"{arrow.role} {arrow.load}".strip()


def _lanes(
    places: picture.Layered, boxes: dict[str, picture.Box], channel: float
) -> tuple[dict[str, float], dict[str, float], float]:
    """Return the left edge and width of each box and bend, and the total width; between layers is a *channel* or more."""
    left: dict[str, float] = {}
    widths: dict[str, float] = {}
    x: float = GAP
    between = picture.channels(places, max(picture.NARROW, channel))
    for layer, space in zip(reversed(places.layers), reversed(between), strict=True):
        lines = [line for key in layer if key in boxes for line in boxes[key].lines]
        columns = min(WIDEST, max((width(safe(line)) for line in lines), default=0))
        lane = columns * LETTER + 2 * PADDING if lines else 0.0
        left |= dict.fromkeys(layer, x)
        widths |= dict.fromkeys(layer, lane)
        x += lane + space
    return left, widths, x + GAP


def _box(box: picture.Box, x: float, wide: float, middle: float) -> str:
    high = _high(box)
    top = middle - high / 2
    first = top + PADDING / 2 + LINE * 0.75
    lines = "".join(
        f'<text class="{_WEIGHT[place > 0]}" x="{x + PADDING:.0f}" '
        f'y="{first + LINE * place:.0f}">{escape(cut(safe(line), WIDEST))}</text>'
        for place, line in enumerate(box.lines)
    )
    title = escape(safe(", ".join(box.lines)))
    return (
        f'<g><title>{title}</title><rect x="{x:.0f}" y="{top:.0f}" width="{wide:.0f}" '
        f'height="{high:.0f}" rx="5" fill="{box.fill}"/>{lines}</g>'
    )


def _line(
    arrow: picture.Arrow,
    places: picture.Layered,
    left: dict[str, float],
    widths: dict[str, float],
    at: tuple[float, float],
) -> str:
    """Return the line of an arrow, straight across layers and curved between them."""
    stops = (*places.bends[arrow.above, arrow.below], arrow.below)
    x, y = left[arrow.above] + widths[arrow.above], at[0]
    path = [f"M{x:.0f} {y:.0f}"]
    for stop in stops:
        to_x, to_y = left[stop], at[1] if stop == arrow.below else places.across[stop]
        half = (x + to_x) / 2
        path.append(f"C{half:.0f} {y:.0f} {half:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}")
        x, y = to_x, to_y
        if stop != arrow.below:
            x += widths[stop]
            path.append(f"H{x:.0f}")
    thick = round(THICKEST * arrow.share**0.5)
    classes = " ".join(["r"] * bool(arrow.role) + [f"w{thick}"] * bool(thick))
    kind = f' class="{classes}"' if classes else ""
    return f'<path{kind} d="{"".join(path)}"/>'


def _beside(arrow: picture.Arrow, x: float, y: float) -> str:
    """Return the words of an arrow that ends there, "" for none."""
    words = escape(_words(arrow))
    return words and (
        f'<text class="r" x="{x - 6:.0f}" y="{y - 3:.0f}" text-anchor="end">{words}</text>'
    )
