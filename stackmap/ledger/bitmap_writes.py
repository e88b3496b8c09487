"""
How many of the writes at an array's members can be writes of its own bitmap.

md keeps an internal bitmap on its members, without a device of its own (LVM
has one: rmeta), and no counter tells its writes apart. A bitmap write goes to
every member alike, and the array's own writes need at least so many writes:

    mirrors        copies × writes: the rest are bitmap, superblock and empty flushes
    parity levels  ideal bytes ÷ a page; data is written in whole pages there,
                   so writes smaller than a page are something else
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.ledger.amounts import Amount, Share, Traffic, share_of_all
from stackmap.model.device import Device, Role
from stackmap.model.load import Flow, Load
from stackmap.model.raid import PAGE, Layout
from stackmap.model.topology import Topology

SUPERBLOCK = 256  # bytes of the bitmap's superblock, before its first bit


def has_bitmap(device: Device) -> bool:
    """Whether *device* writes a bitmap to its data members."""
    return device.facts.get("consistency") == "bitmap"


def share_with_bitmap(
    topology: Topology, loads: Mapping[str, Load], array: str, member: str
) -> Share:
    """Return everything *member* did as the share of *array*; its writes are a range, less the bitmap's."""
    most = max_bitmap_writes(topology, loads, topology[array])
    size = bitmap_write_size(topology, topology[array])
    whole = share_of_all(loads[member])
    written = {d: _with_range(whole.part(d), most, size) for d in ("write", "total")}
    return whole._replace(parts={**whole.parts, **written})


def max_bitmap_bytes(topology: Topology, loads: Mapping[str, Load], array: Device) -> float:
    """Return the bytes per second of all bitmap writes *array* can have made; 0 without a bitmap."""
    if not has_bitmap(array):
        return 0.0
    each = max_bitmap_writes(topology, loads, array) * bitmap_write_size(topology, array)
    return sum(min(each, flow.bytes or 0.0) for flow in _written(topology, loads, array))


def max_bitmap_writes(topology: Topology, loads: Mapping[str, Load], array: Device) -> float:
    """Return how many bitmap writes per second *array* can have made to each member."""
    flows = _written(topology, loads, array)
    arrived = [flow.arrivals for flow in flows if flow.arrivals is not None]
    if not arrived or len(arrived) < len(flows):
        return float("inf")
    most = min(arrived)
    own = loads.get(array.name)
    # With a member missing or resyncing, the array's own writes do not tell what its members need.
    if array.layout is None or own is None or array.state != "active":
        return most
    needed = _needed(array.layout, own.write)
    if needed is not None:
        most = min(most, max(0.0, (sum(arrived) - needed) / len(arrived)))
    size = bitmap_write_size(topology, array)
    if array.layout.parity and size < PAGE:
        # Writes beyond those whose bytes fill whole pages.
        smaller = min(
            max(0.0, (each.arrivals or 0.0) - (each.bytes or 0.0) / PAGE) for each in flows
        )
        most = min(most, smaller / (1 - size / PAGE))
    return most


def bitmap_write_size(topology: Topology, array: Device) -> int:
    """Return the bytes of one bitmap write: a page, or less where the whole bitmap is smaller."""
    block = _block_size(topology, array.name)
    region = array.fact_number("region")
    if not block or not region or not array.size or array.layout is None:
        return PAGE
    bits = -(-array.size // array.layout.data // region)
    size = -(-(SUPERBLOCK + -(-bits // 8)) // block) * block
    return min(size, PAGE)


def _written(topology: Topology, loads: Mapping[str, Load], array: Device) -> list[Flow]:
    """Return what was written to each data member."""
    members = [edge.below for edge in topology.below(array.name) if edge.role is Role.DATA]
    return [loads.get(name, Load()).write for name in members]


def _needed(layout: Layout, writes: Flow) -> float | None:
    """Return the fewest writes, of all members together, that the array's *writes* need."""
    if layout.parity:
        return None if writes.bytes is None else layout.ideal_write * writes.bytes / PAGE
    return None if writes.ios is None else layout.copies * writes.ios


def _block_size(topology: Topology, name: str) -> int:
    """Return the largest logical block of the disks below; 0 if one is unknown."""
    leaves = [n for n in topology.with_all_below(name) if not topology.below(n)]
    sizes = [topology[n].queue.logical_block_size or 0 for n in leaves]
    return 0 if 0 in sizes else max(sizes, default=0)


def _with_range(arrived: Traffic, most: float, size: int) -> Traffic:
    """Return *arrived* as a range: up to *most* of it per second are bitmap writes of *size* bytes."""
    if not most or arrived.arrivals is None:
        return arrived
    fewer = max(0.0, arrived.arrivals - most)
    moved = None if arrived.bytes is None else max(0.0, arrived.bytes - most * size)
    return arrived._replace(low=Amount(fewer, moved), high=Amount(arrived.arrivals, arrived.bytes))
