"""
Routes of arrows between layers: where each begins and ends, and the room between layers.

Twenty arrows that end in one point are unreadable. A few pixels apart and in
the order of their origin, each can be followed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise

from stackmap.render.layered import Layered

Arrow = tuple[str, str]

STEP = 7.0  # between the ends of arrows at a box, if there is room
MARGIN = 8.0  # of a box, without ends of arrows
NARROW, WIDE = 90.0, 240.0  # widths of the channel between two layers
SPACE = 2.5  # of a channel, per arrow in it


def ends(
    places: Layered, highs: Mapping[str, float]
) -> tuple[dict[Arrow, float], dict[Arrow, float]]:
    """Return where along the layer each arrow leaves its box and reaches the one below."""
    leaves: dict[Arrow, float] = {}
    reaches: dict[Arrow, float] = {}
    for found, end, neighbour in ((leaves, 0, 1), (reaches, 1, -2)):
        sides: defaultdict[str, list[tuple[float, Arrow]]] = defaultdict(list)
        for arrow in places.bends:
            towards = places.across[_way(places, arrow)[neighbour]]
            sides[arrow[end]].append((towards, arrow))
        for box, arrows in sides.items():
            found.update(_spread(places.across[box], highs[box], arrows))
    return leaves, reaches


def channels(places: Layered) -> list[float]:
    """Return the width of the channel below each layer; the disks, first, have none."""
    level = {key: number for number, layer in enumerate(places.layers) for key in layer}
    crossing = Counter(
        max(level[first], level[second])
        for arrow in places.bends
        for first, second in pairwise(_way(places, arrow))
    )
    return [
        min(WIDE, NARROW + SPACE * crossing[number]) if number else 0.0
        for number in range(len(places.layers))
    ]


def _way(places: Layered, arrow: Arrow) -> tuple[str, ...]:
    """Return the keys that *arrow* passes, its ends included."""
    return (arrow[0], *places.bends[arrow], arrow[1])


def _spread(middle: float, high: float, towards: list[tuple[float, Arrow]]) -> dict[Arrow, float]:
    """Return the positions of arrows at a box, in the order of their other ends."""
    step = min(STEP, (high - 2 * MARGIN) / len(towards))
    first = middle - step * (len(towards) - 1) / 2
    return {arrow: first + step * place for place, (_, arrow) in enumerate(sorted(towards))}
