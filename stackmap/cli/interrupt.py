"""
Ctrl-C in a measurement: what was measured so far is printed, and said to be partial.

The first interval ends at once. A later one is dropped. Output in progress is completed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from stackmap.cli.output import tell
from stackmap.ledger.averages import Average

if TYPE_CHECKING:
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval

SHORTEST = 0.1  # seconds; the rates of a shorter interval are chance


def until_interrupted(
    reports: Iterable[TopologyInterval], count: int | None, stop: Callable[[], None]
) -> Iterator[TopologyInterval]:
    """
    Yield *reports* as they arrive; after an interrupt, their average if there are several.

    *count*: how many were asked for. *stop* ends the interval under way.
    """
    received: list[int] = []
    waiting = False
    running = Average()

    def handle(number: int, _: FrameType | None) -> None:
        if received:
            signal.default_int_handler(number, None)  # the second one: at once
        received.append(number)
        if waiting and running.count:
            raise KeyboardInterrupt
        stop()

    signal.signal(signal.SIGINT, handle)
    source = iter(reports)
    topology: Topology | None = None
    try:
        while not received:
            waiting = True
            report = next(source, None)
            waiting = False
            if report is None or (received and (report[1].seconds or 0.0) < SHORTEST):
                break
            topology = report[0]
            running.add(report[1])
            yield report
    except KeyboardInterrupt:
        waiting = False
    if received:
        _tell_partial(running, count)
        if topology is not None:
            # A device that was replaced is not in that interval, and so not in the average.
            yield from ((topology, whole) for whole in running.closing())


def _tell_partial(measured: Average, count: int | None) -> None:
    """Say what part of *count* intervals was measured; nothing where all were, or none was asked for."""
    if not measured.count:
        tell("interrupted before anything was measured")
    elif measured.count == 1 and count == 1:
        tell("interrupted: the figures are of a shorter interval")
    elif count is not None and measured.count < count:
        tell(f"interrupted: the figures are of {measured.count} of {count} intervals")
