"""
The load over time, in memory that does not grow with the length of the measurement.

A day of one-second intervals is 86,400; a chart shows some hundred points. So
equally many intervals are averaged into one stretch, and when there are too
many stretches, every two become one. The minimum and maximum of the single
intervals are kept beside each average.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from stackmap.analysis.averages import Average, average
from stackmap.model.interval import Interval
from stackmap.model.load import Load

MAX_LOADS = 40_000  # held at once, some 40 MB
MIN_STRETCHES, MAX_STRETCHES = 24, 480  # enough to see a trend; no more than a chart shows
RATES = ("ios", "bytes")  # figures of a flow that can be summed over time
FIGURES = (*RATES, "await_ms")

Key = tuple[str, str, str]  # device, direction, figure
Extremes = Mapping[Key, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """
    Consecutive intervals as one.

    ``interval``: their average. ``count``: their number. ``start``: when the
    first began, seconds since the epoch, None if unknown. ``extremes``: the
    minimum and maximum of any of them, for the watched devices.
    """

    interval: Interval
    count: int = 1
    start: float | None = None
    extremes: Extremes = field(default_factory=dict)

    def mean(self, device: str, direction: str, figure: str) -> float | None:
        """Return the mean of one of ``FIGURES`` in a direction of ``Load.flows``; None if unknown."""
        load = self.interval.loads.get(device, Load())
        value: float | None = getattr(load.flow(direction), figure)
        return value


class TimeSeries:
    """The intervals that were added, as stretches. *limit*: of stretches, by default one by the number of devices."""

    def __init__(self, limit: int | None = None) -> None:
        self.full: list[Stretch] = []
        self._limit = limit
        self._per_stretch = 1
        self._begin()

    def _begin(self) -> None:
        # The first interval since the last stretch, and the newest.
        self._ends: tuple[Interval, ...] = ()
        self._count = 0
        self._extremes: dict[Key, tuple[float, float]] = {}
        self._running = Average()
        self._newest: Mapping[str, Load] = {}  # of the watched devices

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: the corrected loads of which the extremes are kept."""
        self._running.add(interval)
        self._ends = (*self._ends[:1], interval)
        self._count += 1
        # A device that stays idle has the same load, whose extremes are known.
        changed = {n: load for n, load in watched.items() if self._newest.get(n) is not load}
        self._newest = watched
        _widen(self._extremes, known(changed, FIGURES))
        if self._count < self._per_stretch:
            return
        self.full.append(self._current())
        self._begin()
        if len(self.full) >= (self._limit or _limit(len(interval.loads))):
            pairs = zip(self.full[::2], self.full[1::2], strict=True)
            self.full = [_joined(*pair) for pair in pairs]
            self._per_stretch *= 2

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """All stretches so far; the last may be shorter than the others."""
        return (*self.full, *([self._current()] if self._ends else []))

    def average(self) -> Interval | None:
        """Return the average of all intervals; None if there are none."""
        return next(average(stretch.interval for stretch in self.stretches), None)

    def _current(self) -> Stretch:
        """Return the intervals since the last stretch: their average, or the interval itself if there is one."""
        result = self._running.result() if self._count > 1 else None
        interval = self._ends[-1] if result is None else result
        return Stretch(interval, self._count, start_of(self._ends[0]), dict(self._extremes))


def _limit(devices: int) -> int:
    """Return the maximal number of stretches, an even one, so that each has another to join."""
    return max(MIN_STRETCHES, min(MAX_STRETCHES, MAX_LOADS // max(1, devices))) // 2 * 2


def start_of(interval: Interval) -> float | None:
    """Return when *interval* began, seconds since the epoch; None if unknown."""
    if interval.time is None or interval.seconds is None:
        return interval.time
    return interval.time - interval.seconds


def _joined(first: Stretch, second: Stretch) -> Stretch:
    interval = next(average([first.interval, second.interval]), second.interval)
    extremes = dict(first.extremes)
    for key, ends in second.extremes.items():
        _widen(extremes, ((key, end) for end in ends))
    return Stretch(interval, first.count + second.count, first.start, extremes)


def _widen(extremes: dict[Key, tuple[float, float]], values: Iterable[tuple[Key, float]]) -> None:
    """Extend *extremes* to include *values*."""
    for key, value in values:
        held = extremes.get(key)
        if held is None:
            extremes[key] = value, value
        elif not held[0] <= value <= held[1]:
            extremes[key] = min(held[0], value), max(held[1], value)


def known(watched: Mapping[str, Load], figures: tuple[str, ...]) -> Iterator[tuple[Key, float]]:
    """Yield each known value of *figures* with its key; in few calls, for a day of seconds has millions."""
    values = attrgetter(*figures)
    for name, load in watched.items():
        for direction, flow in load.flows:
            for figure, value in zip(figures, values(flow), strict=True):
                if value is not None:
                    yield (name, direction, figure), value


def extremes_of(stretches: Iterable[Stretch], key: Key) -> tuple[float, float] | None:
    """Return the minimum and maximum over *stretches*; None if never known."""
    found = [stretch.extremes[key] for stretch in stretches if key in stretch.extremes]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None
