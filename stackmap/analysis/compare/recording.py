"""
One side of a comparison: the intervals of a recording, averaged to as few as a comparison needs.

A week has 600,000 intervals of a second, and a bootstrap needs a hundred. So consecutive intervals are
averaged in batches of equal length.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stackmap.analysis.averages import Average, average
from stackmap.analysis.background_work import background
from stackmap.analysis.corrections import corrected
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

MAX_BATCHES = 120  # batches


@dataclass(frozen=True)
class Recording:
    """
    A machine over some time.

    ``source``: its name for the user. ``batches``: in time order, corrected. ``count``:
    intervals; ``seconds``: in total, None if the text does not say. ``start``, ``end``: seconds since the
    epoch, None if not known. ``changed``: intervals left out because the stacks differed; ``at_work``:
    because of background ``work``. ``worked``: it ran all the time, so nothing is left out.
    """

    source: str
    topology: Topology
    batches: tuple[Interval, ...]
    count: int
    seconds: float | None
    start: float | None
    end: float | None
    corrections: tuple[str, ...] = ()
    changed: int = 0
    at_work: int = 0
    work: tuple[str, ...] = ()
    worked: bool = False

    @property
    def batch_size(self) -> int:
        """Intervals per batch."""
        return max(1, round(self.count / max(1, len(self.batches))))

    @property
    def length(self) -> float | None:
        """Seconds per interval; None if not known."""
        return None if self.seconds is None or not self.count else self.seconds / self.count


class Batches:
    """Averages of consecutive intervals in equal batches, fewer than ``MAX_BATCHES``."""

    def __init__(self) -> None:
        self._done: list[Interval] = []
        self._running = Average()
        self._batch_size = 1

    def add(self, interval: Interval) -> None:
        """Add one interval."""
        if self._batch_size == 1:
            self._done.append(interval)
        else:
            self._running.add(interval)
            if self._running.count == self._batch_size:
                self._close()
        if len(self._done) == MAX_BATCHES:
            pairs = (self._done[at : at + 2] for at in range(0, MAX_BATCHES, 2))
            self._done = [one for pair in pairs for one in average(pair)]
            self._batch_size *= 2

    @property
    def count(self) -> int:
        """The number of intervals in complete batches."""
        return len(self._done) * self._batch_size

    @property
    def batches(self) -> tuple[Interval, ...]:
        """The complete batches; the rest, below one in sixty intervals, is left out."""
        return tuple(self._done)

    def _close(self) -> None:
        self._done.extend(filter(None, [self._running.result()]))
        self._running = Average()


@dataclass
class RecordingBuilder:
    """Builds a ``Recording`` of the stacks of ``tops`` from intervals."""

    source: str
    topology: Topology
    tops: tuple[str, ...]
    _clean: Batches = field(default_factory=Batches)
    _working: Batches = field(default_factory=Batches)
    _work: dict[str, None] = field(default_factory=dict)
    _changed: int = 0
    _last: Topology | None = None
    _state: tuple[bool, tuple[str, ...]] = (True, ())
    _ends: tuple[Interval, ...] = ()
    _needed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._needed = _needed(self.topology, self.tops)

    def add(self, topology: Topology, interval: Interval) -> None:
        """Add an interval with its topology."""
        if interval.since_boot or interval.summary:
            return
        self._ends = (*self._ends[:1], interval)
        same, work = self._state_of(topology)
        if not same:
            self._changed += 1
            return
        self._work.update(dict.fromkeys(work))
        loads = {name: load for name, load in interval.loads.items() if name in self._needed}
        taken = self._working if work else self._clean
        taken.add(
            Interval(
                loads, interval.time, interval.seconds, interval.stamp, machine=interval.machine
            )
        )

    def result(self) -> Recording:
        """Return the recording."""
        worked = not self._clean.count and self._working.count > 0
        kept = self._working if worked else self._clean
        right = [corrected(self.topology, each) for each in kept.batches]
        seconds = [interval.seconds for interval, _ in right]
        first, last = self._ends[:1], self._ends[-1:]
        start = first[0].time if first else None
        began = first[0].seconds if first else None
        total = None if None in seconds else sum(filter(None, seconds))
        return Recording(
            self.source,
            self.topology,
            tuple(interval for interval, _ in right),
            count=kept.count,
            seconds=total,
            start=None if start is None else start - (began or 0.0),
            end=last[0].time if last else None,
            corrections=tuple(sorted({what for _, done in right for what in done})),
            changed=self._changed,
            at_work=0 if worked else self._working.count,
            work=tuple(self._work),
            worked=worked,
        )

    def _state_of(self, topology: Topology) -> tuple[bool, tuple[str, ...]]:
        """Return whether the stacks are those of the first topology, and their background work."""
        if self._last is not topology:
            same = all(_shape(topology, top) == _shape(self.topology, top) for top in self.tops)
            self._last = topology
            self._state = same, _background_work(topology, self.tops) if same else ()
        return self._state


def _background_work(topology: Topology, tops: Iterable[str]) -> tuple[str, ...]:
    reasons = (background(topology, top).values() for top in tops)
    return tuple(dict.fromkeys(reason for each in reasons for reason in each))


def _shape(topology: Topology, top: str) -> frozenset[tuple[str, str, str]]:
    """Return the edges of a stack, by kernel names."""
    if top not in topology:
        return frozenset()
    return frozenset(
        (edge.above, edge.below, str(edge.role))
        for name in topology.with_all_below(top)
        for edge in topology.below(name)
    )


def _needed(topology: Topology, tops: Iterable[str]) -> frozenset[str]:
    """Return the devices needed for attribution: the stacks, and all devices above them."""
    stacks = {name for top in tops for name in topology.with_all_below(top)}
    return frozenset(above for name in stacks for above in topology.with_all_above(name))
