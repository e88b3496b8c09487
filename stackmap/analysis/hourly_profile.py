"""
The load by hour of day: when is it asked for most?

The hour is that in which an interval began: in UTC where the instant is
known, as the text prints it where only that is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from stackmap.analysis.time_series import RATES, Key, known, start_of
from stackmap.model.interval import Interval
from stackmap.model.load import Load

# As sysstat prints it: 07:10:01, 07:10:01 PM, 11/21/2026 07:10:01.
CLOCK = re.compile(r"\b([01]?\d|2[0-3]):[0-5]\d:[0-5]\d(?: ([AP])M)?")
LAST_INSTANT = 253402300800.0  # 10000-01-01, where datetime ends


@dataclass(slots=True)
class Hour:
    """
    What was measured in one hour of the day, whatever the date.

    ``seconds``: how long; of texts that do not say, reports. ``sums``: rates
    times their length, so that ``sums / seconds`` is the mean; ``most``: the
    greatest rate of any interval.
    """

    seconds: float = 0.0
    sums: dict[Key, float] = field(default_factory=dict)
    most: dict[Key, float] = field(default_factory=dict)

    def mean(self, key: Key) -> float | None:
        """Return the mean rate; None where it was never known."""
        return self.sums[key] / self.seconds if key in self.sums and self.seconds else None


class Hours:
    """Intervals by the hour of day they began in. ``utc``: whether that is UTC's, or a text's own."""

    def __init__(self) -> None:
        self.by_hour: dict[int, Hour] = {}
        self.utc = True
        self.unknown = 0

    def add(self, interval: Interval, watched: Mapping[str, Load]) -> None:
        """Take one more interval in; *watched*: the loads to keep, put right."""
        hour = self._hour_of(interval)
        if hour is None:
            self.unknown += 1
            return
        here = self.by_hour.setdefault(hour, Hour())
        weight = interval.seconds or 1.0
        here.seconds += weight
        for key, value in known(watched, RATES):
            here.sums[key] = here.sums.get(key, 0.0) + value * weight
            here.most[key] = max(here.most.get(key, value), value)

    def _hour_of(self, interval: Interval) -> int | None:
        start = start_of(interval)
        # A capture without instants counts from 0.
        if start is not None and 86400 < start < LAST_INSTANT:
            return datetime.fromtimestamp(start, UTC).hour
        found = CLOCK.search(interval.stamp)
        if found is None:
            return None
        self.utc = False
        hour = int(found[1])
        return hour % 12 + (12 if found[2] == "P" else 0) if found[2] else hour
