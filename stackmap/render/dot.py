"""The topology in the Graphviz language: ``stackmap tree --dot | dot -Tsvg``."""

from __future__ import annotations

from stackmap.document.picture import Picture
from stackmap.render.text import safe

_HEAD = """\
digraph stackmap {
  rankdir=LR; ranksep=1.2; nodesep=0.15;
  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];
  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6, color="#666666"];
"""


def render_dot(shown: Picture) -> str:
    """Return *shown* as a digraph, from the tops on the left to the disks on the right."""
    lines = [
        f'{box.key} [label="{_quoted(box.lines)}", fillcolor="{box.fill}"];' for box in shown.boxes
    ]
    for arrow in shown.arrows:
        style = f' [label="{arrow.role}", style=dashed]' if arrow.role else ""
        lines.append(f"{arrow.above} -> {arrow.below}{style};")
    return _HEAD + "".join(f"  {line}\n" for line in map(safe, lines)) + "}\n"


def _quoted(lines: tuple[str, ...]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in map(safe, lines))
    return "\\n".join(escaped)
