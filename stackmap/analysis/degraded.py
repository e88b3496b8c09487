"""Arrays that lack a member: how many members still work."""

from __future__ import annotations

from stackmap.analysis.layers import carries_data
from stackmap.model.device import Device
from stackmap.model.topology import Topology

FAILED = ("failed", "faulty", "missing")


def is_degraded(device: Device) -> bool:
    """Whether *device* lacks a member."""
    return "degraded" in (device.state or "")


def missing_members(topology: Topology, array: Device) -> int:
    """Return how many data members a degraded *array* lacks, at least 1; 0 where it is not degraded."""
    if array.layout is None or not is_degraded(array):
        return 0
    below = (topology[edge.below] for edge in topology.below(array.name) if carries_data(edge))
    working = [each for each in below if not any(word in (each.state or "") for word in FAILED)]
    return max(1, array.layout.members - len(working))
