"""
The load over time, in memory that does not grow with what was measured.

A day of seconds is 86,400 intervals, and a reader sees some hundred points. So
the intervals are averaged in stretches of equally many, and where there are
more stretches than room, every two become one. What an average hides is kept
beside it: the least and the most that any single interval had.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from stackmap.analysis.averages import Average
from stackmap.analysis.share import flow_of, flows_of
from stackmap.model.interval import Interval
from stackmap.model.load import Load

MOST_LOADS = 40_000  # held at once, some 40 MB
ROOM = (24, 480)  # stretches: enough to see a course, and no more than a picture shows
RATES = ("ios", "bytes")  # of a flow: what adds up over time
FIGURES = (*RATES, "await_ms")

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
        """Return one of ``FIGURES`` in a direction of ``flows_of``, over all of them."""
        return _figure(self.interval.loads.get(device, Load()), direction, figure)


class Course:
    """The stretches of the intervals that were added, in their order."""

    def __init__(self) -> None:
        self._done: list[Stretch] = []
        self._each = 1  # intervals a stretch
        self._begin()

    def _begin(self) -> None:
        self._open: list[Interval] = []  # the first of those since the last stretch, and the newest
        self._count = 0  # how many they are
        self._ends: dict[Key, tuple[float, float]] = {}
        self._running = Average()

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Take one more interval in; *watched*: loads put right, of which the extremes are kept."""
        self._running.add(interval)
        self._open = [*self._open[:1], interval]
        self._count += 1
        _widen(self._ends, watched)
        if self._count < self._each:
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
        return (*self._done, *([self._whole()] if self._open else []))

    def average(self) -> Interval | None:
        """Return the average of all that was added; None if that is nothing."""
        running = Average()
        for stretch in self.stretches:
            running.add(stretch.interval)
        return running.result()

    def _close(self) -> None:
        if self._open:
            self._done.append(self._whole())
        self._begin()

    def _whole(self) -> Stretch:
        """Return what there is since the last stretch, as its average; of one interval, as that itself."""
        first, *_ = self._open
        average = self._running.result() if self._count > 1 else None
        interval = self._open[-1] if average is None else average
        return Stretch(interval, self._count, start_of(first), dict(self._ends))


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


def _widen(ends: dict[Key, tuple[float, float]], watched: Mapping[str, Load]) -> None:
    """Have *ends* hold the figures of *watched* too."""
    for key, value in known(watched, FIGURES):
        held = ends.get(key)
        if held is None:
            ends[key] = value, value
        elif not held[0] <= value <= held[1]:
            ends[key] = min(held[0], value), max(held[1], value)


def known(watched: Mapping[str, Load], figures: tuple[str, ...]) -> Iterator[tuple[Key, float]]:
    """Yield what is known of *figures* of all flows, and whose it is. In few calls: a day of seconds has millions."""
    values = attrgetter(*figures)
    for name, load in watched.items():
        for direction, flow in flows_of(load):
            for figure, value in zip(figures, values(flow), strict=True):
                if value is not None:
                    yield (name, direction, figure), value


def _figure(load: Load, direction: str, figure: str) -> float | None:
    value: float | None = getattr(flow_of(load, direction), figure)
    return value


def extremes_of(stretches: Iterable[Stretch], key: Key) -> tuple[float, float] | None:
    """Return the least and the most of all *stretches*; None where it was never known."""
    found = [stretch.extremes[key] for stretch in stretches if key in stretch.extremes]
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None
