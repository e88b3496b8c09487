"""``trace --events``: requests one by one, with what they caused below, as tables and as JSON objects."""

from collections.abc import Iterable, Iterator, Sequence

from stackmap.document.blocks import Block, Column, Label, Paragraph, Row, Rows, Table, Value
from stackmap.document.wording import divided, kib, listed, percent, plural
from stackmap.features.trace.events.request import DERIVED, Request, Totals, part
from stackmap.model.topology import Topology
from stackmap.model.units import SECTOR

COLUMNS = (
    Column("DEVICE", "device", ("depth",), is_text=True),
    Column("REQUEST", "request", ("count",), is_text=True),
    Column("PROCESS", "process", is_text=True),
    Column("s", "queued_at_s"),
    Column("offset\nKiB", "offset_bytes"),
    Column("KiB", "bytes"),
    Column("queued\nms", "queued_ms"),
    Column("ms", "duration_ms"),
)
INDENT = "  "
ABOVE = " ↑"  # it is shown below another request that caused it too, as in `tree`
LEGEND = (
    "s: when the request was queued, since the first event. queued: until it was sent to the disk. "
    "ms: until it was complete. ×: so many requests. ↑: the request is also shown above, with its other cause."
)


def request_blocks(
    topology: Topology, requests: Iterable[Request], start: float, *, follow: bool
) -> list[Block]:
    """Return a line per request; with *follow*, the requests that it caused below it. *start*: the time of 0 s."""
    rows = [row for request in requests for row in _rows(topology, [request], start, follow=follow)]
    return [Table("requests", COLUMNS, (Rows(tuple(rows)),), legend=LEGEND)] if rows else []


def _rows(
    topology: Topology,
    alike: Sequence[Request],
    start: float,
    *,
    follow: bool,
    depth: int = 0,
    again: bool = False,
) -> Iterator[Row]:
    """Yield the line of the requests *alike*; with *follow* also the lines of the requests that they caused."""
    first = alike[0]
    waited = None if first.issued is None else first.issued - first.queued
    ends = [request.done for request in alike if request.done is not None]
    seconds = max(ends) - first.queued if len(ends) == len(alike) else None
    count = f"×{len(alike)}" if len(alike) > 1 else ""
    name, kind = title(topology, first), " ".join(filter(None, (first.operation, part(first))))
    yield (
        Label(INDENT * depth + name + ABOVE * again, (name, str(depth))),
        Label(" ".join(filter(None, (kind, count))), (kind, str(len(alike)))),
        f"{first.command} {first.pid}",
        Value(first.queued - start, divided(1, 6)),
        Value(min(request.sector for request in alike) * SECTOR, kib),
        Value(sum(request.sectors for request in alike) * SECTOR, kib),
        "" if waited is None else Value(waited * 1000, divided(1, 2)),
        Value(None if seconds is None else seconds * 1000, divided(1, 2)),
    )
    for group, shown in _below(alike) if follow and not again else ():
        yield from _rows(topology, group, start, follow=True, depth=depth + 1, again=shown)


def _below(alike: Sequence[Request]) -> Iterator[tuple[list[Request], bool]]:
    """Yield the requests that *alike* caused, pages of one member together; and whether they are shown elsewhere."""
    causes = {*alike, *(cause for request in alike for cause in request.causes)}
    groups: dict[object, list[Request]] = {}
    for below in dict.fromkeys(caused for request in alike for caused in request.caused()):
        first, *others = below.because_of()
        shown = bool(others) and first not in causes
        kind = (below.name, below.operation, part(below), shown)
        groups.setdefault(below if below.dispatched else kind, []).append(below)
    for group in groups.values():
        first, *others = group[0].because_of()
        yield group, bool(others) and first not in causes


def title(topology: Topology, request: Request) -> str:
    """Return the name that people use for its device."""
    return topology[request.name].title if request.name in topology else request.name


def totals_blocks(
    topology: Topology, listed_count: int, totals: Totals, lost: int, overhead: float
) -> list[Block]:
    """Return the number of disk requests by cause, the arrays whose causes are derived, and the lost events."""
    said: list[Block] = []
    if totals.sent:
        said.append(Paragraph(_summary(listed_count, totals)))
    arrays = sorted(topology[name].title for name in totals.derived if name in topology)
    if arrays:
        said.append(
            Paragraph(
                f"{listed(arrays)}: the kernel does not report which request caused which member's "
                "request; this is derived from the layout of the array.",
                "note:",
            )
        )
    said.append(Paragraph(f"overhead of the trace about {percent(overhead, 2)} of all CPU time"))
    if lost:
        said.append(
            Paragraph(
                f"{plural(lost, 'event')} were lost: requests are missing or incomplete. "
                "Name fewer devices, or trace without `--follow`.",
                "But:",
            )
        )
    return said


def _summary(listed_count: int, totals: Totals) -> str:
    known = totals.sent - totals.metadata - totals.unknown
    return (
        f"{plural(listed_count, 'request')} listed. The disks got {plural(totals.sent, 'request')}: {known} of "
        f"data and parity, {totals.metadata} of metadata of arrays and pools, {totals.unknown} of unknown cause."
    )


SCHEMA = "stackmap.trace/1"


def requests_json(
    topology: Topology, requests: Iterable[Request], start: float, *, follow: bool
) -> Iterator[dict[str, object]]:
    """Yield each of *requests*; with *follow*, each is followed by the requests that it caused, every request once."""
    for request in requests:
        yield _request(topology, request, start)
        if follow:
            firsts = ((request,), request.causes[:1])
            below = (caused for caused in request.caused() if caused.because_of()[:1] in firsts)
            yield from requests_json(topology, below, start, follow=True)


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
        "caused_by": [cause.id for cause in request.because_of()],
        "derived": any(DERIVED in (cause.how, request.how) for cause in request.causes),
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
