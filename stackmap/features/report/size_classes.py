"""
Request sizes: the mean sizes of intervals in classes of powers of two, weighted by requests.

The counters have no sizes of single requests, only counts and total bytes. So a
class holds the requests of the intervals whose *mean* size is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackmap.model.interval import Interval
from stackmap.model.load import IDLE, Load
from stackmap.model.units import SECTOR

Key = tuple[str, str]  # device, direction


class SizeClasses:
    """``requests``: counts by device and direction, then by the lower bound of the class in bytes."""

    def __init__(self) -> None:
        self.requests: dict[Key, dict[int, float]] = {}

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
