"""Ctrl-C in a repeating report: the current interval is dropped, output in progress is completed."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from stackmap.analysis.averages import Average

if TYPE_CHECKING:
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval


class InterruptHandler:
    """
    Handles SIGINT.

    While ``waiting`` for an interval it is raised as ``KeyboardInterrupt``;
    otherwise ``received`` is set, and the next interval does not begin.
    """

    def __init__(self) -> None:
        self.received = False
        self.waiting = False
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, _: int, __: FrameType | None) -> None:
        if self.received:
            signal.default_int_handler(signal.SIGINT, None)  # the second one: at once
        self.received = True
        if self.waiting:
            raise KeyboardInterrupt


def until_interrupted(reports: Iterable[TopologyInterval]) -> Iterator[TopologyInterval]:
    """Yield *reports* as they arrive; after an interrupt, their average if there are several."""
    handler = InterruptHandler()
    running = Average()
    source = iter(reports)
    topology: Topology | None = None
    try:
        while not handler.received:
            handler.waiting = True
            report = next(source, None)
            handler.waiting = False
            if report is None:
                return
            topology = report[0]
            running.add(report[1])
            yield report
    except KeyboardInterrupt:
        handler.waiting = False
    if topology is not None:
        # A device that was replaced is not in that interval, and so not in the average.
        yield from ((topology, whole) for whole in running.closing())
