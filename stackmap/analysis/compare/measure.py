"""One figure of one layer, measured on both sides."""

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
    """Return one figure of one layer on both sides; None where it never was anything."""
    sides = [measured(figure, side.sums, layer, direction) for side in (old, new)]
    return figure_comparison(figure, (layer, direction), sides)


def figure_comparison(
    figure: Figure, place: tuple[str, str], sides: Sequence[Estimate | None], reason: str = ""
) -> FigureComparison | None:
    """Return the two *sides* of a figure in a layer and direction; None where it never was anything."""
    before, after = sides
    if not any(each is not None and each.value for each in sides):
        return None
    both = change(before, after) if before and after and not reason else None
    return FigureComparison(figure, *place, before, after, both, reason)


def measured(figure: Figure, sums: Sums, layer: str, direction: str) -> Estimate | None:
    """Return one figure of one side; None where it cannot be known."""
    if figure.key == "write_cost" and sums.parity and layer not in sums.caused:
        return None  # nothing says which reads are parity's
    columns = columns_of(figure, sums, layer, direction)
    return None if columns is None else estimate(columns, figure.of, counting_error(sums))


def counting_error(sums: Sums) -> float:
    """Return what requests in flight at the ends of a recording may be of all."""
    done = total_of(sums, "total", "ios")
    flying = ratio(total_of(sums, "total", "queue"), total_of(sums, "total", "seconds"))
    return (1 + (flying or 0.0)) / done if done else 0.0


def total_of(sums: Sums, direction: str, quantity: str) -> float | None:
    """Return a sum of the top's over all that is known of it."""
    column = sums.columns.get((TOP, direction, quantity), ())
    known = [value for value in column if value is not None]
    return math.fsum(known) if known else None
