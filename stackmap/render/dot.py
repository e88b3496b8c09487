"""The topology in the Graphviz language: ``stackmap tree --dot | dot -Tsvg``."""

from __future__ import annotations

from stackmap.document.picture import Arrow, Box, Picture
from stackmap.render.text import safe

_HEAD = """\
digraph stackmap {
  rankdir=LR; ranksep=1.2; nodesep=0.15;
  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];
  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6, color="#666666"];
"""


def render_dot(shown: Picture) -> str:
    """Return *shown* as a digraph, from the tops on the left to the disks on the right."""
    lines = [*map(_node, shown.boxes), *map(_edge, shown.arrows)]
    return _HEAD + "".join(f"  {line}\n" for line in map(safe, lines)) + "}\n"


def _node(box: Box) -> str:
    return f'{box.key} [label="{_quoted(box.lines)}", fillcolor="{box.fill}"];'


def _edge(arrow: Arrow) -> str:
    style = f' [label="{arrow.role}", style=dashed]' if arrow.role else ""
    return f"{arrow.above} -> {arrow.below}{style};"


def _quoted(lines: tuple[str, ...]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in map(safe, lines))
    return "\\n".join(escaped)
