"""The requests that disks were sent, by their causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from stackmap.features.trace.events.derived import METADATA
from stackmap.features.trace.events.request import DERIVED, UNKNOWN, Request


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
