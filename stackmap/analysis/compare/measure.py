"""One figure of one layer, measured on both sides and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stackmap.analysis.compare.comparison import FigureComparison, StackRecord
from stackmap.analysis.compare.estimate import Estimate, change, estimate
from stackmap.analysis.compare.figures import Figure, columns_of
from stackmap.analysis.compare.sums import TOP, Sums
from stackmap.model.load import ratio


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
    done = total_of(sums, "total", "ios")
    in_flight = ratio(total_of(sums, "total", "queue"), total_of(sums, "total", "seconds"))
    return (1 + (in_flight or 0.0)) / done if done else 0.0


def total_of(sums: Sums, direction: str, quantity: str) -> float | None:
    """Return a sum of the top's over all batches that have it; None if none has."""
    column = sums.columns.get((TOP, direction, quantity), ())
    known = [value for value in column if value is not None]
    return math.fsum(known) if known else None
