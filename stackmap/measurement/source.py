"""What is measured: a source of figures, a selection of its intervals, and the devices that they are about."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from typing import Any, Self

from stackmap.discover.find import find_all, unmatched
from stackmap.errors import UsageError
from stackmap.host import Host
from stackmap.ledger.averages import average
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology
from stackmap.sampling import select, since_boot, without_summaries
from stackmap.sampling.snapshots import TopologyInterval, only_same_devices

SECONDS = 1.0  # the length of an interval on this machine, unless another is given

Note = Callable[[str], None]
Progress = Callable[[Iterator[Any]], Iterator[Any]]


class NoteOnce:
    """Gives each sentence to *note* once: several readings of a text may find the same."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._noted: set[str] = set()

    def __call__(self, sentence: str) -> None:
        """Take *sentence*."""
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._note(sentence)


@dataclass(frozen=True, slots=True)
class IntervalSelection:
    """
    Which intervals.

    ``seconds``: their length on this machine; captures and texts have their own.
    ``which``: "all", "average", "last" or a number from 1; None: see ``resolved``.
    ``devices``: those whose figures are needed, None for all.
    """

    seconds: float | None = None
    count: int | None = None
    which: str | None = None
    since_boot: bool = False
    devices: frozenset[str] | None = None

    def resolved(self, *, recorded: bool) -> str:
        """Return ``which``; by default "average" if *recorded* and without ``seconds``, else "all"."""
        return self.which or ("average" if recorded and self.seconds is None else "all")

    def every(self, count: int, *, live: bool) -> "IntervalSelection":
        """
        Return the selection of a command that examines every interval.

        An average becomes all intervals. On a live machine the default is *count* of them.
        """
        which = "all" if self.which in (None, "average") else self.which
        if not live:
            return replace(self, which=which)
        count = self.count or (1 if self.seconds else count)
        return replace(self, which=which, seconds=self.seconds or SECONDS, count=count)


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
        ``UsageError`` for a length or a *count* that is not above 0.
        """
        if seconds is not None and not 0 < seconds < inf:
            raise UsageError(f"an interval of {seconds} seconds: give a length above 0")
        if count is not None and count < 1:
            raise UsageError(f"{count} intervals: give a number above 0")
        return self.select(IntervalSelection(seconds, count, which))

    def select(self, selection: IntervalSelection) -> Iterator[TopologyInterval]:
        """Yield the selected intervals, each with the topology of its time; an average has the first."""
        which = selection.resolved(recorded=not self.live)
        if selection.since_boot or which == "average" or not self.changes:
            topology = self.topology()
            return ((topology, interval) for interval in self.select_steady(selection))
        intervals = self._measured(selection, which)
        return intervals if self.live and which == "all" else select(intervals, which, self.name)

    def select_steady(self, selection: IntervalSelection) -> Iterator[Interval]:
        """Yield the selected intervals, with figures only for devices that are still those of ``topology``."""
        which = selection.resolved(recorded=not self.live)
        if selection.since_boot:
            intervals = self._since_boot()
        else:
            intervals = only_same_devices(self.topology(), self._measured(selection, which))
        if which == "average":
            intervals, which = average(intervals), "all"
        if self.live and which == "all":
            return intervals  # interrupted before the end of the first interval, there is none
        return select(without_summaries(intervals), which, self.name)

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
