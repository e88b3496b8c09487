"""
The load by hour of day, and by request size.

An interval belongs to the hour in which it began: in UTC if the time is known, else as the text prints it.

The counters have no sizes of single requests, only counts and total bytes. So a class of sizes, powers of
two, holds the requests of the intervals whose *mean* size is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import starmap
from operator import mul

from stackmap.ledger.time_series import MAX_CHANGED, RATES, Key, columns_of, start_of
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load, sum_in_order
from stackmap.model.units import SECTOR

# sysstat's formats: 07:10:01, 07:10:01 PM, 11/21/2026 07:10:01.
CLOCK = re.compile(r"\b([01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?: ([AP])M)?")
LAST_INSTANT = 253402300800.0  # 10000-01-01, where datetime ends


@dataclass(slots=True)
class Hour:
    """
    The load in one hour of the day, over all dates.

    ``seconds``: time measured; for texts without a length, the number of
    reports. ``sums``: rates times seconds, so ``sums / seconds`` is the mean.
    ``most``: the highest rate of any interval. ``idle``: the devices that were idle once.
    """

    seconds: float = 0.0
    sums: dict[Key, float] = field(default_factory=dict)
    most: dict[Key, float] = field(default_factory=dict)
    idle: set[str] = field(default_factory=set)
    _held: dict[str, tuple[list[Load], list[float]]] = field(default_factory=dict)
    _count: int = 0

    def add(self, watched: Mapping[str, Load], weight: float) -> None:
        """Add the loads of one interval, which counts *weight* times."""
        self.seconds += weight
        for name, load in watched.items():
            if load is IDLE:
                if name in self.idle:
                    continue
                self.idle.add(name)
            loads, weights = self._held.setdefault(name, ([], []))
            loads.append(load)
            weights.append(weight)
        self._count += 1
        if self._count % MAX_CHANGED == 0:
            self.add_up()

    def add_up(self) -> None:
        """Add what was added since the last time to ``sums`` and ``most``."""
        for name, (loads, weights) in self._held.items():
            for direction, columns in columns_of(loads):
                for figure, values in zip(RATES, columns, strict=False):
                    pairs = zip(values, weights, strict=True)
                    known = [(value, weight) for value, weight in pairs if value is not None]
                    if known:
                        self._add_known((name, direction, figure), known)
        self._held = {}

    def _add_known(self, key: Key, known: Sequence[tuple[float, float]]) -> None:
        self.sums[key] = sum_in_order(starmap(mul, known), self.sums.get(key, 0.0))
        most = max(value for value, _ in known)
        self.most[key] = max(self.most.get(key, most), most)

    def mean(self, key: Key) -> float | None:
        """Return the mean rate; None if never known."""
        return self.sums[key] / self.seconds if key in self.sums and self.seconds else None


class Hours:
    """Intervals by hour of day. ``utc``: whether hours are UTC or a text's own. ``unknown``: how many have no hour."""

    def __init__(self) -> None:
        self._by_hour: dict[int, Hour] = {}
        self.utc = True
        self.unknown = 0

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: its loads to keep, corrected."""
        hour = self._hour_of(interval)
        if hour is None:
            self.unknown += 1
            return
        self._by_hour.setdefault(hour, Hour()).add(watched, interval.seconds or 1.0)

    @property
    def by_hour(self) -> Mapping[int, Hour]:
        """The load in each hour that has any."""
        for hour in self._by_hour.values():
            hour.add_up()
        return self._by_hour

    def _hour_of(self, interval: Interval) -> int | None:
        start = start_of(interval)
        # The times of a capture without a clock count from 0.
        if start is not None and 86400 < start < LAST_INSTANT:
            return datetime.fromtimestamp(start, UTC).hour
        found = CLOCK.search(interval.stamp)
        if found is None:
            return None
        self.utc = False
        hour = int(found[1])
        return hour % 12 + (12 if found[2] == "P" else 0) if found[2] else hour


DeviceDirection = tuple[str, str]  # device, direction


class SizeClasses:
    """``requests``: counts by device and direction, then by the lower bound of the class in bytes."""

    def __init__(self) -> None:
        self.requests: dict[DeviceDirection, dict[int, float]] = {}

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: its loads to keep, corrected."""
        seconds = interval.seconds or 1.0
        for name, load in watched.items():
            if load is IDLE:
                continue
            for direction, flow in load.flows:
                if flow.ios and (size := flow.size) is not None:
                    classes = self.requests.setdefault((name, direction), {})
                    least = size_class(size)
                    classes[least] = classes.get(least, 0.0) + flow.ios * seconds

    def of(self, device: str, direction: str) -> dict[int, float]:
        """Return the requests of *device* by class, {} where there were none."""
        return self.requests.get((device, direction), {})


def span(classes: Iterable[int]) -> list[int]:
    """
    Return *classes* with all classes between them and one more at each end.

    >>> span([8192, 0]), span([4096, 16384])
    ([0, 4096, 8192, 16384], [2048, 4096, 8192, 16384, 32768])
    """
    found = set(classes)
    powers = sorted(found - {0})
    if not powers:
        return sorted(found)
    least, most = max(SECTOR, powers[0] // 2), powers[-1] * 2
    between = [1 << power for power in range(least.bit_length() - 1, most.bit_length())]
    return [0] * (0 in found) + between


def size_class(size: float) -> int:
    """
    Return the largest power of two up to *size* bytes; 0 below a sector.

    >>> size_class(8192), size_class(8191), size_class(0)
    (8192, 4096, 0)
    """
    return 1 << (int(size).bit_length() - 1) if size >= SECTOR else 0
