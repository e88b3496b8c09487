"""
The figures that are compared, as a table, and one figure of one layer on both sides.

A figure is a ratio of sums over all intervals. Figures of the load describe the load. All others
are per request or byte of it, so they are comparable although the load differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stackmap.features.compare.estimate import Change, Estimate, change, estimate
from stackmap.features.compare.recording import LAST, TOP, Sum, Sums
from stackmap.model.device import Device
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

    ``sums``: (layer, quantity[, direction]), where "here" is the layer; the direction is
    the figure's unless given. ``of``: computes the figure from them. ``where``: the layers that have it.
    """

    key: str
    what: str
    directions: tuple[str, ...]
    sums: tuple[tuple[str, ...], ...]
    where: str = "below"
    unit: str = ""
    of: Ratio = _quotient

    def columns(self, layer: str, direction: str) -> list[Sum]:
        """Return the keys of its sums in *layer*."""
        found = []
        for place, quantity, *other in self.sums:
            way = other[0] if other else direction
            found.append((TOP if place == "top" else layer, way, quantity))
        return found

    def is_of(self, layer: str) -> bool:
        """Whether *layer* has it."""
        return {
            "top": layer == TOP,
            "below": layer != TOP,
            "last": layer == LAST,
            "all": True,
        }[self.where]


ALL_DIRECTIONS = ("read", "write", "total")
READ_WRITE = ("read", "write")

LOAD = (
    Figure("rate", "requests per second", ALL_DIRECTIONS, (("here", "ios"), ("here", "seconds", "total")), "top", "/s"),
    Figure("bytes", "bytes per second", READ_WRITE, (("here", "bytes"), ("here", "seconds", "total")), "top", "B/s"),
    Figure("size", "bytes per request", ALL_DIRECTIONS, (("here", "bytes"), ("here", "ios")), "top", "B"),
    Figure("queue", "requests in flight", ("total",),
           (("here", "queue"), ("here", "seconds")), "top"),
    Figure("flushes", "flushes per second", ("total",),
           (("here", "flushes"), ("here", "seconds")), "top", "/s"),
)  # fmt: skip

# One key may have two lines, for different directions: the sums, and so the words, differ.
RATIOS = (
    Figure("disk_bytes", "bytes that the disks wrote, and read for writes, per byte written at the top",
           ("write",), (("here", "cost bytes"), ("top", "bytes")), "last"),
    Figure("requests", "requests that arrive here per request at the top", ALL_DIRECTIONS,
           (("here", "arrivals"), ("top", "ios"))),
    Figure("bytes", "bytes here per byte at the top", ALL_DIRECTIONS,
           (("here", "bytes"), ("top", "bytes"))),
    Figure("disk_bytes", "bytes the disks read and wrote per byte at the top, metadata included", ("total",),
           (("here", "all bytes"), ("top", "bytes")), "last"),
    Figure("shrink", "the top's mean size ÷ the mean size of what arrives here", ALL_DIRECTIONS,
           (("top", "bytes"), ("top", "ios"), ("here", "bytes"), ("here", "arrivals")), of=_shrink),
    Figure("coalescing", "requests that arrive here per request completed", ALL_DIRECTIONS,
           (("here", "own arrivals"), ("here", "own ios")), "last"),
    Figure("completed", "requests completed here per request at the top", READ_WRITE,
           (("here", "ios"), ("top", "ios")), "last"),
    Figure("completed", "requests the disks completed per request at the top, metadata included", ("total",),
           (("here", "all ios"), ("top", "ios")), "last"),
    Figure("write_cost", "requests the disks completed for writes per write at the top, all causes",
           ("write",), (("here", "cost ios"), ("top", "ios")), "last"),
)  # fmt: skip

AWAIT = Figure(
    "await",
    "milliseconds per request, at similar load",
    ALL_DIRECTIONS,
    (("here", "own wait"), ("here", "own ios")),
    "all",
    "ms",
)


def columns_of(figure: Figure, sums: Sums, layer: str, direction: str) -> list[list[float]] | None:
    """Return the columns of *figure* for the batches that have them all; None if none has."""
    found = [sums.columns.get(each, ()) for each in figure.columns(layer, direction)]
    if not all(found):
        return None
    rows = [row for row in zip(*found, strict=True) if None not in row]
    return [[value or 0.0 for value in column] for column in zip(*rows, strict=True)] or None


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


@dataclass(frozen=True)
class StackRecord:
    """
    The stack of ``top`` in one recording, and the sums of its layers.

    ``batch``: intervals per batch. ``raids``: the first device on each way down that spreads its data.
    """

    top: Device
    sums: Sums
    batch: int = 1
    raids: tuple[Device, ...] = ()


def compare_figure(
    figure: Figure, old: StackRecord, new: StackRecord, layer: str, direction: str
) -> FigureComparison | None:
    """Return one figure of one layer on both sides; None if it is 0 or unknown on both."""
    sides = [measured(figure, side.sums, layer, direction) for side in (old, new)]
    return compare_sides(figure, (layer, direction), sides)


def compare_sides(
    figure: Figure, place: tuple[str, str], sides: Sequence[Estimate | None], reason: str = ""
) -> FigureComparison | None:
    """Return both *sides* of a figure at *place*, a layer and direction; without a change if *reason* forbids it."""
    before, after = sides
    if not any(each is not None and each.value for each in sides):
        return None
    both = change(before, after) if before and after and not reason else None
    return FigureComparison(figure, *place, before, after, both, reason)


def measured(figure: Figure, sums: Sums, layer: str, direction: str) -> Estimate | None:
    """Return one figure of one side; None if not known."""
    if figure.key == "write_cost" and sums.parity and layer not in sums.caused:
        return None  # parity reads cannot be separated from others
    columns = columns_of(figure, sums, layer, direction)
    return None if columns is None else estimate(columns, figure.of, counting_error(sums))


def counting_error(sums: Sums) -> float:
    """Return the part of all requests that may be in flight at the ends of a recording."""
    done = sum_at_top(sums, "total", "ios")
    in_flight = ratio(sum_at_top(sums, "total", "queue"), sum_at_top(sums, "total", "seconds"))
    return (1 + (in_flight or 0.0)) / done if done else 0.0


def sum_at_top(sums: Sums, direction: str, quantity: str) -> float | None:
    """Return a sum of the top's over all batches that have it; None if none has."""
    column = sums.columns.get((TOP, direction, quantity), ())
    known = [value for value in column if value is not None]
    return math.fsum(known) if known else None
