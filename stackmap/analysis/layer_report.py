"""The figures of every layer over one interval: what ``iostat --per-layer`` reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stackmap.analysis.amplification import StackFigures, figures_of, with_shared
from stackmap.analysis.corrections import corrected
from stackmap.analysis.traffic.ledger import Ledger
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology


@dataclass(frozen=True)
class LayerReport:
    """
    What the layers of *topology* did over an interval, as *measured*.

    *chosen*: the devices whose stacks are shown; without them all busy tops, or the
    first. *skip_idle*: without idle stacks, unless all are idle: then the first is shown.
    """

    topology: Topology
    measured: Interval
    chosen: tuple[str, ...] = ()
    skip_idle: bool = False

    @cached_property
    def interval(self) -> Interval:
        """The interval with its counters corrected."""
        return corrected(self.topology, self.measured)

    @cached_property
    def stacks(self) -> list[StackFigures]:
        """The figures of each stack shown, followed by those of the devices that it shares."""
        ledger = Ledger(self.topology, self.interval.loads, self.interval.seconds)
        tops = self.chosen or ledger.busy_tops or ledger.tops[:1]
        stacks = with_shared(figures_of(ledger, tops))
        busy = [stack for stack in stacks if not (self.skip_idle and stack.idle)]
        return busy or stacks[:1]
