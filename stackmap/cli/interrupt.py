"""Ctrl-C in a repeating report: the interval under way is given up, a page being written is not."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from stackmap.analysis.averages import Average

if TYPE_CHECKING:
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval


class Interrupts:
    """
    Whether the user has had enough.

    While ``waiting`` an interrupt is raised, to end the wait; else it is kept
    in ``came`` until the next one would begin.
    """

    def __init__(self) -> None:
        self.came = False
        self.waiting = False
        signal.signal(signal.SIGINT, self._take)

    def _take(self, _: int, __: FrameType | None) -> None:
        if self.came:
            signal.default_int_handler(signal.SIGINT, None)  # twice: now
        self.came = True
        if self.waiting:
            raise KeyboardInterrupt


def until_interrupted(reports: Iterable[TopologyInterval]) -> Iterator[TopologyInterval]:
    """Yield *reports* as they come; when interrupted, their average if there were several."""
    interrupts = Interrupts()
    running = Average()
    source = iter(reports)
    topology: Topology | None = None
    try:
        while not interrupts.came:
            interrupts.waiting = True
            report = next(source, None)
            interrupts.waiting = False
            if report is None:
                return
            topology = report[0]
            running.add(report[1])
            yield report
    except KeyboardInterrupt:
        interrupts.waiting = False
    if topology is not None:
        # One that was replaced was left out of an interval, and so it is of the average.
        yield from ((topology, whole) for whole in running.closing())
