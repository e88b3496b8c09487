"""The result of a comparison: figures of two recordings, by volume and layer, and how each is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from stackmap.features.compare.estimate import Change, Estimate, change, estimate
from stackmap.features.compare.figures import Figure, columns_of
from stackmap.features.compare.recording import Recording
from stackmap.features.compare.sums import TOP, Sums
from stackmap.features.compare.volume_pairs import Unmatched
from stackmap.model.device import Device
from stackmap.model.load import ratio


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


@dataclass(frozen=True)
class StackComparison:
    """
    One volume before and after.

    ``load``: the load at the top; ``ratios``: figures of the layers per request or byte at the
    top; ``waits``: await in ms at similar load. ``shared``: the part of the recordings with similar load, 0…1.
    """

    before: StackRecord
    after: StackRecord
    load: tuple[FigureComparison, ...]
    ratios: tuple[FigureComparison, ...]
    waits: tuple[FigureComparison, ...]
    shared: float
    warnings: tuple[str, ...]

    @property
    def idle(self) -> bool:
        """Whether the top had no load in either recording."""
        return not self.load

    @property
    def judged(self) -> tuple[FigureComparison, ...]:
        """The figures whose significance is judged together."""
        return self.ratios + self.waits

    def find(self, key: str, layer: str, direction: str) -> FigureComparison | None:
        """Return one of the judged figures; None if neither recording has it."""
        place = (key, layer, direction)
        found = (e for e in self.judged if (e.figure.key, e.layer, e.direction) == place)
        return next(found, None)


@dataclass(frozen=True)
class Comparison:
    """Two recordings and their compared stacks; ``unmatched``: devices that are a top in only one of them."""

    before: Recording
    after: Recording
    stacks: tuple[StackComparison, ...]
    unmatched: tuple[Unmatched, ...] = ()


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
