"""The topology in the languages of diagrams: Graphviz, Mermaid (for GitHub and many wikis), GraphML."""

from __future__ import annotations

import re

from stackmap.document.picture import Box, Picture
from stackmap.errors import InputError
from stackmap.model.topology import Topology
from stackmap.render.text import safe

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


def render_dot(shown: Picture) -> str:
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


def render_mermaid(shown: Picture) -> str:
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


def _node(box: Box, place: int) -> str:
    text = "<br>".join(
        _SPECIAL.sub(lambda found: f"#{ord(found[0])};", safe(line)) for line in box.lines
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
