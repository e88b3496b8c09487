"""
Possible edges: no device is below itself, and no stack is deeper than ``MAX_DEPTH``.

The kernel has no such stacks; a damaged or hostile capture may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from stackmap.model.topology import Edge

MAX_DEPTH = 100  # levels; the drawings and the walks of the ledger grow with them

CYCLE = "part of what is below {device}: the input lists a device below itself"
DEEP = f"part of what is below {{device}}: stacks are followed for {MAX_DEPTH} levels"


# The newest edges, with what came of them: after most uevents they are the same, as root and without.
_newest: list[tuple[list[Edge], tuple[list[Edge], list[str]]]] = []
MAX_KEPT = 2


def sound_edges(edges: Iterable[Edge]) -> tuple[list[Edge], list[str]]:
    """Return *edges* without impossible ones, and a sentence for each kind of these."""
    given = [*edges]
    found = next((found for edges, found in _newest if edges == given), None)
    if found is None:
        found = _sound(given)
        _newest[:] = [(given, found), *_newest[: MAX_KEPT - 1]]
    kept, doubts = found
    return [*kept], [*doubts]


def _sound(edges: list[Edge]) -> tuple[list[Edge], list[str]]:
    below: dict[str, list[Edge]] = {}
    for edge in edges:
        below.setdefault(edge.above, []).append(edge)
    if _are_sound(below):
        return edges, []
    closing: set[Edge] = set()
    depth: dict[str, int] = {}
    kept: list[Edge] = []
    doubts: dict[str, str] = {}
    for name in reversed(list(_walk(below, closing))):
        for edge in below.get(name, ()):
            level = depth.get(name, 0) + 1
            if edge in closing:
                doubts.setdefault(CYCLE, CYCLE.format(device=name))
            elif level > MAX_DEPTH:
                doubts.setdefault(DEEP, DEEP.format(device=name))
            else:
                depth[edge.below] = max(level, depth.get(edge.below, 0))
                kept.append(edge)
    return kept, list(doubts.values())


def _are_sound(below: Mapping[str, list[Edge]]) -> bool:
    """Whether no way down has more than ``MAX_DEPTH`` edges; one in a circle would have no end."""
    level = set(below)  # the devices above others to which a way of so many edges leads
    for _ in range(MAX_DEPTH):
        if not level:
            return True
        level = {edge.below for name in level for edge in below[name] if edge.below in below}
    return not level


def _walk(below: Mapping[str, list[Edge]], closing: set[Edge]) -> Iterator[str]:
    """Yield each device after all devices below it; add to *closing* each edge that leads back up."""
    targets = {edge.below for edges in below.values() for edge in edges}
    entered: set[str] = set()
    path: set[str] = set()
    for start in (*(name for name in below if name not in targets), *below):
        todo = [(start, iter(below[start]))] if start not in entered else []
        entered.add(start)
        path.update(name for name, _ in todo)
        while todo:
            name, remaining = todo[-1]
            edge = next(remaining, None)
            if edge is None:
                yield name
                path.discard(name)
                todo.pop()
            elif edge.below in path:
                closing.add(edge)
            elif edge.below not in entered:
                entered.add(edge.below)
                path.add(edge.below)
                todo.append((edge.below, iter(below.get(edge.below, ()))))
