"""A stack's figures in plain sentences: what it is, what it is asked for, what its layers make of that."""

from __future__ import annotations

from collections.abc import Iterator

from stackmap.analysis.amplification import LayerFigures, StackFigures
from stackmap.analysis.parity import Parity
from stackmap.document import describe
from stackmap.document.report.names import (
    REQUESTS,
    disks_of,
    known_directions,
    listed,
    plural,
    rate_of_bytes,
    short,
)
from stackmap.document.templates import shown
from stackmap.document.units import number, size
from stackmap.model.device import Device
from stackmap.model.load import plus, ratio
from stackmap.model.raid import Layout
from stackmap.model.topology import Topology

MOST_DISKS = 8  # by name in a sentence
WASTED = 0.02  # of what is paid; less than that above the ideal is none


def what_it_is(topology: Topology, stack: StackFigures) -> str:
    """Return what a stack is: its top, its layout in words, its disks, and who uses it."""
    top, disks = stack.top, disks_of(stack)
    names = [topology[name].title for name in disks]
    where = plural(len(names), "disk")
    if len(stack.layers) == 1:
        return f"{top.full_title}, {size(top.size)}, is {_what(top)}.{_used(stack)}"
    if len(names) <= MOST_DISKS:
        where = f"the {'disk' if len(names) == 1 else 'disks'} {listed(names)}"
    raid = _laid_out_below(topology, stack)
    on = f", on {raid.full_title} ({_what(raid)})" if raid is not None else ""
    return f"{top.full_title}, {size(top.size)}, is {_what(top)}{on}, on {where}.{_used(stack)}"


def _laid_out_below(topology: Topology, stack: StackFigures) -> Device | None:
    """Return the first device that spreads its data over members, if that is not the top itself."""
    devices = (topology[name] for name in topology.with_all_below(stack.top.name))
    found = next((d for d in devices if d.layout is not None and d.layout.members > 1), None)
    return None if found is stack.top else found


def _what(device: Device) -> str:
    return describe.what(device) if device.layout is None else laid_out(device.layout)


def laid_out(how: Layout) -> str:
    """Return a layout in words."""
    chunk = f" in chunks of {size(how.chunk)}" if how.chunk else ""
    if how.parity:
        parity = "" if how.parity == 1 else f"{how.parity} "
        return f"{how.level} of {how.data} data members and {parity or 'one '}parity{chunk}"
    if how.copies > 1:
        return f"{how.level} of {how.members} members, each byte on {how.copies} of them{chunk}"
    return f"{how.level} of {plural(how.members, 'member')}{chunk}"


def _used(stack: StackFigures) -> str:
    users = describe.users(stack.top)
    return f" It is used by {users}." if users else ""


def what_it_is_asked_for(stack: StackFigures) -> str:
    """Return the load at the top, reads and writes apart where they can be."""
    head = stack.layers[0]
    parts = [part for d in known_directions(head) if (part := _asked(head, d))]
    if not parts:
        return "Nothing was asked of it while it was measured."
    return f"On average it was asked for {' and '.join(parts)}."


def _asked(head: LayerFigures, direction: str) -> str:
    flow = head.share.part(direction)
    if not flow.ios:
        return ""
    took = head.own[direction].await_ms
    waited = f", each answered in {shown(took, 'ms')}" if took is not None else ""
    return (
        f"{short(flow.ios)} {REQUESTS[direction]} a second of {size(flow.size)} "
        f"({rate_of_bytes(flow.bytes)}{waited})"
    )


def what_becomes_of_it(stack: StackFigures) -> str:
    """Return what one request at the top is at the disks, and what a byte is; "" for a lone disk."""
    if len(stack.layers) < 2:
        return ""
    head = stack.layers[0]
    said = [_becomes(stack, direction) for direction in known_directions(head)]
    return " ".join(filter(None, (*said, _bytes(stack))))


def _becomes(stack: StackFigures, direction: str) -> str:
    if direction == "read" and stack.parity is not None and not stack.parity.reason:
        return ""  # what is read below for the writes cannot be taken for what reads become
    word = REQUESTS[direction].removesuffix("s")
    many = at_disks(stack, direction)
    if many is not None:
        return f"One {word} becomes {short(many)} requests at the disks{_estimate(stack)}."
    sent = stack.layers[-1].iops_amplification.get(direction)
    if sent is None:
        return ""
    return (
        f"One {word} becomes {short(sent)} requests that are sent to the disks, before they merge."
    )


def at_disks(stack: StackFigures, direction: str) -> float | None:
    """
    Return the requests that the disks complete for one at the top, after merging.

    Of a write, with the reads that parity needs for it; None where it cannot be known.
    """
    if direction == "write" and stack.requests_per_write is not None:
        return stack.requests_per_write
    disks = stack.layers[-1]
    if disks.background:
        return None
    return ratio(disks.share.part(direction).ios, stack.layers[0].share.part(direction).ios)


def _estimate(stack: StackFigures) -> str:
    return (
        " (an estimate, for the disks serve others too)" if stack.layers[-1].share.estimated else ""
    )


def _bytes(stack: StackFigures) -> str:
    """Return what a byte written costs: by parity, or by the bytes at the disks."""
    if stack.parity is not None:
        return _parity_bytes(stack.parity)
    moved = stack.layers[-1].byte_amplification.get("write")
    return "" if moved is None else f"A byte written is {number(moved, 2)} bytes at the disks."


def _parity_bytes(cost: Parity) -> str:
    if cost.cost_bytes_per_byte is None:
        return f"What a byte written costs at the disks cannot be told: {cost.reason}."
    return (
        f"A byte written costs {number(cost.cost_bytes_per_byte, 2)} bytes at the disks "
        f"({number(cost.write_amplification, 2)} written and "
        f"{number(cost.extra_read_bytes_per_byte, 2)} read for parity), where writes that fill "
        f"whole stripes would cost {number(cost.ideal_bytes_per_byte, 2)}."
    )


def wasted(stack: StackFigures) -> float | None:
    """Return the share of disk traffic that writes in full stripes would spare; None if not known."""
    cost = stack.parity
    if cost is None or not cost.cost_bytes_per_byte or cost.ideal_bytes_per_byte is None:
        return None
    share = 1 - cost.ideal_bytes_per_byte / cost.cost_bytes_per_byte
    return share if share > WASTED else 0.0


def disk_requests(stack: StackFigures) -> float | None:
    """Return the requests a second at the disks that belong to the stack."""
    disks = stack.layers[-1]
    if disks.background:
        return None
    # Where they are divided in proportion, reads and writes are so each by itself, as the tables have them.
    both = plus(disks.share.read.ios, disks.share.write.ios)
    return disks.share.total.ios if both is None else both


def slowest(stack: StackFigures) -> Iterator[tuple[str, float]]:
    """Yield each direction that moved, with the mean wait at the top, ms."""
    for direction in known_directions(stack.layers[0]):
        took = stack.layers[0].own[direction].await_ms
        if took is not None:
            yield direction, took
