"""The topology as GraphML, for Gephi, yEd and networkx."""

from __future__ import annotations

from stackmap.model.topology import Topology
from stackmap.render.text import safe


def render_graphml(topology: Topology) -> str:
    """Return every device and edge with their attributes."""
    # Imported here: it takes 100 ms, which only this format needs.
    import networkx as nx

    graph = topology.graph()
    # XML cannot contain control characters.
    for name, label in graph.nodes(data="label"):
        graph.nodes[name]["label"] = safe(label)
    return "\n".join(nx.generate_graphml(nx.relabel_nodes(graph, safe))) + "\n"
