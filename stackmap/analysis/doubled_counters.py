"""
Whether an LVM RAID volume was counted twice, judged by its members.

Needed where ``queue/iostats`` is unknown, as in a text. No RAID level writes
less to its members than its layout needs, nor reads less than was read above.
"""

from __future__ import annotations

from collections.abc import Mapping

from stackmap.model.device import Device, Role
from stackmap.model.load import Load, ratio, sum_flows
from stackmap.model.topology import Topology

TOLERANCE = 0.1  # for requests in flight when the counters were read


def doubled(topology: Topology, device: Device, loads: Mapping[str, Load]) -> bool | None:
    """Return whether *device* was counted twice; None where its members do not tell."""
    below = [edge.below for edge in topology.below(device.name) if edge.role is Role.DATA]
    if device.state not in (None, "active") or not below or not loads.keys() >= set(below):
        return None
    load = loads[device.name]
    members = [loads[name] for name in below]
    if load.write.ios or load.write.bytes:
        return _by_writes(
            device, ratio(sum_flows(m.write for m in members).bytes, load.write.bytes)
        )
    read = ratio(sum_flows(m.read for m in members).bytes, load.read.bytes)
    return None if read is None else read < 1 - TOLERANCE


def _by_writes(device: Device, written: float | None) -> bool | None:
    """Judge by the bytes *written* below per byte above: fewest for full stripes, most for single pages."""
    layout = device.layout
    fewest = 1.0 if layout is None else layout.ideal_write
    if written is None:
        return None
    if written < fewest * (1 - TOLERANCE):
        return True
    if layout is None:
        return None
    most = 1 + layout.parity if layout.parity else layout.copies
    return False if written > most / 2 * (1 + TOLERANCE) else None
