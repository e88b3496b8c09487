"""Requests one by one, with what they caused below: ``trace --events``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackmap.analysis.requests.request import Request
from stackmap.analysis.requests.totals import Totals, part
from stackmap.document.blocks import Block, Paragraph, Rows, Table
from stackmap.document.units import kib, number
from stackmap.document.wording import listed, plural
from stackmap.model.topology import Topology
from stackmap.model.units import KIB, SECTOR

COLUMNS = ("DEVICE", "REQUEST", "PROCESS", "s", "offset\nKiB", "KiB", "queued\nms", "ms")
INDENT = "  "
ABOVE = " ↑"  # it is shown below another request that caused it too, as in `tree`
LEGEND = (
    "s: when the request was queued, since the first event. queued: until it was sent to the disk. "
    "ms: until it was complete. ↑: the request is also shown above, with its other cause."
)


def request_blocks(
    topology: Topology, requests: Iterable[Request], start: float, *, follow: bool
) -> list[Block]:
    """Return *requests*, a line each; with *follow*, below each what it caused. *start*: the time of 0 s."""
    rows = [
        row for each in requests for row in _rows(topology, each, start, follow=follow, depth=0)
    ]
    return (
        [Table("requests", COLUMNS, (Rows(tuple(rows)),), words=3, legend=LEGEND)] if rows else []
    )


def _rows(
    topology: Topology,
    request: Request,
    start: float,
    *,
    follow: bool,
    depth: int,
    again: bool = False,
) -> Iterator[tuple[str, ...]]:
    seconds, issued = request.seconds, request.issued
    waited = None if issued is None else issued - request.queued
    yield (
        INDENT * depth + title(topology, request) + ABOVE * again,
        " ".join(filter(None, (request.operation, part(request)))),
        f"{request.command} {request.pid}",
        number(request.queued - start, 6),
        number(request.sector * SECTOR / KIB),
        kib(request.sectors * SECTOR),
        "" if waited is None else number(waited * 1000, 2),
        number(None if seconds is None else seconds * 1000, 2),
    )
    for below in request.caused() if follow and not again else ():
        causes = below.because_of()
        shown = len(causes) > 1 and causes[0] not in (request, *request.causes)
        yield from _rows(topology, below, start, follow=follow, depth=depth + 1, again=shown)


def title(topology: Topology, request: Request) -> str:
    """Return the name that people use for its device."""
    return topology[request.name].title if request.name in topology else request.name


def totals_blocks(topology: Topology, listed_count: int, totals: Totals, lost: int) -> list[Block]:
    """Return how much of what the disks did has a cause, what was derived, and what was lost."""
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
