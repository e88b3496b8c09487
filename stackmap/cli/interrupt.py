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


def until_interrupted(reports: Iterable[TopologyInterval]) -> Iterator[TopologyInterval]:
    """Yield *reports* as they arrive; after an interrupt, their average if there are several."""
    received = waiting = False

    def handle(_: int, __: FrameType | None) -> None:
        nonlocal received
        if received:
            signal.default_int_handler(signal.SIGINT, None)  # the second one: at once
        received = True
        if waiting:
            raise KeyboardInterrupt  # otherwise the next interval does not begin

    signal.signal(signal.SIGINT, handle)
    running = Average()
    source = iter(reports)
    topology: Topology | None = None
    try:
        while not received:
            waiting = True
            report = next(source, None)
            waiting = False
            if report is None:
                return
            topology = report[0]
            running.add(report[1])
            yield report
    except KeyboardInterrupt:
        waiting = False
    if topology is not None:
        # A device that was replaced is not in that interval, and so not in the average.
        yield from ((topology, whole) for whole in running.closing())
