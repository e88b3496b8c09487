"""The result of a comparison: figures of two recordings, by volume and layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from stackmap.analysis.compare.estimate import Change, Estimate
from stackmap.analysis.compare.figures import Figure
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.compare.sums import Sums
from stackmap.analysis.compare.volume_pairs import Unmatched
from stackmap.model.device import Device


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
