"""What a command measures: a source, the devices it is about, and the intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from stackmap.discover.find import find_all, unmatched

if TYPE_CHECKING:
    from stackmap.measurement.selection import IntervalSelection
    from stackmap.measurement.source import Source
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval


Progress = Callable[[Iterator[Any]], Iterator[Any]]


class Measurement:
    """
    The intervals that *selection* has of *source*; ``devices``: what *names* mean.

    ``NameNotFound`` if none of *names* is found; ``missing`` has those that are
    not. *connected*: only figures of devices that share a stack with the named ones.
    *progress*: passes the intervals on, and may show progress.
    """

    def __init__(
        self,
        source: Source,
        selection: IntervalSelection,
        names: Iterable[str] = (),
        *,
        connected: bool = False,
        progress: Progress = iter,
    ) -> None:
        names = list(names)
        self.source = source
        self.topology: Topology = source.topology()
        self.devices = find_all(self.topology, names)
        self.missing = unmatched(self.topology, names)
        if connected and names:
            selection = replace(selection, devices=self.topology.connected(self.devices))
        self._selection = selection
        self._progress = progress

    def reports(self) -> Iterator[TopologyInterval]:
        """Yield each interval with the topology of its time."""
        return self._progress(self.source.select(self._selection))

    def intervals(self) -> Iterator[Interval]:
        """Yield the intervals, with figures only for devices that are still those of ``topology``."""
        return self._progress(self.source.select_steady(self._selection))

    def repeatable(self) -> Callable[[], Iterable[Interval]]:
        """Return a function that returns the intervals at each call: a recording is read again, not kept in memory."""
        if self.source.rereadable:
            return self.intervals
        held = list(self.intervals())
        return partial(iter, held)
