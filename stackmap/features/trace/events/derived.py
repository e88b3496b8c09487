"""The cause of a member's request where the kernel reports no remap: by the layout of the array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.features.trace.events.in_flight import InFlight
from stackmap.features.trace.events.member_layout import UNKNOWN, Place, Span, places
from stackmap.features.trace.events.request import DERIVED, Request
from stackmap.features.trace.events.request import UNKNOWN as UNKNOWN_CAUSE
from stackmap.model.block_event import BlockEvent
from stackmap.model.device import UNUSED, Device, Kind, Role
from stackmap.model.raid import Layout
from stackmap.model.topology import Edge, Topology
from stackmap.model.units import SECTOR

METADATA = "metadata"
RAID_TARGETS = frozenset({"raid", "mirror"})


class Link(NamedTuple):
    """The causes of a request, how they were found, and the role of the part that it touches."""

    causes: tuple[Request, ...] = ()
    how: str = ""
    role: str = ""


def derived(
    topology: Topology, flying: Mapping[str, InFlight], name: str, event: BlockEvent
) -> Link:
    """Return the causes of *event* at the member *name* among the requests in flight on its array."""
    for edge in topology.above(name):
        array = topology[edge.above]
        start = event.sector - (edge.start or 0) // SECTOR
        if edge.role in (Role.METADATA, Role.JOURNAL):
            return Link(role=METADATA)
        if edge.role is not Role.DATA or not _makes_requests(array) or array.layout is None:
            continue
        above = flying.get(array.name, InFlight())
        if not event.sectors:
            flushes = above.flushing()
            return Link(tuple(flushes), DERIVED if flushes else UNKNOWN_CAUSE)
        if start < 0:
            return Link(role=METADATA)
        size = None if array.size is None else array.size // SECTOR
        held = list(
            places(_layout(array, array.layout), size, _slot(topology, edge), start, event.sectors)
        )
        causes = tuple(_causes(above, held, event.operation))
        role = held[0].role if array.layout.parity else UNKNOWN
        return Link(causes, DERIVED if causes else UNKNOWN_CAUSE, role)
    return Link()


def _causes(above: InFlight, held: Iterable[Place], operation: str) -> Iterator[Request]:
    """
    Yield the requests *above* that need what is *held*, each once.

    A part with data belongs to the request for that data; other parts of a row, and reads for
    a row, to all writes of the row; without any, to its reads: a missing member is reconstructed.
    """
    seen: set[Request] = set()
    for place in held:
        own = (place.own,) if place.own else ()
        choices: list[tuple[tuple[Span, ...], str]] = [(own, operation)]
        if operation != "flush":
            choices += [(place.row, "write"), (place.row, "read")]
        if operation == "discard":
            choices.append((place.row, "discard"))
        for spans, wanted in choices:
            found = set(_over(above, spans, wanted))
            if found:
                yield from sorted(found - seen, key=lambda each: each.id)
                seen |= found
                break


def _over(above: InFlight, spans: Iterable[Span], operation: str) -> Iterator[Request]:
    for start, end in spans:
        yield from (r for r in above.over(start, end - start) if r.operation == operation)


def _makes_requests(array: Device) -> bool:
    """Whether *array* creates requests of its own, for which the kernel reports no complete remap."""
    return array.target in RAID_TARGETS if array.target else array.kind is Kind.ARRAY


def _layout(array: Device, layout: Layout) -> Layout:
    """Return the layout of *array*; RAID4 has its parity first under LVM, last under md."""
    if layout.level != "raid4":
        return layout
    return layout._replace(variant="0" if array.target else "n")


def _slot(topology: Topology, edge: Edge) -> int | None:
    """Return the place of the member below *edge* in its array; None if a member is missing."""
    members = [e.below for e in topology.below(edge.above) if e.role is Role.DATA]
    layout = topology[edge.above].layout
    missing = any(e.role in UNUSED - {Role.SPARE} for e in topology.below(edge.above))
    if missing or layout is None or len(members) != layout.members:
        return None
    return members.index(edge.below)
