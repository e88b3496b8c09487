"""
One side of a comparison: a recording, averaged into as few batches as a comparison needs.

A week of one-second intervals is 600,000, and a bootstrap needs some hundred.
So equally many consecutive intervals are averaged into one batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from stackmap.ledger.corrections import corrected
from stackmap.ledger.device_state import background
from stackmap.ledger.time_series import TimeSeries, start_of
from stackmap.model.interval import Interval
from stackmap.model.topology import Topology

MAX_BATCHES = 120


@dataclass(frozen=True)
class Recording:
    """
    A machine over some time.

    ``source``: its name for people. ``batches``: in time order, corrected; the
    last intervals, fewer than a batch, are left out. ``count``: intervals;
    ``seconds``: their sum, None if a text does not have it. ``start``, ``end``:
    seconds since the epoch, None if unknown. ``changed``: intervals left out
    because the stacks were different; ``at_work``: because of background
    ``work``. If it ran all the time, nothing is left out and ``worked`` is True.
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
        """Seconds per interval."""
        return None if self.seconds is None or not self.count else self.seconds / self.count


@dataclass
class RecordingBuilder:
    """Collects the intervals of a machine for a comparison of the stacks of *tops*."""

    source: str
    topology: Topology
    tops: tuple[str, ...]
    _clean: TimeSeries = field(default_factory=lambda: TimeSeries(MAX_BATCHES))
    _working: TimeSeries = field(default_factory=lambda: TimeSeries(MAX_BATCHES))
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
        part = Interval(
            loads, interval.time, interval.seconds, interval.stamp, machine=interval.machine
        )
        taken.add(part, {})

    def result(self) -> Recording:
        """Return the recording."""
        count, at_work = (sum(b.count for b in each.full) for each in (self._clean, self._working))
        worked = not count and at_work > 0
        kept = self._working if worked else self._clean
        right = [corrected(self.topology, each.interval) for each in kept.full]
        seconds = [interval.seconds for interval in right]
        total = None if None in seconds else sum(filter(None, seconds))
        return Recording(
            self.source,
            self.topology,
            tuple(right),
            count=at_work if worked else count,
            seconds=total,
            start=start_of(self._ends[0]) if self._ends else None,
            end=self._ends[-1].time if self._ends else None,
            corrections=tuple(sorted({what for each in right for what in each.corrections})),
            changed=self._changed,
            at_work=0 if worked else at_work,
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
