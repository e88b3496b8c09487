"""
How many of the writes at an array's members may be marks in its own bitmap.

md keeps an internal bitmap on its members, without a device of its own (LVM's
has one: rmeta), and no counter tells its writes apart. But each goes to every
member alike, and what the array was sent needs so many writes at the least:

    mirrors        copies × writes: the rest are marks, superblocks and empty flushes
    parity levels  ideal bytes ÷ a page; and there each write of data is one page,
                   so that writes that are smaller than one are something else
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stackmap.analysis.share import DIRECTIONS, Amount, Portion, Share, all_of, flow_of
from stackmap.model.device import Device, Role
from stackmap.model.load import Flow, Load
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology

HEAD = 256  # bytes of the bitmap's own superblock, before its first bit
MARKED = ("write", "total")


def keeps_marks(device: Device) -> bool:
    """Whether *device* writes a bitmap to its members."""
    return device.facts.get("consistency") == "bitmap"


def with_marks(topology: Topology, loads: Mapping[str, Load], array: str, member: str) -> Share:
    """Return all that *member* did as the share of *array*: its writes a range, less the marks."""
    most = most_marks(topology, loads, topology[array])
    whole, size = all_of(loads[member]), mark_size(topology, topology[array])
    parts = {d: _less(whole.part(d), most if d in MARKED else 0.0, size) for d in DIRECTIONS}
    return replace(whole, parts=parts)


def most_marked(topology: Topology, loads: Mapping[str, Load], array: Device) -> float:
    """Return the bytes a second of all the marks that *array* can have written at most; 0 without a bitmap."""
    below = [edge.below for edge in topology.below(array.name) if edge.role is Role.DATA]
    if not keeps_marks(array):
        return 0.0
    each = most_marks(topology, loads, array) * mark_size(topology, array)
    return sum(min(each, flow_of(loads.get(name, Load()), "write").bytes or 0.0) for name in below)


def most_marks(topology: Topology, loads: Mapping[str, Load], array: Device) -> float:
    """Return the marks a second that *array* can have written at most, to each of its members."""
    below = [edge.below for edge in topology.below(array.name) if edge.role is Role.DATA]
    flows = [flow_of(loads.get(name, Load()), "write") for name in below]
    sent = [flow.arrivals for flow in flows if flow.arrivals is not None]
    if not sent or len(sent) < len(flows):
        return float("inf")
    found = min(sent)
    volume = loads.get(array.name)
    # With a member gone or resyncing, what the array was sent says less of what that needs.
    if array.layout is None or volume is None or array.state != "active":
        return found
    needed = _needed(array.layout, volume.write)
    if needed is not None:
        found = min(found, max(0.0, (sum(sent) - needed) / len(sent)))
    size = mark_size(topology, array)
    if array.layout.parity and size < PAGE:
        smaller = min(_smaller(flow) for flow in flows)
        found = min(found, smaller / (1 - size / PAGE))
    return found


def mark_size(topology: Topology, array: Device) -> int:
    """Return the bytes of one mark: a page, but of a bitmap that is smaller no more than it takes."""
    block = _block_size(topology, array.name)
    chunk = _number(array.facts.get("region", ""))
    if not block or not chunk or not array.size or array.layout is None:
        return PAGE
    bits = -(-array.size // array.layout.data // chunk)
    size = -(-(HEAD + -(-bits // 8)) // block) * block
    return min(size, PAGE)


def _needed(layout: Layout, writes: Flow) -> float | None:
    """Return the least writes that all members together need for what the array was sent."""
    if layout.parity:
        return None if writes.bytes is None else layout.ideal_write * writes.bytes / PAGE
    return None if writes.ios is None else layout.copies * writes.ios


def _smaller(flow: Flow) -> float:
    """Return how many writes there were beyond those that its bytes fill with pages."""
    return max(0.0, (flow.arrivals or 0.0) - (flow.bytes or 0.0) / PAGE)


def _block_size(topology: Topology, name: str) -> int:
    """Return the largest logical block of the disks below; 0 where nothing says."""
    leaves = [n for n in topology.with_all_below(name) if not topology.below(n)]
    sizes = [_number(topology[n].queue.get("logical_block_size", "")) for n in leaves]
    return 0 if 0 in sizes else max(sizes, default=0)


def _number(text: str) -> int:
    """Return what an attribute says, 0 where it says nothing that could be."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _less(portion: Portion, marks: float, size: int) -> Portion:
    if not marks or portion.arrivals is None:
        return portion
    fewer = max(0.0, portion.arrivals - marks)
    moved = None if portion.bytes is None else max(0.0, portion.bytes - marks * size)
    return replace(
        portion,
        least=Amount(fewer, moved),
        most=Amount(portion.arrivals, portion.bytes),
    )
