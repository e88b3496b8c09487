"""The load of every device over the last two minutes, in a few bytes each: what sparklines show."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Set as AbstractSet

from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, ratio

SPAN = 120.0  # seconds
COLUMNS = 24
METRICS = ("iops", "bytes", "await")
DIRECTIONS = ("read", "write", "total")
UNKNOWN = float("nan")


class _Column:
    """Requests, bytes and milliseconds of the devices that did something, by direction, and their seconds."""

    def __init__(self, number: int, names: AbstractSet[str]) -> None:
        self.number = number
        self.names = names  # with counters
        self.seconds = 0.0
        self.sums: dict[str, array[float]] = {}

    def add(self, interval: Interval, seconds: float) -> None:
        self.seconds += seconds
        for name, load in interval.loads.items():
            if load is IDLE:
                continue
            if (sums := self.sums.get(name)) is None:
                sums = self.sums[name] = array("f", bytes(4 * len(METRICS) * len(DIRECTIONS)))
            for place, flow in enumerate((load.read, load.write, load.total)):
                for metric, value in enumerate((flow.ios, flow.bytes, flow.wait)):
                    amount = UNKNOWN if value is None else value * seconds
                    sums[metric * len(DIRECTIONS) + place] += amount

    def value(self, name: str, metric: str, direction: str) -> float | None:
        """Return the mean rate or await; None if unknown, and without requests for an await."""
        sums, place = self.sums.get(name), DIRECTIONS.index(direction)
        if sums is None:
            return 0.0 if name in self.names and metric != "await" else None
        found = sums[METRICS.index(metric) * len(DIRECTIONS) + place]
        value = ratio(found, sums[place] if metric == "await" else self.seconds)
        return None if value is None or value != value else value  # noqa: PLR0124 - NaN is unknown


class RecentLoad:
    """
    ``COLUMNS`` columns, the newest last; each is ``SPAN / COLUMNS`` seconds, or one longer interval.

    Devices are known by kernel name: ``forget`` those that were replaced.
    """

    def __init__(self) -> None:
        self._columns: deque[_Column] = deque(maxlen=COLUMNS)
        self._names: frozenset[str] = frozenset()

    def add(self, interval: Interval) -> None:
        """Take the next interval."""
        seconds = interval.seconds or 1.0
        number = int((interval.time or 0.0) / max(SPAN / COLUMNS, seconds))
        if self._names != interval.loads.keys():
            self._names = frozenset(interval.loads)
        if not self._columns or self._columns[-1].number != number:
            self._columns.append(_Column(number, self._names))
        self._columns[-1].add(interval, seconds)

    def forget(self, names: AbstractSet[str]) -> None:
        """Drop the figures of *names*."""
        for column in self._columns:
            column.names = column.names - names
            for name in names:
                column.sums.pop(name, None)

    def values(self, name: str, metric: str, direction: str) -> list[float | None]:
        """Return the value of each column of the device *name*, the newest last."""
        return [column.value(name, metric, direction) for column in self._columns]
