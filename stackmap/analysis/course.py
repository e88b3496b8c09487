"""
The load over time, in memory that does not grow with what was measured.

A day of seconds is 86,400 intervals, and a reader sees some hundred points. So
the intervals are averaged in stretches of equally many, and where there are
more stretches than room, every two become one. What an average hides is kept
beside it: the least and the most that any single interval had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stackmap.analysis.averages import Average
from stackmap.analysis.share import flow_of
from stackmap.model.interval import Interval
from stackmap.model.load import Load

MOST_LOADS = 40_000  # held at once, some 40 MB
ROOM = (24, 480)  # stretches: enough to see a course, and no more than a picture shows
DIRECTIONS = ("read", "write", "total")
FIGURES = ("ios", "bytes", "await_ms")

Key = tuple[str, str, str]  # device, direction, figure
Extremes = Mapping[Key, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Stretch:
    """
    Some intervals, one after another, as one.

    ``interval``: their average. ``count``: how many they are. ``start``:
    seconds since the epoch when the first began, None where no clock tells.
    ``extremes``: the least and the most of any of them, of watched devices.
    """

    interval: Interval
    count: int = 1
    start: float | None = None
    extremes: Extremes = field(default_factory=dict)

    def mean(self, device: str, direction: str, figure: str) -> float | None:
        """Return one of ``FIGURES`` in one of ``DIRECTIONS``, over all of them."""
        return _figure(self.interval.loads.get(device, Load()), direction, figure)


class Course:
    """The stretches of the intervals that were added, in their order."""

    def __init__(self) -> None:
        self._done: list[Stretch] = []
        self._open: Stretch | None = None
        self._running = Average()
        self._each = 1  # intervals a stretch

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Take one more interval in; *watched*: loads put right, of which the extremes are kept."""
        one = Stretch(interval, 1, start_of(interval), _extremes(watched))
        self._running.add(interval)
        self._open = one if self._open is None else _beside(self._open, one, interval)
        if self._open.count < self._each:
            return
        self._close()
        if len(self._done) >= _room(len(interval.loads)):
            self._done = [
                _joined(*self._done[place : place + 2]) for place in range(0, len(self._done), 2)
            ]
            self._each *= 2

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """What there is so far; the last may be shorter than the others."""
        return (*self._done, *([self._whole(self._open)] if self._open is not None else []))

    def average(self) -> Interval | None:
        """Return the average of all that was added; None if that is nothing."""
        running = Average()
        for stretch in self.stretches:
            running.add(stretch.interval)
        return running.result()

    def _close(self) -> None:
        if self._open is not None:
            self._done.append(self._whole(self._open))
        self._open, self._running = None, Average()

    def _whole(self, stretch: Stretch) -> Stretch:
        """Return *stretch* with the average of all it has; of one interval, with that itself."""
        average = self._running.result() if stretch.count > 1 else None
        if average is None:
            return stretch
        return Stretch(average, stretch.count, stretch.start, stretch.extremes)


def _room(devices: int) -> int:
    """Return for how many stretches there is room: an even number, so that each finds another."""
    least, most = ROOM
    return max(least, min(most, MOST_LOADS // max(1, devices))) // 2 * 2


def start_of(interval: Interval) -> float | None:
    """Return when *interval* began, seconds since the epoch; None where nothing tells."""
    if interval.time is None or interval.seconds is None:
        return interval.time
    return interval.time - interval.seconds


def _joined(first: Stretch, second: Stretch) -> Stretch:
    running = Average()
    running.add(first.interval)
    running.add(second.interval)
    average = running.result()
    return _beside(first, second, second.interval if average is None else average)


def _beside(first: Stretch, second: Stretch, interval: Interval) -> Stretch:
    """Return two as one that has *interval* for its average."""
    wider = dict(first.extremes)
    for key, (least, most) in second.extremes.items():
        before = wider.get(key, (least, most))
        wider[key] = min(before[0], least), max(before[1], most)
    return Stretch(interval, first.count + second.count, first.start, wider)


def _extremes(watched: Mapping[str, Load]) -> Extremes:
    return {
        (name, direction, figure): (value, value)
        for name, load in watched.items()
        for direction in DIRECTIONS
        for figure in FIGURES
        if (value := _figure(load, direction, figure)) is not None
    }


def _figure(load: Load, direction: str, figure: str) -> float | None:
    value: float | None = getattr(flow_of(load, direction), figure)
    return value


def extremes_of(stretches: Iterable[Stretch], key: Key) -> tuple[float, float] | None:
    """Return the least and the most of all *stretches*; None where it was never known."""
    found = [stretch.extremes[key] for stretch in stretches if key in stretch.extremes]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None
