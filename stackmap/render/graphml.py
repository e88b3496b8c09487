"""The topology as GraphML, for Gephi, yEd and networkx."""

from __future__ import annotations

from stackmap.model.topology import Topology
from stackmap.render.text import safe


def render_graphml(topology: Topology) -> str:
    """Return every device and edge, with what the graph knows of them."""
    # Imported here: 100 ms that only this form needs (FEASIBILITY 3).
    import networkx as nx

    graph = topology.graph()
    # XML has no way at all to write a control character.
    for name, label in graph.nodes(data="label"):
        graph.nodes[name]["label"] = safe(label)
    return "\n".join(nx.generate_graphml(nx.relabel_nodes(graph, safe))) + "\n"
