"""
What is compared of two recordings, as a table: each figure with the sums it is made of.

A figure is a ratio of sums over all intervals. Those of the load say what was
asked for; all others are for one request, or one byte, of it, so they may be
compared although the load was not the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stackmap.analysis.compare.sums import LAST, TOP, Sum, Sums
from stackmap.analysis.parity import caused_reads
from stackmap.analysis.share import Portion
from stackmap.model.load import plus, ratio

Ratio = Callable[[Sequence[float]], "float | None"]


@dataclass(frozen=True, slots=True)
class Figure:
    """
    One figure of a layer, in some directions.

    ``sums``: what it is made of: (layer, quantity), where "here" is the layer
    and "top" the top, both in the direction asked for unless a third part says
    another. ``of``: makes the figure of them. ``where``: the layers that have it.
    ``shown``: where its row stands.
    """

    key: str
    what: str
    directions: tuple[str, ...]
    sums: tuple[tuple[str, ...], ...]
    of: Ratio
    where: str = "below"
    unit: str = ""

    def columns(self, layer: str, direction: str) -> list[Sum]:
        """Return which sums it is made of in *layer*."""
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


def _one_by_other(sums: Sequence[float]) -> float | None:
    return ratio(sums[0], sums[1])


def _shrink(sums: Sequence[float]) -> float | None:
    """Return the top's mean size ÷ the mean size of what arrives here."""
    top_bytes, top_ios, here_bytes, here_arrivals = sums
    return ratio(ratio(top_bytes, top_ios), ratio(here_bytes, here_arrivals))


def _cost(sums: Sequence[float]) -> float | None:
    """Return requests here for each written to the top, those read for parity included."""
    written, top_written, *_ = sums
    arrivals, ios, size, asked = sums[2:]
    caused = caused_reads(Portion(bytes=asked), Portion(arrivals, ios, size)).ios
    return ratio(plus(written, caused), top_written)


ALL_DIRECTIONS = ("read", "write", "total")
READ_WRITE = ("read", "write")

LOAD = (
    Figure("rate", "requests a second", ALL_DIRECTIONS, (("here", "ios"), ("here", "seconds", "total")),
           _one_by_other, "top", "/s"),
    Figure("bytes", "bytes a second", READ_WRITE, (("here", "bytes"), ("here", "seconds", "total")),
           _one_by_other, "top", "B/s"),
    Figure("size", "bytes a request", ALL_DIRECTIONS, (("here", "bytes"), ("here", "ios")),
           _one_by_other, "top", "B"),
    Figure("queue", "requests in flight", ("total",),
           (("here", "queue"), ("here", "seconds")), _one_by_other, "top"),
    Figure("flushes", "flushes a second", ("total",),
           (("here", "flushes"), ("here", "seconds")), _one_by_other, "top", "/s"),
)  # fmt: skip

RATIOS = (
    Figure("requests", "requests sent here for one at the top", ALL_DIRECTIONS,
           (("here", "arrivals"), ("top", "ios")), _one_by_other),
    Figure("bytes", "bytes here for one at the top", ALL_DIRECTIONS,
           (("here", "bytes"), ("top", "bytes")), _one_by_other),
    Figure("shrink", "the top's mean size by the mean size of what was sent here", ALL_DIRECTIONS,
           (("top", "bytes"), ("top", "ios"), ("here", "bytes"), ("here", "arrivals")), _shrink),
    Figure("coalescing", "requests sent here for one that was done", ALL_DIRECTIONS,
           (("here", "own arrivals"), ("here", "own ios")), _one_by_other, "last"),
    Figure("completed", "requests done here for one at the top", ALL_DIRECTIONS,
           (("here", "ios"), ("top", "ios")), _one_by_other, "last"),
    Figure("write_cost", "requests done here for one written to the top, with the reads it caused",
           ("write",),
           (("here", "ios"), ("top", "ios"), ("here", "arrivals", "read"), ("here", "ios", "read"),
            ("here", "bytes", "read"), ("top", "bytes", "read")),
           _cost, "last"),
)  # fmt: skip

AWAIT = Figure(
    "await",
    "milliseconds a request, at comparable load",
    READ_WRITE,
    (("here", "own wait"), ("here", "own ios")),
    _one_by_other,
    "all",
    "ms",
)


def columns_of(figure: Figure, sums: Sums, layer: str, direction: str) -> list[list[float]] | None:
    """Return the columns of *figure*, of those batches where all are known; None if there is none."""
    found = [sums.columns.get(each, ()) for each in figure.columns(layer, direction)]
    if not all(found):
        return None
    rows = [row for row in zip(*found, strict=True) if None not in row]
    return [[value or 0.0 for value in column] for column in zip(*rows, strict=True)] or None
