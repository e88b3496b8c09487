"""
Whether an LVM RAID volume was counted twice, where nothing but its members can tell.

A text does not say how ``queue/iostats`` was set. But no RAID writes less to
its members than its level asks for, nor reads less from them than was read.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.model.device import Device, Role
from stackmap.model.load import Load, ratio, sum_flows
from stackmap.model.topology import Topology

ROOM = 0.1  # for what was under way when the counters were read


def doubled(topology: Topology, device: Device, loads: Mapping[str, Load]) -> bool | None:
    """Return whether *device* was counted twice; None where its members do not tell."""
    below = [edge.below for edge in topology.below(device.name) if edge.role is Role.DATA]
    if device.state not in (None, "active") or not below or not loads.keys() >= set(below):
        return None
    load = loads[device.name]
    members = [loads[name] for name in below]
    if load.write.ios or load.write.bytes:
        written = ratio(sum_flows(m.write for m in members).bytes, load.write.bytes)
        return _by_writes(device, written)
    read = ratio(sum_flows(m.read for m in members).bytes, load.read.bytes)
    return None if read is None else read < 1 - ROOM


def _by_writes(device: Device, written: float | None) -> bool | None:
    """Return it from the bytes written below a byte written: least for full stripes, most for pages."""
    layout = device.layout
    least = 1.0 if layout is None else layout.ideal_write
    if written is None:
        return None
    if written < least * (1 - ROOM):
        return True
    if layout is None:
        return None
    most = 1 + layout.parity if layout.parity else layout.copies
    return False if written > most / 2 * (1 + ROOM) else None
