"""A stack in sentences and key figures: what it is, its load, its cost at the disks."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.document import describe
from stackmap.document.rule_words import shown
from stackmap.document.wording import (
    REQUEST,
    REQUESTS,
    await_directions,
    known_directions,
    listed,
    plural,
    rate_of_bytes,
    short,
    size,
)
from stackmap.ledger.amplification import LayerFigures, StackFigures
from stackmap.model.device import Device
from stackmap.model.load import ratio
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

MOST_DISKS = 8  # by name in a sentence


def description(topology: Topology, stack: StackFigures) -> str:
    """Return the stack's top, layout, disks and users."""
    top, disks = stack.top, stack.layers[-1].layer.devices
    parts = [f"{top.full_title}, {size(top.size)}, is {_what(top)}"]
    if len(stack.layers) > 1:
        array = _array_below(topology, stack)
        parts += [f"on {array.full_title} ({_what(array)})"] if array is not None else []
        names = [topology[name].title for name in disks]
        noun = "disk" if len(names) == 1 else "disks"
        few = len(names) <= MOST_DISKS
        parts.append(f"on the {noun} {listed(names)}" if few else f"on {len(names)} disks")
    users = describe.users(top)
    return f"{', '.join(parts)}." + (f" It is used by {users}." if users else "")


def _array_below(topology: Topology, stack: StackFigures) -> Device | None:
    """Return the first device with several members, unless it is the top itself."""
    devices = (topology[name] for name in topology.with_all_below(stack.top.name))
    found = next((d for d in devices if d.layout is not None and d.layout.members > 1), None)
    return None if found is stack.top else found


def _what(device: Device) -> str:
    if device.layout is not None:
        return layout_in_words(device.layout)
    return f"of type {describe.what(device)}"


def layout_in_words(layout: Layout) -> str:
    """
    Return a layout for readers who do not know "3+1".

    >>> from stackmap.model.raid import layout as raid
    >>> layout_in_words(raid("raid5", 4, 65536))
    'raid5 with 3 data members and 1 parity member, 64 KiB chunks'
    """
    chunk = f", {size(layout.chunk)} chunks" if layout.chunk else ""
    members = plural(layout.members, "member")
    if layout.parity:
        members = (
            f"{plural(layout.data, 'data member')} and {plural(layout.parity, 'parity member')}"
        )
    elif layout.copies > 1:
        members = f"{members} and {layout.copies} copies of each byte"
    return f"{layout.level} with {members}{chunk}"


def load(stack: StackFigures) -> str:
    """Return the load at the top."""
    head = stack.layers[0]
    parts = [part for d in known_directions(head) if (part := _load(head, d))]
    waited = dict(awaits(stack)).get("request")
    both = "" if waited is None or len(parts) < 2 else f"; await of both {shown(waited, 'ms')}"
    return f"On average {' and '.join(parts)}{both}." if parts else "The device was idle."


def _load(head: LayerFigures, direction: str) -> str:
    flow = head.share.part(direction)
    if not flow.ios:
        return ""
    return (
        f"{short(flow.ios)} {REQUESTS[direction]}/s of {size(flow.size)} "
        f"({rate_of_bytes(flow.bytes)}{_await(head, direction)})"
    )


def _await(head: LayerFigures, direction: str) -> str:
    await_ms = head.own[direction].await_ms
    return "" if await_ms is None else f", await {shown(await_ms, 'ms')}"


def at_disks(stack: StackFigures, direction: str) -> float | None:
    """
    Return the requests that the disks complete per request at the top, after merging.

    For writes with metadata and the reads that parity needs. None if unknown.
    """
    disks = stack.layers[-1]
    if disks.background:
        return None
    if direction == "write":
        return stack.cost.all_requests_per_write
    return ratio(disks.share.part(direction).ios, stack.layers[0].share.part(direction).ios)


def disk_requests(stack: StackFigures) -> float | None:
    """Return the requests per second at the disks that belong to the stack; None if unknown."""
    return None if stack.layers[-1].background else stack.cost.requests


def awaits(stack: StackFigures) -> Iterator[tuple[str, float]]:
    """Yield each direction with its await at the top, in ms."""
    head = stack.layers[0]
    for direction in await_directions(head):
        await_ms = head.own[direction].await_ms
        if await_ms is not None:
            yield REQUEST[direction], await_ms
