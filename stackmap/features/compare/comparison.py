"""
The figures that are compared, as a table, and one figure of one layer on both sides.

A figure is a ratio of sums over all intervals. Figures of the load describe the load. All others
are per request or byte of it, so they are comparable although the load differs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stackmap.features.compare.estimate import Change, Estimate, change, estimate
from stackmap.features.compare.recording import LAST, TOP, StackRecord, Sum
from stackmap.model.load import ratio

Ratio = Callable[[Sequence[float]], "float | None"]


def _quotient(sums: Sequence[float]) -> float | None:
    return ratio(sums[0], sums[1])


def _shrink(sums: Sequence[float]) -> float | None:
    """Return the top's mean request size ÷ the mean size of what arrives here."""
    top_bytes, top_ios, here_bytes, here_arrivals = sums
    return ratio(ratio(top_bytes, top_ios), ratio(here_bytes, here_arrivals))


@dataclass(frozen=True, slots=True)
class Figure:
    """
    One figure of a layer.

    ``titles``: of its row in the table, by direction. ``sums``: (layer, quantity[, direction]), where "here"
    is the layer; the direction is the figure's unless given. ``of``: computes the figure from them.
    ``where``: the layers that have it.
    """

    key: str
    titles: Mapping[str, str]
    sums: tuple[tuple[str, ...], ...]
    where: str = "below"
    unit: str = ""
    of: Ratio = _quotient

    def columns(self, layer: str, direction: str) -> list[Sum]:
        """Return the keys of its sums in *layer*."""
        return [
            (TOP if place == "top" else layer, other[0] if other else direction, quantity)
            for place, quantity, *other in self.sums
        ]

    def is_of(self, layer: str) -> bool:
        """Whether *layer* has it."""
        places = {"top": layer == TOP, "below": layer != TOP, "last": layer == LAST, "all": True}
        return places[self.where]

    def measured(self, side: StackRecord, layer: str, direction: str) -> Estimate | None:
        """Return the figure for *layer* of *side*; None if not known."""
        if self.key == "write_cost" and side.parity and layer not in side.caused:
            return None  # parity reads cannot be separated from others
        columns = side.columns_of(self.columns(layer, direction))
        return None if columns is None else estimate(columns, self.of, side.counting_error)


ALL_DIRECTIONS = ("read", "write", "total")
READ_WRITE = ("read", "write")

LOAD = (
    Figure("rate", {"read": "reads/s", "write": "writes/s", "total": "requests/s"},
           (("here", "ios"), ("here", "seconds", "total")), "top", "/s"),
    Figure("bytes", {"read": "KiB/s read", "write": "KiB/s written"},
           (("here", "bytes"), ("here", "seconds", "total")), "top", "B/s"),
    Figure("size", {"read": "KiB per read", "write": "KiB per write", "total": "KiB per request"},
           (("here", "bytes"), ("here", "ios")), "top", "B"),
    Figure("queue", {"total": "queue depth"}, (("here", "queue"), ("here", "seconds")), "top"),
    Figure("flushes", {"total": "flushes/s"}, (("here", "flushes"), ("here", "seconds")), "top", "/s"),
)  # fmt: skip

# One key may have two lines, for different directions: the sums, and so the words, differ. "all" includes
# metadata; "cost" is what the disks did for writes, the reads that they caused too.
RATIOS = (
    Figure("disk_bytes", {"write": "disk bytes per byte written"},
           (("here", "cost bytes"), ("top", "bytes")), "last"),
    Figure("requests",
           {"read": "arrived per read", "write": "arrived per write", "total": "arrived per request"},
           (("here", "arrivals"), ("top", "ios"))),
    Figure("bytes",
           {"read": "bytes per byte read", "write": "bytes per byte written", "total": "bytes per byte"},
           (("here", "bytes"), ("top", "bytes"))),
    Figure("disk_bytes", {"total": "disk bytes per byte"}, (("here", "all bytes"), ("top", "bytes")), "last"),
    Figure("shrink", {"read": "shrink of reads", "write": "shrink of writes", "total": "shrink"},
           (("top", "bytes"), ("top", "ios"), ("here", "bytes"), ("here", "arrivals")), of=_shrink),
    Figure("coalescing",
           {"read": "coalescing of reads", "write": "coalescing of writes", "total": "coalescing"},
           (("here", "own arrivals"), ("here", "own ios")), "last"),
    Figure("completed", {"read": "completed per read", "write": "completed per write"},
           (("here", "ios"), ("top", "ios")), "last"),
    Figure("completed", {"total": "completed per request"}, (("here", "all ios"), ("top", "ios")), "last"),
    Figure("write_cost", {"write": "completed per write, with reads"},
           (("here", "cost ios"), ("top", "ios")), "last"),
)  # fmt: skip

AWAIT = Figure("await", {"read": "read await, ms", "write": "write await, ms", "total": "await, ms"},
               (("here", "own wait"), ("here", "own ios")), "all", "ms")  # fmt: skip


class FigureComparison(NamedTuple):
    """
    One figure of one layer before and after; None where not known.

    ``change``: None if either side is. ``reason``: why both were measured but not
    compared. ``significant``: the change is not chance, judged with all figures of the stack.
    """

    figure: Figure
    layer: str
    direction: str
    before: Estimate | None
    after: Estimate | None
    change: Change | None
    reason: str = ""
    significant: bool = False


def compare_figure(
    figure: Figure, old: StackRecord, new: StackRecord, layer: str, direction: str
) -> FigureComparison | None:
    """Return one figure of one layer on both sides; None if it is 0 or unknown on both."""
    sides = [figure.measured(side, layer, direction) for side in (old, new)]
    return compare_sides(figure, (layer, direction), sides)


def compare_sides(
    figure: Figure, place: tuple[str, str], sides: Sequence[Estimate | None], reason: str = ""
) -> FigureComparison | None:
    """Return both *sides* of a figure at *place*, a layer and direction; without a change if *reason* forbids it."""
    before, after = sides
    if not any(side is not None and side.value for side in sides):
        return None
    both = change(before, after) if before and after and not reason else None
    return FigureComparison(figure, *place, before, after, both, reason)
