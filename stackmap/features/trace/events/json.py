"""The objects of ``trace --events -J``: one per request, and one about the whole trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.features.trace.events.document import title
from stackmap.features.trace.events.request import DERIVED, Request
from stackmap.features.trace.events.totals import Totals, part
from stackmap.model.topology import Topology
from stackmap.model.units import SECTOR

SCHEMA = "stackmap.trace/1"


def requests_json(
    topology: Topology, requests: Iterable[Request], start: float, *, follow: bool
) -> Iterator[dict[str, object]]:
    """Yield each of *requests*; with *follow*, after each what it caused, every request once."""
    for request in requests:
        yield _request(topology, request, start)
        if follow:
            below = (each for each in request.caused() if _first_cause(each, request))
            yield from requests_json(topology, below, start, follow=True)


def _first_cause(below: Request, request: Request) -> bool:
    return below.because_of()[:1] in ((request,), request.causes[:1])


def summary_json(
    listed: int, totals: Totals, events: int, lost: int, overhead: float
) -> dict[str, object]:
    """Return the totals of the trace."""
    return {
        "schema": SCHEMA,
        "requests": listed,
        "disk_requests": totals.sent,
        "metadata": totals.metadata,
        "unknown": totals.unknown,
        "events": events,
        "lost": {"events": lost},
        "overhead": overhead,
    }


def _request(topology: Topology, request: Request, start: float) -> dict[str, object]:
    issued, seconds = request.issued, request.seconds
    return {
        "schema": SCHEMA,
        "id": request.id,
        "caused_by": [each.id for each in request.because_of()],
        "derived": any(DERIVED in (each.how, request.how) for each in request.causes),
        "time": request.queued - start,
        "command": request.command,
        "pid": request.pid,
        "device": request.name,
        "label": title(topology, request),
        "operation": request.operation,
        "flags": request.flags,
        "role": part(request) or None,
        "offset": request.sector * SECTOR,
        "size": request.sectors * SECTOR,
        "dispatched": request.dispatched,
        "merged": request.arrivals - 1,
        "queued_us": None if issued is None else (issued - request.queued) * 1e6,
        "latency_us": None if seconds is None else seconds * 1e6,
    }
