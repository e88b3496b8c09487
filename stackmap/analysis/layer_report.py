"""The figures of every layer over one interval: what ``iostat --per-layer`` reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackmap.analysis.amplification import StackFigures, figures_of, with_shared
from stackmap.analysis.corrections import corrected
from stackmap.analysis.traffic.ledger import Ledger
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology


class LayerReport:
    """
    What the layers of *topology* did over an interval, as *measured*.

    *chosen*: the devices whose stacks are shown; without them all busy tops, or the
    first. *skip_idle*: without idle stacks, unless all are idle: then the first is shown.

    ``interval``: with its counters corrected.
    """

    def __init__(
        self, topology: Topology, measured: Interval, chosen: Sequence[str], *, skip_idle: bool
    ) -> None:
        self.interval = corrected(topology, measured)
        ledger = Ledger(topology, self.interval.loads, self.interval.seconds)
        self._tops = figures_of(ledger, chosen or ledger.busy_tops or ledger.tops[:1])
        self._skip_idle = skip_idle

    @property
    def stacks(self) -> Iterator[StackFigures]:
        """
        The figures of each stack shown, followed by those of the devices that it shares.

        They are computed as they are read: those of 16,000 stacks need 200 MB.
        """
        idle: list[StackFigures] = []
        found = False
        for stack in with_shared(self._tops):
            if self._skip_idle and stack.idle:
                idle = idle or [stack]
            else:
                found = True
                yield stack
            stack.ledger.forget(stack.top.name)
        if not found:
            yield from idle
