"""
What a whole host did: sums over one cut of the graph, never over layers.

A request is counted at each layer it passes, and a partition's once more at its
disk; so only devices that do not stand on each other may be added up. Two cuts
have a meaning: what was asked for, at the tops, and what the disks did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stackmap.model.device import Kind
from stackmap.model.load import ZERO, Load, plus, sum_flows
from stackmap.model.topology import Topology

# Leaves that are no disks: their I/O ends in memory, or in a file on another device.
NO_DISKS = frozenset({Kind.ZRAM, Kind.LOOP, Kind.DM})


@dataclass(frozen=True, slots=True)
class Total:
    """``cut``: "tops" or "disks"; ``devices``: those added up; ``load``: their sum."""

    cut: str
    devices: tuple[str, ...]
    load: Load


def totals(topology: Topology, loads: Mapping[str, Load]) -> tuple[Total, Total]:
    """Return the sums at the tops and at the disks, of the devices that there are counters of."""
    known = [device for device, _ in topology.rows() if device.name in loads]
    tops = [device.name for device in known if not topology.above(device.name)]
    disks = [d.name for d in known if not topology.below(d.name) and d.kind not in NO_DISKS]
    return _total("tops", tops, loads), _total("disks", disks, loads)


def _total(cut: str, names: list[str], loads: Mapping[str, Load]) -> Total:
    found = [loads[name] for name in names]
    aqu: float | None = 0.0
    for load in found:
        aqu = plus(aqu, load.aqu)
    whole = sum_flows(load.total for load in found) if any(load.whole for load in found) else None
    load = Load(
        sum_flows(load.read for load in found) if found else ZERO,
        sum_flows(load.write for load in found) if found else ZERO,
        sum_flows(load.discard for load in found) if found else ZERO,
        sum_flows(load.flush for load in found) if found else ZERO,
        whole=whole,
        aqu=aqu,
    )
    return Total(cut, tuple(names), load)
