"""The figures of every layer over one interval: what ``iostat --per-layer`` reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackmap.ledger.amplification import StackFigures, one_by_one
from stackmap.ledger.corrections import corrected
from stackmap.ledger.ledger import Ledger
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
        self._ledger = Ledger(topology, self.interval.loads, self.interval.seconds)
        self._tops = chosen or self._ledger.busy_tops or self._ledger.tops[:1]
        self._skip_idle = skip_idle

    @property
    def stacks(self) -> Iterator[StackFigures]:
        """
        The figures of each stack shown, followed by those of the devices that it shares.

        They are computed as they are read.
        """
        idle: list[StackFigures] = []
        found = False
        for stack in one_by_one(self._ledger, self._tops):
            if self._skip_idle and stack.idle:
                idle = idle or [stack]
            else:
                found = True
                yield stack
        if not found:
            yield from idle
