"""
The cause of a member's request where the kernel reports no remap: by the arithmetic of md's layouts.

LVM's RAID reports no remap from the volume to its sub-LVs, and md reports parity as sector 0.
So requests are joined by what the member's sectors hold. Lengths and positions are in sectors.
The names of the layouts are md's (drivers/md/raid5.c, raid10.c).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from stackmap.features.trace.events.request import DERIVED, METADATA, InFlight, Request
from stackmap.features.trace.events.request import UNKNOWN as UNKNOWN_CAUSE
from stackmap.model.device import UNUSED, Device, Kind, Role
from stackmap.model.raid import Layout
from stackmap.model.topology import Edge, Topology
from stackmap.model.units import SECTOR
from stackmap.sources.trace_text import BlockEvent

Span = tuple[int, int]  # first sector, and the one after the last

DATA, PARITY, UNKNOWN = "data", "parity", ""


class Place(NamedTuple):
    """
    What a part of a member holds.

    ``role``: ``DATA``, ``PARITY``, or ``UNKNOWN`` if the layout is not known. ``own``: the array's
    sectors that it holds. ``row``: the data of its rows, () without parity.
    """

    role: str
    own: Span | None
    row: tuple[Span, ...] = ()


def places(
    layout: Layout, size: int | None, member: int | None, start: int, sectors: int
) -> Iterator[Place]:
    """
    Yield the contents of *sectors* from *start* of a member, chunk by chunk.

    *member*: its slot; None if unknown, as in a degraded array. *size*: sectors of the array.
    """
    if not layout.chunk:
        yield Place(DATA, (start, start + sectors))
        return
    chunk, end = layout.chunk // SECTOR, start + sectors
    while start < end:
        stop = min(end, (start // chunk + 1) * chunk)
        number, within = divmod(start, chunk)
        yield _place(layout, size, member, number, (within, within + stop - start))
        start = stop


def _place(layout: Layout, size: int | None, member: int | None, number: int, part: Span) -> Place:
    """Return the place in the array of *part* of a member's chunk *number*."""
    chunk = (layout.chunk or 0) // SECTOR
    if layout.parity:
        first = number * layout.data
        row = tuple(_within(first + place, chunk, part) for place in range(layout.data))
        order = None if member is None else data_members(layout, number)
        if order is None or member is None:
            return Place(UNKNOWN, None, row)
        return (
            Place(DATA, row[order.index(member)], row)
            if member in order
            else Place(PARITY, None, row)
        )
    chunk_above = None if member is None else _copied_chunk(layout, size, member, number)
    return Place(DATA, None if chunk_above is None else _within(chunk_above, chunk, part))


def _within(number: int, chunk: int, part: Span) -> Span:
    return number * chunk + part[0], number * chunk + part[1]


def _copied_chunk(layout: Layout, size: int | None, member: int, number: int) -> int | None:
    """Return the array's chunk in the chunk *number* of a *member* of raid0 or raid10."""
    members, copies = layout.members, layout.copies
    if layout.variant == "offset":
        row, copy = divmod(number, copies)
    elif layout.variant == "far":
        if not size or not layout.chunk:
            return None
        copy, row = divmod(number, size * SECTOR // layout.chunk // members)
    else:  # near: the copies of a chunk follow one another
        return (number * members + member) // copies
    return row * members + (member - copy) % members


def data_members(layout: Layout, stripe: int) -> list[int] | None:
    """Return the slots of the data of a *stripe* in order; None if the layout is not known."""
    members, parity, variant = layout.members, layout.parity, layout.variant
    if variant.endswith("_6"):  # RAID5 on all but the last member, which holds Q
        members, parity, variant = members - 1, 1, variant.removesuffix("_6")
    if variant in ("0", "n"):  # parity first, or last
        first = parity if variant == "0" else 0
        return [first + place for place in range(members - parity)]
    turned = (stripe + (variant == "nr")) % members
    at = turned if variant in ("ra", "rs", "zr") else members - 1 - turned  # of the parity
    if variant in ("la", "ra", "zr", "nr"):
        return [slot for slot in range(members) if (slot - at) % members >= parity]
    start = {"ls": parity, "rs": parity, "nc": 1}.get(variant)
    if start is None:
        return None
    return [(at + start + place) % members for place in range(members - parity)]


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
        # It creates requests of its own, for which the kernel reports no complete remap.
        own = array.target in RAID_TARGETS if array.target else array.kind is Kind.ARRAY
        if edge.role is not Role.DATA or not own or array.layout is None:
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
            matching = {
                request
                for start, end in spans
                for request in above.over(start, end - start)
                if request.operation == wanted
            }
            if matching:
                yield from sorted(matching - seen, key=lambda request: request.id)
                seen |= matching
                break


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
