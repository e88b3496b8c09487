"""
Where boxes go when they are drawn in layers: Sugiyama's method, its simplest form.

A box lies one layer above the highest that it stands on, so the disks are in
one layer. An arrow over several layers bends at a place of its own in each.
Places are ordered by where those they are tied to lie (barycentre), over and
over, then pulled towards them as far as their neighbours leave room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SWEEPS = 24

Arrows = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Layered:
    """
    The places of boxes.

    ``layers``: keys by layer, the disks' first. ``across``: how far along its
    layer the middle of each lies. ``bends``: what an arrow passes through.
    """

    layers: tuple[tuple[str, ...], ...]
    across: Mapping[str, float]
    bends: Mapping[tuple[str, str], tuple[str, ...]]


def layered(extents: Mapping[str, float], arrows: Arrows, bend: float) -> Layered:
    """Place boxes of these *extents* across their layer; *bend* is what an arrow takes that passes."""
    height = _heights(extents, arrows)
    bends = {
        arrow: tuple(f"{arrow[0]}>{arrow[1]}@{level}" for level in _between(height, arrow))
        for arrow in arrows
    }
    layers: defaultdict[int, list[str]] = defaultdict(list)
    for key in extents:
        layers[height[key]].append(key)
    tied: defaultdict[str, list[str]] = defaultdict(list)
    for arrow, passed in bends.items():
        for level, key in zip(_between(height, arrow), passed, strict=True):
            layers[level].append(key)
        for first, second in _steps(arrow, passed):
            tied[first].append(second)
            tied[second].append(first)
    wide = {key: extents.get(key, bend) for layer in layers.values() for key in layer}
    ordered = [layers[level] for level in sorted(layers)]
    across = _settled(ordered, tied, wide)
    return Layered(tuple(map(tuple, ordered)), across, bends)


def _heights(keys: Iterable[str], arrows: Arrows) -> dict[str, int]:
    """Return how far above the disks each lies: the longest way down; a circle counts once."""
    below: defaultdict[str, list[str]] = defaultdict(list)
    for above, under in arrows:
        below[above].append(under)
    height: dict[str, int] = {}
    for start in keys:
        todo = [(start, iter(below[start]))]
        entered = {start}
        while todo:
            key, remaining = todo[-1]
            following = next((k for k in remaining if k not in height and k not in entered), None)
            if following is None:
                height[key] = max((height.get(k, -1) for k in below[key]), default=-1) + 1
                todo.pop()
            else:
                entered.add(following)
                todo.append((following, iter(below[following])))
    return height


def _between(height: Mapping[str, int], arrow: tuple[str, str]) -> range:
    above, below = arrow
    return range(height[above] - 1, height[below], -1)


def _steps(arrow: tuple[str, str], passed: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    stops = (arrow[0], *passed, arrow[1])
    return pairwise(stops)


def _settled(
    ordered: list[list[str]], tied: Mapping[str, list[str]], wide: Mapping[str, float]
) -> dict[str, float]:
    """Order each layer in place, and return where all come to lie."""
    across: dict[str, float] = {}
    for layer in ordered:
        _spread(layer, across, dict.fromkeys(layer, 0.0), wide)
    for sweep in range(SWEEPS):
        for layer in ordered if sweep % 2 else reversed(ordered):
            wished = {
                key: sum(across[other] for other in tied[key]) / len(tied[key])
                if tied.get(key)
                else across[key]
                for key in layer
            }
            # Ties keep their order: the tree's, which people know.
            layer.sort(key=wished.__getitem__)
            _spread(layer, across, wished, wide)
    return _without_gaps(across, wide)


def _without_gaps(across: Mapping[str, float], wide: Mapping[str, float]) -> dict[str, float]:
    """Return the places moved up over every strip in which no layer has anything."""
    closed: dict[str, float] = {}
    end = moved = 0.0
    for key in sorted(across, key=lambda key: across[key] - wide[key] / 2):
        start = across[key] - wide[key] / 2 - moved
        if start > end or not closed:
            moved += start - end
        closed[key] = across[key] - moved
        end = max(end, closed[key] + wide[key] / 2)
    return closed


def _spread(
    layer: list[str],
    across: dict[str, float],
    wished: Mapping[str, float],
    wide: Mapping[str, float],
) -> None:
    """
    Lay *layer* out in its order, as near to the wishes as it goes without overlap.

    Those that would overlap form a block, which lies where its members' wishes are on average.
    """
    blocks: list[tuple[list[str], float, float]] = []  # keys, sum of wishes for the start, extent
    for key in layer:
        keys, total, extent = [key], wished[key] - wide[key] / 2, wide[key]
        while blocks and blocks[-1][1] / len(blocks[-1][0]) + blocks[-1][2] > total / len(keys):
            before, sum_before, extent_before = blocks.pop()
            total += sum_before - extent_before * len(keys)
            keys, extent = before + keys, extent_before + extent
        blocks.append((keys, total, extent))
    for keys, total, _ in blocks:
        place = total / len(keys)
        for key in keys:
            across[key] = place + wide[key] / 2
            place += wide[key]
