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
DIRECTIONS = {"read": (0,), "write": (1,), "total": (0, 1)}
UNKNOWN = float("nan")
NOTHING = bytes(4 * 2 * len(METRICS))


class _Column:
    """
    Requests, bytes and milliseconds of the devices that did something, read and then written.

    Over ``seconds``; of the devices ``names``, which had counters, the others were idle.
    """

    def __init__(self, number: int, names: AbstractSet[str]) -> None:
        self.number = number
        self.names = names
        self.seconds = 0.0
        self.sums: dict[str, array[float]] = {}

    def add(self, interval: Interval, seconds: float) -> None:
        self.seconds += seconds
        known = self.sums
        for name, load in interval.loads.items():
            if load is IDLE:
                continue
            if (sums := known.get(name)) is None:
                sums = known[name] = array("f", NOTHING)
            read, write = load.read, load.write
            amounts = (read.ios, read.bytes, read.wait, write.ios, write.bytes, write.wait)
            for place, amount in enumerate(amounts):
                sums[place] += UNKNOWN if amount is None else amount * seconds

    def value(self, name: str, metric: str, direction: str) -> float | None:
        """Return the mean rate or await; None if unknown, and without requests for an await."""
        sums = self.sums.get(name)
        if sums is None:
            return 0.0 if name in self.names and metric != "await" else None
        parts = [sums[len(METRICS) * each :] for each in DIRECTIONS[direction]]
        found = sum(part[METRICS.index(metric)] for part in parts)
        whole = sum(part[0] for part in parts) if metric == "await" else self.seconds
        value = ratio(found, whole)
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

    def values(self, name: str, metric: str, direction: str) -> tuple[float | None, ...]:
        """Return the value of each column of the device *name*, the newest last."""
        return tuple([column.value(name, metric, direction) for column in self._columns])
