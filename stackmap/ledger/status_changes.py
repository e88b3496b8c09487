"""What dm targets and md's threads did between readings of their status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from stackmap.model.device import Counts, RaidThread, StatusReading, TargetStatus
from stackmap.model.interval import Interval

# Counts that only go up while a table is loaded; the others are amounts that go up and down.
COUNTERS = frozenset(
    ("read_hits", "read_misses", "write_hits", "write_misses", "demotions", "promotions")
)


class StatusChange(NamedTuple):
    """
    One target between its first and its last reading.

    ``seconds`` and ``grown`` (each count's increase) leave out what happened between two readings
    of which the later has smaller counters: the table was loaded anew. ``last``: the newest status.
    """

    last: TargetStatus
    seconds: float
    grown: Mapping[str, int] = MappingProxyType({})

    def rate(self, name: str) -> float | None:
        """Return the increase of count *name* per second; None if unknown."""
        grown = self.grown.get(name)
        return None if grown is None or self.seconds <= 0 else grown / self.seconds

    def seconds_to_full(self, name: str) -> float | None:
        """Return when ``<name>used`` reaches ``<name>total`` at this rate; None if it does not grow."""
        rate, counts = self.rate(f"{name}used"), self.last.counts
        if not rate or rate < 0:
            return None
        return max(0, counts[f"{name}total"] - counts[f"{name}used"]) / rate


def readings_of(intervals: Iterable[Interval]) -> list[StatusReading]:
    """Return the readings at the ends of *intervals*, each once, in the order of time."""
    by_time = {each.time: each for interval in intervals for each in interval.readings}
    return [by_time[time] for time in sorted(by_time)]


def status_changes(readings: Iterable[StatusReading]) -> dict[str, StatusChange]:
    """Return the change of each target in *readings*, by kernel name, as long as it is the same device."""
    found: dict[str, StatusChange] = {}
    ends: dict[str, tuple[float, TargetStatus]] = {}
    for reading in readings:
        for name, status in reading.targets.items():
            time, before = ends.get(name, (reading.time, status))
            if before.identity != status.identity:
                found.pop(name)
                time, before = reading.time, status
            change = found.get(name, StatusChange(status, 0.0))
            ends[name] = reading.time, status
            found[name] = _extended(change, before.counts, status, reading.time - time)
    return found


def _extended(
    change: StatusChange, before: Counts, status: TargetStatus, seconds: float
) -> StatusChange:
    """Return *change* up to *status*, *seconds* after the counts *before*."""
    now = status.counts
    fits = before.keys() == now.keys() and all(
        now[name] >= before[name] for name in COUNTERS & now.keys()
    )
    if not fits or seconds <= 0 or not now:
        return StatusChange(status, change.seconds, change.grown)
    grown = {name: change.grown.get(name, 0) + now[name] - before[name] for name in now}
    return StatusChange(status, change.seconds + seconds, grown)


def thread_usage(readings: Sequence[StatusReading]) -> dict[RaidThread, float]:
    """Return the share of one CPU that each thread used between the first and the last reading."""
    if len(readings) < 2:
        return {}
    first, last = readings[0], readings[-1]
    seconds = last.time - first.time
    return {
        thread: used / seconds
        for thread, after in last.threads.items()
        if thread in first.threads and (used := after - first.threads[thread]) >= 0
    }
