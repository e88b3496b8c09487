"""The requests in flight on one device, found by sector."""

from __future__ import annotations

from stackmap.features.trace.events.request import Request

BUCKET = 2048  # sectors: 1 MiB
MOST = 50_000  # requests kept; with lost events, completions never come
WIDE = 64  # buckets; a larger request (a discard) is kept apart


class InFlight:
    """An index by position: thousands of requests may be in flight on a volume."""

    def __init__(self) -> None:
        self._all: dict[int, Request] = {}
        self._buckets: dict[int, dict[int, Request]] = {}
        self._wide: dict[int, Request] = {}
        self._flushing: dict[int, Request] = {}

    def add(self, request: Request) -> None:
        """Add *request*; the oldest of too many is forgotten."""
        self._all[request.id] = request
        if len(self._all) > MOST:
            self.remove(next(iter(self._all.values())))
        for number in _buckets(request):
            self._buckets.setdefault(number, {})[request.id] = request
        if not _buckets(request):
            self._wide[request.id] = request
        if request.flushes:
            self._flushing[request.id] = request

    def remove(self, request: Request) -> None:
        """Remove *request*."""
        self._all.pop(request.id, None)
        self._wide.pop(request.id, None)
        self._flushing.pop(request.id, None)
        for number in _buckets(request):
            bucket = self._buckets.get(number, {})
            bucket.pop(request.id, None)
            if not bucket:
                self._buckets.pop(number, None)

    def over(self, start: int, sectors: int) -> list[Request]:
        """Return the requests that touch *sectors* from *start*, oldest first; an empty one is at its sector."""
        end = start + max(sectors, 1)
        found = dict(self._wide)
        for number in range(start // BUCKET, (end - 1) // BUCKET + 1):
            found |= self._buckets.get(number, {})
        return [
            request
            for _, request in sorted(found.items())
            if request.sector < end and start < max(request.end, request.sector + 1)
        ]

    def flushing(self) -> list[Request]:
        """Return the requests that flush the write cache, oldest first."""
        return list(self._flushing.values())


def _buckets(request: Request) -> range:
    """Return the numbers of the buckets that *request* touches; an empty range for a wide one."""
    first, last = request.sector // BUCKET, max(request.end - 1, request.sector) // BUCKET
    return range(0) if last - first >= WIDE else range(first, last + 1)
