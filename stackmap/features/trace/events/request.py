"""A request at one layer, with its causes and effects; the requests in flight on a device; and their totals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

METADATA = "metadata"  # a role
REMAPPED, DERIVED, MERGED = "remap", "derived", "merge"
UNKNOWN = "unknown"  # it has a cause, which was not found: a resync, or older than the trace


@dataclass(slots=True, eq=False)
class Request:
    """
    A request at the device ``name``.

    ``command``, ``pid``: the thread that submitted it. ``queued``, ``issued``, ``done``: seconds of the
    trace clock; None if not seen. ``issued`` only at a device with a queue. ``causes``: requests above;
    ``how`` they were found: the kernel reported it, ``DERIVED`` from the layout, by merging, or ``UNKNOWN``.
    ``role``: of a member's part ("data", "parity"), "metadata", or "". ``arrivals``: the requests that
    merged into it.
    """

    id: int
    name: str
    operation: str
    flags: str
    sector: int
    sectors: int
    command: str
    pid: int
    queued: float
    issued: float | None = None
    done: float | None = None
    causes: tuple[Request, ...] = ()
    how: str = ""
    role: str = ""
    arrivals: int = 1
    dispatched: bool = False
    below: list[Request] = field(default_factory=list)
    unissued: int = 0

    def __post_init__(self) -> None:
        self.unissued = self.sectors
        for cause in self.causes:
            cause.below.append(self)

    @property
    def end(self) -> int:
        """The sector after its last."""
        return self.sector + self.sectors

    @property
    def seconds(self) -> float | None:
        """From queueing to completion; None if it was not seen to complete."""
        return None if self.done is None else self.done - self.queued

    @property
    def flushes(self) -> bool:
        """Whether it flushes the write cache first, or does only that."""
        return self.operation == "flush" or self.flags[:1] == "F"

    def caused(self) -> Iterator[Request]:
        """Yield the requests that it caused one layer below; a merged request is replaced by the one dispatched."""
        for below in self.below:
            sent = [merged for merged in below.below if merged.how == MERGED]
            yield from sent or [below]

    def because_of(self) -> tuple[Request, ...]:
        """Return the requests one layer above, each once, in their order."""
        causes_above = dict.fromkeys(
            above
            for cause in self.causes
            for above in (cause.causes or (cause,) if self.how == MERGED else (cause,))
        )
        return tuple(sorted(causes_above, key=lambda above: above.id))

    def roots(self) -> frozenset[Request]:
        """Return the requests that were not caused by another, itself if none caused it."""
        return (
            frozenset().union(*(cause.roots() for cause in self.causes))
            if self.causes
            else frozenset({self})
        )

    def settled(self) -> bool:
        """Whether it and all that it caused is done."""
        return self.done is not None and all(below.settled() for below in self.below)


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
        candidates = dict(self._wide)
        for number in range(start // BUCKET, (end - 1) // BUCKET + 1):
            candidates |= self._buckets.get(number, {})
        return [
            request
            for _, request in sorted(candidates.items())
            if request.sector < end and start < max(request.end, request.sector + 1)
        ]

    def flushing(self) -> list[Request]:
        """Return the requests that flush the write cache, oldest first."""
        return list(self._flushing.values())


def _buckets(request: Request) -> range:
    """Return the numbers of the buckets that *request* touches; an empty range for a wide one."""
    first, last = request.sector // BUCKET, max(request.end - 1, request.sector) // BUCKET
    return range(0) if last - first >= WIDE else range(first, last + 1)


@dataclass(slots=True)
class Totals:
    """
    How many requests devices with a queue were sent.

    ``metadata``: those for metadata of arrays and pools. ``unknown``: those of unknown cause. ``derived``: the arrays
    whose requests are matched to their members' requests by the layout.
    """

    sent: int = 0
    metadata: int = 0
    unknown: int = 0
    derived: set[str] = field(default_factory=set)

    def add(self, dispatched: Iterable[Request]) -> None:
        """Count more requests."""
        for request in dispatched:
            self.sent += 1
            self.metadata += part(request) == METADATA
            self.unknown += any(root.how == UNKNOWN for root in request.roots())
            self.derived |= set(_derived(request))


def part(request: Request) -> str:
    """Return the part of the array that *request* is for ("data", "parity", "metadata"), "" if unknown or several."""
    if request.role or not request.causes:
        return request.role
    parts = {part(cause) for cause in request.causes}
    return parts.pop() if len(parts) == 1 else ""


def _derived(request: Request) -> Iterator[str]:
    """Yield the arrays at which a cause of *request* was derived."""
    if request.how == DERIVED:
        yield from (cause.name for cause in request.causes)
    for cause in request.causes:
        yield from _derived(cause)
