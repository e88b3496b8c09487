"""What a comparison comes to: figures of two recordings, by volume and layer."""

from __future__ import annotations

from dataclasses import dataclass

from stackmap.analysis.compare.estimate import Change, Estimate
from stackmap.analysis.compare.figures import Figure
from stackmap.analysis.compare.recording import Recording
from stackmap.analysis.compare.sums import Sums
from stackmap.analysis.compare.volume_pairs import Unmatched
from stackmap.model.device import Device


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """
    One figure of one layer, before and after; None where it cannot be known.

    ``change`` is None where one of them is. ``reason``: why it was not
    compared, though both were measured. ``significant``: the change is no
    chance, as far as all that was compared of the stack tells.
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
    The stack of ``top`` in one recording, and what its layers did.

    ``batch``: intervals a sum. ``raids``: what spreads its data, itself or the first on each way down.
    """

    top: Device
    sums: Sums
    batch: int = 1
    raids: tuple[Device, ...] = ()


@dataclass(frozen=True)
class StackComparison:
    """
    One volume before and after.

    ``load``: what was asked of it; ``ratios``: what the layers made of it, for
    one request or byte at the top; ``waits``: milliseconds, at like load.
    ``shared``: how much of the recordings had like loads, 0…1.
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
        """Nothing came to the top in either recording."""
        return not self.load

    @property
    def judged(self) -> tuple[FigureComparison, ...]:
        """The figures whose changes were judged together."""
        return self.ratios + self.waits

    def find(self, key: str, layer: str, direction: str) -> FigureComparison | None:
        """Return one of the figures; None if neither recording has it."""
        return next(
            (
                each
                for each in self.judged
                if (each.figure.key, each.layer, each.direction) == (key, layer, direction)
            ),
            None,
        )


@dataclass(frozen=True)
class Comparison:
    """Two recordings, and the stacks that were compared; ``unmatched``: what is a top in one of them alone."""

    before: Recording
    after: Recording
    stacks: tuple[StackComparison, ...]
    unmatched: tuple[Unmatched, ...] = ()
