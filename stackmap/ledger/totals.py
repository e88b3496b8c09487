"""
Sums over a whole host, at the tops or at the disks, never over layers.

A request is counted at every layer it passes, and once more at a partition's
disk. So only devices that are not above each other may be summed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from stackmap.model.device import Kind
from stackmap.model.load import Load, sum_loads
from stackmap.model.topology import Topology

# Devices with nothing below that are not disks: their I/O ends in memory or in a file on another device.
NOT_DISKS = frozenset({Kind.ZRAM, Kind.LOOP, Kind.DM})


class Total(NamedTuple):
    """``cut``: "tops" or "disks". ``devices``: those summed. ``load``: their sum."""

    cut: str
    devices: tuple[str, ...]
    load: Load


def totals(topology: Topology, loads: Mapping[str, Load]) -> tuple[Total, Total]:
    """Return the sums at the tops and at the disks, over the devices with counters."""
    tops, disks = summed_devices(topology, loads)
    return _total("tops", tops, loads), _total("disks", disks, loads)


def summed_devices(topology: Topology, names: Container[str]) -> tuple[list[str], list[str]]:
    """Return the tops and the disks among *names*, those with counters, in tree order."""
    known = [device for device, _ in topology.rows() if device.name in names]
    tops = [device.name for device in known if not topology.above(device.name)]
    disks = [d.name for d in known if not topology.below(d.name) and d.kind not in NOT_DISKS]
    return tops, disks


def _total(cut: str, names: list[str], loads: Mapping[str, Load]) -> Total:
    return Total(cut, tuple(names), sum_loads([loads[name] for name in names]))
