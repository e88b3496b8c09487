"""Several intervals as one: what was done over all of them, a second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load, plus


class Average:
    """
    A running average of intervals, weighted by their length, in constant memory.

    Averages since boot are left out wherever a current rate follows them. A
    device that some interval lacks is unknown in the average, as its rate over
    the whole span is.
    """

    def __init__(self) -> None:
        self._sums: dict[str, Load] = {}
        self._weight = 0.0
        self._last: Interval | None = None
        self._events: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self.count = 0

    def add(self, interval: Interval) -> None:
        """Take one more interval in."""
        if self._last is not None and self._last.since_boot and not interval.since_boot:
            self._sums, self._weight, self.count = {}, 0.0, 0
        weight = interval.seconds or 1.0
        weighted = {name: _times(load, weight) for name, load in interval.loads.items()}
        if self.count:
            shared = self._sums.keys() & weighted.keys()
            self._sums = {n: _plus(self._sums[n], weighted[n]) for n in weighted if n in shared}
        else:
            self._sums = weighted
        self._weight += weight
        self._last = interval
        self.count += 1
        self._events.update(dict.fromkeys(interval.events))
        self._notes.update(dict.fromkeys(interval.notes))

    def result(self) -> Interval | None:
        """Return the average so far; None if nothing was added."""
        if self._last is None:
            return None
        return Interval(
            {name: _times(load, 1 / self._weight) for name, load in self._sums.items()},
            time=self._last.time,
            seconds=None if self._last.seconds is None else self._weight,
            stamp=self._last.stamp if self.count == 1 else f"average of {self.count} intervals",
            since_boot=self._last.since_boot,
            notes=tuple(self._notes),
            events=tuple(self._events),
        )


def average(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the one average of *intervals*; nothing if there are none."""
    running = Average()
    for interval in intervals:
        running.add(interval)
    result = running.result()
    if result is not None:
        yield result


def with_average(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Yield *intervals* as they come; when interrupted, their average, and no more."""
    running = Average()
    try:
        for interval in intervals:
            running.add(interval)
            yield interval
    except KeyboardInterrupt:
        yield from filter(None, [running.result() if running.count > 1 else None])


def _times(load: Load, factor: float) -> Load:
    if load is IDLE:
        return load
    scaled = load.scaled(factor)
    return Load(
        scaled.read,
        scaled.write,
        load.discard.scaled(factor),
        load.flush.scaled(factor),
        whole=scaled.whole,
        aqu=None if load.aqu is None else load.aqu * factor,
        busy=None if load.busy is None else load.busy * factor,
    )


def _plus(a: Load, b: Load) -> Load:
    return Load(
        a.read + b.read,
        a.write + b.write,
        a.discard + b.discard,
        a.flush + b.flush,
        whole=None if a.whole is None or b.whole is None else a.whole + b.whole,
        aqu=plus(a.aqu, b.aqu),
        busy=plus(a.busy, b.busy),
    )
