"""
The topology as boxes and arrows, for every kind of diagram, and where a drawing has them.

Each box is a row of the tree: hidden LVs of one role share a box.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from stackmap.document import describe
from stackmap.document.describe import Row, kernel, rows, title
from stackmap.document.pictured_load import PicturedLoad
from stackmap.document.wording import size
from stackmap.errors import InputError
from stackmap.model.device import Kind, Role
from stackmap.model.topology import Edge, Topology

# Fill per kind, light enough for black text.
FILLS = {
    Kind.DISK: "#d9d9d9",
    Kind.PARTITION: "#ececec",
    Kind.LOOP: "#d9d9d9",
    Kind.ZRAM: "#d9d9d9",
    Kind.ARRAY: "#cfe2f3",
    Kind.VOLUME: "#d0e6c8",
    Kind.MEMBER: "#eef6ea",
    Kind.CRYPT: "#ead1dc",
    Kind.MULTIPATH: "#d9d2e9",
    Kind.CACHE: "#fce5cd",
    Kind.BCACHE: "#fce5cd",
    Kind.THIN: "#d0ece7",
    Kind.THIN_POOL: "#b9ddd6",
    Kind.SNAPSHOT: "#fff2cc",
}
PLAIN, MARKED = "#ffffff", "#cfe2f3"
TROUBLE = "#f4cccc"


class Box(NamedTuple):
    """A box; ``key`` identifies it in a diagram, ``lines`` are its text."""

    key: str
    lines: tuple[str, ...]
    fill: str


class Arrow(NamedTuple):
    """
    An arrow from a box to one below it; ``role``: the word beside it, of this program, "" for data.

    ``load``: in words. ``share``: its bytes per second divided by those of the busiest arrow.
    """

    above: str
    below: str
    role: str
    load: str = ""
    share: float = 0.0


class Picture(NamedTuple):
    """Boxes in the order of the tree, and the arrows between them."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def picture(
    topology: Topology,
    *,
    expand: bool = False,
    suspects: Collection[str] = (),
    load: PicturedLoad | None = None,
) -> Picture:
    """
    Return the picture of *topology*; *expand* with a box for each hidden LV.

    *suspects*: devices to mark as if they were degraded. *load*: what to write at boxes and arrows.
    """
    drawn = [row for row in rows(topology, expand=expand) if not row.again]
    keys = {device.name: f"n{place}" for place, row in enumerate(drawn) for device in row.devices}
    arrows: defaultdict[Arrow, list[Edge]] = defaultdict(list)
    for edge in topology.edges:
        role = "" if edge.role is Role.DATA else str(edge.role)
        arrows[Arrow(keys[edge.above], keys[edge.below], role)].append(edge)
    shown = {arrow: edges for arrow, edges in arrows.items() if arrow.above != arrow.below}
    return Picture(
        tuple(Box(keys[row.device.name], _lines(row, load), _fill(row, suspects)) for row in drawn),
        tuple(shown) if load is None else tuple(_loaded(shown, load)),
    )


def _loaded(arrows: Mapping[Arrow, list[Edge]], load: PicturedLoad) -> Iterator[Arrow]:
    loads = {arrow: load.between(edges) for arrow, edges in arrows.items()}
    most = max((loaded.bytes or 0.0 for loaded in loads.values()), default=0.0)
    for arrow, loaded in loads.items():
        share = (loaded.bytes or 0.0) / most if most else 0.0
        yield arrow._replace(load=loaded.words, share=share)


def _lines(row: Row, load: PicturedLoad | None) -> tuple[str, ...]:
    count = f"{len(row.devices)} × " if len(row.devices) > 1 else ""
    lines = (
        title(row._replace(above=())),
        count + describe.what(row.device),
        ", ".join(filter(None, (kernel(row), size(row.device.size)))),
        "" if _is_fine(row) else describe.states(row.devices),
        describe.users(row.device),
        "" if load is None else load.at([device.name for device in row.devices]),
    )
    return tuple(filter(None, lines))


def _is_fine(row: Row) -> bool:
    return all(device.state in describe.FINE for device in row.devices)


def _fill(row: Row, suspects: Collection[str]) -> str:
    fine = _is_fine(row) and not any(device.name in suspects for device in row.devices)
    return FILLS.get(row.device.kind, PLAIN) if fine else TROUBLE


SWEEPS = 24
STEP = 7.0  # between the ends of arrows at a box, if there is room
WORDS_STEP = 11.0  # between those with words beside them
MARGIN = 8.0  # of a box, without ends of arrows
NARROW, WIDE = 90.0, 240.0  # widths of the channel between two layers
SPACE = 2.5  # of a channel, per arrow in it
MOST = 5000  # arrows, each counted once per layer that it leads down: two seconds of work
UNREADABLE = (
    f"more than {MOST} lines between its boxes: no picture shows that; "
    "give the NAMEs of fewer devices, or use tree --graphml or tree -J"
)

Link = tuple[str, str]
Links = Sequence[Link]


class Layered(NamedTuple):
    """
    The positions of boxes.

    ``layers``: keys by layer, the disks first. ``across``: the middle of each
    along its layer. ``bends``: the keys that an arrow passes through.
    """

    layers: tuple[tuple[str, ...], ...]
    across: Mapping[str, float]
    bends: Mapping[tuple[str, str], tuple[str, ...]]


def layered(extents: Mapping[str, float], arrows: Links, bend: float) -> Layered:
    """
    Return positions for boxes of these *extents*; *bend* is the extent of a passing arrow.

    ``InputError`` for more than ``MOST`` arrows.
    """
    height = _heights(extents, arrows)
    if sum(1 + len(_between(height, arrow)) for arrow in arrows) > MOST:
        raise InputError(UNREADABLE)
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
        for first, second in pairwise((arrow[0], *passed, arrow[1])):
            tied[first].append(second)
            tied[second].append(first)
    wide = {key: extents.get(key, bend) for layer in layers.values() for key in layer}
    ordered = [layers[level] for level in sorted(layers)]
    across = _settled(ordered, tied, wide)
    return Layered(tuple(map(tuple, ordered)), across, bends)


def _heights(keys: Iterable[str], arrows: Links) -> dict[str, int]:
    """Return the longest way down from each box, in layers; a cycle counts once."""
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


def _settled(
    ordered: list[list[str]], tied: Mapping[str, list[str]], wide: Mapping[str, float]
) -> dict[str, float]:
    """Sort each layer in place and return all positions."""
    across: dict[str, float] = {}
    for layer in ordered:
        _spread(layer, across, dict.fromkeys(layer, 0.0), wide)
    for sweep in range(SWEEPS):
        for layer in ordered if sweep % 2 else reversed(ordered):
            target = {
                key: sum(across[other] for other in tied[key]) / len(tied[key])
                if tied.get(key)
                else across[key]
                for key in layer
            }
            # The sort is stable: ties keep the order of the tree.
            layer.sort(key=target.__getitem__)
            _spread(layer, across, target, wide)
    # Without strips that are empty in every layer.
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
    target: Mapping[str, float],
    wide: Mapping[str, float],
) -> None:
    """
    Place *layer* in its order, as close to *target* as possible without overlap.

    Boxes that would overlap form a block, placed at the mean of their targets.
    """
    blocks: list[tuple[list[str], float, float]] = []  # keys, sum of target starts, extent
    for key in layer:
        keys, total, extent = [key], target[key] - wide[key] / 2, wide[key]
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


def ends(
    places: Layered, highs: Mapping[str, float], step: float = STEP
) -> tuple[dict[Link, float], dict[Link, float]]:
    """Return where along the layer each arrow leaves its box and reaches the one below, *step* apart if there is room."""
    leaves: dict[Link, float] = {}
    reaches: dict[Link, float] = {}
    for where, end, neighbour in ((leaves, 0, 1), (reaches, 1, -2)):
        sides: defaultdict[str, list[tuple[float, Link]]] = defaultdict(list)
        for arrow in places.bends:
            towards = places.across[_way(places, arrow)[neighbour]]
            sides[arrow[end]].append((towards, arrow))
        for box, arrows in sides.items():
            where.update(_spread_ends(places.across[box], highs[box], arrows, step))
    return leaves, reaches


def channels(places: Layered, least: float = NARROW) -> list[float]:
    """Return the width of the channel below each layer, *least* or more; the disks, first, have none."""
    level = {key: number for number, layer in enumerate(places.layers) for key in layer}
    crossing = Counter(
        max(level[first], level[second])
        for arrow in places.bends
        for first, second in pairwise(_way(places, arrow))
    )
    return [
        max(least, min(WIDE, NARROW + SPACE * crossing[number])) if number else 0.0
        for number in range(len(places.layers))
    ]


def _way(places: Layered, arrow: Link) -> tuple[str, ...]:
    """Return the keys that *arrow* passes, its ends included."""
    return (arrow[0], *places.bends[arrow], arrow[1])


def _spread_ends(
    middle: float, high: float, towards: list[tuple[float, Link]], step: float
) -> dict[Link, float]:
    """Return the positions of arrows at a box, in the order of their other ends."""
    step = min(step, (high - 2 * MARGIN) / len(towards))
    first = middle - step * (len(towards) - 1) / 2
    return {arrow: first + step * place for place, (_, arrow) in enumerate(sorted(towards))}
