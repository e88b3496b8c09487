"""
Devices that pass each request on, once, to one device below.

A request may be split at a boundary; the kernel then counts each piece
(``bio_split_to_limits`` before the request is accounted). So such a device's own
counters say what it sent, and a disk shared by several of them can be divided
exactly. All others (RAID, thin, cache, snapshot) create requests of their own.
But a thin volume sends its pool exactly the requests that it received.
"""

from __future__ import annotations

from stackmap.model.device import Device, Kind
from stackmap.model.topology import Edge, Topology

POOL = "thin-pool"

PASSTHROUGH_TARGETS = frozenset({
    "linear", "striped", "unstriped", "crypt", "multipath", "delay", "flakey", "dust", "switch",
    "zoned",
})  # fmt: skip


def is_passthrough(device: Device) -> bool:
    """Whether *device* only passes on the requests it receives."""
    return device.target in PASSTHROUGH_TARGETS if device.target else device.kind is Kind.PARTITION


def passes_on(topology: Topology, edge: Edge) -> bool:
    """Whether the device above *edge* passes its requests on down this edge, one by one."""
    return topology[edge.below].target == POOL or is_passthrough(topology[edge.above])
