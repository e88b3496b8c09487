"""What every source of figures has: a topology, and intervals with the topology of their time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Self

from stackmap.errors import UsageError
from stackmap.ledger.averages import average
from stackmap.measurement.selection import IntervalSelection
from stackmap.sampling import select, since_boot, without_summaries
from stackmap.sampling.snapshots import only_same_devices

if TYPE_CHECKING:
    from stackmap.host import Host
    from stackmap.model.interval import Interval
    from stackmap.model.topology import Topology
    from stackmap.sampling.snapshots import TopologyInterval

Note = Callable[[str], None]


class Source(ABC):
    """
    A machine, a capture or a text.

    ``name`` is for messages. ``live``: it is this machine, now. ``changes``: its
    topology may change while it is read. ``rereadable``: its intervals can be read again.
    ``doubt``: why its figures may be those of another machine, "" if they are not.
    """

    live = False
    changes = True
    rereadable = False
    doubt = ""

    def __init__(self, name: str, host: Host | None) -> None:
        self.name = name
        self._host = host

    @property
    def host(self) -> Host:
        """The machine that answers other questions."""
        if self._host is None:
            raise UsageError(f"{self.name}: a text has no machine")
        return self._host

    def topology(self) -> Topology:
        """Return the topology at the beginning."""
        return self._first

    def intervals(
        self, seconds: float | None = None, count: int | None = None, which: str = "all"
    ) -> Iterator[tuple[Topology, Interval]]:
        """
        Yield each interval with the topology of its time; ``InputError`` if there is none.

        *seconds* is the length of an interval on this machine: without it, one
        interval of one second is measured. *which*: "all", "average", "last" or a number from 1.
        """
        return self.select(IntervalSelection(seconds, count, which))

    def select(self, selection: IntervalSelection) -> Iterator[TopologyInterval]:
        """Yield the selected intervals, each with the topology of its time; an average has the first."""
        which = selection.resolved(recorded=not self.live)
        if selection.since_boot or which == "average" or not self.changes:
            topology = self.topology()
            return ((topology, interval) for interval in self.select_steady(selection))
        found = self._measured(selection, which)
        return found if self.live and which == "all" else select(found, which, self.name)

    def select_steady(self, selection: IntervalSelection) -> Iterator[Interval]:
        """Yield the selected intervals, with figures only for devices that are still those of ``topology``."""
        which = selection.resolved(recorded=not self.live)
        if selection.since_boot:
            found = self._since_boot()
        else:
            found = only_same_devices(self.topology(), self._measured(selection, which))
        if which == "average":
            found, which = average(found), "all"
        if self.live and which == "all":
            return found  # interrupted before the end of the first interval, there is none
        return select(without_summaries(found), which, self.name)

    def close(self) -> None:  # noqa: B027 - only a text has something to close
        """Close what was opened."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _since_boot(self) -> Iterator[Interval]:
        return iter([since_boot(self.host)])

    @cached_property
    def _first(self) -> Topology:
        return self._read_topology()

    @abstractmethod
    def _read_topology(self) -> Topology:
        """Read the topology at the beginning."""

    @abstractmethod
    def _measured(self, selection: IntervalSelection, which: str) -> Iterator[TopologyInterval]:
        """Yield at least the intervals from which *which* selects, at most ``count``."""
