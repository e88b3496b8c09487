"""The last minutes: their episodes as events, when a stack was slow and by how much; and the loads for headroom."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from stackmap.document.episodes import how_slow, when
from stackmap.features.top.moment import Event
from stackmap.ledger.episodes import episodes
from stackmap.ledger.time_series import IntervalSeries
from stackmap.ledger.unusual_spans import LEAST
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

KEPT = 600  # intervals: what is usual is what was usual in these
MOST_LOADS = 40_000  # of stacks and disks: 30 MB, and a search takes at most 0.1 s of CPU
FIRST = 3 * LEAST  # intervals before the first search: in fewer, noise may look like an episode
EVERY = LEAST  # intervals between two searches


class _Known(NamedTuple):
    """An episode of ``top``: the ends of its first and last interval, and its event."""

    top: str
    begin: float
    end: float
    event: Event


class Incidents:
    """The episodes among the last intervals, and those that were found before."""

    def __init__(self) -> None:
        self._topology: Topology | None = None
        self._tops: list[str] = []
        self._watched: Collection[str] = ()
        self._kept: deque[Interval] = deque(maxlen=KEPT)
        self._loads = 0
        self._fresh = 0
        self._known: list[_Known] = []

    @property
    def events(self) -> list[Event]:
        """An event per episode, at its begin."""
        return [known.event for known in self._known]

    @property
    def intervals(self) -> Sequence[Interval]:
        """The last intervals, each with the loads of the stacks and disks that had any."""
        return self._kept

    def take(self, topology: Topology, interval: Interval) -> None:
        """Take the next corrected interval; look for episodes from time to time."""
        if interval.time is None:
            return
        if topology is not self._topology:
            self._topology, self._tops = topology, [device.name for device in topology.tops]
            disks = (device.name for device in topology if not topology.below(device.name))
            self._watched = dict.fromkeys((*self._tops, *disks))
        loads = ((name, interval.load(name)) for name in self._watched)
        active = {name: load for name, load in loads if load.aqu or load.total.ios}
        if len(self._kept) == KEPT:
            self._loads -= len(self._kept[0].loads)
        self._kept.append(replace(interval, loads=active))
        self._loads += len(active)
        while self._loads > MOST_LOADS:
            self._loads -= len(self._kept.popleft().loads)
        self._fresh += 1
        if self._fresh >= EVERY and len(self._kept) >= FIRST:
            self._fresh = 0
            self._search(topology)

    def _search(self, topology: Topology) -> None:
        tops = set(self._tops)
        series = IntervalSeries(
            _part(interval, interval.loads.keys() & tops) for interval in self._kept
        )
        clock = series.clock()
        ends = [interval.time or 0.0 for interval in self._kept]
        # The others are found again, unless more intervals show that they were usual.
        self._known = [known for known in self._known if known.begin < ends[0]]
        earlier: dict[str, float] = {}
        for known in self._known:
            earlier[known.top] = max(known.end, earlier.get(known.top, 0.0))
        for episode in episodes(topology, series):
            begin, last = (ends[place] for place in episode.span)
            if begin <= earlier.get(episode.top, 0.0):
                continue  # the rest of one whose begin is no longer kept
            _, end = when(series, clock, episode.span)
            event = Event(begin, f"{how_slow(topology, episode)}, until {end}")
            self._known.append(_Known(episode.top, begin, last, event))

    def forget(self, names: set[str]) -> None:
        """Forget the loads of the devices *names*, which were replaced or went away."""
        self._kept = deque(
            (_part(interval, interval.loads.keys() - names) for interval in self._kept), KEPT
        )
        self._loads = sum(len(interval.loads) for interval in self._kept)


def _part(interval: Interval, names: Collection[str]) -> Interval:
    return replace(interval, loads={name: interval.loads[name] for name in names})
