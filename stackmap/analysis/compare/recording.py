"""
One side of a comparison: the intervals of a recording, as few as a comparison needs.

A week of seconds is 600,000 intervals, and a bootstrap needs some hundred. So
they are averaged in batches of equally many, one after another.
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
    A machine over some time, as one side of a comparison.

    ``source``: what people call it. ``batches``: in their order, put right.
    ``count``: intervals; ``seconds``: all of them, None for a text that does
    not say. ``start``, ``end``: seconds since the epoch, None if no clock
    tells. ``changed``: intervals left out because the stacks were others then;
    ``at_work``: because of ``work``. Where such work ran all the time nothing
    is left out, and ``worked`` says so.
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
    def each(self) -> int:
        """Intervals a batch."""
        return max(1, round(self.count / max(1, len(self.batches))))

    @property
    def length(self) -> float | None:
        """Seconds an interval."""
        return None if self.seconds is None or not self.count else self.seconds / self.count


class Batches:
    """Intervals in batches of equally many, fewer than ``MAX_BATCHES``."""

    def __init__(self) -> None:
        self._done: list[Interval] = []
        self._running = Average()
        self._each = 1

    def add(self, interval: Interval) -> None:
        """Take one more interval in."""
        if self._each == 1:
            self._done.append(interval)
        else:
            self._running.add(interval)
            if self._running.count == self._each:
                self._close()
        if len(self._done) == MAX_BATCHES:
            pairs = (self._done[at : at + 2] for at in range(0, MAX_BATCHES, 2))
            self._done = [one for pair in pairs for one in average(pair)]
            self._each *= 2

    @property
    def count(self) -> int:
        """How many intervals the batches hold."""
        return len(self._done) * self._each

    @property
    def batches(self) -> tuple[Interval, ...]:
        """Those that are full; a rest of less than one in sixty is left out."""
        return tuple(self._done)

    def _close(self) -> None:
        self._done.extend(filter(None, [self._running.result()]))
        self._running = Average()


@dataclass
class RecordingBuilder:
    """Takes the intervals of a machine in, of which the stacks of *tops* are to be compared."""

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
        """Take one more in, with the topology of its time."""
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
        """Return what was taken in."""
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
        """Return whether the stacks are those of the first topology, and what runs in them besides."""
        if self._last is not topology:
            same = all(_shape(topology, top) == _shape(self.topology, top) for top in self.tops)
            self._last = topology
            self._state = same, _background_work(topology, self.tops) if same else ()
        return self._state


def _background_work(topology: Topology, tops: Iterable[str]) -> tuple[str, ...]:
    reasons = (background(topology, top).values() for top in tops)
    return tuple(dict.fromkeys(reason for each in reasons for reason in each))


def _shape(topology: Topology, top: str) -> frozenset[tuple[str, str, str]]:
    """Return what a stack is made of: what stands on what, by the names that counters have."""
    if top not in topology:
        return frozenset()
    return frozenset(
        (edge.above, edge.below, str(edge.role))
        for name in topology.with_all_below(top)
        for edge in topology.below(name)
    )


def _needed(topology: Topology, tops: Iterable[str]) -> frozenset[str]:
    """Return the devices whose counters say whose I/O it was: the stacks, and all that stands on them."""
    stacks = {name for top in tops for name in topology.with_all_below(top)}
    return frozenset(above for name in stacks for above in topology.with_all_above(name))
