"""The columns of a table that belong to one direction, and the figures in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import mul

from stackmap.model.load_table import Columns
from stackmap.text.columns import Column
from stackmap.text.rounding import refined, refined_columns

Figures = Sequence[float | None]  # of one column


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

    def figures(self, columns: Columns, absent: Figures, *, known: bool) -> list[Figures]:
        """Return requests, merges, bytes and wait of all rows; *known*: each has all figures."""
        places = self.ios, self.merges, self.bytes, self.await_, self.size
        ios, merges, size, wait, mean = (absent if i is None else columns[i] for i in places)
        sent = ios
        if size is not absent or (mean is not absent and ios is not absent):
            if known and absent not in (ios, size, mean):
                sent, size = refined_columns(ios, size, mean, self.unit, self.size_unit)
            else:
                pairs = map(_sent, ios, size, mean, repeat(self.unit), repeat(self.size_unit))
                sent, size = zip(*pairs, strict=True)
        if wait is not absent:
            wait = absent if ios is absent else [*map(mul if known else product, sent, wait)]
        return [absent if ios is absent else sent, merges, size, wait]


def _sent(
    ios: float | None, size: float | None, mean: float | None, unit: float, mean_unit: float
) -> tuple[float | None, float | None]:
    """Return requests and bytes of a row in which a figure may be missing."""
    if size is None:
        return ios, product(product(ios, mean), mean_unit)
    if ios is None or mean is None:
        return ios, size * unit
    return refined(ios, size, mean, unit, mean_unit)


def product(one: float | None, other: float | None) -> float | None:
    """Return the product; None if a factor is."""
    return None if one is None or other is None else one * other
