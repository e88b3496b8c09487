"""
The load by hour of day, and by request size.

An interval belongs to the hour in which it began: in UTC if the time is known, else as the text prints it.

The counters have no sizes of single requests, only counts and total bytes. So a class of sizes, powers of
two, holds the requests of the intervals whose *mean* size is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from stackmap.ledger.time_series import Key, start_of
from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load
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

    def add(self, watched: Mapping[str, Load], weight: float) -> None:
        """Add the loads of one interval, which counts *weight* times."""
        self.seconds += weight
        sums, most = self.sums, self.most
        for name, load in watched.items():
            if load is IDLE:
                if name in self.idle:
                    continue
                self.idle.add(name)
            for direction, flow in load.flows:
                for figure, rate in (("ios", flow.ios), ("bytes", flow.bytes)):
                    if rate is not None:
                        key = name, direction, figure
                        sums[key] = sums.get(key, 0.0) + rate * weight
                        if rate > most.get(key, -1.0):
                            most[key] = rate

    def mean(self, key: Key) -> float | None:
        """Return the mean rate; None if never known."""
        return self.sums[key] / self.seconds if key in self.sums and self.seconds else None


class Hours:
    """The load ``by_hour`` of day; ``utc``: whether hours are UTC or a text's own."""

    def __init__(self) -> None:
        self.by_hour: dict[int, Hour] = {}
        self.utc = True

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Add one interval; *watched*: its loads to keep, corrected."""
        hour = self._hour_of(interval)
        if hour is not None:
            self.by_hour.setdefault(hour, Hour()).add(watched, interval.seconds or 1.0)

    def _hour_of(self, interval: Interval) -> int | None:
        start = start_of(interval)
        # The times of a capture without a clock count from 0.
        if start is not None and 86400 < start < LAST_INSTANT:
            return datetime.fromtimestamp(start, UTC).hour
        clock = CLOCK.search(interval.stamp)
        if clock is None:
            return None
        self.utc = False
        hour = int(clock[1])
        return hour % 12 + (12 if clock[2] == "P" else 0) if clock[2] else hour


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
                if flow.ios and flow.bytes is not None:
                    classes = self.requests.setdefault((name, direction), {})
                    least = size_class(flow.bytes / flow.ios)
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
    present = set(classes)
    powers = sorted(present - {0})
    if not powers:
        return sorted(present)
    least, most = max(SECTOR, powers[0] // 2), powers[-1] * 2
    between = [1 << power for power in range(least.bit_length() - 1, most.bit_length())]
    return [0] * (0 in present) + between


def size_class(size: float) -> int:
    """
    Return the largest power of two up to *size* bytes; 0 below a sector.

    >>> size_class(8192), size_class(8191), size_class(0)
    (8192, 4096, 0)
    """
    return 1 << (int(size).bit_length() - 1) if size >= SECTOR else 0
