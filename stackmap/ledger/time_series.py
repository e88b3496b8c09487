"""
The load over time, in memory that does not grow with the length of the measurement.

A day of one-second intervals is 86,400; a chart shows some hundred points. So
equally many intervals are averaged into one stretch, and when there are too
many stretches, every two become one. The minimum and maximum of the single
intervals are kept beside each average.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stackmap.ledger.averages import Average, average
from stackmap.model.interval import Interval
from stackmap.model.load import Flow, Load, plus, ratio

MAX_LOADS = 40_000  # held at once, some 40 MB
MIN_STRETCHES, MAX_STRETCHES = 24, 480  # enough to see a trend; no more than a chart shows
MAX_CHANGED = 64  # intervals whose extremes are found together
RATES = ("ios", "bytes")  # figures of a flow that can be summed over time
FIGURES = (*RATES, "await_ms")

Key = tuple[str, str, str]  # device, direction, figure
Extremes = Mapping[Key, tuple[float, float]]
Column = list[float | None]


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
        self._changed: dict[str, list[Load]] = {}  # whose extremes are not known yet

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: the corrected loads of which the extremes are kept."""
        self._running.add(interval)
        self._ends = (*self._ends[:1], interval)
        self._count += 1
        # A device that stays idle has the same load, whose extremes are known.
        for name, load in watched.items():
            if self._newest.get(name) is not load:
                self._changed.setdefault(name, []).append(load)
        self._newest = watched
        if self._count % MAX_CHANGED == 0:
            self._find_extremes()
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
        self._find_extremes()
        result = self._running.result() if self._count > 1 else None
        interval = self._ends[-1] if result is None else result
        return Stretch(interval, self._count, start_of(self._ends[0]), dict(self._extremes))

    def _find_extremes(self) -> None:
        """Extend the extremes by the loads that changed since they were found."""
        for name, loads in self._changed.items():
            for direction, columns in columns_of(loads):
                for figure, values in zip(FIGURES, columns, strict=True):
                    found = [value for value in values if value is not None]
                    if found:
                        _widen(self._extremes, (name, direction, figure), min(found), max(found))
        self._changed = {}


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
        _widen(extremes, key, *ends)
    return Stretch(interval, first.count + second.count, first.start, extremes)


def _widen(extremes: dict[Key, tuple[float, float]], key: Key, low: float, high: float) -> None:
    """Extend the *extremes* of *key* to include *low* and *high*."""
    held = extremes.get(key)
    extremes[key] = (low, high) if held is None else (min(held[0], low), max(held[1], high))


def columns_of(loads: Sequence[Load]) -> Iterator[tuple[str, tuple[Column, ...]]]:
    """Yield the directions of ``Load.flows``, each with the columns of ``FIGURES`` of *loads*."""
    read, write = _columns([load.read for load in loads]), _columns([load.write for load in loads])
    if any(load.whole is not None for load in loads):
        total = _columns([load.total for load in loads])
    else:
        total = tuple([*map(plus, *pair)] for pair in zip(read, write, strict=True))
    for direction, (requests, moved, waited) in (
        ("read", read),
        ("write", write),
        ("total", total),
    ):
        yield direction, (requests, moved, [*map(ratio, waited, requests)])


def _columns(flows: Sequence[Flow]) -> tuple[Column, ...]:
    """Return the requests, bytes and waits of *flows*."""
    return (
        [flow.ios for flow in flows],
        [flow.bytes for flow in flows],
        [flow.wait for flow in flows],
    )


def extremes_of(stretches: Iterable[Stretch], key: Key) -> tuple[float, float] | None:
    """Return the minimum and maximum over *stretches*; None if never known."""
    found = [stretch.extremes[key] for stretch in stretches if key in stretch.extremes]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None
