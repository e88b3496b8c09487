"""The columns of a table that belong to one direction, and the flows in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from operator import mul
from typing import Any

from stackmap.model.load import Flow
from stackmap.text.columns import Column
from stackmap.text.rounding import refined_columns

Figures = Sequence[Any]  # of one column: floats, None where a row was cut


@dataclass(frozen=True, slots=True)
class FlowColumns:
    """The indexes in a row of one direction's figures; None for missing ones."""

    ios: int | None = None
    merges: int | None = None
    bytes: int | None = None
    await_: int | None = None
    size: int | None = None
    unit: float = 1.0  # of bytes
    size_unit: float = 1.0

    @classmethod
    def of(
        cls, flow: str, index: Mapping[tuple[str, str], int], columns: Sequence[Column]
    ) -> FlowColumns:
        """Return those of *flow* among *columns*; *index*: the place of each flow and field."""
        size, mean = index.get((flow, "bytes")), index.get((flow, "size"))
        return cls(
            ios=index.get((flow, "ios")),
            merges=index.get((flow, "merges")),
            bytes=size,
            await_=index.get((flow, "await")),
            size=mean,
            unit=1.0 if size is None else columns[size].unit,
            size_unit=1.0 if mean is None else columns[mean].unit,
        )

    def flows(self, columns: Sequence[Figures]) -> list[Flow]:
        """Return the flow in each row."""
        places = (self.ios, self.merges, self.bytes, self.await_, self.size)
        own = [None if place is None else columns[place] for place in places]
        ios, merges, shown, wait, mean = own
        rows = len(columns[0])
        if rows > 1 and not any(column and (any(column) or None in column) for column in own):
            return self.flows([(0.0,)] * len(columns)) * rows  # no such I/O: mostly discards
        if shown is None:
            size = times(times(ios, mean), self.size_unit)
        elif ios is None or mean is None:
            size = times(shown, self.unit)
        else:
            ios, size = refined_columns(ios, shown, mean, self.unit, self.size_unit)
        wait = times(ios, wait)
        absent = [None] * rows
        figures = (absent if each is None else each for each in (ios, merges, size, wait))
        return [*map(_flow, zip(*figures, strict=True))]


# What Flow() does, without a step in Python for each of the millions of rows of a log.
_flow = partial(tuple.__new__, Flow)


def times(one: Figures | None, other: Figures | float | None) -> Figures | None:
    """Return the products of two columns, or of a column and a unit; None where a factor is."""
    if one is None or other is None:
        return None
    others = repeat(other) if isinstance(other, float | int) else other
    try:
        return [*map(mul, one, others)]
    except TypeError:  # a row that was cut
        return [*map(product, one, others)]


def product(one: float | None, other: float | None) -> float | None:
    """Return the product; None if a factor is."""
    return None if one is None or other is None else one * other
